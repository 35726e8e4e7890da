"""ZMTP, the wire protocol of ZeroMQ: the listening end of a connection of PAIR sockets. Pure.

Versions 3.0, 3.1 (https://rfc.zeromq.org/spec/23, /37) and 2.0 (/15) with the mechanism NULL: what ZeroMQ 3.2
and later speak when nothing else is asked of them. A socket of the library does not do here: a PAIR socket
takes the first peer that greets, for as long as that likes, and shows neither how many peers there are nor
which one sent a message.

Rule 1: a length over the bound is refused at its header, before anything is kept.
Rule 2: after an error the connection cannot be trusted again.
"""

from __future__ import annotations

from typing import Final

from flagfall.errors import FlagfallError

MAX_MESSAGE_BYTES: Final = 4096
"""The longest message, all its frames together. A right reply has one or two bytes; this one can still be
shown to its author."""

MAX_MESSAGE_FRAMES: Final = 16
"""The frames of a message: a right one has one."""

MAX_COMMAND_BYTES: Final = 1024
"""The longest command: READY has a socket type, an identity of at most 255 bytes, and perhaps properties."""

_MORE: Final = 1
_LONG: Final = 2
_COMMAND: Final = 4
_SHORT_BYTES: Final = 255

_SIGNATURE: Final = b"\xff\0\0\0\0\0\0\0\x01\x7f"
_MAJOR: Final = 3
_GREETING_BYTES: Final = 64
_REST_OF_GREETING: Final = (b"\0" + b"NULL".ljust(20, b"\0")).ljust(
    _GREETING_BYTES - len(_SIGNATURE) - 1, b"\0"
)
_TYPE: Final = b"Socket-Type"
_PAIR_2: Final = b"\0"
"""The number of the socket type in version 2.0."""


class ZmtpError(FlagfallError):
    """The peer does not speak ZMTP, or sends more than it may."""


def message(frame: bytes) -> bytes:
    """Return the bytes of a message of one frame."""
    return _framed(0, frame)


def _framed(flags: int, body: bytes) -> bytes:
    if len(body) <= _SHORT_BYTES:
        return bytes((flags, len(body))) + body
    return bytes((flags | _LONG,)) + len(body).to_bytes(8, "big") + body


def _command(name: bytes, data: bytes) -> bytes:
    return _framed(_COMMAND, bytes((len(name),)) + name + data)


_READY: Final = _command(b"READY", bytes((len(_TYPE),)) + _TYPE + (4).to_bytes(4, "big") + b"PAIR")


class ZmtpPeer:
    """The state of the connection to one peer, from its first byte on.

    Attributes:
        is_ready: the handshake of ZMTP is complete; what follows are messages.
    """

    def __init__(self) -> None:
        self.is_ready: bool = False
        self._buffer = bytearray()
        self._output = bytearray(_SIGNATURE + bytes((_MAJOR,)))
        self._frames: list[bytes] = []
        self._major: int | None = None
        self._greeted = False

    def feed(self, data: bytes) -> None:
        """Take bytes that came in."""
        self._buffer += data

    def take_output(self) -> bytes:
        """Return the bytes that are to be sent now, besides messages."""
        output = bytes(self._output)
        self._output.clear()
        return output

    def next_message(self) -> list[bytes] | None:
        """Return the next message, as its frames; `None` where more bytes are needed.

        Raises:
            ZmtpError: the peer breaks the rules.
        """
        if not self._greeted and not self._greet():
            return None
        while (frame := self._next_frame()) is not None:
            flags, body = frame
            if flags & _COMMAND:
                self._obey(body)
            elif not self.is_ready:
                self._identify()
            else:
                self._frames.append(body)
                if not flags & _MORE:
                    frames, self._frames = self._frames, []
                    return frames
        return None

    def _greet(self) -> bool:
        """Read the greeting; return whether it is complete."""
        buffer = self._buffer
        start = bytes(buffer[: len(_SIGNATURE)])
        if start[:1] not in {b"", _SIGNATURE[:1]} or start[9:] not in {b"", _SIGNATURE[9:]}:
            raise ZmtpError("no ZMTP")
        if len(buffer) <= len(_SIGNATURE):
            return False
        if self._major is None:
            self._major = buffer[len(_SIGNATURE)]
            if not self._major:
                raise ZmtpError("ZMTP 1.0 is too old")
            self._output += _REST_OF_GREETING + _READY if self._major >= _MAJOR else _PAIR_2 + _framed(0, b"")
        size = _GREETING_BYTES if self._major >= _MAJOR else len(_SIGNATURE) + 2
        if len(buffer) < size:
            return False
        said = bytes(buffer[len(_SIGNATURE) + 1 : size])
        del buffer[:size]
        if self._major >= _MAJOR and said[1:21].rstrip(b"\0") != b"NULL":
            raise ZmtpError(f"a mechanism other than NULL: {said[1:21]!r}")
        if self._major < _MAJOR and said != _PAIR_2:
            raise ZmtpError("no PAIR socket")
        self._greeted = True
        return True

    def _next_frame(self) -> tuple[int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:  # noqa: PLR2004 - flags, and at least one byte of the length
            return None
        flags = buffer[0]
        if flags & ~(_MORE | _LONG | _COMMAND) or (flags & _COMMAND and flags & _MORE):
            raise ZmtpError(f"no frame: flags {flags:#x}")
        head = 9 if flags & _LONG else 2
        if len(buffer) < head:
            return None
        size = int.from_bytes(buffer[1:head], "big")
        self._check(flags, size)
        if len(buffer) < head + size:
            return None
        body = bytes(buffer[head : head + size])
        del buffer[: head + size]
        return flags, body

    def _check(self, flags: int, size: int) -> None:
        if flags & _COMMAND or not self.is_ready:
            if size > MAX_COMMAND_BYTES:
                raise ZmtpError(f"a command of {size} bytes; {MAX_COMMAND_BYTES} is the limit")
            return
        size += sum(map(len, self._frames))
        if size > MAX_MESSAGE_BYTES:
            raise ZmtpError(f"a message of {size} bytes; {MAX_MESSAGE_BYTES} is the limit")
        if len(self._frames) >= MAX_MESSAGE_FRAMES:
            raise ZmtpError(f"a message of more than {MAX_MESSAGE_FRAMES} frames")

    def _identify(self) -> None:
        """Take a frame before the handshake is over: in version 2.0 the identity, which is not used."""
        if self._major is None or self._major >= _MAJOR:
            raise ZmtpError("a message before READY")
        self.is_ready = True

    def _obey(self, body: bytes) -> None:
        """Obey a command: READY, ERROR, or PING for a sign of life. Others are for other types of sockets."""
        name, data = body[1 : 1 + body[0]] if body else b"", body[1 + body[0] :] if body else b""
        if self._major is None or self._major < _MAJOR:
            raise ZmtpError("a command in ZMTP 2.0")
        if name == b"READY" and not self.is_ready:
            if _properties(data).get(_TYPE.lower()) != b"PAIR":
                raise ZmtpError("no PAIR socket")
            self.is_ready = True
        elif name == b"ERROR":
            raise ZmtpError(f"the peer reports an error: {data[1:]!r}")
        elif not self.is_ready:
            raise ZmtpError(f"expected READY, got {name!r}")
        elif name == b"PING":
            self._output += _command(b"PONG", data[2:])
            if len(self._output) > MAX_MESSAGE_BYTES:
                raise ZmtpError("a flood of PING")


def _properties(data: bytes) -> dict[bytes, bytes]:
    """Return the properties in a READY, by their names in lower case."""
    found: dict[bytes, bytes] = {}
    while data:
        name_end = 1 + data[0]
        value_start = name_end + 4
        value_end = value_start + int.from_bytes(data[name_end:value_start], "big")
        if value_end > len(data):
            raise ZmtpError("a READY that is cut short")
        found[data[1:name_end].lower()] = data[value_start:value_end]
        data = data[value_end:]
    return found
