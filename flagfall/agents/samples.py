"""Sample agents: short enough to copy from."""

from __future__ import annotations

__all__ = ["SAMPLES", "MemorizingAgent", "RandomAgent", "RepeatingAgent", "SilentAgent"]

from collections import deque
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from flagfall.agents.langroom_solver import LANGROOM_WORDS, LangRoomSolver, is_langroom, langroom_action
from flagfall.agents.language_model import LanguageModel
from flagfall.agents.learner import LearningAgent
from flagfall.agents.q_learning import GAME_ACTIONS, QLearningAgent, action_count
from flagfall.kernel.match import Briefing

_SPACE: Final = 0x20
_PRINTABLE: Final = range(0x20, 0x7F)


class RandomAgent:
    """Says any printable character of ASCII, each as likely as the others.

    In LangRoom it makes any move and says any word; where it is shown an `action_mask`, it takes any action
    that this allows; where the match says how many actions there are, or it is shown anything else that is no
    byte, any of these or of those of VGDL games.
    """

    def start(self, briefing: Briefing) -> None:
        """Seed itself from the match, and hear how many actions there are."""
        self._random = Random(briefing.seed)
        self._actions = action_count(briefing)

    def reply(self, byte: Any, reward: float) -> Any:  # noqa: ARG002 - it does not listen
        """Any printable character; or where no byte is heard, any action."""
        if is_langroom(byte):
            return langroom_action(self._random.randrange(5), self._random.choice(LANGROOM_WORDS))
        if type(byte) is dict and "action_mask" in byte:
            return self._random.choice([action for action, may in enumerate(byte["action_mask"]) if may])
        if self._actions is not None or not isinstance(byte, int):
            return self._random.randrange(self._actions or GAME_ACTIONS)
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
