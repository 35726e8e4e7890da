"""Message streams over WebSocket: texts are JSON, binary messages MessagePack. For either end.

Rule 1: a message is received whole, and its length and the number of its parts are bounded.
Rule 2: no compression: a small message cannot become a large one.
Rule 3: pings are answered; at most `MAX_PINGS` pings and pongs are taken for each message.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any, Final

import trio
from wsproto import WSConnection, events
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.utilities import ProtocolError

from flagfall.agents.admission import MAX_BLANKS, has_many_blanks
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES, FrameError
from flagfall.kernel.channels.pipes import ByteStream

MAX_PINGS: Final = 100
"""The most control frames that may come with one message; to keep a connection alive, one in some seconds is
enough."""

MAX_PARTS: Final = 10_000
"""The most parts of one message; 4 MiB in parts of a small network packet are 3000."""

FORBIDDEN: Final = 403

_BROKEN: Final = frozenset({1002, 1003, 1007, 1009, 1010})
"""Status codes of an end that reports a violation of the protocol (RFC 6455, 7.4.1)."""


class WebSocketStream:
    """Sends and receives messages; see `flagfall.kernel.channels.pipes.FramedStream`."""

    def __init__(self, pipe: ByteStream, *, server: bool, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._pipe = pipe
        self._connection = WSConnection(ConnectionType.SERVER if server else ConnectionType.CLIENT)
        self._events: deque[events.Event] = deque()
        self._max_bytes = max_bytes
        self._binary = False
        self._unsent = b""
        self._head = b""

    # Opening.

    async def accept(self, *, browsers: bool) -> None:
        """Accept the connection, as its server.

        Args:
            browsers: pages in a browser may connect; they send an `Origin`.

        Raises:
            FrameError: the client does not speak WebSocket, or is refused.
            trio.EndOfChannel: it closed.
        """
        event = await self._next_event()
        if not isinstance(event, events.Request):
            raise FrameError("the first message is not a WebSocket request")
        if not browsers and any(name.lower() == b"origin" for name, _ in event.extra_headers):
            await self._send_event(events.RejectConnection(status_code=FORBIDDEN))
            raise FrameError("a page in a browser may not connect where there is no token")
        await self._send_event(events.AcceptConnection())

    async def connect(self, host: str) -> None:
        """Open the connection, as its client.

        Raises:
            FrameError: the other end does not speak WebSocket, or refuses.
            trio.EndOfChannel: it closed.
        """
        await self._send_event(events.Request(host=host, target="/"))
        event = await self._next_event()
        if not isinstance(event, events.AcceptConnection):
            raise FrameError(f"the WebSocket was refused: {type(event).__name__}")

    # Messages.

    def allow(self, max_bytes: int) -> None:
        """Set the longest message that is accepted from now on."""
        self._max_bytes = max_bytes

    def use_frames(self) -> None:
        """Send and expect binary messages from now on."""
        self._binary = True

    async def send(self, payload: bytes) -> None:
        """Send a message. If it is cancelled, part of it may have been sent: close the stream then."""
        await self._send_event(
            events.BytesMessage(data=payload) if self._binary else events.TextMessage(data=payload.decode())
        )

    def send_nowait(self, payload: bytes) -> bool:
        """Keep a message for `flush`, which comes next."""
        self._unsent = payload
        return False

    async def flush(self) -> None:
        """Send the message that was kept; see `send`."""
        await self.send(self._unsent)

    def receive_nowait(self) -> bytes | None:
        """Return `None`: a message is received by `receive`."""
        return None

    async def receive(self) -> bytes:
        """Return the next message. If it is cancelled, part of it may have been taken: close the stream then.

        Raises:
            trio.EndOfChannel: the other end closed.
            FrameError: it is too long, of the wrong kind, or not a message of WebSocket.
        """
        whole = bytearray()
        parts = pings = 0
        while True:
            event = await self._next_event()
            if isinstance(event, events.CloseConnection):
                await self._agree_to_close(event)
                if event.code in _BROKEN:
                    raise FrameError(f"not WebSocket: {event.reason or event.code}")
                raise trio.EndOfChannel
            if isinstance(event, events.Ping | events.Pong):
                pings += 1
                if isinstance(event, events.Ping):
                    await self._send_event(event.response())
            elif isinstance(event, events.Message):
                parts += 1
                whole += self._data_of(event)
            if pings > MAX_PINGS or parts > MAX_PARTS:
                raise FrameError("a flood of pings or pongs, or of parts of one message")
            if len(whole) > self._max_bytes:
                raise FrameError(f"a message of too many bytes; {self._max_bytes} is the limit")
            if isinstance(event, events.Message) and event.message_finished:
                return bytes(whole)

    def age_ns(self) -> int | None:
        """Return how long ago the input that was read last has arrived; `None` if that is unknown."""
        return self._pipe.age_ns()

    async def _agree_to_close(self, event: events.CloseConnection) -> None:
        if self._connection.state is ConnectionState.REMOTE_CLOSING:
            with suppress(trio.BrokenResourceError):
                await self._send_event(event.response())

    def _data_of(self, event: events.Message[Any]) -> bytes:
        if self._binary != isinstance(event, events.BytesMessage):
            raise FrameError(f"a message that is not {'binary' if self._binary else 'text'}")
        return bytes(event.data) if isinstance(event, events.BytesMessage) else str(event.data).encode()

    def close(self) -> None:
        """Close the connection."""
        self._pipe.close()

    # Events.

    async def _send_event(self, event: events.Event) -> None:
        try:
            data = self._connection.send(event)
        except ProtocolError as error:  # closing already
            raise trio.BrokenResourceError(str(error)) from error
        await self._pipe.write(data)

    async def _next_event(self) -> events.Event:
        while not self._events:
            data = await self._pipe.read()
            if not data:
                raise trio.EndOfChannel
            if self._connection.state is ConnectionState.CONNECTING:
                self._head = self._head[-MAX_BLANKS:] + data
                if has_many_blanks(self._head):
                    raise FrameError(f"more than {MAX_BLANKS} blanks in a row in the head of a request")
            try:
                self._connection.receive_data(data)
                self._events.extend(self._connection.events())
            except (ProtocolError, ValueError) as error:  # the latter for headers that are not ASCII
                raise FrameError(f"not WebSocket: {error}") from error
        return self._events.popleft()
