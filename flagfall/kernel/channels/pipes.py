"""Streams of bytes and of messages over file descriptors, for the event loop's end of a pipe or socket."""

from __future__ import annotations

import os
import re
import socket
import struct
import sys
import tempfile
import time
from contextlib import suppress
from typing import Final, Protocol

import trio
from trio.lowlevel import notify_closing, wait_readable, wait_writable

from flagfall.kernel.channels.framing import MAX_FRAME_BYTES, NEED_MORE, Framer, LineReader, header_of

READ_BYTES: Final = 64 * 1024
"""The capacity of a Linux pipe, so that one read empties it."""

JOINED_BYTES: Final = 4 * 1024
"""A payload up to this size is copied behind its header for one plain write; a longer one is written together
with its header, without a copy, which takes a system call of 0.5 us more."""


_TICK_NS: Final = round(time.clock_getres(5) * 1e9) if sys.platform == "linux" else 0
"""A tick of the clock by which the kernel stamps files: CLOCK_REALTIME_COARSE, which Python does not name."""

_HAS_FINE_STAMPS: Final = sys.platform == "linux" and tuple(
    int(part) for part in re.findall(r"\d+", os.uname().release)[:2]
) >= (6, 13)
"""From this version of Linux on, a write always changes a time that was looked at since the write before."""

NOTED_READS: Final = 1_000
"""After an age was asked for, the stamps of this many reads are noted: delays come in crowds, and a look at a
stamp costs a microsecond, which turns that are never late do not pay."""

_SO_TIMESTAMPNS: Final = 35
"""Option and kind of message in Linux's `socket.h`, which Python does not name. Its value is a `timespec`."""

_TIMESPEC: Final = struct.Struct("ll")
_ANCILLARY_BYTES: Final = socket.CMSG_SPACE(_TIMESPEC.size)


def open_stamped_pipe() -> tuple[int, int]:
    """Open a pipe of which the kernel keeps the time of the last write, which no process can set back.

    Linux keeps it, as the change time of the inode, for pipes that have had a name; for those of `pipe` only
    up to version 6.14. The name is gone when this returns. Where no such pipe can be made, it is a plain one.

    Returns:
        The descriptors to read from and to write to; blocking, and not inherited.
    """
    for parent in ("/dev/shm", None):  # noqa: S108 - in memory, where it is kept in any case; else the default
        with suppress(OSError), tempfile.TemporaryDirectory(prefix="flagfall-", dir=parent) as folder:
            path = f"{folder}/pipe"
            os.mkfifo(path, 0o600)
            reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # waits for no writer
            try:
                writing = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            except OSError:
                os.close(reading)
                raise
            os.set_blocking(reading, True)
            return reading, writing
    return os.pipe()


class PipeStream:
    """Sends and receives bytes; both descriptors become non-blocking, and are closed with it.

    It tries to write or waits to read at once, without a pass of the event loop first: on the path of
    a turn each pass would cost more than the system call.

    Args:
        write_fd: descriptor to write to; by default `read_fd`, as with a socket.
    """

    def __init__(self, read_fd: int, write_fd: int | None = None) -> None:
        write_fd = read_fd if write_fd is None else write_fd
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._closed = False
        # The stamps after the last read and the one before, and the number of reads that are still noted.
        self._stamp_ns = self._stamp_before_ns = self._noted_reads = 0
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)

    async def write(self, data: bytes | memoryview) -> None:
        """Write all bytes. If the call is cancelled, part of them may have been sent: close the pipe then.

        Raises:
            trio.BrokenResourceError: the other end is gone.
        """
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._write_fd, left) :]
            except BlockingIOError:
                await wait_writable(self._write_fd)
            except OSError as error:
                raise trio.BrokenResourceError(f"the other end is gone: {error.strerror}") from error

    async def read(self) -> bytes:
        """Read the available bytes, at most `READ_BYTES`; empty when the other end has closed."""
        while True:
            await wait_readable(self._read_fd)
            data = self.read_nowait()
            if data is not None:
                return data

    def read_nowait(self) -> bytes | None:
        """Read like `read`, without waiting; `None` if nothing is available."""
        try:
            data = os.read(self._read_fd, READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""
        if self._noted_reads:
            self._noted_reads -= 1
            self._stamp_before_ns, self._stamp_ns = self._stamp_ns, os.fstat(self._read_fd).st_ctime_ns
        return data

    def age_ns(self) -> int | None:
        """Return how long ago the input that was read last has arrived; `None` if that is unknown.

        The kernel keeps the time of the last write for a pipe that `open_stamped_pipe` opened. It counts in
        ticks of its clock; the end of the tick is taken. Input that did not change that time was not written
        (`vmsplice` and `splice` leave it as it is), so it may be younger.
        """
        if not self._noted_reads:
            self._stamp_before_ns, self._stamp_ns = 0, os.fstat(self._read_fd).st_ctime_ns
        self._noted_reads = NOTED_READS
        if _HAS_FINE_STAMPS and self._stamp_ns == self._stamp_before_ns:
            return None
        return max(0, time.time_ns() - self._stamp_ns - _TICK_NS)

    def write_nowait(self, data: bytes) -> int:
        """Write as much as possible without waiting; return the number of bytes written.

        A pipe whose other end is gone takes nothing; `write` reports that.
        """
        try:
            return os.write(self._write_fd, data)
        except OSError:
            return 0

    def write_parts_nowait(self, parts: tuple[bytes, ...]) -> int:
        """Write parts in a row as `write_nowait` does, without joining them first."""
        try:
            return os.writev(self._write_fd, parts)
        except OSError:
            return 0

    def close(self) -> None:
        """Close both descriptors."""
        if self._closed:
            return
        self._closed = True
        for fd in {self._read_fd, self._write_fd}:
            notify_closing(fd)
            os.close(fd)


class TcpStream(PipeStream):
    """ByteStream over a TCP connection, without the waits that TCP adds to small messages.

    What is written leaves at once (`TCP_NODELAY`). What is read is acknowledged at once as soon as a second
    read shows that a message is incomplete (`TCP_QUICKACK`): a peer that writes one reply in two pieces
    holds the second piece back until the first is acknowledged, and Linux delays an acknowledgement by
    40 ms in the hope of sending it along with data. A message that is complete with its first read costs
    no further system call, because the next write acknowledges it.

    Args:
        connection: a connected socket; the pipe takes it over.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError):  # no such times on this system
            connection.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._connection = connection
        self._incomplete = False
        self._ancillary: list[tuple[int, int, bytes]] = []
        super().__init__(connection.fileno())

    async def write(self, data: bytes | memoryview) -> None:
        """Write all bytes; see `PipeStream.write`."""
        self._incomplete = False
        await super().write(data)

    def write_nowait(self, data: bytes) -> int:
        """Write as much as possible; see `PipeStream.write_nowait`."""
        self._incomplete = False
        return super().write_nowait(data)

    def write_parts_nowait(self, parts: tuple[bytes, ...]) -> int:
        """Write parts in a row; see `PipeStream.write_parts_nowait`."""
        self._incomplete = False
        return super().write_parts_nowait(parts)

    async def read(self) -> bytes:
        """Read the available bytes; see `PipeStream.read`."""
        if self._incomplete and sys.platform == "linux":
            # The system clears the option again when data is sent, so it is set before each such read.
            with suppress(OSError):
                self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        return await super().read()

    def read_nowait(self) -> bytes | None:
        """Read the available bytes; see `PipeStream.read_nowait`."""
        try:
            data, self._ancillary, _, _ = self._connection.recvmsg(READ_BYTES, _ANCILLARY_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        self._incomplete = True
        return data

    def age_ns(self) -> int | None:
        """Return how long ago the input that was read last has arrived; see `PipeStream.age_ns`.

        The kernel stamps each packet when it comes in.
        """
        for level, kind, value in self._ancillary:
            if (level, kind, len(value)) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS, _TIMESPEC.size):
                seconds, rest_ns = _TIMESPEC.unpack(value)
                arrived_ns: int = seconds * 1_000_000_000 + rest_ns
                return max(0, time.time_ns() - arrived_ns)
        return None

    def end_output(self) -> None:
        """Send the end of the stream; the peer may still be read."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the connection."""
        if not self._closed:
            self._connection.detach()
        super().close()


class ByteStream(Protocol):
    """A bidirectional stream of bytes; `PipeStream` describes the methods."""

    async def write(self, data: bytes) -> None:
        """Write all bytes."""

    async def read(self) -> bytes:
        """Read the available bytes; empty when the other end has closed."""

    def age_ns(self) -> int | None:
        """Return how long ago the input that was read last has arrived; `None` if that is unknown."""

    def close(self) -> None:
        """Close the stream."""


class FramedStream:
    """Sends and receives payloads over a byte stream, which it owns: as lines, later as frames if chosen."""

    def __init__(self, pipe: ByteStream, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._pipe = pipe
        self._direct = pipe if isinstance(pipe, PipeStream) else None
        self._unsent = memoryview(b"")
        self._lines: LineReader | None = LineReader(max_bytes)
        self._framer = Framer(max_bytes)

    def allow(self, max_bytes: int) -> None:
        """Set the maximum size of received payloads."""
        assert self._lines is not None
        self._lines.max_bytes = max_bytes
        self._framer = Framer(max_bytes)

    def use_frames(self) -> None:
        """Switch to frames in both directions; input that was read already is parsed as frames, too."""
        assert self._lines is not None
        self._framer.feed(self._lines.take_rest())
        self._lines = None

    async def send(self, payload: bytes) -> None:
        """Send a payload. If the call is cancelled, part of it may have been sent: close the stream then.

        Raises:
            trio.BrokenResourceError: the other end is gone.
            FrameError: a frame would be too long.
        """
        if not self.send_nowait(payload):
            await self.flush()

    def send_nowait(self, payload: bytes) -> bool:
        """Send as much of a payload as possible without waiting; if false, `flush` comes next.

        Raises:
            FrameError: a frame would be too long.
        """
        parts = (payload, b"\n") if self._lines is not None else (header_of(payload), payload)
        if self._direct is None:
            self._unsent = memoryview(parts[0] + parts[1])
            return False
        if len(payload) > JOINED_BYTES:
            sent = self._direct.write_parts_nowait(parts)
            if sent == len(parts[0]) + len(parts[1]):
                return True
            self._unsent = memoryview(parts[0] + parts[1])[sent:]
            return False
        data = parts[0] + parts[1]
        sent = self._direct.write_nowait(data)
        if sent == len(data):
            return True
        self._unsent = memoryview(data)[sent:]
        return False

    async def flush(self) -> None:
        """Send what `send_nowait` has left; raises as `send` does. If it is cancelled, close the stream."""
        unsent, self._unsent = self._unsent, memoryview(b"")
        if self._direct is None:
            await self._pipe.write(bytes(unsent))
        else:
            await self._direct.write(unsent)

    def receive_nowait(self) -> bytes | None:
        """Return the next payload if one read at most completes it, else `None`; raises as `receive` does."""
        payload = self._next()
        if payload is None and self._direct is not None:
            data = self._direct.read_nowait()
            if data is not None:
                return self._take(data)
        return payload

    async def receive(self) -> bytes:
        """Return the next payload. If the call is cancelled, none was taken.

        Raises:
            trio.EndOfChannel: the other end closed, possibly in the middle of a payload.
            FrameError: a frame is longer than allowed.
            LineError: a line is longer than allowed.
        """
        payload = self._next()
        while payload is None:
            payload = self._take(await self._pipe.read())
        return payload

    def age_ns(self) -> int | None:
        """Return how long ago the input that was read last has arrived; `None` if that is unknown."""
        return self._pipe.age_ns()

    def _next(self) -> bytes | None:
        """Return the next payload of the input that was read, if it is complete."""
        if self._lines is not None:
            return self._lines.next_line()
        payload = self._framer.next_frame()
        return None if payload is NEED_MORE else payload

    def _take(self, data: bytes) -> bytes | None:
        """Take what was read, and return the next payload if it is complete."""
        if not data:
            raise trio.EndOfChannel
        if self._lines is not None:
            self._lines.feed(data)
            return self._lines.next_line()
        payload = self._framer.feed_and_take(data)
        return None if payload is NEED_MORE else payload

    def close(self) -> None:
        """Close the byte stream."""
        self._pipe.close()
