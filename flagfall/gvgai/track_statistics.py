"""What a track comes to: wins, scores and ticks by phase and level, the curve of the training, and time used.

A sink takes events from a match or from its journal, so both give the same figures. Training may have
millions of games: they are summed up as they come, and what is kept of them one by one is bounded.
"""

from __future__ import annotations

__all__ = ["MAX_POINTS", "MAX_TRAINING_GAMES", "GameFigures", "Sums", "TrackFigures", "TrackSink"]

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.events import MAX_WHOLE, Event, SeatDisqualified, TaskEnded, TaskStarted, TurnPlayed
from flagfall.kernel.safe_values import safe_repr
from flagfall.tasks.vgdl.learning_track import TRAINING

MAX_TRAINING_GAMES: Final = 10_000
"""So many games of training are kept one by one, the first; some megabytes."""

MAX_POINTS: Final = 1_000
"""A curve has no more points; with more games each stands for two, four, eight of them."""

WON: Final = 1
LOST: Final = 0


@attrs.frozen
class GameFigures:
    """One game that was played.

    Attributes:
        phase: `training` or `validation`.
        level: its number.
        winner: 1 won, 0 lost, -1 nobody.
        score: as it stood at the end.
        ticks: the number of the last one.
        ended: see `flagfall.kernel.roles.Outcome`.
        at_ns: when it was over, since the match began.
        elapsed_ns: how long it took, with `init` and `result`.
        think_ns: what its turns were charged.
        turns: how many it had.
        late: turns for which the agent was late.
        illegal: turns answered with what is no action.
    """

    phase: str
    level: int
    winner: int
    score: float
    ticks: int
    ended: str
    at_ns: int
    elapsed_ns: int
    think_ns: int
    turns: int
    late: int
    illegal: int

    @property
    def won(self) -> bool:
        """Whether the agent won it."""
        return self.winner == WON


@attrs.frozen
class Sums:
    """Games of one phase, summed up: those of a level, all of them, or some that followed one another.

    Attributes:
        phase: theirs.
        level: theirs; `None` where there may be several.
        games: how many.
        wins, losses: of these; the rest had no winner.
        score: the sum.
        best: the best score.
        ticks, turns, elapsed_ns, think_ns, late, illegal: as in `GameFigures`, summed up.
        until_ns: when the last of them was over.
    """

    phase: str
    level: int | None
    games: int
    wins: int
    losses: int
    score: float
    best: float
    ticks: int
    turns: int
    elapsed_ns: int
    think_ns: int
    late: int
    illegal: int
    until_ns: int

    @classmethod
    def of(cls, game: GameFigures, level: int | None = None) -> Sums:
        """One game as a sum."""
        return cls(
            phase=game.phase,
            level=level,
            games=1,
            wins=int(game.won),
            losses=int(game.winner == LOST),
            score=game.score,
            best=game.score,
            ticks=game.ticks,
            turns=game.turns,
            elapsed_ns=game.elapsed_ns,
            think_ns=game.think_ns,
            late=game.late,
            illegal=game.illegal,
            until_ns=game.at_ns,
        )

    def plus(self, later: Sums) -> Sums:
        """Both together."""
        added = {name: getattr(self, name) + getattr(later, name) for name in _ADDED}
        return attrs.evolve(self, best=max(self.best, later.best), until_ns=later.until_ns, **added)

    @property
    def mean_score(self) -> float:
        """Of a game."""
        return self.score / self.games

    @property
    def mean_ticks(self) -> float:
        """Of a game."""
        return self.ticks / self.games


_ADDED: Final = (
    *("games", "wins", "losses", "score", "ticks", "turns"),
    *("elapsed_ns", "think_ns", "late", "illegal"),
)


@attrs.frozen
class TrackFigures:
    """A whole track. A game that was cut by the end of the match is left out.

    Attributes:
        games: in the order in which they were played: all of validation, and of training the first
            `MAX_TRAINING_GAMES`.
        phases: the sums of each.
        levels: the sums of each level in each phase, in the order in which they first came.
        curve: training, in its order: each point sums up equally many games, the last one perhaps fewer.
        disqualified: why the seat fell; empty where it did not.
        detail: what to show the agent's author of that.
    """

    games: tuple[GameFigures, ...] = ()
    phases: tuple[Sums, ...] = ()
    levels: tuple[Sums, ...] = ()
    curve: tuple[Sums, ...] = ()
    disqualified: str = ""
    detail: str = ""

    def of(self, phase: str) -> tuple[GameFigures, ...]:
        """The games of one phase, as far as they are kept."""
        return tuple(game for game in self.games if game.phase == phase)

    def sums(self, phase: str) -> Sums | None:
        """The sums of one phase; `None` where no game of it was played."""
        return next((sums for sums in self.phases if sums.phase == phase), None)

    def curve_in(self, parts: int) -> list[Sums]:
        """The curve in no more than so many parts of nearly as many games each."""
        count = min(parts, len(self.curve))
        bounds = [len(self.curve) * part // count for part in range(count + 1)] if count else []
        return [_together(self.curve[start:end]) for start, end in pairwise(bounds)]

    def as_data(self) -> dict[str, Any]:
        """All of it in plain numbers and words."""
        return attrs.asdict(self)


def _together(sums: tuple[Sums, ...]) -> Sums:
    total, *others = sums
    for other in others:
        total = total.plus(other)
    return total


class _Curve:
    """Sums of games that follow one another, equally many each."""

    def __init__(self) -> None:
        self.points: list[Sums] = []
        self._games = 1  # of each point

    def add(self, game: Sums) -> None:
        if self.points and self.points[-1].games < self._games:
            self.points[-1] = self.points[-1].plus(game)
            return
        if len(self.points) == MAX_POINTS:
            self._games *= 2
            halves = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [first.plus(second) for first, second in halves]
        self.points.append(game)


class TrackSink:
    """Takes the events of a match with a track, and adds up."""

    def __init__(self) -> None:
        self._games: list[GameFigures] = []
        self._trained = 0
        self._phases: dict[str, Sums] = {}
        self._levels: dict[tuple[str, int], Sums] = {}
        self._curve = _Curve()
        self._fell: SeatDisqualified | None = None
        self._begun_ns = 0
        self._clear()

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, TurnPlayed):
            self._turns += 1
            self._think_ns += event.spent_ns
            self._late += event.verdict in {"late", "overrun"}
            self._illegal += event.verdict == "illegal"
        elif isinstance(event, TaskStarted):
            self._begun_ns = event.at_ns
            self._clear()
        elif isinstance(event, TaskEnded):
            self._end(event)
        elif isinstance(event, SeatDisqualified):
            self._fell = event

    @property
    def figures(self) -> TrackFigures:
        """What it came to so far."""
        fell = self._fell
        return TrackFigures(
            games=tuple(self._games),
            phases=tuple(self._phases.values()),
            levels=tuple(self._levels.values()),
            curve=tuple(self._curve.points),
            disqualified=fell.reason if fell else "",
            detail=fell.detail if fell else "",
        )

    def _clear(self) -> None:
        self._turns = self._think_ns = self._late = self._illegal = 0

    def _end(self, event: TaskEnded) -> None:
        told: Mapping[str, Any] = event.metrics
        if event.ended == "cut" or "phase" not in told:
            return
        game = GameFigures(
            phase=_metric(event, "phase", str),
            level=_metric(event, "level", int),
            winner=_metric(event, "winner", int, -1),
            score=_metric(event, "score", (int, float), 0.0),
            ticks=_metric(event, "ticks", int, event.steps),
            ended=event.ended,
            at_ns=event.at_ns,
            elapsed_ns=event.at_ns - self._begun_ns,
            think_ns=self._think_ns,
            turns=self._turns,
            late=self._late,
            illegal=self._illegal,
        )
        alone = Sums.of(game)
        _add(self._phases, game.phase, alone)
        _add(self._levels, (game.phase, game.level), Sums.of(game, game.level))
        trains = game.phase == TRAINING
        self._trained += trains
        if trains:
            self._curve.add(alone)
        if not trains or self._trained <= MAX_TRAINING_GAMES:
            self._games.append(game)


def _metric(event: TaskEnded, name: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
    """Return a metric of a level, which a journal may have as anything.

    Raises:
        UsageError: it is none.
    """
    value: Any = event.metrics.get(name, default)
    sound = isinstance(value, kind)
    if not sound or (kind is not str and not -MAX_WHOLE <= value <= MAX_WHOLE):
        raise UsageError(
            f"task {event.index}: its metric {name} is {safe_repr(value)}, which no level of a track has"
        )
    return value


def _add(sums: dict[Any, Sums], key: Any, more: Sums) -> None:
    sums[key] = sums[key].plus(more) if key in sums else more
