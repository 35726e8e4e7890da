"""What a worker sees of a match: the events, and from them the record."""

from __future__ import annotations

__all__ = ["MatchWatch", "void_record"]

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal

from flagfall.events import Event, SeatDisqualified, StallSeen, TaskEnded, TurnPlayed, TurnsPlayed
from flagfall.kernel.outcomes import MatchResult
from flagfall.timing import Budget, TimeControl
from flagfall.timing.durations import format_duration
from flagfall.tournament.records import TIME_LOSSES, MatchRecord, MatchSpec, SeatRecord, seat_scores
from flagfall.tournament.stats.time_histogram import ThinkTimes

NEAR_NS: Final = 5_000_000
"""A stall that ended so long before a turn began, or began so long after, coincides with it: a machine that
passed over this program has passed over the agent as well, sooner or later by a few of its time slices."""

KEPT: Final = 64
"""So many late turns and stalls are remembered, to find those that coincide: they come close together."""

_LATE: Final = frozenset({"late", "overrun", "disqualified"})


class MatchWatch:
    """A sink for one match; it is a `flagfall.kernel.roles.BatchSink`.

    Args:
        seats: how many there are.
        control: the time control of every one.

    Attributes:
        touched: which late turn or fall coincided with a stall of the host; empty where none did.
        stalls: of the host so far.
    """

    def __init__(self, seats: int, control: TimeControl) -> None:
        self.touched = ""
        self.stalls = 0
        self._think = [ThinkTimes() for _ in range(seats)]
        self._budgets = [Budget(control) for _ in range(seats)]
        self._over_ns = [0] * seats
        self._seen_ns = [0] * seats
        self._results: list[bool | None] = []
        self._lates: deque[tuple[int, int, str]] = deque(maxlen=KEPT)
        self._stalls: deque[tuple[int, int]] = deque(maxlen=KEPT)

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, TurnPlayed):
            self._take_turn(event)
        elif isinstance(event, StallSeen):
            self._take_stall(event)
        elif isinstance(event, SeatDisqualified):
            if event.reason in TIME_LOSSES:
                began_ns = self._seen_ns[event.seat]
                self._take_late(began_ns, event.at_ns, f"seat {event.seat} fell (late)")
        elif isinstance(event, TaskEnded) and event.ended != "cut":
            self._results.append(event.result)

    def write_batch(self, turns: TurnsPlayed) -> None:
        """Take plain turns: those of the only seat, which was on time."""
        for spent_ns in turns.spent_ns:
            self._charge(0, spent_ns)
        self._seen_ns[0] = turns.at_ns[0] + sum(turns.at_ns[1:])

    def set_flush(self, hand_over: Callable[[], None]) -> None:
        """The match begins."""

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
        if stall.seat is not None:  # an agent's doing; who waited for it was credited
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
        if together and not self.touched:
            lost = format_duration(stall_ended_ns - stall_began_ns)
            self.touched = f"{what} while the host stalled for {lost}"

    def record(
        self,
        spec: MatchSpec,
        attempt: int,
        result: MatchResult,
        *,
        measure: Literal["result", "reward"],
        last: int | None,
    ) -> MatchRecord:
        """The record of the match, when it is over.

        Args:
            spec: what was played.
            attempt: the how-manieth time.
            result: what the kernel says of it.
            measure: of its task, see `seat_scores`.
            last: how many instances count, from the end; `None` for all.
        """
        counted = self._results if last is None else self._results[-last:]
        solved = sum(result is True for result in counted)
        rewards = [float(seat.stats.reward) for seat in result.seats]
        fell = [seat.disqualified for seat in result.seats]
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
        )

    def _seats(
        self, agents: Sequence[str], scores: Sequence[float], result: MatchResult
    ) -> tuple[SeatRecord, ...]:
        return tuple(
            SeatRecord(
                agent=agent,
                score=score,
                reward=float(report.stats.reward),
                fell=report.disqualified,
                turns=report.stats.turns,
                late=report.stats.late,
                illegal=report.stats.illegal,
                absent=report.stats.absent,
                dropped=report.stats.dropped,
                skipped=report.stats.skipped,
                think_ns=report.stats.think_ns,
                think_p50_ns=think.quantile_ns(0.5),
                think_p99_ns=think.quantile_ns(0.99),
                think_max_ns=report.stats.think_max_ns,
                over_ns=over_ns,
                credit_ns=report.stats.credit_ns,
                start_ns=report.stats.start_ns,
                thinking=think.pairs(),
            )
            for agent, score, report, think, over_ns in zip(
                agents, scores, result.seats, self._think, self._over_ns, strict=True
            )
        )


def void_record(spec: MatchSpec, attempt: int, why: str) -> MatchRecord:
    """The record of a match that counts for nothing.

    Args:
        spec: what was to be played.
        attempt: the how-manieth time.
        why: what made it void.
    """
    return MatchRecord(id=spec.id, attempt=attempt, status="void", why=why, reason="void")
