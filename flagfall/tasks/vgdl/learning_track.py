"""The plan of GVGAI's learning track for one game, as a task scheduler: train on some levels, then validate.

1. The training levels, once each, in order.
2. Again and again the level that the agent's answer to the last result names, until the time for training is
   used up. An answer that names none of them means one of the training levels, drawn from the match's seed.
3. The validation levels in order, once or several times.

An agent may end its training by the answer `END_OF_ROUND`. What the rules leave open, and where the public
program departs from the competition's document, `TrackRules` has as a field and `docs/gvgai.md` as a row.
"""

from __future__ import annotations

__all__ = [
    "END_OF_ROUND",
    "LOST_ROUND",
    "RULES",
    "TRAINING",
    "VALIDATION",
    "Track",
    "TrackLevel",
    "TrackRules",
]

import operator
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from flagfall.errors import UsageError, suggest
from flagfall.timing.durations import MINUTE, NEVER_NS

if TYPE_CHECKING:
    from flagfall.kernel.outcomes import Outcome, StepResult
    from flagfall.kernel.roles import TaskRole

END_OF_ROUND: Final = "END_TRAINING"
"""With this answer to a result an agent gives up the rest of its training."""

LOST_ROUND: Final = "END_OVERSPENT"
"""With this answer to a result in validation an agent loses what is left of the round, by some rules."""

TRAINING: Final = "training"
VALIDATION: Final = "validation"


@attrs.frozen(kw_only=True)
class TrackRules:
    """What may differ between two tracks.

    Attributes:
        name: the preset that it was made from; it names the time control, too.
        training_ns: how long training goes on, in nanoseconds since the match began.
        games: how many games training has at most; `None` for no limit.
        training: levels that are trained on.
        validation: levels that are validated on.
        rounds: how often those are played; 0 for training alone.
        choices: levels that an agent may ask for.
        cut: the game that runs when the time is up is ended there; else it is played to its end.
        breaks_rounds: a client that declares itself too slow in validation loses the rest of that round, and
            plays the next; else it is out.
        remembers: timers and other state of the game's rules go on from one level to the next.
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
        """The rules of that name, with what replaces parts of them; `None` replaces nothing.

        Raises:
            UsageError: there are none of that name, or a number that cannot be.
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


RULES: Final[Mapping[str, TrackRules]] = MappingProxyType(
    {
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
)
"""The track by the competition's document, and by the program that was published for it in 2017."""


class TrackLevel:
    """One level at one place in the plan: the task itself, and what the plan says of it.

    Args:
        task: the level.
        level: its number.
        phase: `TRAINING` or `VALIDATION`.

    Attributes:
        play_until_ns, result_until_ns: see `flagfall.kernel.roles.TaskRole`.
    """

    def __init__(
        self, task: TaskRole, level: int, phase: Literal["training", "validation"], rules: TrackRules
    ) -> None:
        self.id = task.id
        self.players = task.players
        self.continuous = task.continuous
        self.nil_action = task.nil_action
        self.abort_action = getattr(task, "abort_action", None)
        self.level = level
        self.phase = phase
        trains = phase == TRAINING
        self.play_until_ns = rules.training_ns if trains and rules.cut else NEVER_NS
        self.result_until_ns = rules.training_ns if trains else 0
        self._task = task

    def is_legal(self, action: Any) -> bool:
        """As the task has it."""
        return self._task.is_legal(action)

    def reset(self, seed: int) -> Any:
        """Begin the level."""
        return self._task.reset(seed)

    def step(self, action: Any) -> StepResult:
        """As the task has it."""
        return self._task.step(action)

    def result(self) -> bool | None:
        """As the task has it."""
        return self._task.result()

    def metrics(self) -> dict[str, Any]:
        """Those of the task, and the place in the plan."""
        return {"phase": self.phase, "level": self.level, **self._task.metrics()}

    def picture(self) -> Any:
        """What is to be seen now, `[height, width, 3]`; `None` where the task shows no pictures."""
        render = getattr(self._task, "render", None)
        return None if render is None else render()

    def close(self) -> None:
        """Nothing: the task may stand at several places, and its track closes it."""


class Track:
    """Gives the levels of one game by the plan; see the top of this file.

    Args:
        levels: the levels by number, each a task.
        rules: the plan's numbers.

    Attributes:
        phase: where it stands, `TRAINING` or `VALIDATION`.
        current: what was given out last; `None` before the first.

    Raises:
        UsageError: the rules speak of a level that is not there.
    """

    def __init__(self, levels: Sequence[TaskRole], rules: TrackRules = RULES["gvgai-document"]) -> None:
        missing = [n for n in (*rules.training, *rules.validation, *rules.choices) if n >= len(levels)]
        if missing:
            raise UsageError(f"a track needs level {missing[0]}, and the game has {len(levels)} levels")
        self.rules = rules
        self.phase: Literal["training", "validation"] = "training"
        self.current: TrackLevel | None = None
        self._levels = tuple(levels)
        self._given: dict[tuple[str, int], TrackLevel] = {}
        self._random = Random(0)
        self._to_come = list(rules.training)
        self._answer: Any = None
        self._games = 0
        self._closed = False

    @property
    def loses_rounds(self) -> bool:
        """Return whether a client that declares itself too slow loses only the round that is played."""
        return self.rules.breaks_rounds and self.phase == "validation"

    def set_seed(self, seed: int) -> None:
        """Draw levels from this seed on."""
        self._random = Random(seed)

    def next_task(self) -> TrackLevel | None:
        """The next level of the plan; `None` when it is over."""
        if not self._to_come:
            if self.phase == "validation":
                return None
            self._to_come.append(self._chosen())
        level = self._to_come.pop(0)
        place = (self.phase, level)
        if place not in self._given:
            self._given[place] = TrackLevel(self._levels[level], level, self.phase, self.rules)
        self.current = self._given[place]
        return self.current

    def report(self, outcome: Outcome) -> None:
        """Take the agent's answer, and look at the clock."""
        self._answer = outcome.answers.get(0)
        if self.phase == "validation":
            if self.loses_rounds and isinstance(self._answer, str) and self._answer == LOST_ROUND:
                del self._to_come[: len(self._to_come) % len(self.rules.validation)]
            return
        self._games += 1
        limit = self.rules.games
        if (
            _is_end(self._answer)
            or outcome.at_ns >= self.rules.training_ns
            or (limit is not None and self._games >= limit)
        ):
            self.phase = "validation"
            self._to_come = [*self.rules.validation] * self.rules.rounds

    def close(self) -> None:
        """Close every level, once."""
        if not self._closed:
            self._closed = True
            for task in (*self._given.values(), *self._levels):
                task.close()

    def _chosen(self) -> int:
        """The level that the agent asked for, or any training level."""
        with suppress(TypeError):
            level = operator.index(self._answer)
            if level in self.rules.choices and not isinstance(self._answer, bool):
                return level
        return self._random.choice(self.rules.training)


def _is_end(answer: Any) -> bool:
    return isinstance(answer, str) and answer == END_OF_ROUND
