"""Writer of journals: records a match while it is played (the file format is in `format`).

Events arrive within timed turns, so plain turns are passed on 256 at a time, and are encoded, hashed and
sealed together. An actor writes them in a thread. The data that waits for the disk is bounded: beyond a limit
the match waits between turns, while no clock runs. No event is dropped.

On the virtual clock the ends of batches depend on the events alone, so equal matches have equal files. On the
wall clock a batch is closed once it has waited for `FLUSH_SECONDS`. There, at lock-step pace, the match also
waits until a turn with a note is written, if that took `NOTED_NS`: what an agent has noted may have cost
money, and a match that goes on after its program was killed finds it there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, TypeVar

import attrs
import trio
from msgspec.structs import replace

from flagfall.errors import HostFault, UsageError
from flagfall.events import Event, MatchStarted, TurnPlayed, TurnsPlayed
from flagfall.recording.journal.file import JournalFile, Storage, check_writable, disk, is_compressed
from flagfall.recording.journal.format import (
    BATCH_BYTES,
    BATCH_EVENTS,
    MAX_LINE_BYTES,
    Sealer,
    encode,
    kept,
    writable,
)
from flagfall.timing import MS

FLUSH_SECONDS: Final = 0.25
"""The longest time until an event is passed to the operating system: a killed process loses no more."""

WRITE_BYTES: Final = 512 * 1024
"""Size of a write. A call into the thread costs the loop about 0.2 ms, which 20,000 turns share."""

MAX_WAITING_BYTES: Final = 2 * 1024 * 1024
"""Size waiting for the disk beyond which the match waits too (about 90,000 turns of bytes)."""

RESUME_BYTES: Final = MAX_WAITING_BYTES // 4
"""The match goes on when no more than this is left, so that it does not wait again in each turn."""

NOTED_NS: Final = 1 * MS
"""The match waits for the disk after a turn with a note that took at least this long: that costs 0.4 ms, and
to repeat a turn that is played faster costs nothing."""

_T = TypeVar("_T")


@attrs.frozen
class JournalStatistics:
    """Statistics of a journal that is being written.

    Attributes:
        waiting_bytes: bytes encoded and not written yet.
        pauses: the number of times the match waited for the disk.
    """

    events: int
    waiting_bytes: int
    peak_waiting_bytes: int
    written_bytes: int
    pauses: int


class Journal:
    """A sink that writes one match to a file; each match needs one of its own.

    It is a `WritingSink` and a `BatchSink` (`flagfall.kernel.dispatcher`).

    Args:
        path: the file; it is created, or emptied, at the first event. It is compressed if its name ends in
            `.zst`.
        whole: keep observations of any length; otherwise long ones are replaced by digests
            (`flagfall.recording.journal.format`).
        storage: keeps the file; `None` for the disk of this machine.

    Raises:
        UsageError: the file cannot be written, as far as `check` can know.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, whole: bool = False, storage: Storage | None = None
    ) -> None:
        self.path: Path = self.check(path) if storage is None else Path(path)
        self._storage = storage
        self._whole = whole
        self._pause: Callable[[], None] = lambda: None
        self._hand_over: Callable[[], None] = lambda: None
        self._real_work: Callable[[], AbstractContextManager[None]] = nullcontext
        self._virtual = False
        self._keeps_notes = self._has_note = False
        # The open batch.
        self._lines: list[bytes] = []
        self._lines_bytes = self._lines_events = 0
        # Closed and not yet written.
        self._sealer = Sealer()
        self._ready: list[bytes] = []
        self._ready_bytes = 0
        self._waiting_bytes = 0
        self._write_due = 0.0
        self._file: JournalFile | None = None
        self._wake = trio.Event()
        self._room = trio.Event()
        self._attached = False
        self._finished = False
        self._closed = False
        self._fault: HostFault | None = None
        self._events = self._peak_waiting_bytes = self._written_bytes = self._pauses = 0

    @staticmethod
    def check(path: str | os.PathLike[str]) -> Path:
        """Check that a journal can be written, without touching the file.

        Raises:
            UsageError: the folder does not exist or may not be written, the path is a folder, or the extra
                for `.zst` is not installed.
        """
        checked = Path(path)
        check_writable(checked)
        return checked

    def stored_in(self, storage: Storage) -> Journal:
        """Return an unused journal of the same name and settings, kept in another storage."""
        return Journal(self.path, whole=self._whole, storage=storage)

    def statistics(self) -> JournalStatistics:
        """Return the journal's statistics."""
        return JournalStatistics(
            self._events, self._waiting_bytes, self._peak_waiting_bytes, self._written_bytes, self._pauses
        )

    # Inside a turn.

    def __call__(self, event: Event) -> None:
        """Record one event; never blocks.

        Raises:
            HostFault: the event cannot be written as JSON; it is not recorded.
        """
        self._add(self._encoded(event), 1)
        has_note = type(event) is TurnPlayed and event.note is not None and event.spent_ns >= NOTED_NS
        if has_note and self._keeps_notes:
            self._has_note = True
            self._pause()

    def write_batch(self, turns: TurnsPlayed) -> None:
        """Take plain turns; never blocks, and raises as a call does."""
        self._add(self._encoded(turns), len(turns))

    def _add(self, line: bytes, events: int) -> None:
        self._lines += (line, b"\n")
        self._lines_bytes += len(line)
        self._lines_events += events
        if self._lines_events >= BATCH_EVENTS or self._lines_bytes >= BATCH_BYTES:
            self._close_batch()

    def _encoded(self, event: Event | TurnsPlayed) -> bytes:
        if type(event) is MatchStarted:
            self._virtual = event.clock == "virtual"
            self._keeps_notes = not self._virtual and event.tick_ns is None
            self._wake.set()
        try:
            if type(event) is TurnPlayed and type(event.observation) is not int and not self._whole:
                event = replace(event, observation=kept(encode(event.observation)))
            try:
                line = encode(event)
            except UnicodeEncodeError:  # a text of an agent; looking for one in every event would take longer
                if isinstance(event, TurnPlayed | TurnsPlayed):
                    raise
                facts = event.facts().items()
                line = encode(replace(event, **{name: writable(of) for name, of in facts if type(of) is str}))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise HostFault(f"journal {self.path}: {_place(event)} cannot be written: {error}") from error
        if len(line) >= MAX_LINE_BYTES:
            raise HostFault(
                f"journal {self.path}: {_place(event)} is too long: {len(line)} bytes,"
                f" and {MAX_LINE_BYTES} is the limit"
            )
        return line

    def _close_batch(self, *, last: bool = False) -> None:
        """Seal the batch, and queue it for the writer."""
        lines, self._lines = self._lines, []
        events, self._lines_events, self._lines_bytes = self._lines_events, 0, 0
        if self._fault is None and not self._closed:
            self._events += events
            text = b"".join(lines)
            self._queue(text + self._sealer.seal(text, len(lines) // 2, last=last))

    def _queue(self, batch: bytes) -> None:
        length = len(batch)
        self._ready.append(batch)
        self._ready_bytes += length
        waiting_bytes = self._waiting_bytes = self._waiting_bytes + length
        self._peak_waiting_bytes = max(self._peak_waiting_bytes, waiting_bytes)
        if waiting_bytes > MAX_WAITING_BYTES:
            self._pause()
        if self._ready_bytes >= WRITE_BYTES or (self._virtual and time.monotonic() >= self._write_due):
            self._wake.set()

    # The match's side.

    def attach(
        self, pause: Callable[[], None], real_work: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """Begin a match; see `flagfall.kernel.dispatcher.WritingSink`.

        Raises `UsageError` if it has recorded a match, or is recording one.
        """
        if self._attached:
            raise UsageError(f"journal {self.path}: it records one match; make a Journal for each")
        self._attached = True
        self._pause = pause
        self._real_work = real_work

    def finish(self) -> None:
        """Seal the journal after the last event."""
        if not self._finished:
            self._finished = True
            if self._lines or self._events:
                self._close_batch(last=True)
        self._wake.set()

    def set_flush(self, hand_over: Callable[[], None]) -> None:
        """Take the function that flushes a batch; see `flagfall.kernel.dispatcher.BatchSink`."""
        self._hand_over = hand_over

    async def drain(self) -> None:
        """Wait until at most `RESUME_BYTES` wait for the disk, and none after a turn with a note.

        Cancellation changes nothing.

        Raises:
            HostFault: the file cannot be written.
        """
        await trio.lowlevel.checkpoint()
        most_bytes = RESUME_BYTES
        if self._has_note:  # closed here, where all records of the turn have come
            self._has_note, most_bytes = False, 0
            if self._lines:
                self._close_batch()
        self._pauses += self._waiting_bytes > most_bytes
        while self._waiting_bytes > most_bytes and not self._closed:
            self._wake.set()
            await self._room.wait()
        if self._fault is not None:
            raise self._fault

    # The writer.

    async def run(self) -> None:
        """Write batches until `finish` was called and all of them are in the file.

        If cancelled, the file ends with the last batch that was written.

        Raises:
            HostFault: the disk is full, or the file was removed, or another error of the file system; the
                file keeps the whole batches that were written before. Later events are discarded.
        """
        try:
            await self._wake.wait()
            if self._lines or self._ready:
                await self._write_all()
        except OSError as error:
            self._fail(f"cannot be written: {error.strerror or error}", error)
        finally:
            self._closed = True
            self._room.set()
            self._ready.clear()
            await self._close_unfinished()
        if self._fault is not None:
            raise self._fault

    async def _write_all(self) -> None:
        while self._fault is None:
            await self._until_due()
            last = self._finished
            if self._ready or last:
                await self._write_ready(last=last)
            if last:
                return

    async def _until_due(self) -> None:
        """Wait until `WRITE_BYTES` are ready, or `FLUSH_SECONDS` have passed."""
        if self._virtual:
            await self._wake.wait()
        else:
            with trio.move_on_after(FLUSH_SECONDS) as patience:
                await self._wake.wait()
            if patience.cancelled_caught and not self._finished:
                self._hand_over()
                if self._lines:
                    self._close_batch()
        self._wake = trio.Event()

    async def _write_ready(self, *, last: bool) -> None:
        batches, self._ready = self._ready, []
        taken_bytes, self._ready_bytes = self._ready_bytes, 0
        if not is_compressed(self.path):
            batches = [b"".join(batches)]  # one system call in the thread
        storage = self._storage or disk()
        self._written_bytes = await self._work(lambda: self._put(storage, batches, last=last))
        self._write_due = time.monotonic() + FLUSH_SECONDS
        self._waiting_bytes -= taken_bytes
        if self._waiting_bytes <= RESUME_BYTES:
            self._room.set()
            self._room = trio.Event()

    def _put(self, storage: Storage, batches: list[bytes], *, last: bool) -> int:
        """Write batches in the thread, and return the length of the file.

        The file is opened before the first batch and closed after the last.
        """
        if self._file is None:
            self._file = JournalFile(storage.open(self.path), compressed=is_compressed(self.path))
        file = self._file
        file.write(batches)
        if last:
            self._file = None
            file.close(complete=True)
        return file.length

    async def _work(self, work: Callable[[], _T]) -> _T:
        """Call a function in the disk's thread; no virtual time passes meanwhile."""
        with self._real_work():
            return await (self._storage or disk()).do(work)

    async def _close_unfinished(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with trio.CancelScope(shield=True):
                try:
                    await self._work(lambda: file.close(complete=False))
                except OSError as error:
                    self._fail(f"cannot be closed: {error.strerror or error}", error)

    def _fail(self, what: str, error: BaseException) -> None:
        if self._fault is None:
            self._fault = HostFault(f"journal {self.path}: {what}")
            self._fault.__cause__ = error
        self._wake.set()


def _place(event: Event | TurnsPlayed) -> str:
    if isinstance(event, TurnsPlayed):
        return f"one of the turns {event.turn} to {event.turn + len(event) - 1}"
    return f"turn {event.turn}" if isinstance(event, TurnPlayed) else f"a {type(event).__name__}"
