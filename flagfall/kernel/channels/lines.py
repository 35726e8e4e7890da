"""Splitting of a byte stream into lines. Pure: bytes in, lines out."""

from __future__ import annotations

__all__ = ["LineError", "LineReader"]

from flagfall.errors import FlagfallError


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
                raise LineError(f"a line of {self._seen} bytes and more; {self.max_bytes} is the limit")
            return None
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        self._seen = 0
        if len(line) > self.max_bytes:
            raise LineError(f"a line of {len(line)} bytes; {self.max_bytes} is the limit")
        return line

    def take_rest(self) -> bytes:
        """Take the bytes after the last line, when there will be no more lines."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._seen = 0
        return rest
