"""One connection of a browser: HTTP/1.1 by h11 and WebSocket by wsproto, for an application of ASGI.

Every wait and every buffer is bounded. Servers of ASGI for trio leave some waits unbounded: a client that
never reads holds up the end of the program, and one that sends its next request while one is answered, and
goes, is not missed. HTTP/2 is not spoken: all bounds would be multiplied by the number of its streams.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote

import attrs
import h11
import trio
from wsproto import ConnectionType, WSConnection
from wsproto import events as ws
from wsproto.connection import ConnectionState
from wsproto.utilities import ProtocolError

from flagfall.agents.admission import MAX_BLANKS, has_many_blanks
from flagfall.texts import one_line

if TYPE_CHECKING:
    from starlette.types import ASGIApp

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

Stream: TypeAlias = trio.SocketStream | trio.SSLStream[trio.SocketStream]
Message: TypeAlias = MutableMapping[str, Any]
"""A message of ASGI."""

_GONE: Final = (trio.BrokenResourceError, trio.ClosedResourceError, OSError)

_REFUSALS: Final = {
    400: f"this is not a request of HTTP/1.1, or it has more than {MAX_BLANKS} blanks in a row",
    431: f"the request line and its headers are longer than {MAX_HEAD_BYTES} bytes",
}

_WITHOUT_BODY: Final = frozenset({204, 304})
_ABNORMAL: Final = 1006
_TOO_LONG: Final = 1009
"""Codes of the ends of WebSockets (RFC 6455, 7.4.1)."""


@attrs.define(eq=False)
class Connection:
    """A connection, from its first byte to its end.

    Args:
        stream: the connection; for TLS, before its handshake.

    Attributes:
        idle: no request is being answered.
    """

    _stream: Stream
    _app: ASGIApp
    _say: Callable[[str], None]
    idle: bool = True
    _scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    _write_lock: trio.Lock = attrs.Factory(trio.Lock)
    _http: h11.Connection = attrs.Factory(
        lambda: h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
    )
    _last: bytes = b""

    def end(self) -> None:
        """End the connection at once."""
        self._scope.cancel()

    async def run(self) -> None:
        """Answer requests until either end closes the connection."""
        try:
            with self._scope:
                await self._run()
        except* (*_GONE, h11.RemoteProtocolError, ProtocolError):
            pass
        except* Exception as group:  # noqa: BLE001 - a connection must not be able to end the server
            self._say(f"a connection failed: {one_line(repr(group.exceptions[0]))}")
        finally:
            await trio.aclose_forcefully(self._stream)

    async def _run(self) -> None:
        if isinstance(self._stream, trio.SSLStream):
            with trio.move_on_after(HANDSHAKE_SECONDS) as handshake:
                await self._stream.do_handshake()
            if handshake.cancelled_caught:
                return
        seconds = HEAD_SECONDS
        while await self._answer(seconds):
            seconds = KEEP_ALIVE_SECONDS
        with trio.move_on_after(DRAIN_SECONDS):
            await _drain(self._stream)

    async def _answer(self, seconds: float) -> bool:
        """Answer the next request, which has to come in some seconds; return whether another may follow."""
        request: Any = None
        self.idle = True
        try:
            with trio.move_on_after(seconds) as waiting:
                request = await self._next_event()
        except h11.RemoteProtocolError as error:
            await self._refuse(error.error_status_hint)
            return False
        if waiting.cancelled_caught:
            self.end()
        if not isinstance(request, h11.Request):
            return False
        self.idle = False
        if _wants_websocket(request):
            await self._talk(request)
            return False
        await self._exchange(request)
        while self._http.their_state is h11.SEND_BODY and self._http.next_event() is not h11.NEED_DATA:
            pass  # the end of a request without a body, for which its page has not asked
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def _refuse(self, status: int) -> None:
        """Answer what cannot be parsed."""
        if self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            text = f"{status} {_REFUSALS.get(status, 'the request cannot be read')}\n".encode()
            kind, length = "text/plain; charset=utf-8", str(len(text))
            headers = [("content-type", kind), ("content-length", length), ("connection", "close")]
            await self._send(h11.Response(headers=headers, status_code=status))
            await self._send(h11.Data(data=text))
            await self._send(h11.EndOfMessage())

    async def _exchange(self, request: h11.Request) -> None:
        """Let a page answer a request."""
        to_page, from_client = trio.open_memory_channel[Message](MAX_QUEUED_MESSAGES)
        silent = request.method == b"HEAD"

        async def send(message: Message) -> None:
            nonlocal silent
            if message["type"] == "http.response.start":
                silent = silent or message["status"] in _WITHOUT_BODY
                headers = [*message["headers"], (b"date", formatdate(usegmt=True).encode())]
                await self._send(h11.Response(headers=headers, status_code=message["status"]))
                return
            if message.get("body") and not silent:
                await self._send(h11.Data(data=message["body"]))
            if not message.get("more_body"):
                await self._send(h11.EndOfMessage())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen, to_page)
            await self._app(self._asgi_scope(request, "http"), from_client.receive, send)
            nursery.cancel_scope.cancel()

    async def _listen(self, to_page: trio.MemorySendChannel[Message]) -> None:
        """Give a page the body of its request, and then notice when the client goes."""
        if self._http.they_are_waiting_for_100_continue:
            await self._send(h11.InformationalResponse(status_code=100, headers=[]))
        more = True
        try:
            while isinstance(event := await self._next_event(), h11.Data | h11.EndOfMessage):
                more = isinstance(event, h11.Data)
                body = bytes(event.data) if isinstance(event, h11.Data) else b""
                await to_page.send({"type": "http.request", "body": body, "more_body": more})
            is_open = event is h11.PAUSED  # the next request is there
        except h11.RemoteProtocolError:
            is_open = not more  # the next request is there, after one that was said to be the last
        while is_open:
            if len(self._http.trailing_data[0]) > MAX_HEAD_BYTES:
                return
            is_open = bool(await self._feed())
        self._scope.deadline = trio.current_time() + CLOSING_SECONDS
        await to_page.send({"type": "http.disconnect"})

    async def _talk(self, request: h11.Request) -> None:
        """Let a page talk over a WebSocket."""
        talk = WSConnection(ConnectionType.SERVER)
        try:
            talk.initiate_upgrade_connection(list(request.headers), request.target)
        except (ProtocolError, ValueError):  # the latter for headers that are not ASCII
            await self._refuse(400)
            return
        socket = _WebSocket(talk, self._http.trailing_data[0], self._read, self._write)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(socket.ping)
            await self._app(self._asgi_scope(request, "websocket"), socket.receive, socket.send)
            nursery.cancel_scope.cancel()

    def _asgi_scope(self, request: h11.Request, kind: str) -> Message:
        path, _, query = request.target.partition(b"?")
        tls = isinstance(self._stream, trio.SSLStream)
        return {
            "type": kind,
            "asgi": {"version": "3.0"},
            "http_version": request.http_version.decode(),
            "method": request.method.decode(),
            "scheme": ("http" if kind == "http" else "ws") + "s" * tls,
            "path": unquote(path.decode()),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": list(request.headers),
            "subprotocols": [],
            "extensions": {} if kind == "http" else {"websocket.http.response": {}},
        }

    async def _next_event(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            await self._feed()
        return event

    async def _feed(self) -> bytes:
        """Read, and refuse what h11 would parse for seconds."""
        data = await self._read()
        self._last = self._last[-MAX_BLANKS:] + data
        if has_many_blanks(self._last):
            raise h11.RemoteProtocolError("too many blanks")
        self._http.receive_data(data)
        return data

    async def _read(self) -> bytes:
        return bytes(await self._stream.receive_some(RECEIVE_BYTES))

    async def _send(self, event: Any) -> None:
        await self._write(self._http.send(event) or b"")

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


@attrs.define(eq=False)
class _WebSocket:
    """A WebSocket as the two functions of ASGI.

    Args:
        talk: the protocol, which has taken the request.
        data: what came after the request.
        read: reads from the client; nothing when it has closed.
    """

    _talk: WSConnection
    _data: bytes
    _read: Callable[[], Awaitable[bytes]]
    _write: Callable[[bytes], Awaitable[None]]
    _events: deque[ws.Event] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._events = deque(self._talk.events())

    async def ping(self) -> None:
        """Ping the client again and again, which finds out that it is gone."""
        while True:
            await trio.sleep(PING_SECONDS)
            if self._talk.state is ConnectionState.OPEN:
                await self._send(ws.Ping())

    async def receive(self) -> Message:
        """Return what has come from the client."""
        whole: list[Any] = []
        size = 0
        while True:
            event = await self._next_event()
            if isinstance(event, ws.Request):
                return {"type": "websocket.connect"}
            if isinstance(event, ws.Ping):
                await self._send(event.response())
            elif isinstance(event, ws.CloseConnection):
                if self._talk.state is ConnectionState.REMOTE_CLOSING:
                    await self._send(event.response())
                return {"type": "websocket.disconnect", "code": event.code}
            elif isinstance(event, ws.Message):
                whole.append(event.data)
                size += max(1, len(event.data))
                if size > MAX_MESSAGE_BYTES:
                    await self._send(ws.CloseConnection(code=_TOO_LONG))
                    return {"type": "websocket.disconnect", "code": _TOO_LONG}
                if event.message_finished and isinstance(event, ws.TextMessage):
                    return {"type": "websocket.receive", "text": "".join(whole)}
                if event.message_finished:
                    return {"type": "websocket.receive", "bytes": b"".join(map(bytes, whole))}

    async def _next_event(self) -> ws.Event:
        while not self._events:
            data = self._data or await self._read()
            self._data = b""
            if not data:
                return ws.CloseConnection(code=_ABNORMAL)
            self._talk.receive_data(data)
            self._events.extend(self._talk.events())
        return self._events.popleft()

    async def send(self, message: Message) -> None:
        """Send what a page says; an `OSError` if the WebSocket is closed."""
        kind = message["type"]
        if kind == "websocket.accept":
            headers = list(message.get("headers", ()))
            await self._send(ws.AcceptConnection(extra_headers=headers))
        elif kind == "websocket.http.response.start":
            status, headers = message["status"], list(message["headers"])
            await self._send(ws.RejectConnection(status_code=status, headers=headers, has_body=True))
        elif kind == "websocket.http.response.body":
            over = not message.get("more_body")
            await self._send(ws.RejectData(data=message.get("body", b""), body_finished=over))
        elif kind == "websocket.close" and self._talk.state is ConnectionState.CONNECTING:
            await self._send(ws.RejectConnection(status_code=403))
        elif kind == "websocket.close":
            await self._send(ws.CloseConnection(code=message.get("code", 1000), reason=message.get("reason")))
        elif message.get("text") is not None:
            await self._send(ws.TextMessage(data=message["text"]))
        else:
            await self._send(ws.BytesMessage(data=message["bytes"]))

    async def _send(self, event: ws.Event) -> None:
        try:
            data = self._talk.send(event)
        except ProtocolError as error:
            raise BrokenPipeError("the WebSocket is closed") from error
        await self._write(data)


def _wants_websocket(request: h11.Request) -> bool:
    """Return whether a request asks for a change to WebSocket."""
    headers = dict(request.headers)
    words = {word.strip().lower() for word in headers.get(b"connection", b"").split(b",")}
    is_upgrade = b"upgrade" in words and headers.get(b"upgrade", b"").lower() == b"websocket"
    return request.method == b"GET" and is_upgrade


async def _drain(stream: Stream) -> None:
    try:
        transport: Any = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
        await transport.send_eof()
        drained = 0
        while drained < MAX_DRAINED_BYTES and (data := await transport.receive_some(PIECE_BYTES)):
            drained += len(data)
    except _GONE:
        pass
