"""Think times of an agent, and the turns that it would lose by them under a time control.

A think time lasts from when an agent had a turn, and nothing older to answer, to its answer. An agent that
thinks past its limit loses that turn, and each turn whose limit comes before it asks for another one; what is
left of its time is used of the turn that it gets then. So an agent that is late once in a while for long
loses many turns in a row, and the share of turns lost is not the share of think times above the limit.

The same think times are assumed under any limit: of an agent that does not adapt to its timer. An agent that
plays alternately with others has their time between its turns as well, as recorded.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from flagfall.kernel.outcomes import derive_seed
from flagfall.recording.seat_times import OUT, PUNCTUAL, MatchTimes, SeatTimes
from flagfall.recording.turn_limits import LimitsOfTurns
from flagfall.timing import NEVER_NS, Budget, TimeControl
from flagfall.timing.budget import Limits, Reading, is_late, request_limits, verdict_of

if TYPE_CHECKING:
    from flagfall.timing.latency import SeatLatency

Numbers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

MODELLED: Final = 100
"""Matches into which modelled turns are divided."""

LONGEST_NS: Final = NEVER_NS // 4
"""Longest think time that is reckoned with; sums of a few fit into 64 bits."""


@attrs.frozen(eq=False)
class ThinkTimes:
    """Think times of one agent in some matches, one after the other.

    Attributes:
        think_ns: think times; where they are not exact, the agent thought for so long at least.
        gap_ns: time of others from the end of the turn to its next one.
        exact: whether a think time is known, not only its least value.
        first: the place of the first think time of each part, and their number at the end. A part is a seat
            of a match.
        turns: number of turns that were asked of each part.
        match: the number of the match of each part, in ascending order.
    """

    think_ns: Numbers
    gap_ns: Numbers
    exact: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    first: Numbers
    turns: Numbers
    match: Numbers

    @classmethod
    def drawn(cls, think_ns: Numbers) -> ThinkTimes:
        """Return think times that a model of latency has drawn, of a match that lasts for as many turns."""
        count = len(think_ns)
        return cls(
            np.minimum(think_ns, LONGEST_NS),
            np.zeros(count, np.int64),
            np.ones(count, bool),
            np.array([0, count]),
            np.array([count]),
            np.zeros(1, np.int64),
        )

    @classmethod
    def modelled(cls, model: SeatLatency, turns: int, seed: int) -> ThinkTimes:
        """Draw think times from a model of latency; `MODELLED` matches have an equal part of them each.

        Time that the host lost in a stall is left out: it is not charged.

        Args:
            turns: number of think times, at least `MODELLED`.
            seed: decides all draws.
        """
        delays = model.delays("act", lambda part: np.random.default_rng(derive_seed(seed, "what-if", part)))
        drawn = np.fromiter(chain.from_iterable(islice(delays, turns)), np.int64, 2 * turns)
        think_ns = drawn[::2] - drawn[1::2]
        return cls.joined(enumerate(map(cls.drawn, np.array_split(think_ns, MODELLED))))

    @classmethod
    def joined(cls, parts: Iterable[tuple[int, ThinkTimes]]) -> ThinkTimes:
        """Return the think times of several matches, each part with the number of its match."""
        numbered = list(parts)
        if not numbered:
            return cls.drawn(np.zeros(0, np.int64))
        times = [part for _, part in numbered]
        ends = np.cumsum([len(part.think_ns) for part in times])
        return cls(
            np.concatenate([part.think_ns for part in times]),
            np.concatenate([part.gap_ns for part in times]),
            np.concatenate([part.exact for part in times]),
            np.concatenate([[0], ends]),
            np.concatenate([part.turns for part in times]),
            np.array([number for number, _ in numbered]),
        )

    def __len__(self) -> int:
        return len(self.think_ns)


@attrs.frozen(eq=False)
class LostTurns:
    """Turns that an agent would lose, by part of its `ThinkTimes`.

    Attributes:
        lost: turns that are late or in which it is disqualified.
        turns: turns that it would be asked for; fewer than recorded where it is disqualified, or where think
            times are missing because it lost fewer turns.
        out: whether the clock disqualifies it.
        unknown: think times of which it is not known whether they are over the limit; they count as in time.
    """

    lost: Numbers
    turns: Numbers
    out: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    unknown: int


def think_times(times: MatchTimes, seat: int) -> ThinkTimes:
    """Return the think times of a seat, in one part; none of a match at real-time pace, which has no limit.

    A turn that was posted while the agent was late with an older one, for an unknown time, counts in full.
    """
    found = _Thinking(times, seat)
    if times.header.tick_ns is None:
        found.read()
    return ThinkTimes(
        np.minimum(np.frombuffer(found.think_ns, np.int64), LONGEST_NS),
        np.minimum(np.frombuffer(found.gap_ns, np.int64), LONGEST_NS),
        np.frombuffer(found.exact, bool),
        np.array([0, len(found.think_ns)]),
        np.array([len(times.seats[seat])]),
        np.zeros(1, np.int64),
    )


def gaps_of(times: SeatTimes) -> Numbers:
    """Return the time of others after each turn of a seat, where they have turns without it."""
    gaps = np.zeros(len(times), np.int64)
    if len(times) > 1:
        columns = (times.turn, times.ended_ns, times.spent_ns, times.credit_ns)
        turn, ended, spent, credit = (np.frombuffer(of, np.int64) for of in columns)
        others = np.maximum(0, (ended - spent - credit)[1:] - ended[:-1])
        gaps[:-1] = np.where(np.diff(turn) > 1, others, 0)
    return gaps


class _Thinking:
    """Reads the think times from the turns of a seat."""

    def __init__(self, match: MatchTimes, seat: int) -> None:
        self._match, self._seat = match, seat
        self._times: SeatTimes = match.seats[seat]
        self._has_wall = match.control.clock == "wall"
        self.think_ns, self.gap_ns, self.exact = array("q"), array("q"), bytearray()

    def read(self) -> None:
        """Read all turns."""
        times = self._times
        spent, gaps = np.frombuffer(times.spent_ns, np.int64), gaps_of(times)
        others = np.flatnonzero(~np.isin(np.frombuffer(times.verdict, np.uint8), list(PUNCTUAL)))
        begin = until_ns = 0
        for row in others.tolist():
            if row >= begin:
                self._add_punctual(spent, gaps, begin, row, until_ns)
                begin, until_ns = self._add_late(row, until_ns, int(gaps[row]))
        self._add_punctual(spent, gaps, begin, len(times), until_ns)

    def _add_punctual(self, spent: Numbers, gaps: Numbers, begin: int, end: int, until_ns: int) -> None:
        """Add turns that were in time; of the first one, only what came after an older turn's answer."""
        if begin >= end:
            return
        first = len(self.think_ns)
        self.think_ns.frombytes(spent[begin:end].tobytes())
        self.gap_ns.frombytes(gaps[begin:end].tobytes())
        self.exact.extend(b"\1" * (end - begin))
        if until_ns:
            self.think_ns[first] -= max(0, min(self.think_ns[first], until_ns - self._times.began_ns(begin)))

    def _add_late(self, row: int, until_ns: int, gap_ns: int) -> tuple[int, int]:
        """Add a late turn; return the first row that ends after its answer, and when that came."""
        times = self._times
        if times.verdict[row] == OUT and not times.is_out_by_clock:
            return len(times), 0  # after an unknown time
        limit_ns = self._limit_when_out if times.is_out_by_clock else NEVER_NS
        known_ns = times.answered_ns.get(times.turn[row]) if self._has_wall else None
        is_exact = known_ns is not None
        if known_ns is None and self._has_wall:
            known_ns = times.busy_until_out(row, limit_ns)
        end = row + 1
        while end < len(times) and times.verdict[end] not in PUNCTUAL:
            if known_ns is not None and times.ended_ns[end] > known_ns:
                break
            end += 1
        least_ns = limit_ns if times.verdict[row] == OUT else times.spent_ns[row]
        used_ns = max(0, until_ns - times.began_ns(row)) if until_ns else 0
        think_ns = max(0, least_ns - used_ns)
        if known_ns is not None:
            think_ns = max(think_ns, known_ns - max(times.began_ns(row), until_ns))
        self.think_ns.append(think_ns)
        self.gap_ns.append(gap_ns)
        self.exact.append(is_exact)
        return end, known_ns or 0

    @cached_property
    def _limit_when_out(self) -> int:
        """The limit by which the clock disqualified the seat."""
        limits = LimitsOfTurns(self._match.header)
        limits.charge_start(self._seat, self._times.ready_ns or 0)
        rows = len(self._times) - (self._times.verdict[-1] == OUT)
        if limits.flat is None:
            for row in range(rows):
                limits.charge(self._times.turn[row], self._seat, self._times.spent_ns[row])
        found = limits.judged_by(self._times.turn[-1], self._seat)
        return min(found.busy_ns, found.abort_ns)


def lost_turns(thinking: ThinkTimes, control: TimeControl) -> LostTurns:
    """Return the turns that would be lost under a time control.

    A turn that `act_abort` ends is lost, and the match goes on as if its episode did.
    """
    budget = Budget(control)
    soft_ns, hard_ns, _ = request_limits(budget.limits("act"))
    counts = _Counts(thinking)
    if not budget.flat or control.act_abort is not None:
        for part in range(len(thinking.turns)):
            counts.play(part, control)
        return counts.found(soft_ns)
    # Only think times over the limit, and those that follow one, can lose a turn.
    late = np.flatnonzero(thinking.think_ns >= min(soft_ns, hard_ns))
    parts = np.searchsorted(thinking.first, late, "right") - 1
    free = 0
    for place, part in zip(late.tolist(), parts.tolist(), strict=True):
        if place >= free:
            free = counts.lose_from(place, part, max(1, soft_ns), hard_ns)
    return counts.found(min(soft_ns, hard_ns))


class _Counts:
    """Counts lost turns by part."""

    def __init__(self, thinking: ThinkTimes) -> None:
        self._thinking = thinking
        self._think, self._gap = thinking.think_ns.data, thinking.gap_ns.data
        self._first, self._rows = thinking.first.tolist(), thinking.turns.tolist()
        # Of each part: turns lost, think times that lost them, turns asked if it ended early, disqualified.
        self._lost = [0] * len(self._rows)
        self._late = [0] * len(self._rows)
        self._ended: dict[int, int] = {}
        self._out = np.zeros(len(self._rows), bool)

    def found(self, limit_ns: int) -> LostTurns:
        """Return the counts; think times that are not exact, and below the limit, are unknown."""
        thinking = self._thinking
        lost = np.array(self._lost, np.int64)
        turns = np.minimum(np.diff(thinking.first) - np.array(self._late, np.int64) + lost, thinking.turns)
        for part, asked in self._ended.items():
            turns[part] = asked
        unknown = int((~thinking.exact & (thinking.think_ns < limit_ns)).sum())
        return LostTurns(lost, turns, self._out, unknown)

    def lose_from(self, place: int, part: int, soft_ns: int, hard_ns: int) -> int:
        """Count the turns that a late think time loses, and those that follow it without a pause.

        Returns:
            The first place that is not counted.
        """
        first, end, rows = self._first[part], self._first[part + 1], self._rows[part]
        lost, late, rest_ns = self._lost[part], self._late[part], 0
        while place < end and place - first - late + lost < rows:
            busy_ns = rest_ns + self._think[place]
            if not (is_late(busy_ns, soft_ns) or is_late(busy_ns, hard_ns)):
                break
            late += 1
            cycle_ns = soft_ns + self._gap[place]
            if is_late(busy_ns, hard_ns):
                lost += max(1, -(-hard_ns // cycle_ns))  # as many as were asked until then
                self._out[part] = True
            else:
                more, left_ns = divmod(busy_ns - soft_ns, cycle_ns)
                lost += 1 + more
                rest_ns = max(0, left_ns - self._gap[place])
            place += 1
            asked = place - first - late + lost
            lost -= max(0, asked - rows)
            if self._out[part]:
                self._ended[part], place = min(asked, rows), end
            elif not rest_ns:
                break
        self._lost[part], self._late[part] = lost, late
        return place

    def play(self, part: int, control: TimeControl) -> None:
        """Count the turns that a part loses, turn by turn, charging its budget."""
        budget, rows = Budget(control), self._rows[part]
        asked = lost = rest_ns = 0
        for place in range(self._first[part], self._first[part + 1]):
            busy_ns, began_ns, busy_limit_ns = rest_ns + self._think[place], 0, NEVER_NS
            rest_ns = 0
            while asked < rows and began_ns <= busy_ns and began_ns < busy_limit_ns:
                limits = request_limits(budget.limits("act"))
                soft_ns, hard_ns, abort_ns = limits
                busy_limit_ns = hard_ns if began_ns == 0 else busy_limit_ns
                left_ns = busy_ns - began_ns
                open_ns = min(left_ns, soft_ns if abort_ns >= NEVER_NS else max(soft_ns, abort_ns))
                reading = Reading(open_ns, 0, began_ns + open_ns)
                verdict = verdict_of(
                    reading, Limits(soft_ns, busy_limit_ns, hard_ns, abort_ns), abortable=True
                )
                if verdict == "on time" and began_ns:
                    rest_ns = left_ns
                    break
                asked += 1
                budget.charge("act", open_ns)
                if verdict == "on time":
                    break
                lost += 1
                self._out[part] = verdict == "disqualified"
                if self._out[part]:
                    break
                began_ns += open_ns + self._gap[place]
            self._out[part] |= bool(began_ns) and is_late(busy_ns, busy_limit_ns)
            if self._out[part] or asked >= rows:
                break
        self._lost[part], self._ended[part] = lost, asked


def bank_needed_ns(thinking: ThinkTimes, control: TimeControl) -> Numbers:
    """Return the smallest bank with which no turn is lost, of each part.

    Args:
        control: has the increment, and the time that is not drawn from the bank.
    """
    act_ns, increment_ns = control.act or 0, control.increment or 0
    drawn = np.maximum(0, thinking.think_ns - act_ns)
    left_out = np.where(thinking.think_ns >= act_ns, 0, NEVER_NS)
    needed = np.zeros(len(thinking.turns), np.int64)
    for part, (first, end) in enumerate(zip(thinking.first[:-1], thinking.first[1:], strict=True)):
        if first < end:
            used = np.cumsum(drawn[first:end]) - increment_ns * np.arange(end - first)
            needed[part] = max(0, int((used - left_out[first:end]).max()) + 1)
    return needed
