"""The application of a server of pages: routes, static files and server-sent events."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec
import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from flagfall.errors import FlagfallError, UsageError
from flagfall.texts import one_line
from flagfall.viewer.pages import STATIC
from flagfall.viewer.server.access import Access, Guard, PageHeaders

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


MAX_DEPTH: Final = 8
"""Most folders below the served one that a name may lead through."""


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a regular file in a folder, or of one in its subfolders.

    The folder may be a symbolic link itself; nothing below it may be one.

    Args:
        name: the file's name, or its path below the folder with `/` between the parts.

    Raises:
        UsageError: there is no such file, or it would be elsewhere.
    """
    parts = name.split("/")
    is_plain = all(part.isprintable() and "\\" not in part and part not in {"", ".", ".."} for part in parts)
    if len(parts) > MAX_DEPTH or not is_plain:
        raise UsageError("this name leads out of the folder, or is not a name of a file")
    path = folder
    try:
        for part in parts:
            path /= part
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                raise UsageError("a symbolic link in the folder: only files of the folder itself are shown")
    except OSError as error:
        raise UsageError(f"no such file in the folder: {error.strerror or error}") from error
    if not stat.S_ISREG(mode):
        raise UsageError("not a file: only regular files of the folder are shown")
    return path


_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
"""Content types by ending; other files of the folder are not served."""


@cache
def _names() -> dict[str, Path]:
    """Return the files by their names below `/static/`; a request opens no other path."""
    return {
        path.relative_to(STATIC).as_posix(): path
        for path in sorted(STATIC.rglob("*"))
        if path.suffix in _TYPES and path.is_file() and not path.is_symlink()
    }


async def _serve(request: Request) -> Response:
    path = _names().get(request.path_params["name"])
    if path is None:
        raise HTTPException(404)
    content = path.read_bytes()  # of the package, and small
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[path.suffix], headers=headers)


# A viewer gets the newest event of each kind when it connects, so it catches up after any pause. One that
# does not read is dropped when its queue is full; a page that is still there connects again by itself.

MAX_VIEWERS: Final = 256
"""Viewers at the same time; each has a connection and a queue."""

QUEUED_EVENTS: Final = 32
"""Events that wait for a viewer to read; the events themselves are shared by all viewers."""

HEARTBEAT_SECONDS: Final = 15.0
"""Longest time without a byte: it finds clients that are gone, and keeps proxies from closing."""

RETRY_MS: Final = 2_000
"""Time after which a browser connects again."""


def encode_event(kind: str, data: object) -> bytes:
    """Return an event as it is sent: its kind and its data, as JSON, have no line feeds."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(data))


class Hub:
    """Sends events to all viewers."""

    def __init__(self) -> None:
        self._queues: set[trio.MemorySendChannel[bytes]] = set()
        self._kept: dict[str, bytes] = {}
        self._joined = trio.Event()

    @property
    def viewers(self) -> int:
        """The number of viewers."""
        return len(self._queues)

    async def wait_for_viewer(self) -> None:
        """Wait until there is a viewer."""
        while not self._queues:
            await self._joined.wait()

    def publish(self, kind: str, data: object, *, keep: object = None) -> None:
        """Send an event to all viewers, unless they have it, and keep it for those that come later.

        Args:
            keep: what later viewers get instead of `data`: for events that only add to earlier ones.
        """
        event = encode_event(kind, data)
        if keep is None and event == self._kept.get(kind):
            return
        self._kept[kind] = event if keep is None else encode_event(kind, keep)
        for queue in list(self._queues):
            try:
                queue.send_nowait(event)
            except (trio.WouldBlock, trio.BrokenResourceError):
                self._queues.discard(queue)
                queue.close()

    @asynccontextmanager
    async def viewer(self) -> AsyncIterator[trio.MemoryReceiveChannel[bytes]]:
        """Receive events while the context lasts, first the newest of each kind."""
        if len(self._queues) >= MAX_VIEWERS:
            raise HTTPException(503, f"{MAX_VIEWERS} viewers are connected: close a page, or try again later")
        sending, receiving = trio.open_memory_channel[bytes](QUEUED_EVENTS + len(self._kept))
        for event in self._kept.values():
            sending.send_nowait(event)
        self._queues.add(sending)
        self._joined.set()
        self._joined = trio.Event()
        try:
            async with receiving:
                yield receiving
        finally:
            self._queues.discard(sending)
            sending.close()


class EventResponse(Response):
    """A response that sends events until the viewer goes, is dropped, or the channel is closed.

    Unlike Starlette's streams it has a heartbeat, and ends as soon as its client is gone.
    """

    media_type = "text/event-stream"

    def __init__(self, hub: Hub) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        if scope["method"] == "HEAD":
            await self._send_head(send)
            await send(_body(b"", more=False))
            return
        async with self._hub.viewer() as events, trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_when_gone, receive, nursery.cancel_scope)
            await self._send_head(send)
            await send(_body(b"retry: %d\n\n" % RETRY_MS))
            while True:
                event = b": still here\n\n"
                with trio.move_on_after(HEARTBEAT_SECONDS):
                    try:
                        event = await events.receive()
                    except trio.EndOfChannel:
                        break
                await send(_body(event))
            await send(_body(b"", more=False))
            nursery.cancel_scope.cancel()

    async def _send_head(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": list(self.raw_headers)}
        )


def _body(data: bytes, *, more: bool = True) -> dict[str, object]:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _cancel_when_gone(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


_DETAILS: Final = {404: "no such page", 405: "only GET and HEAD are answered here"}


def make_app(
    routes: Sequence[BaseRoute], *, access: Access, say: Callable[[str], None] | None = None
) -> Starlette:
    """Return the application for routes, with the package's static files at `/static/`.

    A route raises `UsageError` for what it cannot show, and the browser gets its message.
    """
    return Starlette(
        routes=[*routes, Route("/static/{name:path}", _serve, methods=["GET"])],
        middleware=[
            Middleware(PageHeaders),
            Middleware(_Failures, say=say or say_on_stderr),
            Middleware(Guard, access=access),
        ],
        exception_handlers={HTTPException: _http_exception, UsageError: _usage_error},
    )


def refusal(status: int, line: str) -> Response:
    """Return an answer of one line: the reason, and what to do."""
    return PlainTextResponse(f"{status} {one_line(line)}\n", status)


def _http_exception(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = refusal(error.status_code, _DETAILS.get(error.status_code, error.detail))
    response.headers.update(error.headers or {})
    return response


def _usage_error(_request: Request, error: Exception) -> Response:
    return refusal(400, str(error))


def say_on_stderr(line: str) -> None:
    """Print a line for the user of this program on the standard error."""
    with suppress(OSError):  # the terminal was closed
        sys.stderr.write(f"flagfall: {line}\n")
        sys.stderr.flush()


@attrs.frozen
class _Failures:
    """Middleware that answers a request whose page failed, and reports the failure in one line."""

    _app: ASGIApp
    _say: Callable[[str], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        begun = False

        async def send_noting(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] != "websocket.close"
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        except ClientDisconnect:  # in the middle of a body
            pass
        except Exception as error:  # noqa: BLE001 - one page must not end the server
            line = _describe(error)
            self._say(f"the page {one_line(str(scope['path']), 200)} failed: {line}")
            if scope["type"] == "http" and not begun:
                await refusal(500, f"this page failed: {line}")(scope, receive, send)


def _describe(error: BaseException) -> str:
    """Return an error in one line, with its place in the code unless it is one that users can act on."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, OSError | FlagfallError):
        return one_line(str(error))
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
    return one_line(text + place)
