"""Sample agents for byte tasks, short enough to copy from."""

from __future__ import annotations

__all__ = ["MemorizingAgent", "RandomAgent", "RepeatingAgent", "SilentAgent"]

from collections import deque
from functools import cached_property
from random import Random
from typing import Any, Final

from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS, is_langroom, langroom_action
from flagfall.agents.samples.q_learning import BYTES, GAME_ACTIONS
from flagfall.agents.samples.space_sampler import sample
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.hosting import Briefing

_PRINTABLE: Final = range(0x20, 0x7F)
_PRINTABLE_COUNT: Final = len(_PRINTABLE)


class RandomAgent:
    """Sends printable ASCII characters at random; in other tasks plays random actions.

    With an `action_mask` it plays an action that the mask allows; otherwise it samples the action space of
    the first task. Where the match describes none, it knows the actions of LangRoom and of VGDL games.
    """

    def __init__(self) -> None:
        self._takes: dict[str, Any] = {}

    @cached_property
    def _random(self) -> Random:
        """The generator of an agent that was not started; to make one takes 4 us."""
        return Random(0)

    def start(self, briefing: Briefing) -> None:
        """Take the seed and the action space of the match.

        Args:
            briefing: the briefing of the match.
        """
        self._random = Random(briefing.seed)
        actions = {} if briefing.spaces is None else briefing.spaces.action
        self._takes = {} if actions.get("n") == BYTES else actions

    def reply(self, byte: Any, reward: float) -> Any:  # noqa: ARG002 - it does not listen
        """Return a random printable character, or a random action where the observation is not a byte."""
        if type(byte) is int and not self._takes:
            return _PRINTABLE[int(self._random.random() * _PRINTABLE_COUNT)]
        if type(byte) is dict and "action_mask" in byte:
            mask = byte["action_mask"]
            allowed = [action for action, may in enumerate(mask) if may] or range(len(mask))
            chosen: int = self._random.choice(allowed) + self._takes.get("start", 0)
            return chosen
        if (action := sample(self._takes, self._random)) is not None:
            return action
        if is_langroom(byte):
            return langroom_action(self._random.randrange(5), self._random.choice(LANGROOM_WORDS))
        if not isinstance(byte, int):
            return self._random.randrange(GAME_ACTIONS)
        return _PRINTABLE[int(self._random.random() * _PRINTABLE_COUNT)]


class SilentAgent:
    """Sends only silence."""

    def reply(self, byte: int, reward: float) -> int:  # noqa: ARG002 - it does not listen
        """Return a space."""
        return SILENCE


class RepeatingAgent:
    """Sends back the byte it just heard, like the sample learner of the General AI Challenge."""

    def reply(self, byte: int, reward: float) -> int:  # noqa: ARG002 - it does not care
        """Return the byte heard."""
        return byte


class MemorizingAgent:
    """Listens until the teacher is silent, then sends back what it heard; a reward resets it.

    Args:
        pause: number of spaces in a row that count as the end of the teacher's text.
        limit: maximum number of bytes kept, the newest.
    """

    def __init__(self, pause: int = 2, limit: int = 4096) -> None:
        self._pause = pause
        self._heard: deque[int] = deque(maxlen=limit)
        self._to_say: deque[int] = deque()
        self._spaces = 0

    def reply(self, byte: int, reward: float) -> int:
        """Return the next byte of what it heard before, once the teacher has been silent.

        Args:
            byte: the byte of the teacher.
            reward: the reward of the step before.
        """
        if reward:
            self._heard.clear()
            self._to_say.clear()
        self._heard.append(byte)
        self._spaces = self._spaces + 1 if byte == SILENCE else 0
        if not self._to_say and self._spaces >= self._pause:
            self._to_say.extend(self._heard)
            self._heard.clear()
        return self._to_say.popleft() if self._to_say else SILENCE
