"""Statistics of a track: wins, scores and ticks by phase and level, the training curve, and the time used.

The sink takes events of a match or of its journal, so both give the same statistics. Training may have
millions of games: they are summed up as they come, and the number of games kept individually is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.events import (
    LATE_VERDICTS,
    MAX_WHOLE,
    Event,
    SeatDisqualified,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
)
from flagfall.kernel.safe_values import safe_repr
from flagfall.recording.journal.reader import read_journal
from flagfall.tasks.vgdl.learning_track import TRAINING

MAX_TRAINING_GAMES: Final = 10_000
"""Games of training that are kept individually, from the first one on; they take some megabytes."""

MAX_POINTS: Final = 1_000
"""Most points of a curve; with more games each point stands for two, four, eight of them."""

WON: Final = 1
LOST: Final = 0


@attrs.frozen
class GameStatistics:
    """Statistics of one game.

    Attributes:
        phase: `training` or `validation`.
        winner: 1 won, 0 lost, -1 neither.
        ticks: number of the last tick.
        ended: see `flagfall.events.TaskEnded`.
        at_ns: time of its end, since the match began.
        elapsed_ns: duration, including `init` and `result`.
        think_ns: time charged for its turns.
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
        """Return whether the agent won it."""
        return self.winner == WON


@attrs.frozen
class Sums:
    """Sums over games of one phase: those of a level, all of them, or consecutive ones.

    Attributes:
        level: level of the games; `None` if there may be several.
        wins, losses: of these; the others had no winner.
        ticks, turns, elapsed_ns, think_ns, late, illegal: sums of the fields of `GameStatistics`.
        until_ns: end of the last game, since the match began.
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
    def of(cls, game: GameStatistics, level: int | None = None) -> Sums:
        """Return the sums of a single game."""
        return cls(
            level=level,
            games=1,
            wins=int(game.won),
            losses=int(game.winner == LOST),
            best=game.score,
            until_ns=game.at_ns,
            phase=game.phase,
            **{name: getattr(game, name) for name in _OF_A_GAME},
        )

    def plus(self, later: Sums) -> Sums:
        """Return the sums of both."""
        added = {name: getattr(self, name) + getattr(later, name) for name in _ADDED}
        return attrs.evolve(self, best=max(self.best, later.best), until_ns=later.until_ns, **added)

    @property
    def mean_score(self) -> float:
        """Mean score of a game."""
        return self.score / self.games

    @property
    def mean_ticks(self) -> float:
        """Mean number of ticks of a game."""
        return self.ticks / self.games


_OF_A_GAME: Final = ("score", "ticks", "turns", "elapsed_ns", "think_ns", "late", "illegal")
_ADDED: Final = ("games", "wins", "losses", *_OF_A_GAME)


@attrs.frozen
class TrackStatistics:
    """Statistics of a track. A game that was cut by the end of the match is left out.

    Attributes:
        games: in the order of play: all games of validation, and the first `MAX_TRAINING_GAMES` of training.
        levels: sums of each level in each phase, in the order of their first game.
        curve: training in its order: each point sums up equally many games, the last one possibly fewer.
        detail: details of it for the agent's author.
    """

    games: tuple[GameStatistics, ...] = ()
    phases: tuple[Sums, ...] = ()
    levels: tuple[Sums, ...] = ()
    curve: tuple[Sums, ...] = ()
    disqualified: str = ""
    detail: str = ""

    def of(self, phase: str) -> tuple[GameStatistics, ...]:
        """Return the games of one phase, as far as they are kept."""
        return tuple(game for game in self.games if game.phase == phase)

    def sums(self, phase: str) -> Sums | None:
        """Return the sums of one phase, or `None` if no game of it was played."""
        return next((sums for sums in self.phases if sums.phase == phase), None)

    def curve_in(self, parts: int) -> list[Sums]:
        """Return the curve in parts with nearly equal numbers of games.

        Args:
            parts: most parts.
        """
        count = min(parts, len(self.curve))
        bounds = [len(self.curve) * part // count for part in range(count + 1)] if count else []
        return [reduce(Sums.plus, self.curve[start:end]) for start, end in pairwise(bounds)]

    def as_data(self) -> dict[str, Any]:
        """Return the statistics as plain data for JSON."""
        return attrs.asdict(self)


class _Curve:
    """Sums of consecutive games, equally many in each point."""

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
    """Sink that computes the statistics of a track."""

    def __init__(self) -> None:
        self._games: list[GameStatistics] = []
        self._trained = 0
        self._phases: dict[str, Sums] = {}
        self._levels: dict[tuple[str, int], Sums] = {}
        self._curve = _Curve()
        self._disqualified: SeatDisqualified | None = None
        self._begun_ns = 0
        self._clear()

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, TurnPlayed):
            self._turns += 1
            self._think_ns += event.spent_ns
            self._late += event.verdict in LATE_VERDICTS
            self._illegal += event.verdict == "illegal"
        elif isinstance(event, TaskStarted):
            self._begun_ns = event.at_ns
            self._clear()
        elif isinstance(event, TaskEnded):
            self._end(event)
        elif isinstance(event, SeatDisqualified):
            self._disqualified = event

    @property
    def statistics(self) -> TrackStatistics:
        """Statistics so far."""
        fault = self._disqualified
        return TrackStatistics(
            games=tuple(self._games),
            phases=tuple(self._phases.values()),
            levels=tuple(self._levels.values()),
            curve=tuple(self._curve.points),
            disqualified=fault.reason if fault else "",
            detail=fault.detail if fault else "",
        )

    def _clear(self) -> None:
        self._turns = self._think_ns = self._late = self._illegal = 0

    def _end(self, event: TaskEnded) -> None:
        metrics: Mapping[str, Any] = event.metrics
        if event.ended == "cut" or "phase" not in metrics:
            return
        game = GameStatistics(
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
    """Return a metric of a level; in a journal it may be any value.

    Raises:
        UsageError: the value is not a metric of a level.
    """
    value: Any = event.metrics.get(name, default)
    sound = isinstance(value, kind)
    if not sound or (kind is not str and not -MAX_WHOLE <= value <= MAX_WHOLE):
        raise UsageError(
            f"task {event.index}: its metric {name} is {safe_repr(value)}, which no level of a track reports"
        )
    return value


def _add(sums: dict[Any, Sums], key: Any, more: Sums) -> None:
    sums[key] = sums[key].plus(more) if key in sums else more


def statistics_of(journal: Path) -> TrackStatistics:
    """Return the statistics of a recorded track.

    Raises:
        DamagedJournal: it cannot be read.
    """
    sink = TrackSink()
    for event in read_journal(journal):
        sink(event)
    return sink.statistics
