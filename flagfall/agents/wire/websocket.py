"""The wire in messages of WebSocket: texts are JSON, binary ones MessagePack. Either end.

Rule 1: a message is taken whole and bounded: neither its length nor the number of its parts has no end.
Rule 2: no compression: a small message cannot become a large one.
Rule 3: pings are answered; at most `MAX_PINGS` pings and pongs are taken for each message.
"""

from __future__ import annotations

__all__ = ["WebSocketStream"]

from collections import deque
from contextlib import suppress
from typing import Any, Final

import trio
from wsproto import WSConnection
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Message,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.utilities import ProtocolError

from flagfall.kernel.channels.framing import MAX_FRAME_BYTES, FrameError
from flagfall.kernel.channels.pipes import ByteStream

MAX_PINGS: Final = 100
"""So many control frames may come with one message: those who keep a line alive send one in some seconds."""

MAX_PARTS: Final = 10_000
"""So many pieces may one message come in; 4 MiB in pieces of a small network packet are 3000."""

FORBIDDEN: Final = 403

_BROKEN: Final = frozenset({1002, 1003, 1007, 1009, 1010})
"""With these codes an end says that the other one breaks the rules (RFC 6455, 7.4.1)."""


class WebSocketStream:
    """Sends and receives payloads as messages; see `flagfall.kernel.channels.pipes.FramedStream`.

    Args:
        pipe: the bytes, closed with it.
        server: whether this is the end that was connected to.
        max_bytes: the longest payload that is let in.
    """

    def __init__(self, pipe: ByteStream, *, server: bool, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._pipe = pipe
        self._connection = WSConnection(ConnectionType.SERVER if server else ConnectionType.CLIENT)
        self._events: deque[Event] = deque()
        self._max_bytes = max_bytes
        self._binary = False

    # Opening.

    async def accept(self, *, browsers: bool) -> None:
        """Be connected to.

        Args:
            browsers: whether pages in a browser may connect; they say where they come from.

        Raises:
            FrameError: whoever connects does not speak WebSocket, or may not.
            trio.EndOfChannel: it closed.
        """
        event = await self._next_event()
        if not isinstance(event, Request):
            raise FrameError("no request for a WebSocket")
        if not browsers and any(name.lower() == b"origin" for name, _ in event.extra_headers):
            await self._say(RejectConnection(status_code=FORBIDDEN))
            raise FrameError("a page in a browser may not connect where there is no token")
        await self._say(AcceptConnection())

    async def connect(self, host: str, target: str = "/") -> None:
        """Connect.

        Raises:
            FrameError: the other end does not speak WebSocket, or refuses.
            trio.EndOfChannel: it closed.
        """
        await self._say(Request(host=host, target=target))
        event = await self._next_event()
        if not isinstance(event, AcceptConnection):
            raise FrameError(f"the WebSocket was refused: {type(event).__name__}")

    # MessageStream.

    def allow(self, max_bytes: int) -> None:
        """From now on payloads may be so long."""
        self._max_bytes = max_bytes

    def use_frames(self) -> None:
        """From now on messages are binary, both ways."""
        self._binary = True

    async def send(self, payload: bytes) -> None:
        """Send one. If it is cancelled, part of it may be out: close then.

        Raises:
            trio.BrokenResourceError: the other end is gone.
        """
        await self._say(BytesMessage(data=payload) if self._binary else TextMessage(data=payload.decode()))

    async def receive(self) -> bytes:
        """The next one. If it is cancelled, part of it may have been taken: close then.

        Raises:
            trio.EndOfChannel: the other end closed.
            FrameError: it is too long, of the wrong kind, or no message of WebSocket.
        """
        whole = bytearray()
        parts = pings = 0
        while True:
            event = await self._next_event()
            if isinstance(event, CloseConnection):
                await self._agree_to_close(event)
                if event.code in _BROKEN:
                    raise FrameError(f"no WebSocket: {event.reason or event.code}")
                raise trio.EndOfChannel
            if isinstance(event, Ping | Pong):
                pings += 1
                if isinstance(event, Ping):
                    await self._say(event.response())
            elif isinstance(event, Message):
                parts += 1
                whole += self._data_of(event)
            if pings > MAX_PINGS or parts > MAX_PARTS:
                raise FrameError("a flood of pings or pongs, or of pieces of one message")
            if len(whole) > self._max_bytes:
                raise FrameError(f"a message of {len(whole)} bytes and more; {self._max_bytes} is the limit")
            if isinstance(event, Message) and event.message_finished:
                return bytes(whole)

    async def _agree_to_close(self, event: CloseConnection) -> None:
        if self._connection.state is ConnectionState.REMOTE_CLOSING:
            with suppress(trio.BrokenResourceError):
                await self._say(event.response())

    def _data_of(self, event: Message[Any]) -> bytes:
        if self._binary != isinstance(event, BytesMessage):
            raise FrameError(f"a message that is not {'binary' if self._binary else 'text'}")
        return bytes(event.data) if isinstance(event, BytesMessage) else str(event.data).encode()

    def close(self) -> None:
        """Close the bytes."""
        self._pipe.close()

    # Events.

    async def _say(self, event: Event) -> None:
        try:
            data = self._connection.send(event)
        except ProtocolError as error:  # closing already
            raise trio.BrokenResourceError(str(error)) from error
        await self._pipe.write(data)

    async def _next_event(self) -> Event:
        while not self._events:
            data = await self._pipe.read()
            if not data:
                raise trio.EndOfChannel
            try:
                self._connection.receive_data(data)
                self._events.extend(self._connection.events())
            except (ProtocolError, ValueError) as error:  # the latter for headers that are no ASCII
                raise FrameError(f"no WebSocket: {error}") from error
        return self._events.popleft()
