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
from flagfall.events import LATE_VERDICTS, ON_TIME, Verdict
from flagfall.kernel.usage import NOTHING
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
        late: the same under the time control, up to the first turn of the match with another verdict.
        first_late: number of the first turn that is late under it; `None` if none is known to be.
        changed: number of the first turn whose verdict is another one or unknown; `None` if there is none, up
            to the first such turn of any seat.
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
    _check_clock(times, control)
    seats = [_Judge(times, seat, control).judge() for seat in range(len(times.seats))]
    changed = min((seat.changed for seat in seats if seat.changed is not None), default=None)
    if changed is not None and len(seats) > 1:  # of the others, nothing is known from there on either
        seats = [_Judge(times, seat, control).judge(changed) for seat in range(len(seats))]
    return MatchVerdicts(control=str(control), seats=tuple(seats), changed=changed)


def _check_clock(times: MatchTimes, control: TimeControl) -> None:
    """Raise `UsageError` if a time control counts another kind of time than a match did."""
    if control.clock != times.control.clock:
        names = {"cpu": "CPU time (clock=cpu)", "wall": "time on the wall clock"}
        raise UsageError(
            f"the match was judged by {names[times.control.clock]}, and {control} counts"
            f" {names[control.clock]}: its times say nothing about that; write clock={times.control.clock}"
        )


class _Busy(NamedTuple):
    """What is known of the time for which a seat is busy with a turn that is late, in the match's time.

    Attributes:
        began_ns: when the clock of the turn began.
        until_ns: when the seat was back; `None` if that is not known.
        exact: it was back then; otherwise, it was disqualified then.
        before_ns: its hard limit, which counts from that turn, in the match.
        after_ns: the same under the other time control.
    """

    began_ns: int
    until_ns: int | None
    exact: bool
    before_ns: int
    after_ns: int

    def at(self, now_ns: int) -> tuple[int, int]:
        """Return for how long it was busy at a moment of the match, at least and at most."""
        if self.until_ns is None:
            return 0, max(0, min(now_ns - self.began_ns, self.before_ns - 1))
        busy_ns = min(now_ns, self.until_ns) - self.began_ns
        if self.exact:  # an answer that was read later than the hard limit had arrived before it
            busy_ns = min(busy_ns, self.before_ns - 1)
        return busy_ns, busy_ns


class _Shifted(NamedTuple):
    """A seat that is busy with a late turn, which ended at another time than in the match.

    Attributes:
        rest_ns: for how long it is still busy when the next turn is posted.
        older_ns: for how long it has been busy then.
    """

    rest_ns: int
    older_ns: int


class _Judge:
    """Judges one seat."""

    def __init__(self, times: MatchTimes, seat: int, control: TimeControl) -> None:
        self._match, self._number, self._control = times, seat, control
        self._times: SeatTimes = times.seats[seat]
        self._recorded = LimitsOfTurns(times.header)
        self._asked = LimitsOfTurns(times.header, control)
        self._paced = times.header.tick_ns is not None
        self._abortables = (times.is_abortable,) if times.is_abortable is not None else (True, False)
        self._busy: _Busy | None = None
        # Set while the seat is busy, and a late turn ended at another time; `_blind` where it is not known
        # what that means for the next one.
        self._shifted: _Shifted | None = None
        self._blind = False
        self._least_ns = NEVER_NS  # the least hard limit so far
        self._unexplained = 0
        self._late = 0
        self._first_late: int | None = None
        self._bank_out: int | None = None

    def judge(self, until: int | None = None) -> SeatVerdicts:
        """Judge all turns up to the first whose verdict is another one, and the phases around them.

        Args:
            until: number of the last turn that is judged; -1 for the start alone.
        """
        if (start := self._start()) is not None:
            return self._result(-1, after=start, out="start" if start == "disqualified" else "")
        for row in self._rows():
            if until is not None and self._times.turn[row] > until:
                return self._result()
            verdict, before = self._turn(row), VERDICTS[self._times.verdict[row]]
            if verdict in {*LATE_VERDICTS, "disqualified"} and self._is_of_clock(verdict, before):
                self._late += 1
                if self._first_late is None:
                    self._first_late = self._times.turn[row]
            if verdict != before:
                out = f"turn {self._times.turn[row]}" if verdict == "disqualified" else ""
                return self._result(self._times.turn[row], row, before, verdict, out)
        end = self._end()
        is_later = until is not None and end.changed is not None and end.changed > until
        return attrs.evolve(end, changed=None, after=None, out="") if is_later else end

    def _is_of_clock(self, verdict: Judged, before: Verdict) -> bool:
        """Return whether it was the clock that disqualified the seat in a turn."""
        return verdict != "disqualified" or verdict != before or self._times.is_out_by_clock

    def _result(
        self,
        changed: int | None = None,
        row: int | None = None,
        before: Verdict | None = None,
        after: Judged | None = None,
        out: str = "",
    ) -> SeatVerdicts:
        times = self._times
        return SeatVerdicts(
            agent=times.agent,
            turns=len(times),
            recorded_late=recorded_late(times),
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
        """Judge what came after the last turn: a disqualification between turns, or in another phase."""
        times = self._times
        turn = times.turn[-1] + 1 if len(times) else 0
        if times.is_out_by_clock and len(times) and times.verdict[-1] == OUT:
            return self._result(out=f"turn {times.turn[-1]}")
        if not times.is_out_by_clock:
            over_ns = max((seat.ended_ns[-1] - 1 for seat in self._match.seats if len(seat)), default=0)
            if times.disqualified is not None:
                over_ns = max(over_ns, times.disqualified.at_ns)
                if self._shifted is not None or self._blind:
                    return self._result(turn, after="unknown")
            verdict = self._overdue(over_ns) if self._shifted is None and not self._blind else None
            return self._result(None if verdict is None else turn, after=verdict)
        phases: tuple[Phase, ...] = ("init", "result") if times.ready_ns is not None else ("start",)
        if len(times) and (self._paced or times.verdict[-1] in LATE):
            phases = ("act", *phases) if self._paced else ("act",)
        limits = [
            [Budget(control).hard_limit(phase) for phase in phases]
            for control in (self._match.control, self._control)
        ]
        is_moved = self._shifted is not None or self._blind
        if is_moved or any(asked > recorded for recorded, asked in zip(*limits, strict=True)):
            return self._result(turn, after="unknown")
        return self._result(out=" or ".join(phases))

    # The turns.

    def _rows(self) -> Iterator[int]:
        """Yield the rows that have to be looked at: all where a budget is charged, else the late ones."""
        times = self._times
        if self._recorded.flat is None or self._asked.flat is None:
            yield from range(len(times))
            return
        limits = [of.judged_by(0, self._number) for of in (self._recorded, self._asked)]
        least_ns = min(min(of.soft_ns, of.hard_ns) for of in limits)
        codes, spent = np.frombuffer(times.verdict, np.uint8), np.frombuffer(times.spent_ns, np.int64)
        seen = (spent >= least_ns) | ~np.isin(codes, _PUNCTUAL)
        seen[1:] |= seen[:-1].copy()  # a late turn reaches into the next one
        yield from np.flatnonzero(seen).tolist()

    def _turn(self, row: int) -> Judged:
        """Return the verdict on a turn under the time control, and charge it."""
        times, number = self._times, self._number
        turn = times.turn[row]
        before, after = self._recorded.judged_by(turn, number), self._asked.judged_by(turn, number)
        code, spent_ns = times.verdict[row], times.spent_ns[row]
        self._least_ns = min(self._least_ns, after.busy_ns)
        if self._blind:
            return "unknown"
        charged_ns = spent_ns
        if self._shifted is not None:
            verdict, charged_ns = self._moved(row, self._shifted, after)
        elif (overdue := self._overdue(self._seen_until(row))) is not None:
            return overdue
        elif code == OUT:
            verdict = self._disqualified(row, before, after)
        elif code in PUNCTUAL:
            verdict = self._punctual(row, before, after)
            self._busy = None
        elif self._paced:
            verdict = self._late_tick(row, before, after)
        else:
            verdict, charged_ns = self._late_turn(row, before, after)
        used = times.usage.get(turn, NOTHING)
        self._recorded.charge(turn, number, spent_ns, used)
        bank_ns = self._asked.charge(turn, number, charged_ns, used).bank_ns
        if bank_ns is not None and self._bank_out is None and bank_ns <= (self._control.increment or 0):
            self._bank_out = turn
        return verdict

    def _verdict(
        self, limits: Limits, used: tuple[int, int], older: tuple[int, int] = (0, 0), grace_ns: int = 0
    ) -> Judged:
        """Return the verdict on a turn from the time that its answer takes, and that of an older turn.

        Args:
            used: from the turn's begin to its answer, at least and at most.
            older: for how long the seat had been busy before, at least and at most.
        """
        judged_ns = _judged_ns(limits) + grace_ns
        found: set[Judged] = {
            verdict_of(Reading(spent_ns, 0, older[end] + spent_ns, grace_ns), limits, abortable=abortable)
            for abortable in self._abortables
            for end in (0, 1)
            for spent_ns in [min(used[end], judged_ns)]
        }
        return found.pop() if len(found) == 1 else "unknown"

    def _seen_until(self, row: int) -> int:
        """Return until when a seat was busy with an older turn at most: if it was back, to its end."""
        times, until_ns = self._times, None if self._busy is None else self._busy.until_ns
        is_back = times.verdict[row] in PUNCTUAL or (until_ns is not None and until_ns < times.ended_ns[row])
        return times.ended_ns[row] if is_back else times.began_ns(row)

    def _overdue(self, now_ns: int) -> Judged | None:
        """Return the verdict on a seat that is busy for longer than the hard limit before a turn begins."""
        if self._busy is None:
            return None
        over = {is_late(busy_ns, self._busy.after_ns) for busy_ns in self._busy.at(now_ns)}
        return None if over == {False} else "disqualified" if over == {True} else "unknown"

    def _punctual(self, row: int, before: Limits, after: Limits) -> Judged:
        """Judge an answer that came in time."""
        spent_ns, grace_ns = self._times.spent_ns[row], 0
        if verdict_of(Reading(spent_ns, 0, spent_ns), before, abortable=True) != ON_TIME:
            self._unexplained += not self._paced  # an answer there may be to an older turn
            grace_ns = max(GRACE_NS, spent_ns - min(before.soft_ns, before.busy_ns) + 1)
        verdict = self._verdict(after, (spent_ns, spent_ns), grace_ns=grace_ns)
        return VERDICTS[self._times.verdict[row]] if verdict == ON_TIME else verdict

    def _late_tick(self, row: int, before: Limits, after: Limits) -> Judged:
        """Judge a turn that the tick ended; since when the agent was busy then is not known.

        Where limits change with time, those that it had then are not known, either.
        """
        if self._match.control == self._control or self._is_longer(before, after):
            return "late"
        return "unknown" if is_late(self._times.ended_ns[row], self._least_ns) else "late"

    def _is_longer(self, before: Limits, after: Limits) -> bool:
        """Return whether the hard limit is longer in all turns than in the match, or as long."""
        return (
            self._recorded.flat is not None
            and self._asked.flat is not None
            and after.busy_ns >= before.busy_ns
        )

    def _late_turn(self, row: int, before: Limits, after: Limits) -> tuple[Judged, int]:
        """Judge a turn that was late; return the verdict, and the time that is charged for it."""
        times = self._times
        began_ns, spent_ns = times.began_ns(row), times.spent_ns[row]
        busy = self._busy_with(row, before, after)
        after = after._replace(busy_ns=busy.after_ns)
        older_ns = began_ns - busy.began_ns
        least_ns = before.soft_ns if VERDICTS[times.verdict[row]] == "late" else before.abort_ns
        self._unexplained += spent_ns < least_ns
        least_ns = max(spent_ns, least_ns)
        older = (older_ns, older_ns) if busy.until_ns is not None else (0, older_ns)
        if busy.until_ns is None:
            used = least_ns, NEVER_NS  # it may have asked for another turn, and never answered this one
        else:
            used_ns = max(least_ns, busy.until_ns - began_ns)
            used = used_ns, used_ns if busy.exact else NEVER_NS
        if _judged_ns(after) <= _judged_ns(before):  # it was not disqualified here
            most_ns = max(0, busy.before_ns - 1 - min(used[1], _judged_ns(after)))
            older = min(older[0], most_ns), min(older[1], most_ns)
        verdict = self._verdict(after, used, older)
        open_ns = min(used[0], _judged_ns(after))
        if _judged_ns(after) == _judged_ns(before) or (busy.exact and open_ns == spent_ns):
            return verdict, spent_ns
        if busy.exact and len(self._match.seats) == 1 and min(before.abort_ns, after.abort_ns) >= NEVER_NS:
            self._shifted = _Shifted(used[0] - open_ns, older_ns + open_ns)
        else:
            self._blind = True
        return verdict, open_ns

    def _busy_with(self, row: int, before: Limits, after: Limits) -> _Busy:
        """Return what a seat is busy with in a late turn: an older one still, or this one."""
        times, busy = self._times, self._busy
        began_ns, ended_ns, spent_ns = times.began_ns(row), times.ended_ns[row], times.spent_ns[row]
        if busy is not None and (busy.until_ns is None or busy.until_ns >= ended_ns):
            return busy
        hard = before.busy_ns, after.busy_ns
        if before.soft_ns <= spent_ns < before.abort_ns < NEVER_NS:  # it stayed open up to its answer
            self._busy = None
            return _Busy(began_ns, ended_ns, True, *hard)
        answered_ns = None if self._control.clock == "cpu" else times.answered_ns.get(times.turn[row])
        until_ns = times.busy_until_out(row, before.busy_ns) if answered_ns is None else answered_ns
        self._busy = _Busy(began_ns, until_ns, answered_ns is not None, *hard)
        return self._busy

    def _moved(self, row: int, moved: _Shifted, after: Limits) -> tuple[Judged, int]:
        """Judge a turn that is posted at another time than in the match, to the only seat."""
        times, busy, code = self._times, self._busy, self._times.verdict[row]
        assert busy is not None
        assert busy.until_ns is not None
        rest_ns = max(0, moved.rest_ns)
        if is_late(rest_ns, after.soft_ns) and code != OUT:  # it is not even taken
            older = (moved.older_ns, moved.older_ns)
            self._shifted = _Shifted(rest_ns - after.soft_ns, moved.older_ns + after.soft_ns)
            if busy.until_ns < times.ended_ns[row] and code in LATE:
                self._blind = True  # it was taken in the match, and what comes after it is another turn's
            limits = after._replace(busy_ns=busy.after_ns)
            return self._verdict(limits, (rest_ns, rest_ns), older), after.soft_ns
        if rest_ns and is_late(moved.older_ns + rest_ns, busy.after_ns):
            return "disqualified", 0  # before it is back
        taken_ns = max(busy.until_ns, times.began_ns(row))
        if code in PUNCTUAL:
            until_ns: int | None = times.ended_ns[row] - times.credit_ns[row]
        else:
            until_ns = times.answered_ns.get(times.turn[row])
        if until_ns is None or code == OUT or busy.until_ns >= times.ended_ns[row]:
            return "unknown", 0  # it is not known how long it would have thought
        used_ns = rest_ns + until_ns - taken_ns
        verdict = self._verdict(after, (used_ns, used_ns))
        if verdict == ON_TIME:
            self._busy = self._shifted = None
            return (VERDICTS[code] if code in PUNCTUAL else verdict), used_ns
        self._busy = _Busy(times.began_ns(row), until_ns, True, NEVER_NS, after.busy_ns)
        self._shifted = _Shifted(used_ns - after.soft_ns, after.soft_ns)
        return verdict, after.soft_ns

    def _disqualified(self, row: int, before: Limits, after: Limits) -> Judged:
        """Judge the turn in which the seat was disqualified."""
        times = self._times
        since_ns = times.ended_ns[row - 1] if row else 0
        judged_ns = _judged_ns(before)
        hard_ns = min(before.busy_ns, before.hard_ns) if self._busy is None else self._busy.before_ns
        if not times.is_out_by_clock:
            used_ns = max(0, min(times.ended_ns[row] - since_ns, judged_ns - 1, hard_ns - 1))
            is_open = used_ns < min(_judged_ns(after), after.busy_ns)
            return "disqualified" if is_open else "unknown"
        if self._paced:
            is_same = self._match.control == self._control or (
                after.busy_ns == before.busy_ns and self._is_longer(before, after)
            )
            return "disqualified" if is_same else "unknown"
        over_ns = min(before.busy_ns, before.hard_ns)
        if self._busy is None or over_ns <= judged_ns:
            used = min(over_ns, judged_ns), NEVER_NS
            if self._verdict(before, used) in LATE_VERDICTS:
                # The loop was held up past both limits, and its answer was read before the turn was judged.
                return "disqualified" if is_late(over_ns, min(after.busy_ns, after.hard_ns)) else "unknown"
            return self._verdict(after, used)
        # It was busy with an older turn for the hard limit then, at most a turn's limit of it in this turn.
        older_ns = max(since_ns - self._busy.began_ns, hard_ns - judged_ns)
        after = after._replace(busy_ns=self._busy.after_ns)
        return self._verdict(after, (max(0, hard_ns - older_ns), NEVER_NS), (older_ns, older_ns))


def recorded_late(seat: SeatTimes) -> int:
    """Return the number of turns that were late in a match, or in which the clock disqualified a seat."""
    late = int(np.isin(np.frombuffer(seat.verdict, np.uint8), list(LATE)).sum())
    return late + (seat.is_out_by_clock and bool(len(seat)) and seat.verdict[-1] == OUT)


def _judged_ns(limits: Limits) -> int:
    """Return the time after which an open turn is judged at the latest."""
    return limits.soft_ns if limits.abort_ns >= NEVER_NS else max(limits.soft_ns, limits.abort_ns)


def known_turns(verdicts: MatchVerdicts, seats: Sequence[SeatTimes]) -> int:
    """Return the number of turns of all seats before the first verdict that is another one."""
    if verdicts.changed is None:
        return sum(map(len, seats))
    return sum(int(np.searchsorted(np.frombuffer(seat.turn, np.int64), verdicts.changed)) for seat in seats)
