"""Observer of a match: a sink that builds the match's record from its events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, Literal

import attrs

from flagfall.events import (
    LATE_VERDICTS,
    MAX_WHOLE,
    ON_TIME,
    Event,
    ReplyDropped,
    SeatDisqualified,
    StallSeen,
    TaskEnded,
    TurnPlayed,
    TurnsPlayed,
)
from flagfall.kernel.outcomes import MatchResult, SeatStats
from flagfall.recording.match_result import ResultReader
from flagfall.tasks.vgdl.learning_track import TRAINING
from flagfall.texts import one_line
from flagfall.timing import Budget, TimeControl
from flagfall.timing.durations import MS, NEVER_NS
from flagfall.tournament.records import (
    TIME_LOSSES,
    MatchRecord,
    MatchSpec,
    SeatRecord,
    TimeHistogram,
    seat_scores,
)

NEAR_NS: Final = 5_000_000
"""A stall that ends at most this long before a turn begins, or begins at most this long after it ends,
coincides with it: a machine that did not schedule this program did not schedule the agent either, give or
take a few time slices."""

KEPT: Final = 64
"""Most late turns and stalls that are kept to find those that coincide, which follow each other closely."""

MAX_DETAIL_CHARS: Final = 400
"""Longest detail of a disqualification in a record; the journal has all of it."""

_COUNTERS: Final = tuple(
    field.name for field in attrs.fields(SeatStats) if hasattr(attrs.fields(SeatRecord), field.name)
)
"""Counters of the kernel's statistics of a seat, which a `SeatRecord` has under the same names."""

_counted: Final = attrgetter(*_COUNTERS)

_OF_TURNS: Final = tuple(name for name in _COUNTERS if name not in {"reward", "skipped", "start_ns"})
"""Those of them that a journal has turn by turn, so that the turns of an opening can be left out."""

"""Verdicts of late turns; who is disqualified for being late has an event of its own."""


@attrs.frozen
class _Instance:
    """A task instance that has ended; its score and ticks come from its metrics, if it reports any."""

    solved: bool
    score: float
    ticks: int
    training: bool

    @classmethod
    def of(cls, event: TaskEnded) -> _Instance:
        score, ticks = event.metrics.get("score", 0.0), event.metrics.get("ticks", 0)
        return cls(
            solved=event.result is True,
            score=float(score)
            if isinstance(score, int | float) and -MAX_WHOLE <= score <= MAX_WHOLE
            else 0.0,
            ticks=ticks if isinstance(ticks, int) and 0 <= ticks <= MAX_WHOLE else 0,
            training=event.metrics.get("phase") == TRAINING,
        )


@attrs.define(eq=False)
class _Late:
    """A late turn or a disqualification by the clock.

    Attributes:
        turn: the number of the turn; `None` for a disqualification.
        over_ns: by how much the agent was late, as far as it is known.
        lost_ns: the sum of the stalls that coincide with the turn.
        is_open: the agent was not heard of since, so it may be later still.
    """

    what: str
    seat: int
    turn: int | None
    began_ns: int
    ended_ns: int
    over_ns: int = 0
    lost_ns: int = 0
    is_open: bool = True

    def add_stall(self, began_ns: int, ended_ns: int) -> None:
        """Count a stall if it coincides with the turn."""
        if began_ns <= self.ended_ns + NEAR_NS and self.began_ns <= ended_ns + NEAR_NS:
            self.lost_ns += ended_ns - began_ns

    def close(self, heard_ns: int) -> None:
        """Note that the agent has answered, or what came of it, at this time."""
        if self.is_open:
            self.is_open = False
            self.over_ns += max(0, heard_ns - self.ended_ns)

    def explain(self) -> str:
        """Return how stalls account for the lateness; nothing if they do not."""
        if not self.over_ns <= self.lost_ns > 0:
            return ""
        return f"{self.what} while the host stalled for {self.lost_ns / MS:.1f} ms"


class MatchObserver:
    """Sink for one match; it also takes batches of plain turns.

    Args:
        first_turn: the first one that the agents of the match play. Of the turns of an opening, which others
            played, only rewards and tasks count.
    """

    def __init__(self, seats: int, control: TimeControl, first_turn: int = 0) -> None:
        self.stalls: int = 0
        self._stalled: str = ""
        self._think = [TimeHistogram() for _ in range(seats)]
        self._budgets = [Budget(control) for _ in range(seats)]
        self._over_ns = [0] * seats
        self._seen_ns = [0] * seats
        self._instances: list[_Instance] = []
        self._lates: deque[_Late] = deque(maxlen=KEPT)
        self._stalls: deque[tuple[int, int]] = deque(maxlen=KEPT)
        self._first_turn = first_turn
        self._began_ns = NEVER_NS if first_turn else 0
        self._own = ResultReader()
        """What the agents of the match have done, if it goes on from an opening."""

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if self._first_turn:
            if self._is_of_opening(event):
                return
            self._own(event)
        if isinstance(event, TurnPlayed):
            self._take_turn(event)
        elif isinstance(event, StallSeen):
            self._take_stall(event)
        elif isinstance(event, ReplyDropped):
            self._close_lates(event.seat, event.at_ns, event.turn)
        elif isinstance(event, SeatDisqualified):
            self._close_lates(event.seat, event.at_ns)
            if event.reason in TIME_LOSSES:
                what, began_ns = f"seat {event.seat} disqualified (late)", self._seen_ns[event.seat]
                self._take_late(_Late(what, event.seat, None, began_ns, event.at_ns, is_open=False))
        elif isinstance(event, TaskEnded) and event.ended != "cut":
            self._instances.append(_Instance.of(event))

    def _is_of_opening(self, event: Event) -> bool:
        """Return whether only rewards and tasks of an event count; charge the time of an opening's turns."""
        if isinstance(event, TurnPlayed) and event.turn < self._first_turn:
            self._budgets[event.seat].charge("act", event.spent_ns)
            if event.turn == self._first_turn - 1:
                self._began_ns = event.at_ns
            return True
        return isinstance(event, ReplyDropped | StallSeen) and event.at_ns <= self._began_ns

    def write_batch(self, turns: TurnsPlayed) -> None:
        """Take plain turns, those of a single seat that was on time."""
        ended_ns = turns.at_ns[0] + sum(turns.at_ns[1:])
        if not self._budgets[0].flat:
            for spent_ns in turns.spent_ns:
                self._budgets[0].charge("act", spent_ns)
        if turns.turn < self._first_turn:
            self._began_ns = ended_ns
            return
        if self._first_turn:
            self._own.take_turns(turns)
        self._close_lates(0, turns.at_ns[0] - turns.spent_ns[0])
        self._think[0].add_all(turns.spent_ns)
        self._seen_ns[0] = ended_ns

    def set_flush(self, hand_over: Callable[[], None]) -> None:
        """Take the function that flushes a batch."""

    def _charge(self, seat: int, spent_ns: int) -> None:
        self._think[seat].add(spent_ns)
        if not self._budgets[seat].flat:
            self._budgets[seat].charge("act", spent_ns)

    @property
    def stalled(self) -> str:
        """The first late turn, or disqualification by the clock, for which stalls account; empty if none."""
        return self._stalled or next(filter(None, (late.explain() for late in self._lates)), "")

    def _take_turn(self, turn: TurnPlayed) -> None:
        began_ns = turn.at_ns - turn.spent_ns - turn.credit_ns
        if turn.verdict in LATE_VERDICTS:
            over_ns = max(0, turn.spent_ns - self._budgets[turn.seat].limit("act"))
            self._over_ns[turn.seat] += over_ns
            what = f"seat {turn.seat} was late in turn {turn.turn}"
            self._take_late(_Late(what, turn.seat, turn.turn, began_ns, turn.at_ns, over_ns))
        elif turn.verdict == ON_TIME:
            self._close_lates(turn.seat, began_ns)
        if turn.verdict != "absent":
            self._charge(turn.seat, turn.spent_ns)
        self._seen_ns[turn.seat] = turn.at_ns

    def _take_late(self, late: _Late) -> None:
        for began_ns, ended_ns in self._stalls:
            late.add_stall(began_ns, ended_ns)
        if len(self._lates) == KEPT:
            self._lates[0].close(late.ended_ns)
            self._stalled = self._stalled or self._lates[0].explain()
        self._lates.append(late)

    def _close_lates(self, seat: int, heard_ns: int, turn: int | None = None) -> None:
        """Note that the agent of a seat was heard: for one of its late turns, or by default for all."""
        for late in self._lates:
            if late.seat == seat and turn in {None, late.turn}:
                late.close(heard_ns)

    def _take_stall(self, stall: StallSeen) -> None:
        if stall.seat is not None:  # caused by an agent; the other seats were credited
            return
        self.stalls += 1
        began_ns = stall.at_ns - stall.lost_ns
        self._stalls.append((began_ns, stall.at_ns))
        for late in self._lates:
            late.add_stall(began_ns, stall.at_ns)

    def record(
        self,
        spec: MatchSpec,
        attempt: int,
        result: MatchResult,
        *,
        measure: Literal["result", "reward"],
        last: int | None,
    ) -> MatchRecord:
        """Return the record of the match after its end.

        Args:
            last: number of task instances that count, from the end; `None` for all.
        """
        for seat in range(len(result.seats)):  # an agent that was not heard of since was late to the end
            self._close_lates(seat, result.elapsed_ns)
        counted = self._instances
        if last is not None:
            counted = [instance for instance in counted if not instance.training][-last:]
        solved = sum(instance.solved for instance in counted)
        rewards = [float(seat.stats.reward) for seat in result.seats]
        disqualified = [seat.lost_by for seat in result.seats]
        scores = seat_scores(measure, rewards, disqualified, solved=solved, tasks=len(counted))
        return MatchRecord(
            id=spec.id,
            attempt=attempt,
            reason=result.reason,
            seats=self._seats(spec.entrants, scores, result),
            solved=solved,
            tasks=len(counted),
            turns=result.turns,
            elapsed_ns=max(0, result.elapsed_ns - self._began_ns),
            stalls=self.stalls,
            game_score=sum(instance.score for instance in counted),
            ticks=sum(instance.ticks for instance in counted),
        )

    def _seats(
        self, agents: Sequence[str], scores: Sequence[float], result: MatchResult
    ) -> tuple[SeatRecord, ...]:
        return tuple(
            SeatRecord(
                agent=agent,
                score=score,
                fell=report.lost_by,
                detail="" if report.lost_by is None else one_line(report.detail, MAX_DETAIL_CHARS),
                think_p50_ns=think.quantile_ns(0.5),
                think_p99_ns=think.quantile_ns(0.99),
                over_ns=over_ns,
                thinking=think.pairs(),
                **self._counters(seat, report.stats),
            )
            for seat, (agent, score, report, think, over_ns) in enumerate(
                zip(agents, scores, result.seats, self._think, self._over_ns, strict=True)
            )
        )

    def _counters(self, seat: int, stats: SeatStats) -> dict[str, Any]:
        counters = dict(zip(_COUNTERS, _counted(stats), strict=True))
        if self._first_turn:
            own, _ = self._own.seats[seat]
            counters |= {name: getattr(own, name) for name in _OF_TURNS}
        return counters
