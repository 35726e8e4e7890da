"""A server of pages on trio, which runs in the caller's nursery until it is cancelled."""

from __future__ import annotations

import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from ssl import SSLContext
from typing import TYPE_CHECKING, Final

import trio

from flagfall.viewer.server.access import Bind
from flagfall.viewer.server.app import say_on_stderr
from flagfall.viewer.server.connection import Connection, Stream

if TYPE_CHECKING:
    from starlette.types import ASGIApp

MAX_CONNECTIONS: Final = 1_000
"""Connections at the same time; each takes a file descriptor and up to 100 kB. Another one takes the place of
the oldest that has no request being answered; if there is none, it is refused."""

RESERVED_DESCRIPTORS: Final = 200
"""Descriptors that connections leave for files, within the limit of the process."""

MIN_CONNECTIONS: Final = 16
"""Connections that are served even where the process may open few files."""

MAX_REFUSALS: Final = 64
"""Connections that are being refused at the same time; further ones are closed without an answer."""

REFUSAL_SECONDS: Final = 1.0
"""Longest time of a refusal."""

FULL_PAUSE_SECONDS: Final = 0.1
"""Pause after a connection could not be accepted for lack of descriptors."""

SEND_BUFFER_BYTES: Final = 131_072
"""Buffer of the system for what a client has not read; its own choice is up to 4 MB for each connection."""

_REFUSAL_TEXT: Final = b"503 too many connections: close some, or try again\n"
_REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\nretry-after: 5\r\n\r\n%b"
    % (len(_REFUSAL_TEXT), _REFUSAL_TEXT)
)


def connection_bound() -> int:
    """Return the most connections at the same time: `MAX_CONNECTIONS`, or as descriptors permit."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(MIN_CONNECTIONS, min(MAX_CONNECTIONS, soft - RESERVED_DESCRIPTORS))


async def serve(
    app: ASGIApp,
    bind: Bind,
    *,
    on_ready: Callable[[str], None] = lambda _url: None,
    say: Callable[[str], None] = say_on_stderr,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve pages until cancelled; connections that are open then are closed at once.

    Args:
        on_ready: called with the address of the first page, without the token, once connections are accepted.
        say: prints a line for the user of this program.
        task_status: gets that address, too.

    Raises:
        UsageError: the port cannot be bound, or the certificate cannot be used.
    """
    server = _Server(app, bind.tls_context(), say)
    listeners = await bind.open_listeners()
    try:
        async with trio.open_nursery() as nursery:
            for listener in listeners:
                nursery.start_soon(server.accept_all, listener.socket, nursery)
            url = bind.url(listeners[0].socket.getsockname()[1])
            on_ready(url)
            task_status.started(url)
    finally:
        for listener in listeners:
            listener.socket.close()


class _Server:
    """The connections of a server; without settings of TLS it speaks plain HTTP."""

    def __init__(self, app: ASGIApp, tls: SSLContext | None, say: Callable[[str], None]) -> None:
        self._app = app
        self._tls = tls
        self._say = say
        self._bound = connection_bound()
        self._open: dict[Connection, None] = {}  # the oldest first
        self._refused = 0

    async def accept_all(self, listener: trio.socket.SocketType, nursery: trio.Nursery) -> None:
        """Accept connections until cancelled."""
        while True:
            try:
                accepted, _peer = await listener.accept()
            except OSError:
                await trio.sleep(FULL_PAUSE_SECONDS)
                continue
            try:
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
                stream = trio.SocketStream(accepted)
            except OSError:  # it is closed already
                accepted.close()
                continue
            if self._make_room():
                secured: Stream = stream
                if self._tls is not None:
                    secured = trio.SSLStream(stream, self._tls, server_side=True, https_compatible=True)
                connection = Connection(secured, self._app, self._say)
                self._open[connection] = None
                nursery.start_soon(self._run, connection)
            else:
                self._refuse(stream, nursery)

    def _make_room(self) -> bool:
        """Return true if another connection may be opened, perhaps in place of one that is idle."""
        if len(self._open) < self._bound:
            return True
        idle = next((one for one in self._open if one.idle), None)
        if idle is None:
            return False
        del self._open[idle]
        idle.end()
        return True

    async def _run(self, connection: Connection) -> None:
        try:
            await connection.run()
        finally:
            self._open.pop(connection, None)

    def _refuse(self, stream: trio.SocketStream, nursery: trio.Nursery) -> None:
        if self._tls is not None or self._refused >= MAX_REFUSALS:
            stream.socket.close()
        else:
            self._refused += 1
            nursery.start_soon(self._send_refusal, stream)

    async def _send_refusal(self, stream: trio.SocketStream) -> None:
        try:
            with trio.move_on_after(REFUSAL_SECONDS), suppress(trio.BrokenResourceError):
                await stream.send_all(_REFUSAL)
                await stream.send_eof()
                while await stream.receive_some():
                    pass
        finally:
            self._refused -= 1
            stream.socket.close()
