"""Task scheduler of GVGAI's learning track for one game: training on some levels, then validation.

1. The training levels, once each, in order.
2. Repeatedly the level that the agent's answer to the last result names, until the time for training is used
   up. For any other answer, one of the training levels is drawn with the match's seed.
3. The validation levels in order, once or several times.

An agent can end its training with the answer `END_OF_ROUND`. Points that the rules leave open, and
differences between the public program and the competition's document, are fields of `TrackRules` and rows of
`docs/gvgai.md`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Final, Literal

import attrs

from flagfall.errors import UsageError, suggest
from flagfall.kernel.outcomes import Outcome, StepResult
from flagfall.kernel.roles import RequiredTask, TaskDefaults, TaskRole, complete_task
from flagfall.timing.durations import MINUTE, NEVER_NS

END_OF_ROUND: Final = "END_TRAINING"
"""Answer to a result that ends the agent's training."""

LOST_ROUND: Final = "END_OVERSPENT"
"""Answer to a result in validation by which, under some rules, the agent loses the rest of the round."""

TRAINING: Final = "training"
VALIDATION: Final = "validation"


@attrs.frozen(kw_only=True)
class TrackRules:
    """Parameters of a track.

    Attributes:
        name: the name of its preset, and of its time control.
        training_ns: end of training, in nanoseconds since the match began.
        games: limit of games in training; `None` for no limit.
        rounds: how often the validation levels are played; 0 for training alone.
        choices: levels that an agent can choose.
        cut: the current game is cut off at the end of training; otherwise it is played to its end.
        breaks_rounds: a client that declares itself too slow in validation loses the rest of that round, and
            plays the next; otherwise it is disqualified.
        remembers: timers and other state of the game's rules are kept from one level to the next.
    """

    name: str = "gvgai-document"
    training_ns: int = 10 * MINUTE
    games: int | None = None
    training: tuple[int, ...] = (0, 1, 2)
    validation: tuple[int, ...] = (3, 4)
    rounds: int = 1
    choices: tuple[int, ...] = (0, 1, 2)
    cut: bool = True
    breaks_rounds: bool = False
    remembers: bool = False

    @classmethod
    def named(cls, name: str, **changes: Any) -> TrackRules:
        """Return the rules of a preset, with some fields replaced.

        Args:
            **changes: new values of fields; `None` keeps the preset's.

        Raises:
            UsageError: there is no such preset, or a number is invalid.
        """
        if name not in RULES:
            raise UsageError(f"unknown rules {name!r}{suggest(name, RULES)}")
        rules = attrs.evolve(
            RULES[name], **{key: value for key, value in changes.items() if value is not None}
        )
        for what, number, least in (("rounds", rules.rounds, 0), ("games", rules.games, 1)):
            if number is not None and number < least:
                raise UsageError(f"{what} {number}: write a whole number, at least {least}")
        return rules


RULES: Final[Mapping[str, TrackRules]] = {
    "gvgai-document": TrackRules(),
    "gvgai-2017": TrackRules(
        name="gvgai-2017",
        training_ns=5 * MINUTE,
        rounds=10,
        choices=(0, 1, 2, 3),
        cut=False,
        breaks_rounds=True,
        remembers=True,
    ),
}
"""Presets: the competition's document, and the program that was published for it in 2017."""


class TrackLevel(TaskDefaults):
    """One level in one phase: its task, with the limits of the phase."""

    instructions: str = (
        "A game on a grid, whose rules you are not told: learn them by playing. After some levels for "
        "training you are examined on others of the same game. Win, with the highest score."
    )

    def __init__(
        self, task: TaskRole, level: int, phase: Literal["training", "validation"], rules: TrackRules
    ) -> None:
        self.id: str = task.id
        self.players: Sequence[str] = task.players
        self.continuous: bool = task.continuous
        self.nil_action: Any = task.nil_action
        self.abort_action: Any = task.abort_action
        self.level = level
        self.phase = phase
        trains = phase == TRAINING
        self.play_until_ns: int = rules.training_ns if trains and rules.cut else NEVER_NS
        self.result_until_ns: int = rules.training_ns if trains else 0
        self._task = task

    def is_legal(self, action: Any) -> bool:
        """Return whether an action is legal."""
        return self._task.is_legal(action)

    def reset(self, seed: int) -> Any:
        """Begin the level."""
        return self._task.reset(seed)

    def step(self, action: Any) -> StepResult:
        """Play one step."""
        return self._task.step(action)

    def result(self) -> bool | None:
        """Return the result of the level's task."""
        return self._task.result()

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the level's task, with phase and level."""
        return {"phase": self.phase, "level": self.level, **self._task.metrics()}

    def describe_action(self, action: Any, player: str | None = None) -> str:
        """Return an action as the level's task does."""
        return self._task.describe_action(action, player)

    def describe_observation(self, observation: Any, player: str | None = None) -> str:
        """Return an observation as the level's task does."""
        return self._task.describe_observation(observation, player)

    def picture(self) -> Any:
        """Return the current picture, `[height, width, 3]`; `None` if the task has no pictures."""
        render = getattr(self._task, "render", None)
        return None if render is None else render()

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> Any:
        """Render the level's task.

        Raises:
            NotImplementedError: the task does not have this mode.
        """
        render = getattr(self._task, "render", None)
        if render is None:
            raise NotImplementedError(f"task {self.id} has no render mode {mode!r}")
        return render(mode, *args, **kwargs)

    def close(self) -> None:
        """Do nothing: several phases can share the task, and the track closes it."""


class Track:
    """Schedules the levels of one game; see the top of this module.

    Attributes:
        current: last scheduled level; `None` before the first.

    Raises:
        UsageError: the rules name a level that does not exist.
    """

    def __init__(self, levels: Sequence[RequiredTask], rules: TrackRules = RULES["gvgai-document"]) -> None:
        missing = [n for n in (*rules.training, *rules.validation, *rules.choices) if n >= len(levels)]
        if missing:
            raise UsageError(f"a track needs level {missing[0]}, and the game has {len(levels)} levels")
        self.rules = rules
        self.phase: Literal["training", "validation"] = "training"
        self.current: TrackLevel | None = None
        self._levels = tuple(map(complete_task, levels))
        self._level_tasks: dict[tuple[str, int], TrackLevel] = {}
        self._random = Random(0)
        self._scheduled = list(rules.training)
        self._answer: Any = None
        self._games = 0
        self._closed = False

    @property
    def loses_rounds(self) -> bool:
        """Return whether a client that declares itself too slow loses only the round that is played."""
        return self.rules.breaks_rounds and self.phase == "validation"

    def set_seed(self, seed: int) -> None:
        """Set the seed by which levels are drawn."""
        self._random = Random(seed)

    def next_task(self) -> TrackLevel | None:
        """Return the next level; `None` at the end of the track."""
        if not self._scheduled:
            if self.phase == "validation":
                return None
            self._scheduled.append(self._chosen())
        level = self._scheduled.pop(0)
        key = (self.phase, level)
        if key not in self._level_tasks:
            self._level_tasks[key] = TrackLevel(self._levels[level], level, self.phase, self.rules)
        self.current = self._level_tasks[key]
        return self.current

    def report(self, outcome: Outcome) -> None:
        """Record the agent's answer, and end training if its time is over."""
        self._answer = outcome.answers.get(0)
        if self.phase == "validation":
            if self.loses_rounds and isinstance(self._answer, str) and self._answer == LOST_ROUND:
                del self._scheduled[: len(self._scheduled) % len(self.rules.validation)]
            return
        self._games += 1
        limit = self.rules.games
        if (
            (isinstance(self._answer, str) and self._answer == END_OF_ROUND)
            or outcome.at_ns >= self.rules.training_ns
            or (limit is not None and self._games >= limit)
        ):
            self.phase = "validation"
            self._scheduled = [*self.rules.validation] * self.rules.rounds

    def close(self) -> None:
        """Close all levels; do nothing the second time."""
        if not self._closed:
            self._closed = True
            for task in (*self._level_tasks.values(), *self._levels):
                task.close()

    def _chosen(self) -> int:
        """Return the level that the agent has chosen, or a random training level."""
        with suppress(TypeError):
            level = operator.index(self._answer)
            if level in self.rules.choices and not isinstance(self._answer, bool):
                return level
        return self._random.choice(self.rules.training)
