"""Times of the turns of a recorded match, by seat: what a time control judges, read from a journal.

A journal has the time of each turn up to its answer or its verdict. How long an agent went on thinking after
a late verdict shows in the answer that came too late and was dropped; where there is none, all that is known
is that it thought for longer.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Final, get_args

import attrs

from flagfall.errors import UsageError
from flagfall.events import (
    LATE_VERDICTS,
    ON_TIME,
    Event,
    MatchEnded,
    MatchStarted,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    TurnPlayed,
    TurnsPlayed,
    Verdict,
)
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.usage import Usage
from flagfall.recording.journal.format import decode_line
from flagfall.recording.journal.reader import JournalError, batches, check_schema
from flagfall.recording.match_result import CUT_OFF, MAX_SEATS
from flagfall.timing import TimeControl

MAX_TURNS: Final = 10_000_000
"""Most turns that are read of one journal, in 400 MB."""

VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
_CODES: Final = {verdict: code for code, verdict in enumerate(VERDICTS)}

PUNCTUAL: Final = frozenset({_CODES[ON_TIME], _CODES["illegal"]})
"""Codes of the verdicts of answers that came in time."""

OUT: Final = _CODES["disqualified"]
"""Code of the verdict of a turn in which the agent was disqualified."""

LATE: Final = frozenset(map(_CODES.__getitem__, LATE_VERDICTS))
"""Codes of `LATE_VERDICTS`."""


@attrs.define(eq=False, slots=False)
class SeatTimes:
    """What a journal has of the time of one seat; a row is a turn in which it was asked.

    Attributes:
        agent: its name.
        ready_ns: duration of its start; `None` if it never was ready.
        turn: numbers of the turns.
        ended_ns: when each was judged, since the match began.
        spent_ns: time charged for it; 0 where it was disqualified in it.
        credit_ns: time that the host lost meanwhile.
        verdict: places in `VERDICTS`; turns played for it after its disqualification are left out.
        answered_ns: by the number of a turn, when its answer came after the verdict.
        usage: by the number of a turn with a note, what that says of a language model.
        disqualified: its disqualification, if there was one.
    """

    agent: str
    ready_ns: int | None = None
    turn: array[int] = attrs.Factory(lambda: array("q"))
    ended_ns: array[int] = attrs.Factory(lambda: array("q"))
    spent_ns: array[int] = attrs.Factory(lambda: array("q"))
    credit_ns: array[int] = attrs.Factory(lambda: array("q"))
    verdict: bytearray = attrs.Factory(bytearray)
    answered_ns: dict[int, int] = attrs.Factory(dict)
    usage: dict[int, Usage] = attrs.Factory(dict)
    disqualified: SeatDisqualified | None = None

    def __len__(self) -> int:
        return len(self.verdict)

    def began_ns(self, row: int) -> int:
        """Return when the clock of a turn began, since the match began."""
        return self.ended_ns[row] - self.credit_ns[row] - self.spent_ns[row]

    @property
    def is_out_by_clock(self) -> bool:
        """Return whether the clock disqualified it."""
        return self.disqualified is not None and self.disqualified.reason == "late"

    @cached_property
    def _last_run(self) -> int:
        """The first of the rows at the end, when all turns are over, in none of which it was in time."""
        return len(self.verdict.rstrip(bytes((*LATE, OUT))))

    def busy_until_out(self, row: int, hard_ns: int) -> int | None:
        """Return when the clock disqualified it, if it was busy with a late turn until then; else `None`.

        It was busy for the hard limit then, and not for so long with any turn that followed.
        """
        lost = self.disqualified
        if lost is None or lost.reason != "late" or lost.at_ns - self.began_ns(row) < hard_ns:
            return None
        is_last = row + 1 == len(self) or lost.at_ns - self.began_ns(row + 1) < hard_ns
        return lost.at_ns if is_last and row >= self._last_run else None


@attrs.define(eq=False)
class MatchTimes:
    """The times of all seats of a recorded match.

    Attributes:
        header: the beginning of the match.
        control: its time control.
        end: why it ended; `CUT_OFF` if its record ends before.
        problem: the damage or the cut before which the record ends; empty for a complete one.
    """

    header: MatchStarted
    control: TimeControl
    seats: list[SeatTimes]
    end: str = CUT_OFF
    problem: str = ""
    _turns: int = 0

    @classmethod
    def begin(cls, event: Event | TurnsPlayed) -> MatchTimes:
        """Return the times of a match before its first turn.

        Raises:
            UsageError: the event is not the beginning of a match, or one that cannot be.
        """
        if not isinstance(event, MatchStarted):
            raise UsageError("a match begins in line 1")
        if len(event.agents) > MAX_SEATS:
            raise UsageError(f"a match with {len(event.agents)} seats; {MAX_SEATS} are the most")
        control = TimeControl.parse(event.time_control)
        return cls(event, control, [SeatTimes(agent) for agent in event.agents])

    @property
    def is_abortable(self) -> bool | None:
        """Return whether episodes can be aborted; `None` if the record does not show it.

        A task without an action for that has its agents disqualified by `act_abort`.
        """
        rows = [seat.verdict for seat in self.seats]
        if any(_CODES["overrun"] in row for row in rows):
            return True
        is_out = any(seat.is_out_by_clock and OUT in seat.verdict for seat in self.seats)
        return False if self.control.act_abort is not None and is_out else None

    def take(self, event: Event | TurnsPlayed) -> None:
        """Take an event of the match, or its plain turns in columns."""
        match event:
            case TurnsPlayed():
                self._take_turns(event)
            case TurnPlayed():
                self._count(1)
                if event.verdict != "absent":
                    seat = self._seat(event.seat)
                    seat.turn.append(event.turn)
                    seat.ended_ns.append(event.at_ns)
                    seat.spent_ns.append(max(0, event.spent_ns))
                    seat.credit_ns.append(max(0, event.credit_ns))
                    seat.verdict.append(_CODES[event.verdict])
                    if event.note is not None:
                        seat.usage[event.turn] = Usage.of(event.note)
            case SeatReady():
                self._seat(event.seat).ready_ns = max(0, event.spent_ns)
            case ReplyDropped():
                if event.why == "stale":
                    self._seat(event.seat).answered_ns.setdefault(event.turn, event.at_ns)
            case SeatDisqualified():
                self._seat(event.seat).disqualified = event
            case MatchEnded():
                self.end = event.reason

    def _take_turns(self, turns: TurnsPlayed) -> None:
        count = len(turns)
        self._count(count)
        seat = self._seat(0)
        seat.turn.extend(range(turns.turn, turns.turn + count))
        seat.ended_ns.extend(accumulate(turns.at_ns))
        seat.spent_ns.extend(
            turns.spent_ns if min(turns.spent_ns) >= 0 else [max(0, ns) for ns in turns.spent_ns]
        )
        seat.credit_ns.frombytes(bytes(8 * count))
        seat.verdict.extend(bytes(count))  # on time, the first of all verdicts

    def _count(self, turns: int) -> None:
        self._turns += turns
        if self._turns > MAX_TURNS:
            raise UsageError(f"more than {MAX_TURNS:,} turns")

    def _seat(self, number: int) -> SeatTimes:
        if not 0 <= number < len(self.seats):
            raise UsageError(f"seat {number} of a match with {len(self.seats)}")
        return self.seats[number]


def read_times(path: Path, *, max_bytes: int | None = None) -> MatchTimes:
    """Read the times of a recorded match; of a damaged journal, those before the damage.

    Args:
        path: the journal, which may come from others: nothing that it names is read or executed.
        max_bytes: most bytes that are read, after decompression; `None` for all.

    Raises:
        JournalError: it cannot be read at all, or its events contradict each other.
    """
    found: MatchTimes | None = None
    place = 1
    try:
        for line, event in _events(path, max_bytes):
            place = line
            if found is None:
                found = MatchTimes.begin(event)
            else:
                found.take(event)
    except JournalError as error:
        if found is None:
            raise
        found.problem = str(error)
    except (UsageError, CodecError, ArithmeticError) as error:
        raise JournalError(path, place, None, f"not an event of this match: {error}") from error
    if found is None:
        raise JournalError(path, 1, None, "this is not a journal: it is empty")
    return found


def _events(path: Path, max_bytes: int | None) -> Iterator[tuple[int, Event | TurnsPlayed]]:
    """Yield what the lines of a journal hold, with their numbers; observations stay as they are written."""
    size = 0
    schema = None
    with closing(batches(path)) as parts:
        for batch in parts:
            if batch.state == "damaged":
                raise JournalError(path, batch.line, None, batch.what)
            for line, text in enumerate(batch.lines, batch.line):
                schema = check_schema(path, text) if schema is None else schema
                yield line, decode_line(text, schema)
            size += sum(map(len, batch.lines))
            if batch.state == "torn":
                raise JournalError(path, batch.line + len(batch.lines), None, batch.what)
            if max_bytes is not None and size > max_bytes:
                raise JournalError(
                    path, batch.line, None, f"more than {max_bytes:,} bytes; the rest is left out"
                )
