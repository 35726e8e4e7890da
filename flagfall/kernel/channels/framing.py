"""Framing of a byte stream: a big-endian length of four bytes, then the payload. Pure: bytes in, frames out.

Rule 1: a length over the bound is refused at the header, before the payload is stored.
Rule 2: after an invalid header the stream stays invalid: every further call fails in the same way.
Rule 3: frames are taken before more input is fed, so that a framer holds at most one frame and one chunk.
"""

from __future__ import annotations

import enum
from typing import Final, Literal, TypeAlias

from flagfall.errors import FlagfallError, UsageError


class LineError(FlagfallError):
    """The other end breaks the protocol, so that no further line can be read."""


class LineReader:
    """Cuts a byte stream into lines; a carriage return before the line feed belongs to the end.

    Lines are taken before more input is fed, so that it holds at most one line and one chunk.

    Attributes:
        max_bytes: maximum length of a line without its end; it may be changed.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._buffer = bytearray()
        self._seen = 0  # this part of the buffer holds no end of line

    @property
    def buffered_bytes(self) -> int:
        """Number of bytes of input that are held; at the end of the stream, an incomplete line."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add input, in pieces of any size."""
        self._buffer += data

    def next_line(self) -> bytes | None:
        """Return the next line without its end, or `None` while none is complete.

        Raises:
            LineError: the line is too long, or will be.
        """
        end = self._buffer.find(b"\n", self._seen)
        if end < 0:
            self._seen = len(self._buffer)
            if self._seen > self.max_bytes + 1:
                raise self._too_long()
            return None
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        self._seen = 0
        if len(line) > self.max_bytes:
            raise self._too_long()
        return line

    def _too_long(self) -> LineError:
        return LineError(f"a line of too many bytes; {self.max_bytes} is the limit")

    def take_rest(self) -> bytes:
        """Take the bytes after the last line, when there will be no more lines."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._seen = 0
        return rest


HEADER_BYTES: Final = 4

# The largest known observation is a stack of four Atari screens (4 x 210 x 160 x 3) as float64, 3.1 MiB;
# a GVGAI state is 15 kB, a LangRoom picture 12 KiB.
MAX_FRAME_BYTES: Final = 4 * 1024 * 1024
"""Default of the maximum payload size."""


class FrameError(FlagfallError):
    """A frame is longer than the bound; the reader of the stream adds the sender to the message."""


class NeedMore(enum.Enum):
    """The type of `NEED_MORE`."""

    NEED_MORE = enum.auto()


NEED_MORE: Final = NeedMore.NEED_MORE
"""Returned by `Framer.next_frame` while no whole frame is available."""

Frame: TypeAlias = bytes | Literal[NeedMore.NEED_MORE]


def _check_bound(max_frame_bytes: int) -> None:
    if not 0 < max_frame_bytes < 256**HEADER_BYTES:
        raise ValueError(f"max_frame_bytes must be from 1 to {256**HEADER_BYTES - 1}, not {max_frame_bytes}")


def _too_long(length: int, max_frame_bytes: int) -> FrameError:
    return FrameError(f"a frame of {length} bytes is longer than {max_frame_bytes}")


def frame(payload: bytes, max_frame_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """Put a payload (which may be empty) into a frame.

    Raises:
        FrameError: it is longer than the bound.
        ValueError: the bound does not fit the header.
    """
    _check_bound(max_frame_bytes)
    return header_of(payload, max_frame_bytes) + payload


def header_of(payload: bytes, max_frame_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """Return the header of the frame of a payload.

    Raises:
        FrameError: the payload is longer than the bound.
    """
    length = len(payload)
    if length > max_frame_bytes:
        raise _too_long(length, max_frame_bytes)
    return length.to_bytes(HEADER_BYTES, "big")


class Framer:
    """Cuts a byte stream into payloads.

        framer.feed(chunk)
        while (payload := framer.next_frame()) is not NEED_MORE:
            take(payload)

    Raises:
        ValueError: the bound does not fit the header.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        _check_bound(max_frame_bytes)
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._bad_length: int | None = None
        self._closed = False

    @property
    def buffered_bytes(self) -> int:
        """Number of bytes of input that are held."""
        return len(self._buffer)

    def feed(self, data: bytes | bytearray | memoryview) -> None:
        """Add input, in pieces of any size.

        Raises:
            FrameError: the stream is broken since an earlier header.
            UsageError: an earlier frame has not been taken yet, or the input was closed.
        """
        if self._closed:
            raise UsageError("the framer was closed: no input can follow")
        self._check_taken()
        self._buffer += data

    def next_frame(self) -> Frame:
        """Return the next payload, or `NEED_MORE`.

        Raises:
            FrameError: the next header, or an earlier one, names a length over the bound.
        """
        length = self._length()
        if length is None or len(self._buffer) < HEADER_BYTES + length:
            return NEED_MORE
        with memoryview(self._buffer) as whole:
            payload = bytes(whole[HEADER_BYTES : HEADER_BYTES + length])
        del self._buffer[: HEADER_BYTES + length]
        return payload

    def feed_and_take(self, data: bytes) -> Frame:
        """Add input and return the next payload, or `NEED_MORE`; raises as `feed` and `next_frame` do.

        A chunk that is one frame is not stored.
        """
        end = len(data)
        if not self._buffer and self._bad_length is None and not self._closed and end >= HEADER_BYTES:
            length = int.from_bytes(data[:HEADER_BYTES], "big")
            if length == end - HEADER_BYTES and length <= self._max_frame_bytes:
                return data[HEADER_BYTES:]
        self.feed(data)
        return self.next_frame()

    def close(self) -> bool:
        """End the input; return whether it ended inside a frame, so that data was lost.

        Raises:
            FrameError: the stream is broken since an earlier header.
            UsageError: an earlier frame has not been taken yet.
        """
        self._check_taken()
        self._closed = True
        return bool(self._buffer)

    def _length(self) -> int | None:
        """Return the length in the next header; `None` while that is incomplete."""
        if self._bad_length is None:
            if len(self._buffer) < HEADER_BYTES:
                return None
            length = int.from_bytes(self._buffer[:HEADER_BYTES], "big")
            if length <= self._max_frame_bytes:
                return length
            self._bad_length = length
            self._buffer.clear()
        raise _too_long(self._bad_length, self._max_frame_bytes)

    def _check_taken(self) -> None:
        length = self._length()
        if length is not None and len(self._buffer) >= HEADER_BYTES + length:
            raise UsageError("a frame waits to be taken: call next_frame until it returns NEED_MORE")
