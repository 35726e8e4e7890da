"""One connection of a browser: Hypercorn's protocol over a trio stream, every wait of it bounded.

The parts that speak HTTP/1.1 and WebSocket are Hypercorn's; its own connections on trio are not used. They
send in a shielded scope, so one client that never reads would hold up the end of the program. A client that
sends its next request while one is answered, and goes, would leave its connection open for good. And with
HTTP/2 all bounds would be multiplied by the number of its streams.
"""

from __future__ import annotations

__all__ = ["Connection"]

from collections.abc import Callable
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import h11
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr

from flagfall.agents.connections.handshakes import MAX_BLANKS, has_many_blanks
from flagfall.terminal_text import one_line

if TYPE_CHECKING:
    from hypercorn.typing import AppWrapper

HEAD_SECONDS: Final = 10.0
"""Longest time from the connection to the end of its first request's headers, however slowly they come."""

KEEP_ALIVE_SECONDS: Final = 15.0
"""Longest time from the end of a response to the end of the next request's headers."""

HANDSHAKE_SECONDS: Final = 10.0
"""Longest time of the handshake of TLS."""

WRITE_SECONDS: Final = 20.0
"""Longest time that a piece of a response waits for a client to read; a slow line carries 3 kB/s."""

PIECE_BYTES: Final = 65_536
"""Bytes of a response that are sent at a time."""

RECEIVE_BYTES: Final = 16_384
"""Bytes that are read at a time; with `MAX_HEAD_BYTES` the most that a request holds in memory."""

MAX_HEAD_BYTES: Final = 16_384
"""Longest request line with its headers; browsers send about 1 kB."""

MAX_MESSAGE_BYTES: Final = 65_536
"""Longest message of a WebSocket."""

PING_SECONDS: Final = 20.0
"""Interval of pings over a WebSocket, which find clients that are gone."""

MAX_QUEUED_MESSAGES: Final = 4
"""Parts of a request that wait for their page; then nothing more is read from the client."""

CLOSING_SECONDS: Final = 5.0
"""Longest time that a page may go on after its client has closed the connection."""

DRAIN_SECONDS: Final = 2.0
MAX_DRAINED_BYTES: Final = 4 * 1024 * 1024
"""Bytes that a client still sends after the last response are read and discarded within these bounds: closing
a connection with unread bytes resets it, and the client might not see the response."""

Stream: TypeAlias = "trio.SocketStream | trio.SSLStream[trio.SocketStream]"

_GONE: Final = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)

_REFUSALS: Final = {
    400: f"this is not a request of HTTP/1.1, or it has more than {MAX_BLANKS} blanks in a row",
    431: f"the request line and its headers are longer than {MAX_HEAD_BYTES} bytes",
}


def protocol_config() -> Config:
    """Return the settings of Hypercorn's protocol."""
    config = Config()
    config.accesslog = config.errorlog = None  # an access log would hold the token
    config.h11_max_incomplete_size = MAX_HEAD_BYTES
    config.include_server_header = False
    config.max_app_queue_size = MAX_QUEUED_MESSAGES
    config.websocket_max_message_size = MAX_MESSAGE_BYTES
    config.websocket_ping_interval = PING_SECONDS
    return config


class _Protocol(H11Protocol):
    """Hypercorn's HTTP/1.1, with a line of text in its refusals and without changes to HTTP/2."""

    _last = b""

    async def handle(self, event: Event) -> None:
        """Take what has come; requests that h11 would parse for seconds are refused before."""
        if isinstance(event, RawData) and isinstance(self.connection, h11.Connection):
            self._last = self._last[-MAX_BLANKS:] + event.data
            if has_many_blanks(self._last):
                if self.connection.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                    await self._send_error_response(400)
                await self.send(Closed())
                return
        await super().handle(event)

    async def _check_protocol(self, event: h11.Request) -> None:
        """Answer requests for a change to HTTP/2 in HTTP/1.1, as any server may."""

    async def _send_error_response(self, status_code: int) -> None:
        text = f"{status_code} {_REFUSALS.get(status_code, 'the request cannot be read')}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(text)).encode()),
            (b"connection", b"close"),
        ]
        own = self.config.response_headers("h11")
        await self._send_h11_event(h11.Response(headers=list(chain(headers, own)), status_code=status_code))
        await self._send_h11_event(h11.Data(data=text))
        await self._send_h11_event(h11.EndOfMessage())


class Connection:
    """A connection, from its first byte to its end.

    Args:
        stream: the connection; for TLS, before its handshake.
        app: the pages.
        config: settings of the protocol.
        context: shared by all connections of a server.
        say: prints a line for the user of this program.

    Attributes:
        idle: no request is being answered.
    """

    def __init__(
        self,
        stream: Stream,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        say: Callable[[str], None],
    ) -> None:
        self.idle: bool = True
        self._stream = stream
        self._app = app
        self._config = config
        self._context = context
        self._say = say
        self._scope = trio.CancelScope()
        self._reading = trio.CancelScope()
        self._read_lock, self._write_lock = trio.Lock(), trio.Lock()
        self._deadline = inf
        self._ending = False
        self._group = TaskGroup()

    def end(self) -> None:
        """End the connection at once."""
        self._scope.cancel()

    async def run(self) -> None:
        """Answer requests until either end closes the connection."""
        try:
            with self._scope:
                await self._run()
        except* _GONE:
            pass
        except* Exception as group:  # noqa: BLE001 - a connection must not be able to end the server
            self._say(f"a connection failed: {one_line(repr(group.exceptions[0]))}")
        finally:
            await trio.aclose_forcefully(self._stream)

    async def _run(self) -> None:
        tls = isinstance(self._stream, trio.SSLStream)
        if isinstance(self._stream, trio.SSLStream):
            with trio.move_on_after(HANDSHAKE_SECONDS) as handshake:
                await self._stream.do_handshake()
            if handshake.cancelled_caught:
                return
            socket = self._stream.transport_stream.socket
        else:
            socket = self._stream.socket
        client = parse_socket_addr(socket.family, socket.getpeername())
        server = parse_socket_addr(socket.family, socket.getsockname())
        async with self._group:
            protocol = _Protocol(
                self._app,
                self._config,
                self._context,
                self._group,
                ConnectionState({}),
                tls,
                client,
                server,
                self._send,
            )
            self._deadline = trio.current_time() + HEAD_SECONDS
            if await self._read_all(protocol):
                self._scope.deadline = trio.current_time() + CLOSING_SECONDS
                await protocol.handle(Closed())

    async def _read_all(self, protocol: H11Protocol) -> bool:
        """Read until the other end closes; return false if this end does."""
        while not self._ending:
            data: bytes | None = None
            async with self._read_lock:
                with trio.CancelScope(deadline=self._deadline) as self._reading:
                    data = bytes(await self._stream.receive_some(RECEIVE_BYTES))
            if data is None:
                if not self._ending:  # too slow
                    self.end()
                return False
            await protocol.handle(RawData(data))
            if not data:
                return not self._ending
        return False

    async def _send(self, event: Event) -> None:
        """Carry out what the protocol decides."""
        if isinstance(event, RawData):
            await self._write(event.data)
        elif isinstance(event, Updated):
            self.idle = event.idle
            self._deadline = trio.current_time() + KEEP_ALIVE_SECONDS if event.idle else inf
            self._reading.deadline = self._deadline
        elif isinstance(event, Closed) and not self._ending:
            self._ending = True
            self._reading.cancel()
            self._group.spawn(self._finish)

    async def _write(self, data: bytes) -> None:
        sent = False
        try:
            async with self._write_lock:
                for start in range(0, len(data), PIECE_BYTES):
                    with trio.fail_after(WRITE_SECONDS):
                        await self._stream.send_all(memoryview(data)[start : start + PIECE_BYTES])
            sent = True
        except (trio.TooSlowError, *_GONE):
            pass
        finally:
            if not sent:  # what was sent of it cannot be taken back, also when a page was cancelled
                self.end()
        await trio.lowlevel.checkpoint_if_cancelled()

    async def _finish(self) -> None:
        """Let the client read the last response, and end the connection."""
        with trio.move_on_after(DRAIN_SECONDS):
            async with self._read_lock, self._write_lock:
                await _drain(self._stream)
        self.end()


async def _drain(stream: Stream) -> None:
    try:
        transport: Any = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
        await transport.send_eof()
        drained = 0
        while drained < MAX_DRAINED_BYTES and (data := await transport.receive_some(PIECE_BYTES)):
            drained += len(data)
    except _GONE:
        pass
