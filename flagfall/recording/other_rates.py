"""A recorded match under another rate of work: its think times then, and which verdicts would be others.

The work of a turn is in the journal: the tokens of a language model in its note, or its time by a rate of
fuel. So its think time by any other rate is known, also of a turn that was late. As in
`flagfall.recording.what_if`, the match would have been the same up to the first verdict that is another one.

Rule 1: seats without such work keep their recorded think times.
Rule 2: what is not known is unknown: the work of a turn that is only taken under the other rate, a turn that
    `act_abort` may end, and a seat that misses another number of turns while it is late.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from flagfall.errors import UsageError
from flagfall.events import ON_TIME
from flagfall.recording.seat_times import LATE, OUT, PUNCTUAL, VERDICTS, MatchTimes, SeatTimes
from flagfall.recording.think_times import LONGEST_NS, ThinkTimes, gaps_of
from flagfall.recording.what_if import Judged, MatchVerdicts, SeatVerdicts, recorded_late
from flagfall.timing import NEVER_NS, Budget, S
from flagfall.timing.budget import Limits, PhaseLimits, Reading, is_late, request_limits, verdict_of
from flagfall.timing.distributions import MAX_LATENCY_NS
from flagfall.timing.latency import SeatLatency
from flagfall.timing.rates import Fuel, Rate, Tokens

_NOT_TAKEN: Final = -1
"""Think time of a turn that the agent never took: it was busy with an older one."""

_UNKNOWN: Final = -2


def is_measured(times: MatchTimes, seat: int, rate: Rate) -> bool:
    """Return whether the work of a seat is recorded in the measure of a rate."""
    if isinstance(rate, Tokens):
        return any(used.prompt_tokens is not None for used in times.seats[seat].usage.values())
    return _recorded_fuel(times, seat) is not None


def check_rate(times: MatchTimes, rate: Rate) -> None:
    """Raise `UsageError` if nothing is known of a match under a rate."""
    if times.header.tick_ns is not None:
        raise UsageError("the match was played at real-time pace, where the tick ends a turn")
    if not any(is_measured(times, seat, rate) for seat in range(len(times.seats))):
        raise UsageError(
            f"no agent of this match has recorded its {rate.measures}: under {rate} nothing is known"
        )


def _recorded_fuel(times: MatchTimes, seat: int) -> Fuel | None:
    """Return the rate of fuel that a seat was played with, if all its time comes from that."""
    texts = times.header.think
    if seat >= len(texts) or not texts[seat]:
        return None
    rate = SeatLatency.parse(texts[seat]).only_rate
    return rate if isinstance(rate, Fuel) else None


def _scaled(time_ns: int, was: Fuel, rate: Fuel) -> int:
    return min(rate.time_ns(time_ns * was.per_second // S), MAX_LATENCY_NS)


def _think_ns(times: MatchTimes, place: int, rate: Rate) -> list[int]:
    """Return the think time of each turn of a seat under a rate, `_NOT_TAKEN` or `_UNKNOWN`."""
    seat = times.seats[place]
    if not is_measured(times, place, rate):
        return _recorded_think_ns(seat)
    if isinstance(rate, Fuel):
        was = _recorded_fuel(times, place) or rate
        return [ns if ns < 0 else _scaled(ns, was, rate) for ns in _recorded_think_ns(seat)]
    think = []
    for turn, verdict in zip(seat.turn, seat.verdict, strict=True):
        used = seat.usage.get(turn)
        if used is None:  # nothing was asked, or the agent never saw the turn
            think.append(0 if verdict in PUNCTUAL else _NOT_TAKEN)
        else:
            time_ns = used.time_ns(rate)
            think.append(_UNKNOWN if time_ns is None else min(time_ns, MAX_LATENCY_NS))
    return think


def _recorded_think_ns(seat: SeatTimes) -> list[int]:
    """Return the recorded think time of each turn, from when the agent had nothing older to answer."""
    think: list[int] = []
    back_ns: int | None = 0  # when it is done with the turns before; `None`: at an unknown time
    for row, (turn, verdict) in enumerate(zip(seat.turn, seat.verdict, strict=True)):
        ended_ns, taken_ns = seat.ended_ns[row], None if back_ns is None else max(back_ns, seat.began_ns(row))
        if verdict in PUNCTUAL:
            until_ns: int | None = ended_ns - seat.credit_ns[row]
        else:
            until_ns = seat.answered_ns.get(turn)
        if until_ns is None and back_ns is not None and back_ns >= ended_ns:
            think.append(_NOT_TAKEN)
            continue
        think.append(_UNKNOWN if until_ns is None or taken_ns is None else max(0, until_ns - taken_ns))
        back_ns = until_ns
    return think


def think_times_at(times: MatchTimes, seat: int, rate: Rate) -> ThinkTimes:
    """Return the think times of a seat under a rate, in one part."""
    found = np.array(_think_ns(times, seat, rate), np.int64)
    is_taken = found != _NOT_TAKEN
    known = found[is_taken]
    return ThinkTimes(
        np.clip(known, 0, LONGEST_NS),
        gaps_of(times.seats[seat])[is_taken],
        known >= 0,
        np.array([0, len(known)]),
        np.array([len(found)]),
        np.zeros(1, np.int64),
    )


def judge_rate(times: MatchTimes, rate: Rate) -> MatchVerdicts:
    """Judge a recorded match under another rate of its agents' work, and its own time control.

    Raises:
        UsageError: nothing is known of it.
    """
    check_rate(times, rate)
    seats = [_Seat(times, place, rate) for place in range(len(times.seats))]
    starts = [seat.start() for seat in seats]
    changed = -1 if any(starts) else None
    now_ns, was_ns, following = 0, None, 0
    for turn in sorted({turn for seat in times.seats for turn in seat.turn}) if changed is None else ():
        outs = [seat.is_otherwise_out(turn, now_ns, was_ns or 0) for seat in seats]
        if any(outs):  # between turns, so what follows the last one may be another turn
            changed = following
            break
        asked = [seat for seat in seats if seat.is_asked(turn)]
        began_ns = min((seat.began_ns for seat in asked if seat.began_ns is not None), default=was_ns)
        if was_ns is not None and began_ns is not None:  # a task may wait between turns
            now_ns += max(0, began_ns - was_ns)
        was_ns = max(seat.ended_ns for seat in asked)
        now_ns = max([seat.play(now_ns) for seat in asked])
        if any(seat.after is not None for seat in asked):
            changed = turn
            break
        following = turn + 1
    ends = [seat.end(now_ns) for seat in seats] if changed is None else []
    if any(ends):
        changed = following
    verdicts = tuple(seat.verdicts(changed) for seat in seats)
    return MatchVerdicts(control=str(rate), seats=verdicts, changed=changed)


class _Seat:
    """Plays the turns of one seat again, with other think times.

    Attributes:
        after: the verdict of the turn that was played last, if it is another one than recorded or unknown.
    """

    def __init__(self, times: MatchTimes, place: int, rate: Rate) -> None:
        self.after: Judged | None = None
        self._times: SeatTimes = times.seats[place]
        self._think = _think_ns(times, place, rate)
        self._budget = Budget(times.control)
        self._increment_ns = times.control.increment or 0
        was = _recorded_fuel(times, place)
        self._start_rates = (was, rate) if was is not None and isinstance(rate, Fuel) else None
        seat = self._times
        self._is_over_in_record = bool(len(seat)) and seat.verdict[-1] == OUT
        last_ns = max((one.ended_ns[-1] for one in times.seats if len(one)), default=0)
        is_out = seat.disqualified is not None and seat.is_out_by_clock and seat.disqualified.at_ns <= last_ns
        has_played = seat.ready_ns is not None and not self._is_over_in_record
        self._was_out_between = is_out and has_played  # later ones come after the match
        self._row = -1
        # While it is busy with a late turn: since when, until when, and the hard limit of that turn.
        self._since_ns = self._until_ns = 0
        self._hard_ns = NEVER_NS
        self._late: list[int] = []
        self._out = ""
        self._bank_out: int | None = None

    @property
    def began_ns(self) -> int | None:
        """When the clock of the turn began in the record; `None` where it was disqualified in it."""
        return None if self._times.verdict[self._row] == OUT else self._times.began_ns(self._row)

    @property
    def ended_ns(self) -> int:
        """When the turn was judged in the record."""
        return self._times.ended_ns[self._row]

    def start(self) -> bool:
        """Charge the start; return whether its verdict is another one."""
        ready_ns = self._times.ready_ns
        if self._start_rates is not None:
            was, rate = self._start_rates
            if ready_ns is not None:
                ready_ns = _scaled(ready_ns, was, rate)
            elif self._times.is_out_by_clock and rate.per_second > was.per_second:
                self.after = "unknown"
        if ready_ns is None:
            return self.after is not None
        if is_late(ready_ns, self._budget.limit("start")):
            self.after, self._out = "disqualified", "start"
        self._budget.charge("start", ready_ns)
        return self.after is not None

    def is_otherwise_out(self, turn: int, now_ns: int, was_ns: int) -> bool:
        """Return whether the seat was disqualified before a turn in the record and not here, or the reverse.

        Args:
            now_ns: when the turn is posted.
            was_ns: when it was posted in the record.
        """
        if self._is_over_in_record and self._row == len(self._times) - 1:
            return False  # in a turn, with the same verdict
        lost = self._times.disqualified
        was_out = self._was_out_between and lost is not None and lost.at_ns <= was_ns
        is_in_turn = self._is_over_in_record and turn == self._times.turn[-1]
        if was_out != self._is_out(now_ns - is_in_turn):
            self.after, self._out = ("unknown", "") if was_out else ("disqualified", "act")
        return self.after is not None

    def is_asked(self, turn: int) -> bool:
        """Return whether the seat was asked in a turn, which is the next one then."""
        row = self._row + 1
        if row < len(self._times) and self._times.turn[row] == turn:
            self._row = row
            return True
        return False

    def play(self, now_ns: int) -> int:
        """Judge the turn that is posted now, and return when it is over."""
        row, times = self._row, self._times
        code, think_ns, turn = times.verdict[row], self._think[row], times.turn[row]
        limits = request_limits(self._budget.limits("act"))
        wait_ns = max(0, self._until_ns - now_ns)
        is_spent = think_ns == _NOT_TAKEN and 0 in self._budget.left  # it is late at once, taken or not
        think_ns = 0 if is_spent else think_ns
        is_taken = not (wait_ns or self._is_out(now_ns)) or not self._is_over(limits, now_ns, wait_ns)
        judge = self._judge_taken if is_taken else self._judge_not_taken
        verdict, spent_ns = judge(limits, now_ns, wait_ns, think_ns)
        if code == OUT and not times.is_out_by_clock:  # it broke down, as it would now
            verdict = "disqualified"
        before = VERDICTS[code]
        if verdict in {"late", "disqualified"} and (code != OUT or times.is_out_by_clock):
            self._late.append(turn)
        if (verdict != before and not (verdict == ON_TIME and code in PUNCTUAL)) or (
            code in LATE and not is_spent and is_taken != (think_ns != _NOT_TAKEN)
        ):
            self.after = verdict if verdict != before else "unknown"
            self._out = f"turn {turn}" if verdict == "disqualified" else ""
        self._budget.charge("act", spent_ns)
        if is_taken and turn in times.usage:
            times.usage[turn].charge(self._budget)
        bank_ns = self._budget.bank_ns
        if bank_ns is not None and self._bank_out is None and bank_ns <= self._increment_ns:
            self._bank_out = turn
        return now_ns + spent_ns

    def _is_out(self, now_ns: int) -> bool:
        """Return whether the hard limit of a late turn has disqualified the seat by now."""
        out_ns = self._since_ns + self._hard_ns
        return self._until_ns > 0 and is_late(self._until_ns, out_ns) and is_late(now_ns, out_ns)

    def _is_over(self, limits: PhaseLimits, now_ns: int, wait_ns: int) -> bool:
        """Return whether a turn is over before the seat has done with the older one."""
        return is_late(wait_ns, limits[0]) or is_late(wait_ns, self._since_ns + self._hard_ns - now_ns)

    def _judge_not_taken(self, limits: PhaseLimits, now_ns: int, *_times: int) -> tuple[Judged, int]:
        """Return the verdict on a turn that comes and goes while the seat is late, and how long it lasts."""
        soft_ns, hard_ns, abort_ns = limits
        out_ns = self._since_ns + self._hard_ns - now_ns
        if abort_ns < NEVER_NS:
            return "unknown", soft_ns
        if out_ns <= soft_ns or soft_ns >= hard_ns:
            return "disqualified", max(0, min(out_ns, soft_ns))
        return "late", soft_ns

    def _judge_taken(
        self, limits: PhaseLimits, now_ns: int, wait_ns: int, think_ns: int
    ) -> tuple[Judged, int]:
        """Return the verdict on a turn that the seat takes after some time, and the time charged for it."""
        soft_ns, hard_ns, abort_ns = limits
        used_ns = wait_ns + think_ns
        if think_ns < 0 or (abort_ns < NEVER_NS and is_late(used_ns, soft_ns)):
            return "unknown", 0
        spent_ns = min(used_ns, soft_ns)
        reading = Reading(spent_ns, 0, spent_ns)
        verdict = verdict_of(reading, Limits(soft_ns, hard_ns, hard_ns, abort_ns), abortable=False)
        self._since_ns, self._hard_ns = now_ns, hard_ns
        self._until_ns = 0 if verdict == ON_TIME else now_ns + used_ns
        return verdict, spent_ns

    def end(self, now_ns: int) -> bool:
        """Judge what came after the last turn; return whether that is other than recorded."""
        outs = {self._is_out(now_ns - 1), self._is_out(now_ns)}  # who comes first at the last moment is open
        if not self._is_over_in_record and self._was_out_between not in outs:
            self.after, self._out = ("unknown", "") if self._was_out_between else ("disqualified", "act")
        return self.after is not None

    def verdicts(self, changed: int | None) -> SeatVerdicts:
        """Return the verdicts up to a turn."""
        times, is_changed = self._times, self.after is not None
        row = self._row if is_changed and changed in times.turn else None
        return SeatVerdicts(
            agent=times.agent,
            turns=len(times),
            recorded_late=recorded_late(times),
            late=len(self._late),
            first_late=self._late[0] if self._late else None,
            changed=changed if is_changed else None,
            row=row,
            before=None if row is None else VERDICTS[times.verdict[row]],
            after=self.after,
            out=self._out,
            bank_out=self._bank_out,
        )
