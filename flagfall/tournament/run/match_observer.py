"""Observer of a match: a sink that builds the match's record from its events."""

from __future__ import annotations

__all__ = ["MatchObserver"]

from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, Literal

import attrs

from flagfall.events import MAX_WHOLE, Event, SeatDisqualified, StallSeen, TaskEnded, TurnPlayed, TurnsPlayed
from flagfall.kernel.outcomes import MatchResult, SeatStats
from flagfall.tasks.vgdl.learning_track import TRAINING
from flagfall.timing import Budget, TimeControl
from flagfall.timing.durations import MS
from flagfall.tournament.records import TIME_LOSSES, MatchRecord, MatchSpec, SeatRecord, seat_scores
from flagfall.tournament.stats.time_histogram import TimeHistogram

NEAR_NS: Final = 5_000_000
"""A stall that ends at most this long before a turn begins, or begins at most this long after it ends,
coincides with it: a machine that did not schedule this program did not schedule the agent either, give or
take a few time slices."""

KEPT: Final = 64
"""Most late turns and stalls that are kept to find those that coincide, which follow each other closely."""

_COUNTERS: Final = tuple(
    field.name for field in attrs.fields(SeatStats) if hasattr(attrs.fields(SeatRecord), field.name)
)
"""Counters of the kernel's statistics of a seat, which a `SeatRecord` has under the same names."""

_counted: Final = attrgetter(*_COUNTERS)

_LATE: Final = frozenset({"late", "overrun", "disqualified"})


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


class MatchObserver:
    """Sink for one match; it also takes batches of plain turns.

    Args:
        seats: number of seats.
        control: time control of every seat.

    Attributes:
        stalled: the first late turn or time loss that coincided with a stall of the host; empty if none did.
        stalls: number of stalls of the host so far.
    """

    def __init__(self, seats: int, control: TimeControl) -> None:
        self.stalled: str = ""
        self.stalls: int = 0
        self._think = [TimeHistogram() for _ in range(seats)]
        self._budgets = [Budget(control) for _ in range(seats)]
        self._over_ns = [0] * seats
        self._seen_ns = [0] * seats
        self._instances: list[_Instance] = []
        self._lates: deque[tuple[int, int, str]] = deque(maxlen=KEPT)
        self._stalls: deque[tuple[int, int]] = deque(maxlen=KEPT)

    def __call__(self, event: Event) -> None:
        """Take an event.

        Args:
            event: any event of the match.
        """
        if isinstance(event, TurnPlayed):
            self._take_turn(event)
        elif isinstance(event, StallSeen):
            self._take_stall(event)
        elif isinstance(event, SeatDisqualified):
            if event.reason in TIME_LOSSES:
                began_ns = self._seen_ns[event.seat]
                self._take_late(began_ns, event.at_ns, f"seat {event.seat} disqualified (late)")
        elif isinstance(event, TaskEnded) and event.ended != "cut":
            self._instances.append(_Instance.of(event))

    def write_batch(self, turns: TurnsPlayed) -> None:
        """Take plain turns, those of a single seat that was on time.

        Args:
            turns: a batch of them.
        """
        self._think[0].add_all(turns.spent_ns)
        if not self._budgets[0].flat:
            for spent_ns in turns.spent_ns:
                self._budgets[0].charge("act", spent_ns)
        self._seen_ns[0] = turns.at_ns[0] + sum(turns.at_ns[1:])

    def set_flush(self, hand_over: Callable[[], None]) -> None:
        """Take the function that flushes a batch."""

    def _charge(self, seat: int, spent_ns: int) -> None:
        self._think[seat].add(spent_ns)
        if not self._budgets[seat].flat:
            self._budgets[seat].charge("act", spent_ns)

    def _take_turn(self, turn: TurnPlayed) -> None:
        if turn.verdict in _LATE:
            began_ns = turn.at_ns - turn.spent_ns - turn.credit_ns
            self._over_ns[turn.seat] += max(0, turn.spent_ns - self._budgets[turn.seat].limit("act"))
            self._take_late(began_ns, turn.at_ns, f"seat {turn.seat} was late in turn {turn.turn}")
        if turn.verdict != "absent":
            self._charge(turn.seat, turn.spent_ns)
        self._seen_ns[turn.seat] = turn.at_ns

    def _take_late(self, began_ns: int, ended_ns: int, what: str) -> None:
        self._lates.append((began_ns, ended_ns, what))
        for stall_began_ns, stall_ended_ns in self._stalls:
            self._compare(began_ns, ended_ns, what, stall_began_ns, stall_ended_ns)

    def _take_stall(self, stall: StallSeen) -> None:
        if stall.seat is not None:  # caused by an agent; the other seats were credited
            return
        self.stalls += 1
        began_ns = stall.at_ns - stall.lost_ns
        self._stalls.append((began_ns, stall.at_ns))
        for late_began_ns, late_ended_ns, what in self._lates:
            self._compare(late_began_ns, late_ended_ns, what, began_ns, stall.at_ns)

    def _compare(
        self, began_ns: int, ended_ns: int, what: str, stall_began_ns: int, stall_ended_ns: int
    ) -> None:
        together = stall_began_ns <= ended_ns + NEAR_NS and began_ns <= stall_ended_ns + NEAR_NS
        if together and not self.stalled:
            lost_ms = (stall_ended_ns - stall_began_ns) / MS
            self.stalled = f"{what} while the host stalled for {lost_ms:.1f} ms"

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
            spec: the match.
            attempt: one-based number of the attempt.
            result: result of the kernel.
            measure: measure of the task, see `seat_scores`.
            last: number of task instances that count, from the end; `None` for all.
        """
        counted = self._instances
        if last is not None:
            counted = [instance for instance in counted if not instance.training][-last:]
        solved = sum(instance.solved for instance in counted)
        rewards = [float(seat.stats.reward) for seat in result.seats]
        fell = [seat.lost_by for seat in result.seats]
        scores = seat_scores(measure, rewards, fell, solved=solved, tasks=len(counted))
        return MatchRecord(
            id=spec.id,
            attempt=attempt,
            reason=result.reason,
            seats=self._seats(spec.entrants, scores, result),
            solved=solved,
            tasks=len(counted),
            turns=result.turns,
            elapsed_ns=result.elapsed_ns,
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
                think_p50_ns=think.quantile_ns(0.5),
                think_p99_ns=think.quantile_ns(0.99),
                over_ns=over_ns,
                thinking=think.pairs(),
                **dict(zip(_COUNTERS, _counted(report.stats), strict=True)),
            )
            for agent, score, report, think, over_ns in zip(
                agents, scores, result.seats, self._think, self._over_ns, strict=True
            )
        )
