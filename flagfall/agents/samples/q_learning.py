"""Tabular Q-learning, for games with a few numbered actions in which observations repeat."""

from __future__ import annotations

__all__ = ["BYTES", "GAME_ACTIONS", "QLearningAgent", "action_count"]

from collections.abc import Mapping
from hashlib import blake2b
from random import Random
from typing import Any, Final

from flagfall.kernel.channels.arrays import msgpack_encoder
from flagfall.kernel.hosting import Briefing

GAME_ACTIONS: Final = 6
"""Number of actions of VGDL games: nothing, left, right, up, down, use."""

BYTES: Final = 256
"""Number of actions of a byte task."""

_KEY_BYTES: Final = 16
_SEEN_AT_ONCE: Final = ("observation_grid", "avatar_orientation", "avatar_resources", "avatar_health_points")


def action_count(briefing: Briefing) -> int | None:
    """Return the number of actions, where they are integers from 0 and not bytes; `None` elsewhere.

    Args:
        briefing: the briefing of the match.
    """
    space = briefing.spaces.action if briefing.spaces is not None else {}
    if space.get("type") != "discrete" or space.get("start", 0) != 0 or space["n"] == BYTES:
        return None
    count: int = space["n"]
    return count


class QLearningAgent:
    """Learns the value of each action in each state, by tabular Q-learning (Watkins, 1989).

    It knows only observations and rewards. A state is the observation without clock and score; the table
    keeps every state, so a game with many states takes much memory.

    Args:
        actions: number of actions, where the match does not describe them.
        rate: learning rate, 0 to 1.
        discount: factor for a reward one step later, 0 to 1.
        curiosity: probability of a random action.
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
        """Take the seed and the number of actions of the match.

        Args:
            briefing: the briefing of the match.
        """
        self._random = Random(briefing.seed)
        self._actions = action_count(briefing) or self._actions

    def init(self, observation: Any) -> None:  # noqa: ARG002 - the first turn shows it again
        """Begin an episode: the step before does not count for it."""
        self._last = None

    def reply(self, observation: Any, reward: float) -> int:
        """Learn from the last reward, and return an action.

        Args:
            observation: an observation of any form.
            reward: the reward of the step before.
        """
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
        """End an episode with its last reward.

        Args:
            observation: the last one; not used.
            reward: the reward of the last step.
        """
        self._learn(reward, 0.0)
        self._last = None

    def _learn(self, reward: float, to_come: float) -> None:
        if self._last is not None:
            situation, action = self._last
            values = self._values[situation]
            values[action] += self._rate * (reward + self._discount * to_come - values[action])

    def _situation(self, observation: Any) -> bytes:
        """Return a digest of an observation, without clock and score."""
        state = observation
        if isinstance(observation, str):
            state = observation.partition("\n")[2]  # below the line with score and time
        elif isinstance(observation, Mapping):
            state = {key: value for key, value in observation.items() if key in _SEEN_AT_ONCE} or observation
        elif hasattr(observation, _SEEN_AT_ONCE[0]):
            state = {name: getattr(observation, name) for name in _SEEN_AT_ONCE}
        return blake2b(self._encoder.encode(state), digest_size=_KEY_BYTES).digest()
