"""Sample players of the learning track: a random one, and one that learns from what it sees."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

from flagfall.tasks.vgdl.views.observer import AVATARS, STATIC, Observation, StateObservation

if TYPE_CHECKING:
    from flagfall.kernel.hosting import Briefing


_Class = TypeVar("_Class", bound=type)


def with_state_observation(agent: _Class) -> _Class:
    """Convert the first argument of `init`, `act` and `result` of a class to a `StateObservation`."""
    for name in ("init", "act", "result"):
        method = inspect.getattr_static(agent, name, None)
        if inspect.isfunction(method):
            setattr(agent, name, _converting(method))
    return agent


def _converting(method: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def converting_async(self: Any, observation: Any, *more: Any) -> Any:
            return await method(self, _state(observation), *more)

        return converting_async

    @wraps(method)
    def converting(self: Any, observation: Any, *more: Any) -> Any:
        return method(self, _state(observation), *more)

    return converting


def _state(observation: Any) -> StateObservation:
    if isinstance(observation, StateObservation):
        return observation
    return StateObservation.from_plain(observation)


TRAINING_LEVELS: Final = 3


@with_state_observation
class RandomPlayer:
    """Player that chooses actions of the avatar (or none) and levels uniformly at random."""

    def start(self, briefing: Briefing) -> None:
        """Seed the player from the match."""
        self._random = Random(briefing.seed)

    def act(self, state: StateObservation) -> str:
        """Return a random action."""
        return self._random.choice(("NIL", *state.available_actions))

    def result(self, state: StateObservation) -> int:  # noqa: ARG002 - part of the interface
        """Return a random level."""
        return self._random.randrange(TRAINING_LEVELS)


@with_state_observation
class QLearningPlayer:
    """Q-learning with linear features of the surroundings.

    A feature is an object near the avatar with its relative position, the direction of the nearest object of
    each type, or a resource of the avatar. Features mean the same on every level, so weights learned on three
    levels apply to the other two. A weight for each feature and action is learned from rewards alone: the
    change of the score in a tick, and a reward for winning or losing.

    Args:
        discount: discount factor of a tick.
        prize: reward for winning; its negative is the reward for losing.
    """

    def __init__(self, rate: float = 0.1, discount: float = 0.95, prize: float = 10.0) -> None:
        self._rate = rate
        self._discount = discount
        self._prize = prize
        self._weights: dict[tuple[Any, ...], dict[str, float]] = {}
        self._games = 0
        self._random = Random(0)
        self._last: tuple[list[tuple[Any, ...]], str] | None = None
        self._score = 0.0

    def start(self, briefing: Briefing) -> None:
        """Seed the player from the match."""
        self._random = Random(briefing.seed)

    def init(self, state: StateObservation) -> None:  # noqa: ARG002 - the first turn has the same state
        """Start a level without a last action."""
        self._begin()

    def act(self, state: StateObservation) -> str:
        """Learn from the effect of the last action; return the best action, or sometimes a random one."""
        features = list(_features(state))
        actions = ("NIL", *state.available_actions)
        values = self._values(features, actions)
        self._learn(state.game_score - self._score, max(values))
        if self._random.random() < self._exploration:
            action = self._random.choice(actions)
        else:
            best = max(values)
            action = self._random.choice([a for a, v in zip(actions, values, strict=True) if v == best])
        self._last = features, action
        self._score = state.game_score
        return action

    def result(self, state: StateObservation) -> int:
        """Learn from the outcome of a level; return the levels in turn."""
        prize = {"PLAYER_WINS": self._prize, "PLAYER_LOSES": -self._prize}.get(state.game_winner, 0.0)
        self._learn(state.game_score - self._score + prize, 0.0)
        self._begin()
        self._games += 1
        return self._games % TRAINING_LEVELS

    def _begin(self) -> None:
        self._last = None
        self._score = 0.0

    @property
    def _exploration(self) -> float:
        """Share of random actions; it decreases from game to game."""
        return max(0.05, 1.0 / (1.0 + self._games / 5.0))

    def _values(self, features: list[tuple[Any, ...]], actions: tuple[str, ...]) -> list[float]:
        known = [self._weights[feature] for feature in features if feature in self._weights]
        return [sum([weights.get(action, 0.0) for weights in known]) for action in actions]

    def _learn(self, reward: float, best_next: float) -> None:
        if self._last is None:
            return
        features, action = self._last
        surprise = reward + self._discount * best_next - self._values(features, (action,))[0]
        step = self._rate * surprise / len(features)
        for feature in features:
            weights = self._weights.setdefault(feature, {})
            weights[action] = weights.get(action, 0.0) + step


NEAR: Final = 2
"""Radius in cells of the surroundings whose objects are features."""


def _features(state: StateObservation) -> Iterator[tuple[Any, ...]]:
    """Yield the features of a state."""
    block = state.block_size
    column, row = (int(pixels) // block for pixels in state.avatar_position)
    yield ("always",)
    yield "facing", state.avatar_type, state.avatar_orientation
    for kind, amount in state.avatar_resources.items():
        yield "has", kind, min(amount, NEAR)
    grid = state.observation_grid
    for x in range(max(0, column - NEAR), min(len(grid), column + NEAR + 1)):
        for y in range(max(0, row - NEAR), min(len(grid[x]), row + NEAR + 1)):
            for thing in grid[x][y]:
                if thing.category != AVATARS:
                    yield "near", thing.itype, x - column, y - row
    for thing in _nearest(state):
        dx, dy = thing.x // block - column, thing.y // block - row
        yield "towards", thing.itype, (dx > 0) - (dx < 0), (dy > 0) - (dy < 0)


def _nearest(state: StateObservation) -> Iterator[Observation]:
    """Yield the nearest object of each type."""
    x, y = state.avatar_position
    for rows in (
        state.npc_positions,
        state.immovable_positions,
        state.movable_positions,
        state.resources_positions,
        state.portals_positions,
    ):
        for things in rows:
            if things[0].category != STATIC or len(things) <= MOST_OF_A_KIND:
                yield min(things, key=lambda thing: (thing.x - x) ** 2 + (thing.y - y) ** 2)


MOST_OF_A_KIND: Final = 20
"""The nearest object is not a feature if there are more static ones of its type, such as walls."""


PLAYERS: Final[Mapping[str, Any]] = {"random": RandomPlayer, "q-learning": QLearningPlayer}
"""Sample players by name."""
