"""The record of a match, written while it is played; how it stands in the file, `layout` tells.

Events come inside timed turns, so taking one is an append to a list: 64 of them are encoded, hashed and
sealed at a time, and an actor of its own writes them, in a thread. What is waiting for the disk
is bounded: beyond a limit the match waits between turns, where no clock runs. Nothing is ever dropped.

Where batches end depends on the events alone under the virtual clock, so equal matches have equal files.
On the wall clock a batch that has waited for `FLUSH_SECONDS` is closed as it is.
"""

from __future__ import annotations

__all__ = [
    "FLUSH_SECONDS",
    "MAX_WAITING_BYTES",
    "RESUME_BYTES",
    "WRITE_BYTES",
    "Journal",
    "JournalError",
    "JournalStatistics",
    "JournalTruncated",
    "read_journal",
]

import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import trio
from msgspec import Raw
from msgspec.structs import replace

from flagfall.errors import HostFault
from flagfall.events import Event, MatchEnded, MatchStarted, SeatFell, TurnPlayed
from flagfall.recording.disk import disk
from flagfall.recording.files import JournalFile, check_writable, is_compressed
from flagfall.recording.layout import (
    BATCH_BYTES,
    BATCH_EVENTS,
    MAX_LINE_BYTES,
    Sealer,
    encode,
    encode_lines,
    writable,
)
from flagfall.recording.reading import JournalError, JournalTruncated, read_journal

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

FLUSH_SECONDS: Final = 0.25
"""What was recorded is given to the system after so long at most: a killed process loses no more."""

WRITE_BYTES: Final = 512 * 1024
"""So much is written at once. A trip to the thread costs the loop some 0.2 ms, and 5,000 turns share it."""

MAX_WAITING_BYTES: Final = 2 * 1024 * 1024
"""When more than this waits for the disk, the match waits too (some 20,000 turns of bytes)."""

RESUME_BYTES: Final = MAX_WAITING_BYTES // 4
"""With no more than this left the match goes on, so that it does not stop and go turn by turn."""

_T = TypeVar("_T")


@attrs.frozen
class JournalStatistics:
    """How a journal does.

    Attributes:
        events: so many are encoded.
        waiting_bytes: are encoded and not yet written .
        peak_waiting_bytes: the most that `waiting_bytes` ever was.
        written_bytes: the length of the file.
        pauses: how often the match waited for the disk.
    """

    events: int
    waiting_bytes: int
    peak_waiting_bytes: int
    written_bytes: int
    pauses: int


class Journal:
    """A sink that writes a match to a file (`flagfall.kernel.match.WritingSink`). For one match.

    Args:
        path: the file; it is created, or made empty, when the first event comes. A name that ends in
            `.zst` compresses it.

    Raises:
        UsageError: the file cannot be written, as far as that can be told now.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = self.check(path)
        self._pause: Callable[[], None] = lambda: None
        self._real_work: Callable[[], AbstractContextManager[None]] = nullcontext
        self._virtual = False
        # Not yet encoded, but for what may change.
        self._pending: list[Event | Raw] = []
        self._pending_bytes = 0
        # Encoded and not yet written.
        self._sealer = Sealer()
        self._ready: list[bytes] = []
        self._ready_bytes = 0
        self._waiting_bytes = 0
        self._write_due = 0.0
        self._file: JournalFile | None = None
        self._wake = trio.Event()
        self._room = trio.Event()
        self._finished = False
        self._closed = False
        self._fault: HostFault | None = None
        self._events = self._peak_waiting_bytes = self._written_bytes = self._pauses = 0

    @staticmethod
    def check(path: str | os.PathLike[str]) -> Path:
        """Whether a journal can be written here; touches nothing.

        Raises:
            UsageError: it cannot: there is no such folder, it may not be written to, the path is a folder
                itself, or the extra for `.zst` is missing.
        """
        checked = Path(path)
        check_writable(checked)
        return checked

    def statistics(self) -> JournalStatistics:
        """How the journal does at this moment."""
        return JournalStatistics(
            self._events, self._waiting_bytes, self._peak_waiting_bytes, self._written_bytes, self._pauses
        )

    # Inside a turn.

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks.

        Raises:
            HostFault: it cannot be written as JSON, and is left out.
        """
        # Whole numbers cannot change any more, so encoding them can wait; everything else is encoded now,
        # because a task may use its arrays, and an agent its lists, again.
        if type(event) is TurnPlayed and type(event.observation) is type(event.action) is int:
            pending = self._pending
            pending.append(event)
            if len(pending) >= BATCH_EVENTS:
                self._close_batch()
        else:
            self._take_now(event)

    def _take_now(self, event: Event) -> None:
        line = self._encoded(event)
        self._pending.append(Raw(line))
        self._pending_bytes += len(line)
        if len(self._pending) >= BATCH_EVENTS or self._pending_bytes >= BATCH_BYTES:
            self._close_batch()

    def _encoded(self, event: Event) -> bytes:
        if type(event) is MatchStarted:
            self._virtual = event.clock == "virtual"
            self._wake.set()
        elif type(event) is SeatFell or type(event) is MatchEnded:
            event = replace(event, detail=writable(event.detail))
        try:
            line = encode(event)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise HostFault(f"journal {self.path}: {_place(event)} cannot be written: {error}") from error
        if len(line) >= MAX_LINE_BYTES:
            raise HostFault(
                f"journal {self.path}: {_place(event)} is too long: {len(line)} bytes,"
                f" and {MAX_LINE_BYTES} is the limit"
            )
        return line

    def _close_batch(self, *, last: bool = False) -> None:
        """Encode the batch, and queue it for the writer."""
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        if self._fault is not None or self._closed:
            return
        try:
            lines = encode_lines(pending)
        except ValueError as error:
            self._fail(f"{_place(pending[0])} or one soon after cannot be written: {error}", error)
            raise self._fault from error  # type: ignore[misc]  # it was set in the line before
        self._events += len(pending)
        self._queue(lines + self._sealer.seal(lines, len(pending), last=last))

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
        """The match begins; see `flagfall.kernel.match.WritingSink`."""
        self._pause = pause
        self._real_work = real_work

    def finish(self) -> None:
        """There will be no more events: seal the whole."""
        if not self._finished:
            self._finished = True
            if self._pending or self._events:
                self._close_batch(last=True)
        self._wake.set()

    async def drain(self) -> None:
        """Wait until there is room again. Cancelling it leaves everything as it is.

        Raises:
            HostFault: the file cannot be written.
        """
        await trio.lowlevel.checkpoint()
        self._pauses += self._waiting_bytes > RESUME_BYTES
        while self._waiting_bytes > RESUME_BYTES and not self._closed:
            self._wake.set()
            await self._room.wait()
        if self._fault is not None:
            raise self._fault

    # The writer.

    async def run(self) -> None:
        """Write until `finish` was called and everything is in the file.

        Raises:
            HostFault: the disk is full, the file has vanished, or the like; what was written before it
                stays, and is sound. The journal takes no more.

        If it is cancelled, the file ends with the last batch that was written.
        """
        try:
            await self._wake.wait()
            if self._pending or self._ready:
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
        """Wait until there is much to write, or anything for long enough."""
        if self._virtual:
            await self._wake.wait()
        else:
            with trio.move_on_after(FLUSH_SECONDS) as patience:
                await self._wake.wait()
            if patience.cancelled_caught and self._pending and not self._finished:
                self._close_batch()
        self._wake = trio.Event()

    async def _write_ready(self, *, last: bool) -> None:
        batches, self._ready = self._ready, []
        taken_bytes, self._ready_bytes = self._ready_bytes, 0
        if not is_compressed(self.path):
            batches = [b"".join(batches)]  # so that the thread has one system call to make
        self._written_bytes = await self._work(lambda: self._put(batches, last=last))
        self._write_due = time.monotonic() + FLUSH_SECONDS
        self._waiting_bytes -= taken_bytes
        if self._waiting_bytes <= RESUME_BYTES:
            self._room.set()
            self._room = trio.Event()

    def _put(self, batches: list[bytes], *, last: bool) -> int:
        """Write batches, and open the file before the first and close it after the last; gives its length.

        This runs in a thread, in one go.
        """
        if self._file is None:
            self._file = JournalFile(self.path)
        file = self._file
        file.write(batches)
        if last:
            self._file = None
            file.close(complete=True)
        return file.length

    async def _work(self, work: Callable[[], _T]) -> _T:
        """Do something in a thread that may wait for the disk; no virtual time passes meanwhile."""
        with self._real_work():
            return await disk().do(work)

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


def _place(event: Any) -> str:
    return f"turn {event.turn}" if isinstance(event, TurnPlayed) else f"a {type(event).__name__}"
