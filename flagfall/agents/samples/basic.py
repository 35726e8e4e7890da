"""Sample agents: short enough to copy from."""

from __future__ import annotations

__all__ = ["SAMPLES", "MemorizingAgent", "RandomAgent", "RepeatingAgent", "SilentAgent"]

from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from flagfall.agents.learner.agent import LearningAgent
from flagfall.agents.samples.langroom_solver import (
    LANGROOM_WORDS,
    LangRoomSolver,
    is_langroom,
    langroom_action,
)
from flagfall.agents.samples.language_model import LanguageModel
from flagfall.agents.samples.q_learning import BYTES, GAME_ACTIONS, QLearningAgent
from flagfall.agents.samples.space_sampler import any_value
from flagfall.kernel.hosting import Briefing

_SPACE: Final = 0x20
_PRINTABLE: Final = range(0x20, 0x7F)


class RandomAgent:
    """Says any printable character of ASCII, each as likely as the others; elsewhere plays any action.

    Where it is shown an `action_mask`, it takes any action that this allows; else anything of the space that
    the match says the first task takes. Where it says none, it knows those of LangRoom and of VGDL games.
    """

    def __init__(self) -> None:
        self._random = Random(0)
        self._takes: dict[str, Any] = {}

    def start(self, briefing: Briefing) -> None:
        """Seed itself from the match, and hear what actions there are."""
        self._random = Random(briefing.seed)
        told = {} if briefing.spaces is None else briefing.spaces.action
        self._takes = {} if told.get("n") == BYTES else told

    def reply(self, byte: Any, reward: float) -> Any:  # noqa: ARG002 - it does not listen
        """Any printable character; or where no byte is heard, any action."""
        if type(byte) is dict and "action_mask" in byte:
            mask = byte["action_mask"]
            allowed = [action for action, may in enumerate(mask) if may] or range(len(mask))
            chosen: int = self._random.choice(allowed) + self._takes.get("start", 0)
            return chosen
        if (action := any_value(self._takes, self._random)) is not None:
            return action
        if is_langroom(byte):
            return langroom_action(self._random.randrange(5), self._random.choice(LANGROOM_WORDS))
        if not isinstance(byte, int):
            return self._random.randrange(GAME_ACTIONS)
        return _PRINTABLE[int(self._random.random() * len(_PRINTABLE))]


class SilentAgent:
    """Says nothing, ever."""

    def reply(self, byte: int, reward: float) -> int:  # noqa: ARG002 - it does not listen
        """A space."""
        return _SPACE


class RepeatingAgent:
    """Says what it just heard, like the sample learner of the General AI Challenge."""

    def reply(self, byte: int, reward: float) -> int:  # noqa: ARG002 - it does not care
        """The byte heard."""
        return byte


class MemorizingAgent:
    """Listens until the teacher falls silent, then says back what it heard; a reward starts it anew.

    Args:
        pause: how many spaces in a row it takes for the teacher being done.
        limit: how many bytes it remembers at most, the newest.
    """

    def __init__(self, pause: int = 2, limit: int = 4096) -> None:
        self._pause = pause
        self._heard: deque[int] = deque(maxlen=limit)
        self._to_say: deque[int] = deque()
        self._spaces = 0

    def reply(self, byte: int, reward: float) -> int:
        """The next byte of what it heard before, once the teacher has been silent for a while."""
        if reward:
            self._heard.clear()
            self._to_say.clear()
        self._heard.append(byte)
        self._spaces = self._spaces + 1 if byte == _SPACE else 0
        if not self._to_say and self._spaces >= self._pause:
            self._to_say.extend(self._heard)
            self._heard.clear()
        return self._to_say.popleft() if self._to_say else _SPACE


SAMPLES: Final[Mapping[str, Any]] = {
    "random": RandomAgent,
    "silent": SilentAgent,
    "repeating": RepeatingAgent,
    "memorizing": MemorizingAgent,
    "learner": LearningAgent,
    "q-learning": QLearningAgent,
    "langroom-solver": LangRoomSolver,
    "llm": LanguageModel,
}
"""The agents that come with flagfall, by the name under which the command line knows them."""
