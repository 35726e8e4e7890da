"""The result of a match from its events, such as those of a journal, as the match itself returned it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from flagfall.errors import UsageError
from flagfall.events import (
    LATE_VERDICTS,
    Event,
    MatchEnded,
    MatchStarted,
    Printed,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
    TurnsPlayed,
    total_reward,
)
from flagfall.kernel.notes import add_up
from flagfall.kernel.outcomes import MatchResult, Outcome, SeatReport, SeatStats, TaskStats, lost_by

CUT_OFF: Final = "cut off"
"""The reason of a result whose record ends before the match did."""

MAX_SEATS: Final = 9_999
"""Most seats of a match that is read, as of one in a plan: a journal could name millions of agents."""


@attrs.define(eq=False)
class _Seat:
    agent: str
    stats: SeatStats = attrs.Factory(SeatStats)
    disqualified: SeatDisqualified | None = None
    printed: list[Printed] = attrs.Factory(list)
    open_reward: float = 0
    """What the turns of the open task have paid; the first one pays for the task before."""


class ResultReader:
    """Sink that makes the result of a match from its events.

    It has less where events do not tell: they have the first hundred dropped replies of a seat, and none of
    the turns that it never took.

    Attributes:
        has_rewards: the rewards of the seats are known; older journals have their sum only, where there are
            several.
        fault: why the match is void; empty if it is not.
    """

    def __init__(self) -> None:
        self.has_rewards: bool = True
        self.fault: str = ""
        self._seats: Sequence[_Seat] = ()
        self._tasks: dict[str, TaskStats] = {}
        self._turns = 0
        self._reason = CUT_OFF
        self._elapsed_ns = 0
        self._first_turn = 0

    def __call__(self, event: Event) -> None:
        """Take an event.

        Raises:
            UsageError: it contradicts the events before it; no match has written it.
        """
        self._elapsed_ns = max(self._elapsed_ns, event.at_ns)
        match event:
            case TurnPlayed():
                self._take_turn(event)
            case MatchStarted():
                if len(event.agents) > MAX_SEATS:
                    raise UsageError(f"a match with {len(event.agents)} seats; {MAX_SEATS} are the most")
                self._seats = [_Seat(agent) for agent in event.agents]
            case SeatReady():
                self._seat(event.seat).stats.start_ns = event.spent_ns
            case TaskStarted():
                self._first_turn = self._turns
            case TaskEnded():
                self._take_end(event)
            case ReplyDropped():
                self._seat(event.seat).stats.dropped += 1
            case SeatDisqualified():
                seat = self._seat(event.seat)
                seat.disqualified = event
                seat.stats.late += event.reason == "late"
            case MatchEnded():
                self._take_over(event)

    def take_turns(self, turns: TurnsPlayed) -> None:
        """Take plain turns in columns; raises `UsageError` as for events."""
        seat = self._seat(0)
        stats, is_first = seat.stats, turns.turn == self._first_turn
        self._elapsed_ns = max(self._elapsed_ns, sum(turns.at_ns))
        self._turns = turns.turn + len(turns)
        stats.turns += len(turns)
        stats.think_ns += sum(turns.spent_ns)
        stats.think_max_ns = max(stats.think_max_ns, *turns.spent_ns)
        seat.open_reward += sum(turns.reward[is_first:])

    def _take_over(self, event: MatchEnded) -> None:
        self._reason, self._turns, self.fault = event.reason, event.turns, event.detail
        for part in event.printed:
            self._seat(part.seat).printed.append(part)

    @property
    def seats(self) -> Sequence[tuple[SeatStats, SeatDisqualified | None]]:
        """The statistics of each seat, without rewards of the task that runs, and its disqualification."""
        return [(seat.stats, seat.disqualified) for seat in self._seats]

    def result(self) -> MatchResult:
        """Return the result of the events so far."""
        return MatchResult(
            reason=self._reason,
            turns=self._turns,
            seats=tuple(map(self._report, self._seats)),
            tasks=tuple(self._tasks.values()),
            elapsed_ns=self._elapsed_ns,
        )

    def _report(self, seat: _Seat) -> SeatReport:
        reason = None if seat.disqualified is None else seat.disqualified.reason
        return SeatReport(
            seat.agent,
            reason,
            "" if seat.disqualified is None else seat.disqualified.detail,
            attrs.evolve(seat.stats, reward=seat.stats.reward + seat.open_reward),
            tuple(seat.printed),
            lost_by(self._reason, reason, has_missed=seat.stats.has_missed),
        )

    def _seat(self, number: int) -> _Seat:
        if not 0 <= number < len(self._seats):
            raise UsageError(f"seat {number} of a match with {len(self._seats)}")
        return self._seats[number]

    def _take_turn(self, event: TurnPlayed) -> None:
        seat = self._seat(event.seat)
        stats = seat.stats
        self._turns = event.turn + 1
        stats.turns += 1
        stats.late += event.verdict in LATE_VERDICTS
        stats.illegal += event.verdict == "illegal"
        stats.absent += event.verdict == "absent"
        stats.is_cut |= event.verdict == "disqualified"
        stats.think_ns += event.spent_ns
        stats.think_max_ns = max(stats.think_max_ns, event.spent_ns)
        stats.credit_ns += event.credit_ns
        if event.legal is not None:
            stats.illegal_note = f"turn {event.turn}: {event.refused}; legal: {event.legal}"
        if isinstance(event.note, dict):
            add_up(event.note, stats.noted)
        if event.turn > self._first_turn:
            seat.open_reward += total_reward(event.reward)

    def _take_end(self, event: TaskEnded) -> None:
        rewards = event.rewards or ([event.reward] if len(self._seats) == 1 else ())
        if rewards and len(rewards) != len(self._seats):
            raise UsageError(f"task {event.task}: {len(rewards)} rewards for {len(self._seats)} seats")
        self.has_rewards &= bool(rewards)
        for seat, paid in zip(self._seats, rewards, strict=False):
            seat.stats.add_rewards(paid, is_cut=event.ended == "cut")
        for seat in self._seats:
            seat.open_reward = 0
        values = (event.task, event.index, event.result, event.reward, event.steps, event.ended)
        self._tasks.setdefault(event.task, TaskStats(event.task)).add(Outcome(*values))  # type: ignore[arg-type]
