"""Timelines of matches in Chrome's trace event format, which Perfetto (ui.perfetto.dev) opens.

The format is that of the document "Trace Event Format" (Google, 2016): one object with a list `traceEvents`.
Complete events (`X`) have a beginning and a duration, instants (`i`) a moment, counters (`C`) a value, and
metadata (`M`) names rows. Times are microseconds; here floats, with the nanoseconds behind the point.

A process is a match, or in a results folder a lane: matches at the same time have different lanes. Its rows
are the match with its tasks, the seats with their turns, stalls of the host, and the journal.

Rule 1: the slices of a row never overlap, except that one may lie within another, as the format demands.
    Times in a journal can disagree with that: at real-time pace the answer to an older turn is played at a
    tick. Then the slice is shortened, and its arguments hold the recorded times.
Rule 2: memory is constant; every event is written when it is read. The format has no order of events.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import attrs

from flagfall.events import (
    Event,
    MatchEnded,
    MatchStarted,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    StallSeen,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
)
from flagfall.recording.journal.format import encode
from flagfall.recording.turn_limits import LimitsOfTurns
from flagfall.viewer.parquet import MAX_NAME_CHARS, MAX_TEXT_CHARS, json_text, shorten, take_events

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagfall.recording.journal.reader import Batch
    from flagfall.viewer.parquet import Source


_MATCH_ROW: Final = 1
_JOURNAL_ROW: Final = 2
_STALL_ROW: Final = 3
_FIRST_SEAT_ROW: Final = 10

MAX_SEAT_ROWS: Final = 1_000
"""Seats beyond this number, which only a forged journal has, share one row."""

_MS: Final = 1_000_000


@attrs.define(eq=False)
class TraceWriter:
    """Writes events of the format one by one; `last_ns` is the end of the last, on the common timeline."""

    _file: BinaryIO
    last_ns: int = 0
    _comma: bytes = b""

    def begin(self, about: dict[str, Any]) -> None:
        """Write the beginning of the file, with texts and numbers about the whole, which viewers show."""
        self._file.write(b'{"displayTimeUnit":"ns","otherData":' + encode(about) + b',"traceEvents":[\n')

    def end(self) -> None:
        """Write the end of the file."""
        self._file.write(b"\n]}\n")

    def name(self, pid: int, tid: int | None, name: str, order: int) -> None:
        """Name a process or a row, and put it into its place.

        Args:
            tid: number of the row; `None` for the process itself.
            order: rows with small numbers are shown first.
        """
        kind = "process" if tid is None else "thread"
        row = {"pid": pid, "tid": tid or 0}
        self._put({"ph": "M", "name": f"{kind}_name", **row, "args": {"name": name}})
        self._put({"ph": "M", "name": f"{kind}_sort_index", **row, "args": {"sort_index": order}})

    def span(
        self, pid: int, tid: int, name: str, kind: str, begin_ns: int, end_ns: int, args: dict[str, Any]
    ) -> None:
        """Write a slice of a row, from `begin_ns` to `end_ns`."""
        times = {"ts": begin_ns / 1000, "dur": (end_ns - begin_ns) / 1000}
        self.last_ns = max(self.last_ns, end_ns)
        self._put({"ph": "X", "name": name, "cat": kind, "pid": pid, "tid": tid, **times, "args": args})

    def instant(self, pid: int, tid: int, name: str, kind: str, at_ns: int, args: dict[str, Any]) -> None:
        """Write a mark on a row."""
        self.last_ns = max(self.last_ns, at_ns)
        place = {"pid": pid, "tid": tid, "ts": at_ns / 1000, "s": "t"}
        self._put({"ph": "i", "name": name, "cat": kind, **place, "args": args})

    def count(self, pid: int, name: str, at_ns: int, value: float) -> None:
        """Write a point of a curve."""
        self._put({"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": at_ns / 1000, "args": {"s": value}})

    def _put(self, event: dict[str, Any]) -> None:
        self._file.write(self._comma + encode(event))
        self._comma = b",\n"


class _MatchTrace:
    """Writes one match, which begins at `offset_ns` of the common timeline and ends at `end_ns`."""

    def __init__(self, writer: TraceWriter, source: Source, pid: int, offset_ns: int) -> None:
        self.end_ns = offset_ns
        self._writer = writer
        self._source = source
        self._pid = pid
        self._offset_ns = offset_ns
        self._limits = LimitsOfTurns(source.header)
        self._task: TaskStarted | None = None
        self._task_began_ns = offset_ns
        self._row_ends: dict[int, int] = {}

    def write(self) -> str:
        """Write all that the journal holds, and return what is wrong with it."""
        problem = take_events(self._source, self._take, self._take_batch)
        if self._task is not None:
            self._end_task(self.end_ns, {"ended": "not recorded"})
        header = self._source.header
        args = {
            "tasks": shorten(", ".join(header.tasks[:MAX_NAME_CHARS]), MAX_TEXT_CHARS),
            "agents": [shorten(name, MAX_NAME_CHARS) for name in header.agents[:MAX_SEAT_ROWS]],
            "seed": str(header.seed),
            "time_control": shorten(header.time_control, MAX_TEXT_CHARS),
            "clock": shorten(header.clock, MAX_NAME_CHARS),
            "journal": problem or "complete",
        }
        self._span(_MATCH_ROW, self._source.match, "match", self._offset_ns, self.end_ns, args)
        return problem

    def _take(self, event: Event) -> None:
        at_ns = self._at(event.at_ns)
        args: dict[str, Any]
        match event:
            case TurnPlayed():
                self._turn(event, at_ns)
            case TaskStarted():
                self._task = event
                self._task_began_ns = max(at_ns, self._row_ends.get(_MATCH_ROW, at_ns))
            case TaskEnded():
                figures = {"steps": event.steps, "reward": event.reward, "result": event.result}
                self._end_task(at_ns, {**figures, "ended": shorten(event.ended, MAX_NAME_CHARS)})
            case SeatReady():
                self._limits.take_start(event)
                row, args = self._seat_row(event.seat), {"host": shorten(event.host, MAX_NAME_CHARS)}
                self._span_before(row, "start", "start", at_ns, event.spent_ns, args)
            case StallSeen():
                args = {"lost_ms": event.lost_ns / _MS, "seat": event.seat}
                self._span_before(_STALL_ROW, "stall of the host", "stall", at_ns, event.lost_ns, args)
            case SeatDisqualified():
                reason = shorten(event.reason, MAX_NAME_CHARS)
                args = {"reason": reason, "detail": shorten(event.detail, MAX_TEXT_CHARS)}
                self._mark(self._seat_row(event.seat), f"disqualified: {reason}", "disqualified", at_ns, args)
            case ReplyDropped():
                args = {"turn": event.turn, "why": event.why}
                self._mark(self._seat_row(event.seat), "dropped reply", "dropped", at_ns, args)
            case MatchEnded():
                args = {"reason": event.reason, "turns": event.turns}
                self._mark(_MATCH_ROW, f"over: {event.reason}", "match", at_ns, args)
            case MatchStarted():
                pass  # `write` shows the match as a whole
            case _:
                facts = event.facts()
                args = {name: _brief(of) for name, of in facts.items()}
                seat = facts.get("seat")
                row = _MATCH_ROW if seat is None else self._seat_row(seat)
                self._mark(row, event.title, str(event.__struct_config__.tag), at_ns, args)

    def _turn(self, event: TurnPlayed, at_ns: int) -> None:
        limits = self._limits.take_turn(event)
        row = self._seat_row(event.seat)
        args: dict[str, Any] = {
            "turn": event.turn,
            "verdict": event.verdict,
            "action": shorten(json_text(event.action), MAX_TEXT_CHARS),
            "reward": event.reward,
            "spent_ms": event.spent_ns / _MS,
        }
        limited = {"soft_limit": limits.soft_ns, "hard_limit": limits.hard_ns, "bank": limits.bank_ns}
        args |= {f"{name}_ms": value / _MS for name, value in limited.items() if value is not None}
        if event.refused is not None:
            args["refused"] = shorten(event.refused, MAX_TEXT_CHARS)
        if event.answers is not None:
            args["answers"] = event.answers
        name = "turn" if event.verdict == "on time" else event.verdict
        took_ns = max(0, event.spent_ns) + max(0, event.credit_ns)
        begin_ns, end_ns = self._span_before(row, name, "turn", at_ns, took_ns, args)
        if event.credit_ns > 0:
            credit_ns = max(begin_ns, end_ns - event.credit_ns)
            self._span(row, "credit", "credit", credit_ns, end_ns, {"credit_ms": event.credit_ns / _MS})
        if limits.bank_ns is not None:
            bank = f"bank of seat {event.seat} (s)"
            self._writer.count(self._pid, bank, at_ns, limits.bank_ns / (1000 * _MS))

    def _end_task(self, at_ns: int, figures: dict[str, Any]) -> None:
        begun, self._task = self._task, None
        if begun is None:  # a journal that was altered
            return
        args = {"index": begun.index, "seed": str(begun.seed), **figures}
        name = shorten(begun.task, MAX_NAME_CHARS)
        self._span_before(_MATCH_ROW, name, "task", at_ns, at_ns - self._task_began_ns, args)

    def _take_batch(self, batch: Batch, first_ns: int, last_ns: int) -> None:
        lines_bytes = sum(map(len, batch.lines))
        args = {"line": batch.line, "lines": len(batch.lines), "bytes": lines_bytes, "seal": batch.state}
        self._span_before(_JOURNAL_ROW, "batch", "journal", self._at(last_ns), last_ns - first_ns, args)

    def _at(self, at_ns: int) -> int:
        """Return a time of the match on the common timeline; never before its beginning."""
        moved_ns = self._offset_ns + max(0, at_ns)
        self.end_ns = max(self.end_ns, moved_ns)
        return moved_ns

    def _seat_row(self, seat: int) -> int:
        return _FIRST_SEAT_ROW + min(max(seat, 0), MAX_SEAT_ROWS)

    def _span_before(
        self, row: int, name: str, kind: str, at_ns: int, took_ns: int, args: dict[str, Any]
    ) -> tuple[int, int]:
        """Write a slice that ends now, from the end of the last one at the earliest; return its times."""
        free_ns = self._row_ends.get(row, self._offset_ns)
        end_ns = max(at_ns, free_ns)
        begin_ns = min(end_ns, max(free_ns, at_ns - max(0, took_ns)))
        self._row_ends[row] = end_ns
        self._span(row, name, kind, begin_ns, end_ns, args)
        return begin_ns, end_ns

    def _span(self, row: int, name: str, kind: str, begin_ns: int, end_ns: int, args: dict[str, Any]) -> None:
        self._writer.span(self._pid, row, name, kind, begin_ns, end_ns, args)

    def _mark(self, row: int, name: str, kind: str, at_ns: int, args: dict[str, Any]) -> None:
        self._writer.instant(self._pid, row, name, kind, at_ns, args)


def write_trace(sources: Sequence[Source], file: BinaryIO, report: Callable[[str], None]) -> None:
    """Write the timeline of some matches, in the order in which they began.

    Matches on the wall clock lie where they were played; those on the virtual clock follow each other. A line
    about each journal that is damaged is reported.
    """
    writer = TraceWriter(file)
    alone = len(sources) == 1
    writer.begin({"program": "flagfall", "matches": len(sources), "begun": sources[0].header.begun or ""})
    origin_ns = min((source.begun_ns for source in sources if source.begun_ns is not None), default=0)
    lanes = _Lanes()
    seats_named: dict[int, int] = {}
    for source in sources:
        offset_ns = writer.last_ns if source.begun_ns is None else source.begun_ns - origin_ns
        pid = lanes.take(offset_ns)
        seats = min(len(source.header.agents), MAX_SEAT_ROWS)
        if pid not in seats_named:
            _name_rows(writer, pid, f"match {source.match}" if alone else f"lane {pid}")
        for seat in range(seats_named.get(pid, 0), seats):
            agent = f": {shorten(source.header.agents[seat], MAX_NAME_CHARS)}" if alone else ""
            writer.name(pid, _FIRST_SEAT_ROW + seat, f"seat {seat}{agent}", _MATCH_ROW + 1 + seat)
        seats_named[pid] = max(seats, seats_named.get(pid, 0))
        match = _MatchTrace(writer, source, pid, offset_ns)
        if problem := match.write():
            report(problem)
        lanes.leave(pid, match.end_ns)
    writer.end()


def _name_rows(writer: TraceWriter, pid: int, name: str) -> None:
    writer.name(pid, None, name, pid)
    writer.name(pid, _MATCH_ROW, "match and tasks", _MATCH_ROW)
    writer.name(pid, _STALL_ROW, "stalls of the host", MAX_SEAT_ROWS + _STALL_ROW)
    writer.name(pid, _JOURNAL_ROW, "journal", MAX_SEAT_ROWS + _STALL_ROW + 1)


def _brief(value: Any) -> Any:
    if isinstance(value, bool | int | float | None):
        return value
    return shorten(value if isinstance(value, str) else json_text(value), MAX_TEXT_CHARS)


@attrs.define
class _Lanes:
    """Lanes for matches, each taken by one match at a time; the lowest that is free is taken."""

    _busy: list[tuple[int, int]] = attrs.Factory(list)
    _free: list[int] = attrs.Factory(list)
    _count: int = 0

    def take(self, at_ns: int) -> int:
        """Return a lane that is free at a time, from 1; times are asked for in ascending order."""
        while self._busy and self._busy[0][0] <= at_ns:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            return heapq.heappop(self._free)
        self._count += 1
        return self._count

    def leave(self, lane: int, end_ns: int) -> None:
        """Keep a lane until the end of its match."""
        heapq.heappush(self._busy, (end_ns, lane))
