"""Journal files, plain or compressed, behind one interface; all functions block."""

from __future__ import annotations

import fcntl
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from errno import EAGAIN, EINVAL
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, Final, Protocol, TypeVar, cast

import outcome
import trio
from trio.lowlevel import RunVar

from flagfall.errors import UsageError

# One writer thread for all journals of an event loop; jobs that wait at the same time share one call.
#
# A call into a thread costs the loop about 0.2 ms, mostly for passing the interpreter lock to the thread and
# back. If each of 64 journals made its own call, that would cost more than playing their matches.

YIELD_SECONDS: Final = 0.000_05
MAX_YIELDS: Final = 12
"""Length and greatest number of the pauses in which the loop leaves the interpreter to the thread, in each
call into the thread. Four to six are needed."""

_T = TypeVar("_T")


class _Job:
    """A function to call in the thread, and its outcome."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.result: outcome.Outcome[Any] | None = None


class Storage(Protocol):
    """Where journals are kept."""

    def open(self, path: Path) -> RawFile:
        """Create a file, or empty it; blocks, and may raise `OSError`."""

    async def do(self, work: Callable[[], _T]) -> _T:
        """Run a function that may wait for the storage; raises what that raises."""


class Disk:
    """Runs functions that may wait for a disk in a thread, in the order of the calls."""

    def __init__(self) -> None:
        self._waiting: list[_Job] = []
        self._lock = trio.Lock()
        # A limiter of its own: threads of agents must not keep a journal waiting for a thread.
        self._limiter = trio.CapacityLimiter(1)

    def open(self, path: Path) -> RawFile:
        """Create a file of this machine, or empty it, and lock it; see `Storage`."""
        return _FileOnDisk(path)

    async def do(self, work: Callable[[], _T]) -> _T:
        """Run a function in the thread; it runs to its end even if the caller is cancelled.

        Raises:
            OSError: no thread can be started.
            BaseException: what the function raises.
        """
        job = _Job(work)
        self._waiting.append(job)
        with trio.CancelScope(shield=True):
            async with self._lock:
                if job.result is None:  # else an earlier holder of the lock has done it
                    await self._run_waiting()
        assert job.result is not None
        result: _T = job.result.unwrap()
        return result

    async def _run_waiting(self) -> None:
        """Run the jobs that wait now, in one call; those that are added meanwhile have the next one."""
        jobs, self._waiting = self._waiting, []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_yield_interpreter)
            try:
                await trio.to_thread.run_sync(_do_all, jobs, limiter=self._limiter)
            except RuntimeError as error:
                for job in jobs:
                    job.result = outcome.Error(OSError(EAGAIN, f"no thread for the disk ({error})"))
            nursery.cancel_scope.cancel()


def _do_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.result = outcome.capture(job.work)


async def _yield_interpreter() -> None:
    """Release the interpreter lock often enough for the thread to run its Python code at once.

    Otherwise the thread waits 5 ms (`sys.getswitchinterval`) each time it needs the lock, and each pass of
    the loop meanwhile pays for a request to release it: together more than all other costs of a journal.
    """
    for _ in range(MAX_YIELDS):
        time.sleep(YIELD_SECONDS)  # noqa: ASYNC251 - blocks the loop on purpose, for the time of about ten turns
        await trio.lowlevel.checkpoint()


_disk: RunVar[Disk] = RunVar("flagfall_disk")


def disk() -> Disk:
    """Return the `Disk` of the running event loop."""
    try:
        return _disk.get()
    except LookupError:
        _disk.set(Disk())
        return _disk.get()


LOOK_SECONDS: Final = 0.5
"""Interval between checks that the file still exists under its name, so that the removal of a journal that is
being written is reported soon."""

SKIP_BYTES: Final = 1024 * 1024
"""Size of the pieces in which compressed text is skipped."""

ZSTD_LEVEL: Final = 3
"""The default level of zstd; it reduces turns of bytes to a sixth of their size."""


def is_compressed(path: Path) -> bool:
    """Return whether a journal of this name is compressed: it ends in `.zst`."""
    return path.suffix == ".zst"


def _zstandard() -> Any:
    try:
        import zstandard  # noqa: PLC0415 - an extra
    except ImportError:
        what = "a journal that ends in .zst needs the extra zstd: pip install 'flagfall[zstd]'"
        raise UsageError(what) from None
    return zstandard


def check_writable(path: Path) -> None:
    """Check that a journal can be written, as far as that is known without touching the file.

    Raises:
        UsageError: it cannot be written; the message has the reason.
    """
    if is_compressed(path):
        _zstandard()
    try:
        folder, exists = path.is_dir(), path.exists()
    except OSError as error:
        raise UsageError(f"journal {path}: {error.strerror or error}") from error
    if folder:
        raise UsageError(f"journal {path}: this is a folder; name a file in it")
    if exists:
        if not os.access(path, os.W_OK):
            raise UsageError(f"journal {path}: no permission to write the file")
    elif not path.parent.is_dir():
        raise UsageError(f"journal {path}: there is no folder {path.parent}; make it first")
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"journal {path}: no permission to create a file in the folder {path.parent}")


class RawFile(Protocol):
    """A file that is written from its beginning on; every method may raise `OSError`."""

    def check(self) -> None:
        """Check that it is still there."""

    def write(self, data: memoryview) -> int:
        """Write bytes at the end, all or some of them; return their number."""

    def cut(self, length: int) -> None:
        """Cut it to a length, after a failure."""

    def close(self) -> None:
        """Close it."""


class _FileOnDisk:
    """A file of this machine, which is created, or emptied.

    It is locked, so that two matches never write one file, in whatever programs they are.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = io.FileIO(path, "wb", opener=_open_without_emptying)
        made = os.fstat(self._file.fileno())
        self._identity = (made.st_dev, made.st_ino)
        self._regular = S_ISREG(made.st_mode)
        if self._regular:
            self._lock()
            self._file.truncate()
        self._look_at = 0.0
        self.write: Callable[[memoryview], int] = self._file.write
        self.close: Callable[[], None] = self._file.close

    def cut(self, length: int) -> None:
        if self._regular:
            self._file.truncate(length)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise BlockingIOError(error.errno, "another match is writing it") from None
        except OSError:  # a file system without locks
            pass

    def check(self) -> None:
        """Check every `LOOK_SECONDS` that the name still leads to this file."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        seen = self._path.stat()
        if (seen.st_dev, seen.st_ino) != self._identity:
            raise FileNotFoundError(2, "the file was replaced while it was written")


class JournalFile:
    """A journal file that is being written; it always ends with a whole batch.

    Args:
        file: the file, which is empty.
        compressed: compress it, each batch as a block of its own.

    Attributes:
        length: the bytes of all whole batches.

    Raises:
        OSError: every method may raise it; the file then holds the batches of earlier calls.
    """

    def __init__(self, file: RawFile, *, compressed: bool) -> None:
        self._file = file
        self.length: int = 0
        self._squeeze: Any = None
        if compressed:
            zstandard = _zstandard()
            self._squeeze = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compressobj()
            self._block = zstandard.COMPRESSOBJ_FLUSH_BLOCK

    def write(self, batches: Sequence[bytes]) -> None:
        """Append batches.

        In a compressed file each batch is a block of its own: it can be read whatever follows it, and the
        bytes do not depend on the number of batches written in one call.
        """
        self._file.check()
        if self._squeeze is None:
            self._append(b"".join(batches))
        else:
            squeeze, block = self._squeeze, self._block
            self._append(b"".join([squeeze.compress(batch) + squeeze.flush(block) for batch in batches]))

    def close(self, *, complete: bool) -> None:
        """Close the file.

        Args:
            complete: the last batch was written, so a compressed file gets its end.
        """
        with closing(self._file):
            if complete and self._squeeze is not None:
                self._append(self._squeeze.flush())

    def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            with suppress(OSError):
                self._file.cut(self.length)
            raise
        self.length += len(data)


def _open_without_emptying(name: str, flags: int) -> int:
    return os.open(name, flags & ~os.O_TRUNC, 0o666)


_LOCKS: Final = Path("/proc/locks")


def is_locked(path: Path) -> bool | None:
    """Return whether a process of this machine has locked a file, as `JournalFile` does; `None` if not known.

    Taking the lock to find out, even for a moment, could make a program fail that takes it then. Linux lists
    all locks in `/proc/locks`.
    """
    if not _LOCKS.exists():
        return None
    try:
        inode = path.stat().st_ino
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return False
    return any(" FLOCK " in line and f":{inode} " in line for line in lines)


@contextmanager
def open_lines(path: Path, max_bytes: int, offset: int = 0) -> Iterator[Iterator[bytes]]:
    """Open a journal and yield an iterator over its lines, each with its newline.

    Args:
        max_bytes: the longest line; a longer one is yielded in pieces.
        offset: the number of bytes of the text to skip, up to the beginning of a line. A compressed file is
            decompressed up to there.

    Raises:
        OSError: the file cannot be read.
        UsageError: the extra for compressed journals is not installed.
        EOFError: the compressed data is damaged; raised by the iterator.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        if not S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(EINVAL, "it is not a regular file")
        if is_compressed(path):
            yield _unsqueezed(file, max_bytes, offset)
        else:
            file.seek(offset)
            yield _lines(file, max_bytes)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting: a pipe would wait for somebody who writes to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def _lines(file: BinaryIO, max_bytes: int) -> Iterator[bytes]:
    while line := file.readline(max_bytes):
        yield line


def _unsqueezed(file: BinaryIO, max_bytes: int, offset: int) -> Iterator[bytes]:
    zstandard = _zstandard()
    reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    try:
        text = cast("BinaryIO", io.BufferedReader(reader))
        while offset > 0 and (skipped := text.read(min(offset, SKIP_BYTES))):
            offset -= len(skipped)
        yield from _lines(text, max_bytes)
    except zstandard.ZstdError as error:
        raise EOFError(f"the compressed data is damaged ({error})") from error
