"""Q-learning with a table, for games with a few numbered actions in which the same things are seen again."""

from __future__ import annotations

__all__ = ["BYTES", "GAME_ACTIONS", "QLearningAgent", "action_count"]

from collections.abc import Mapping
from hashlib import blake2b
from random import Random
from typing import Any, Final

from flagfall.kernel.channels.arrays import msgpack_encoder
from flagfall.kernel.hosting import Briefing

GAME_ACTIONS: Final = 6
"""Nothing, left, right, up, down, use: the actions of VGDL games."""

BYTES: Final = 256
"""Actions of a task that is spoken to byte by byte."""

_KEY_BYTES: Final = 16
_SEEN_AT_ONCE: Final = ("observation_grid", "avatar_orientation", "avatar_resources", "avatar_health_points")


def action_count(briefing: Briefing) -> int | None:
    """How many actions there are, where the match says that they are numbers from 0, and no bytes."""
    told = briefing.spaces.action if briefing.spaces is not None else {}
    if told.get("type") != "discrete" or told.get("start", 0) != 0 or told["n"] == BYTES:
        return None
    count: int = told["n"]
    return count


class QLearningAgent:
    """Learns what each action is worth in each situation, by Q-learning (Watkins, 1989) with a table.

    It knows nothing of the game but what it is shown and paid. A situation is what it sees, without the clock
    and the score; it forgets nothing, so many situations take much memory.

    Args:
        actions: how many there are, where the match does not say.
        rate: how far a reward moves what an action is thought to be worth.
        discount: what a reward is worth a step later.
        curiosity: how often it tries any action.
    """

    def __init__(
        self,
        actions: int = GAME_ACTIONS,
        *,
        rate: float = 0.5,
        discount: float = 0.95,
        curiosity: float = 0.1,
    ) -> None:
        self._actions = actions
        self._rate = rate
        self._discount = discount
        self._curiosity = curiosity
        self._values: dict[bytes, list[float]] = {}
        self._last: tuple[bytes, int] | None = None
        self._encoder = msgpack_encoder()
        self._random = Random(0)

    def start(self, briefing: Briefing) -> None:
        """Seed itself from the match, and hear how many actions there are."""
        self._random = Random(briefing.seed)
        self._actions = action_count(briefing) or self._actions

    def init(self, observation: Any) -> None:  # noqa: ARG002 - the first turn shows it again
        """A game begins: what came before has no part in it."""
        self._last = None

    def reply(self, observation: Any, reward: float) -> int:
        """Learn from the last reward, and act."""
        here = self._situation(observation)
        values = self._values.setdefault(here, [0.0] * self._actions)
        self._learn(reward, max(values))
        if self._random.random() < self._curiosity:
            action = self._random.randrange(self._actions)
        else:
            best = max(values)
            action = self._random.choice([a for a, value in enumerate(values) if value == best])
        self._last = (here, action)
        return action

    def result(self, observation: Any, reward: float) -> None:  # noqa: ARG002 - nothing comes after it
        """A game is over: its last reward, and no more."""
        self._learn(reward, 0.0)
        self._last = None

    def _learn(self, reward: float, to_come: float) -> None:
        if self._last is not None:
            situation, action = self._last
            values = self._values[situation]
            values[action] += self._rate * (reward + self._discount * to_come - values[action])

    def _situation(self, observation: Any) -> bytes:
        """A name for what is seen, the same whenever it is seen again."""
        told = observation
        if isinstance(observation, str):
            told = observation.partition("\n")[2]  # below the line with score and time
        elif isinstance(observation, Mapping):
            told = {key: value for key, value in observation.items() if key in _SEEN_AT_ONCE} or observation
        elif hasattr(observation, _SEEN_AT_ONCE[0]):
            told = {name: getattr(observation, name) for name in _SEEN_AT_ONCE}
        return blake2b(self._encoder.encode(told), digest_size=_KEY_BYTES).digest()
