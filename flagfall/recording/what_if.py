"""A recorded match under another time control: which verdicts would have been others.

The recorded times are judged by the arithmetic of the match (`Budget`, `verdict_of`). Up to the first verdict
that is another one, the match would have been the same; from then on agents would have seen something else,
so nothing is known. Nor is it where a limit lies beyond what a record shows: for how long an agent thought
after a late verdict is known only if its answer came later, or if it was disqualified for that.

Rule 1: the durations of `init` and `result` are in no journal. A seat that was late there is late under a
    limit that is not longer, and unknown under a longer one; one that was not is taken to be in time.
Rule 2: at real-time pace the tick ends a turn, and is part of the match, not of the time control. Only the
    hard limit and a total are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import attrs
import numpy as np

from flagfall.errors import UsageError
from flagfall.events import ON_TIME, Verdict
from flagfall.recording.seat_times import LATE, OUT, PUNCTUAL, VERDICTS, MatchTimes, SeatTimes
from flagfall.recording.turn_limits import LimitsOfTurns
from flagfall.timing import NEVER_NS, Budget, TimeControl
from flagfall.timing.budget import Limits, Reading, is_late, verdict_of
from flagfall.timing.control import Phase
from flagfall.timing.stalls import GRACE_NS

Judged: TypeAlias = Verdict | Literal["unknown"]

_PUNCTUAL: Final = list(PUNCTUAL)


@attrs.frozen(kw_only=True)
class SeatVerdicts:
    """One seat of a recorded match under a time control.

    Attributes:
        turns: turns in which it was asked.
        recorded_late: of these, turns that were late in the match, or in which the clock disqualified it.
        late: the same under the time control, up to the first verdict that is another one, with this one.
        first_late: number of the first turn that is late under it; `None` if none is known to be.
        changed: number of the first turn whose verdict is another one or unknown; `None` if there is none.
        row: place of that turn among those of this seat.
        before: its recorded verdict.
        after: its verdict under the time control.
        out: where the clock disqualifies it: a phase, or `turn 12`; empty if it does not, as far as is known.
        bank_out: number of the first turn after which nothing was left in the bank; `None` if there is none.
        unexplained: turns whose recorded verdict does not follow from their recorded time: those that were
            granted the grace period of a host that stalled. Others show that a record was changed.
    """

    agent: str
    turns: int
    recorded_late: int
    late: int
    first_late: int | None = None
    changed: int | None = None
    row: int | None = None
    before: Verdict | None = None
    after: Judged | None = None
    out: str = ""
    bank_out: int | None = None
    unexplained: int = 0


@attrs.frozen(kw_only=True)
class MatchVerdicts:
    """A recorded match under a time control.

    Attributes:
        control: its text form.
        seats: in the order of the match.
        changed: the first turn whose verdict is another one or unknown, of any seat; -1 for the start of an
            agent. What follows is unknown. `None`: the match would have been as it was.
    """

    control: str
    seats: tuple[SeatVerdicts, ...]
    changed: int | None


def judge_match(times: MatchTimes, control: TimeControl) -> MatchVerdicts:
    """Judge a recorded match under a time control.

    Args:
        control: may be that of the match: then every verdict is as it was recorded.

    Raises:
        UsageError: it counts another kind of time than the match did.
    """
    check_clock(times, control)
    seats = tuple(_Judge(times, seat, control).judge() for seat in range(len(times.seats)))
    changes = [seat.changed for seat in seats if seat.changed is not None]
    return MatchVerdicts(control=str(control), seats=seats, changed=min(changes, default=None))


def check_clock(times: MatchTimes, control: TimeControl) -> None:
    """Raise `UsageError` if a time control counts another kind of time than a match did."""
    if control.clock != times.control.clock:
        names = {"cpu": "CPU time (clock=cpu)", "wall": "time on the wall clock"}
        raise UsageError(
            f"the match was judged by {names[times.control.clock]}, and {control} counts"
            f" {names[control.clock]}: its times say nothing about that; write clock={times.control.clock}"
        )


class _Span(NamedTuple):
    """What is known of the time for which a seat was busy with a turn, and with an older one before.

    Attributes:
        low_ns: it was busy for so long after the turn had begun, at least.
        high_ns: and for so long at most; `NEVER_NS` if that is not known.
        older_low_ns: for how long it had been busy with an older turn then, at least.
        older_high_ns: and at most.
    """

    low_ns: int
    high_ns: int
    older_low_ns: int = 0
    older_high_ns: int = 0


class _Judge:
    """Judges one seat."""

    def __init__(self, times: MatchTimes, seat: int, control: TimeControl) -> None:
        self._match, self._number, self._control = times, seat, control
        self._times: SeatTimes = times.seats[seat]
        self._recorded = LimitsOfTurns(times.header)
        self._asked = LimitsOfTurns(times.header, control)
        self._abortable = times.is_abortable
        self._paced = times.header.tick_ns is not None
        # The turn with which the seat is busy: when its clock began, and until when, `None` if not known.
        self._busy_from: int | None = None
        self._busy_until: int | None = None
        # By how much later a turn is posted than in the match, while the seat is busy: its limit was another.
        self._offset_ns = 0
        self._unexplained = 0
        self._late = 0
        self._first_late: int | None = None
        self._bank_out: int | None = None

    def judge(self) -> SeatVerdicts:
        """Judge all turns up to the first whose verdict is another one, and the phases around them."""
        if (start := self._start()) is not None:
            return self._result(-1, None, None, start, "start" if start == "disqualified" else "")
        for row in self._rows():
            verdict, before = self._turn(row), VERDICTS[self._times.verdict[row]]
            if verdict in {"late", "overrun", "disqualified"} and self._is_of_clock(verdict, before):
                self._late += 1
                if self._first_late is None:
                    self._first_late = self._times.turn[row]
            if verdict != before:
                out = f"turn {self._times.turn[row]}" if verdict == "disqualified" else ""
                return self._result(self._times.turn[row], row, before, verdict, out)
        return self._end()

    def _is_of_clock(self, verdict: Judged, before: Verdict) -> bool:
        """Return whether it was the clock that disqualified the seat in a turn."""
        return verdict != "disqualified" or verdict != before or self._times.is_out_by_clock

    def _result(
        self,
        changed: int | None,
        row: int | None,
        before: Verdict | None,
        after: Judged | None,
        out: str = "",
    ) -> SeatVerdicts:
        times = self._times
        codes = np.frombuffer(times.verdict, np.uint8)
        late = int(np.isin(codes, list(LATE)).sum())
        late += times.is_out_by_clock and bool(len(codes)) and times.verdict[-1] == OUT
        return SeatVerdicts(
            agent=times.agent,
            turns=len(times),
            recorded_late=late,
            late=self._late,
            first_late=self._first_late,
            changed=changed,
            row=row,
            before=before,
            after=after,
            out=out,
            bank_out=self._bank_out,
            unexplained=self._unexplained,
        )

    # The phases around the turns.

    def _start(self) -> Judged | None:
        """Return the verdict on the start, if it is another one than in the match, and charge it."""
        times = self._times
        recorded, asked = (Budget(one).limit("start") for one in (self._match.control, self._control))
        if times.ready_ns is None:
            return "unknown" if times.is_out_by_clock and asked > recorded else None
        if is_late(times.ready_ns, asked) and not is_late(times.ready_ns, recorded):
            return "disqualified"
        for limits in (self._recorded, self._asked):
            limits.charge_start(self._number, times.ready_ns)
        return None

    def _end(self) -> SeatVerdicts:
        """Judge a disqualification outside of turns: between them, or in `start`, `init` or `result`."""
        times = self._times
        if not times.is_out_by_clock:
            return self._result(None, None, None, None)
        if len(times) and times.verdict[-1] == OUT:
            return self._result(None, None, None, None, f"turn {times.turn[-1]}")
        is_busy = bool(len(times)) and times.verdict[-1] in LATE
        phases: tuple[Phase, ...] = (
            ("act",) if is_busy else ("init", "result") if times.ready_ns is not None else ("start",)
        )
        limits = [
            [Budget(control).hard_limit(phase) for phase in phases]
            for control in (self._match.control, self._control)
        ]
        if any(asked > recorded for recorded, asked in zip(*limits, strict=True)):
            return self._result((times.turn[-1] if len(times) else -1) + 1, len(times), None, "unknown")
        return self._result(None, None, None, None, "a late turn" if is_busy else " or ".join(phases))

    # The turns.

    def _rows(self) -> Iterator[int]:
        """Yield the rows that have to be looked at: all where a budget is charged, else the late ones."""
        times = self._times
        if self._recorded.flat is None or self._asked.flat is None:
            yield from range(len(times))
            return
        limits = [of.judged_by(self._number) for of in (self._recorded, self._asked)]
        least_ns = min(min(of.soft_ns, of.hard_ns) for of in limits)
        codes, spent = np.frombuffer(times.verdict, np.uint8), np.frombuffer(times.spent_ns, np.int64)
        seen = (spent >= least_ns) | ~np.isin(codes, _PUNCTUAL)
        seen[1:] |= seen[:-1].copy()  # a late turn reaches into the next one
        yield from np.flatnonzero(seen).tolist()

    def _turn(self, row: int) -> Judged:
        """Return the verdict on a turn under the time control, and charge it."""
        times, number = self._times, self._number
        before, after = self._recorded.judged_by(number), self._asked.judged_by(number)
        code, spent_ns = times.verdict[row], times.spent_ns[row]
        if code == OUT:
            verdict, charged_ns = self._disqualified(row, before, after), 0
        elif code in PUNCTUAL:
            verdict, charged_ns = self._punctual(row, before, after), spent_ns
        else:
            span = self._span(row, before)
            verdict = self._late_turn(VERDICTS[code], span, before, after)
            charged_ns = spent_ns
            if (before.soft_ns, before.abort_ns) != (after.soft_ns, after.abort_ns) and not self._paced:
                open_ns = span.low_ns if after.abort_ns < NEVER_NS else 0
                charged_ns = max(after.soft_ns, min(open_ns, after.abort_ns))
            self._offset_ns += charged_ns - spent_ns
        self._recorded.charge(number, spent_ns)
        bank_ns = self._asked.charge(number, charged_ns).bank_ns
        if bank_ns is not None and self._bank_out is None and bank_ns <= (self._control.increment or 0):
            self._bank_out = times.turn[row]
        return verdict

    def _punctual(self, row: int, before: Limits, after: Limits) -> Judged:
        """Judge an answer that came in time."""
        spent_ns, code = self._times.spent_ns[row], self._times.verdict[row]
        grace_ns = 0
        if verdict_of(Reading(spent_ns, 0, spent_ns), before, abortable=True) != ON_TIME:
            self._unexplained += 1
            grace_ns = max(GRACE_NS, spent_ns - min(before.soft_ns, before.busy_ns) + 1)
        # While it was busy before, its clock began when the turn was posted.
        moved = spent_ns - self._offset_ns if self._busy_from is not None else spent_ns
        self._busy_from, self._busy_until, self._offset_ns = None, None, 0
        spans = {max(0, ns) for ns in (spent_ns, moved)}
        found = {verdict_of(Reading(ns, 0, ns, grace_ns), after, abortable=self._abortable) for ns in spans}
        if len(found) > 1:
            return "unknown"
        (verdict,) = found
        return VERDICTS[code] if verdict == ON_TIME else verdict

    def _late_turn(self, recorded: Verdict, span: _Span, before: Limits, after: Limits) -> Judged:
        """Judge a turn that was late, or in which the clock disqualified the seat."""
        found: set[Judged] = set()
        judged_ns = _judged_ns(after)
        ends = (span.low_ns, span.older_low_ns), (span.high_ns, span.older_high_ns)
        for used_ns, older_ns in ends:
            spent_ns = min(used_ns, judged_ns)
            busy_ns = spent_ns + older_ns
            if recorded != "disqualified" and before.busy_ns < NEVER_NS:
                busy_ns = min(busy_ns, max(spent_ns, before.busy_ns - 1))
            verdict = verdict_of(Reading(spent_ns, 0, busy_ns), after, abortable=self._abortable)
            found.add("late" if self._paced and verdict == ON_TIME else verdict)
        return found.pop() if len(found) == 1 else "unknown"

    def _span(self, row: int, before: Limits) -> _Span:
        """Return for how long the seat was busy at a late turn."""
        times = self._times
        began_ns, ended_ns, spent_ns = times.began_ns(row), times.ended_ns[row], times.spent_ns[row]
        if self._busy_from is None or (self._busy_until is not None and self._busy_until <= began_ns):
            self._busy_from, self._busy_until = began_ns, self._until(row, before)
        if self._paced:
            return _Span(0, max(0, min(ended_ns - self._busy_from, before.busy_ns - 1)))
        least_ns = before.soft_ns if VERDICTS[times.verdict[row]] == "late" else before.abort_ns
        self._unexplained += spent_ns < least_ns
        low_ns, offset_ns = max(spent_ns, least_ns), self._offset_ns
        older_ns = max(0, began_ns + offset_ns - self._busy_from)
        if self._busy_until is not None and self._busy_until >= ended_ns:
            busy_ns = max(low_ns, self._busy_until - began_ns) - offset_ns
            return _Span(busy_ns, busy_ns, older_ns, older_ns)
        if before.soft_ns <= spent_ns < before.abort_ns < NEVER_NS:  # it stayed open up to its answer
            return _Span(spent_ns - offset_ns, spent_ns - offset_ns)
        high_ns = max(low_ns, before.busy_ns - 1)
        return _Span(low_ns - max(0, offset_ns), high_ns - min(0, offset_ns), 0, older_ns)

    def _last_span(self, row: int, before: Limits) -> _Span:
        """Return for how long the seat was busy at the turn in which the clock disqualified it."""
        limit_ns, judged_ns = min(before.busy_ns, before.hard_ns), _judged_ns(before)
        if self._busy_from is None or limit_ns <= judged_ns:
            return _Span(min(limit_ns, judged_ns), NEVER_NS)
        before_ns = self._times.ended_ns[row - 1] - self._busy_from
        older_ns = max(before_ns, limit_ns - judged_ns)
        offset_ns = self._offset_ns
        older_ns, left_ns = max(0, older_ns + offset_ns), max(0, limit_ns - older_ns - offset_ns)
        return _Span(left_ns, NEVER_NS, older_ns, older_ns)

    def _until(self, row: int, before: Limits) -> int | None:
        """Return until when the seat was busy with a late turn, `None` if that is not known."""
        times = self._times
        if self._paced or self._control.clock == "cpu":
            return None
        until_ns = times.answered_ns.get(times.turn[row])
        return times.busy_until_out(row, before.busy_ns) if until_ns is None else until_ns

    def _disqualified(self, row: int, before: Limits, after: Limits) -> Judged:
        """Judge the turn in which the seat was disqualified."""
        times = self._times
        if times.is_out_by_clock:
            return self._late_turn("disqualified", self._last_span(row, before), before, after)
        since_ns = times.ended_ns[row - 1] if row else 0
        high_ns = max(0, min(times.ended_ns[row] - since_ns, _judged_ns(before) - 1, before.busy_ns - 1))
        in_time = verdict_of(Reading(high_ns, 0, high_ns), after, abortable=self._abortable) == ON_TIME
        return "disqualified" if in_time else "unknown"


def _judged_ns(limits: Limits) -> int:
    """Return the time after which an open turn is judged at the latest."""
    return limits.soft_ns if limits.abort_ns >= NEVER_NS else max(limits.soft_ns, limits.abort_ns)


def known_turns(verdicts: MatchVerdicts, seats: Sequence[SeatTimes]) -> int:
    """Return the number of turns of all seats before the first verdict that is another one."""
    if verdicts.changed is None:
        return sum(map(len, seats))
    return sum(int(np.searchsorted(np.frombuffer(seat.turn, np.int64), verdicts.changed)) for seat in seats)
