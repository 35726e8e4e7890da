"""What a track comes to: wins, scores and ticks by phase and level, the curve of the training, and time used.

A sink that takes events from a match or from its journal, so both give the same figures.
"""

from __future__ import annotations

__all__ = ["GameFigures", "LevelFigures", "PhaseFigures", "TrackFigures", "TrackSink"]

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from flagfall.events import Event, SeatFell, TaskEnded, TaskStarted, TurnPlayed

if TYPE_CHECKING:
    from collections.abc import Mapping

WON = 1
LOST = 0


@attrs.frozen
class GameFigures:
    """One game that was played: a point of the training curve.

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
class LevelFigures:
    """All games of one level in one phase, summed up.

    Attributes:
        games: that were played.
        wins, losses: of these; the rest had no winner.
        score, best: the mean score and the best.
        ticks: the mean number of the last tick.
    """

    phase: str
    level: int
    games: int
    wins: int
    losses: int
    score: float
    best: float
    ticks: float


@attrs.frozen
class PhaseFigures:
    """One phase.

    Attributes:
        elapsed_ns: on the clock of the match.
        think_ns: what turns were charged.
        late, illegal: turns.
    """

    phase: str
    games: int
    wins: int
    score: float
    ticks: float
    turns: int
    elapsed_ns: int
    think_ns: int
    late: int
    illegal: int


@attrs.frozen
class TrackFigures:
    """A whole track.

    Attributes:
        games: in the order in which they were played; one that was cut by the end of the match is left out.
        disqualified: why the seat fell; empty where it did not.
        detail: what to show the agent's author of that.
    """

    games: tuple[GameFigures, ...]
    disqualified: str = ""
    detail: str = ""

    def of(self, phase: str) -> tuple[GameFigures, ...]:
        """The games of one phase."""
        return tuple(game for game in self.games if game.phase == phase)

    @property
    def levels(self) -> list[LevelFigures]:
        """By phase and level, in the order in which they first came."""
        groups: dict[tuple[str, int], list[GameFigures]] = {}
        for game in self.games:
            groups.setdefault((game.phase, game.level), []).append(game)
        return [_level(phase, level, games) for (phase, level), games in groups.items()]

    @property
    def phases(self) -> list[PhaseFigures]:
        """By phase."""
        return [_phase(phase, self.of(phase)) for phase in dict.fromkeys(game.phase for game in self.games)]

    def as_data(self) -> dict[str, Any]:
        """All of it in plain numbers and words."""
        return {
            "disqualified": self.disqualified,
            "detail": self.detail,
            "phases": [attrs.asdict(phase) for phase in self.phases],
            "levels": [attrs.asdict(level) for level in self.levels],
            "games": [attrs.asdict(game) for game in self.games],
        }


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _level(phase: str, level: int, games: list[GameFigures]) -> LevelFigures:
    return LevelFigures(
        phase=phase,
        level=level,
        games=len(games),
        wins=sum(game.won for game in games),
        losses=sum(game.winner == LOST for game in games),
        score=_mean(game.score for game in games),
        best=max(game.score for game in games),
        ticks=_mean(game.ticks for game in games),
    )


def _phase(phase: str, games: tuple[GameFigures, ...]) -> PhaseFigures:
    return PhaseFigures(
        phase=phase,
        games=len(games),
        wins=sum(game.won for game in games),
        score=_mean(game.score for game in games),
        ticks=_mean(game.ticks for game in games),
        turns=sum(game.turns for game in games),
        elapsed_ns=sum(game.elapsed_ns for game in games),
        think_ns=sum(game.think_ns for game in games),
        late=sum(game.late for game in games),
        illegal=sum(game.illegal for game in games),
    )


class TrackSink:
    """Takes the events of a match with a track, and adds up."""

    def __init__(self) -> None:
        self._games: list[GameFigures] = []
        self._fell: SeatFell | None = None
        self._begun_ns = 0
        self._clear()

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, TurnPlayed):
            self._turns += 1
            self._think_ns += event.spent_ns
            self._late += event.verdict == "late"
            self._illegal += event.verdict == "illegal"
        elif isinstance(event, TaskStarted):
            self._begun_ns = event.at_ns
            self._clear()
        elif isinstance(event, TaskEnded):
            self._end(event)
        elif isinstance(event, SeatFell):
            self._fell = event

    def plain_turn(
        self,
        at_ns: int,  # noqa: ARG002 - see `flagfall.kernel.roles.TurnSink`
        turn: int,  # noqa: ARG002
        observation: Any,  # noqa: ARG002
        reward: Any,  # noqa: ARG002
        action: Any,  # noqa: ARG002
        spent_ns: int,
    ) -> None:
        """Take a turn that was on time."""
        self._turns += 1
        self._think_ns += spent_ns

    @property
    def figures(self) -> TrackFigures:
        """What it came to so far."""
        fell = self._fell
        return TrackFigures(tuple(self._games), fell.reason if fell else "", fell.detail if fell else "")

    def _clear(self) -> None:
        self._turns = self._think_ns = self._late = self._illegal = 0

    def _end(self, event: TaskEnded) -> None:
        told: Mapping[str, Any] = event.metrics
        if event.ended == "cut" or "phase" not in told:
            return
        self._games.append(
            GameFigures(
                phase=told["phase"],
                level=told["level"],
                winner=told.get("winner", -1),
                score=told.get("score", 0.0),
                ticks=told.get("ticks", event.steps),
                ended=event.ended,
                at_ns=event.at_ns,
                elapsed_ns=event.at_ns - self._begun_ns,
                think_ns=self._think_ns,
                turns=self._turns,
                late=self._late,
                illegal=self._illegal,
            )
        )
