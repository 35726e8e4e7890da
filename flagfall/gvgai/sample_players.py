"""Sample players of the learning track: one that plays anything, and one that learns from what it sees."""

from __future__ import annotations

__all__ = ["PLAYERS", "QLearningPlayer", "RandomPlayer"]

from collections.abc import Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, Final

from flagfall.gvgai.state_decorator import sees_states
from flagfall.tasks.vgdl.views.state_observation import AVATARS, STATIC, Observation, StateObservation

if TYPE_CHECKING:
    from flagfall.kernel.hosting import Briefing

TRAINING_LEVELS: Final = 3


@sees_states
class RandomPlayer:
    """Any action that the avatar has, each as likely, and now and then none; any level."""

    def start(self, briefing: Briefing) -> None:
        """Seed itself from the match."""
        self._random = Random(briefing.seed)

    def act(self, state: StateObservation) -> str:
        """Any action."""
        return self._random.choice(("NIL", *state.available_actions))

    def result(self, state: StateObservation) -> int:  # noqa: ARG002 - it does not look back
        """Any level."""
        return self._random.randrange(TRAINING_LEVELS)


@sees_states
class QLearningPlayer:
    """Q-learning on what is near: the value of an action is a sum over the things that can be seen.

    A feature is a thing beside the avatar with its place, the direction of the nearest thing of each type, or
    a resource that the avatar has. They mean the same on every level, so what is learned on three levels
    helps on the other two. A weight for each feature and action is learned from rewards alone: what a tick
    added to the score, and something for winning or losing.

    Args:
        rate: how far each tick moves the weights.
        discount: what a reward is worth one tick later.
        prize: what winning is worth, and losing costs.
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
        """Seed itself from the match."""
        self._random = Random(briefing.seed)

    def init(self, state: StateObservation) -> None:  # noqa: ARG002 - the first turn shows the same
        """A level begins: nothing has been done in it."""
        self._begin()

    def act(self, state: StateObservation) -> str:
        """Learn from what the last action led to; then the best action, or now and then any."""
        features = list(_features(state))
        actions = ("NIL", *state.available_actions)
        values = self._values(features, actions)
        self._learn(state.game_score - self._score, max(values))
        if self._random.random() < self._curiosity:
            action = self._random.choice(actions)
        else:
            best = max(values)
            action = self._random.choice([a for a, v in zip(actions, values, strict=True) if v == best])
        self._last = features, action
        self._score = state.game_score
        return action

    def result(self, state: StateObservation) -> int:
        """Learn how it ended; the levels in turn."""
        prize = {"PLAYER_WINS": self._prize, "PLAYER_LOSES": -self._prize}.get(state.game_winner, 0.0)
        self._learn(state.game_score - self._score + prize, 0.0)
        self._begin()
        self._games += 1
        return self._games % TRAINING_LEVELS

    def _begin(self) -> None:
        self._last = None
        self._score = 0.0

    @property
    def _curiosity(self) -> float:
        """The share of actions that are tried at random; it falls from game to game."""
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
"""How many cells around the avatar are looked at one by one."""


def _features(state: StateObservation) -> Iterator[tuple[Any, ...]]:
    """What can be seen, as features that mean the same on every level."""
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
    """The nearest thing of each type."""
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
"""Of things that stand around in greater numbers, such as walls, the nearest one says nothing."""


PLAYERS: Final[Mapping[str, Any]] = {"random": RandomPlayer, "q-learning": QLearningPlayer}
"""The samples by name."""
