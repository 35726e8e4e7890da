"""Plain sockets to a server of pages: bytes out, bytes in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from ssl import SSLContext
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import trio

from flagfall.viewer.server.access import Access, Bind
from flagfall.viewer.server.app import make_app
from flagfall.viewer.server.run import serve

if TYPE_CHECKING:
    from starlette.routing import BaseRoute


class Served:
    """A server in the loop of the test.

    Attributes:
        url: address of its first page.
        port: its port.
        lines: what it printed.
        nursery: cancel it to end the server.
    """

    def __init__(self, url: str, lines: list[str], nursery: trio.Nursery) -> None:
        self.url = url
        self.port = urlsplit(url).port or 0
        self.lines = lines
        self.nursery = nursery

    async def ask(self, target: str = "/", *headers: str, method: str = "GET", body: bytes = b"") -> str:
        """The whole answer to a request, after which the server closes."""
        return await ask(self.port, target, *headers, method=method, body=body)


@asynccontextmanager
async def serving(routes: Sequence[BaseRoute], bind: Bind | None = None) -> AsyncIterator[Served]:
    """Serve routes while the context lasts."""
    bind = bind or Bind()
    lines: list[str] = []
    async with trio.open_nursery() as nursery:
        app = make_app(routes, access=Access.of(bind), say=lines.append)
        url = await nursery.start(partial(serve, app, bind, say=lines.append))
        yield Served(url, lines, nursery)
        nursery.cancel_scope.cancel()


async def connect(port: int, tls: SSLContext | None = None) -> Any:
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    if tls is None:
        return stream
    return trio.SSLStream(stream, tls, server_hostname="localhost", https_compatible=True)


async def read_all(stream: Any) -> str:
    """Return the bytes that come until the other end closes."""
    found = b""
    with trio.fail_after(30):
        try:
            while data := await stream.receive_some():
                found += data
        except trio.BrokenResourceError:
            pass
    await trio.aclose_forcefully(stream)
    return found.decode()


def request(port: int, target: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *headers, "Connection: close"]
    if not any(line.lower().startswith("host:") for line in headers):
        lines.append(f"Host: 127.0.0.1:{port}")
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def ask(
    port: int,
    target: str = "/",
    *headers: str,
    method: str = "GET",
    body: bytes = b"",
    tls: SSLContext | None = None,
) -> str:
    stream = await connect(port, tls)
    try:
        await stream.send_all(request(port, target, *headers, method=method, body=body))
        return await read_all(stream)
    finally:
        await trio.aclose_forcefully(stream)


def status(answer: str) -> int:
    return int(answer.split(" ", 2)[1])


def text(answer: str) -> str:
    """The body of an answer that is not sent in chunks."""
    return answer.partition("\r\n\r\n")[2]


class Events:
    """Server-sent events from an open connection."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._text = b""

    async def next(self, kind: str) -> Any:
        """The data of the next event of a kind; others are skipped."""
        with trio.fail_after(60):
            while True:
                head, found, rest = self._text.partition(b"\n\n")
                if not found:
                    data = await self.stream.receive_some()
                    assert data, "the server has closed"
                    self._text += data
                    continue
                self._text = rest
                if f"event: {kind}\n".encode() in head:
                    # chunks of HTTP end within an event only where it is longer than a piece
                    return json.loads(head.partition(b"data: ")[2])


@asynccontextmanager
async def events(port: int, target: str = "/events", *headers: str) -> AsyncIterator[Events]:
    """Follow events; asked for as HTTP/1.0, so that they come without the marks of chunks."""
    stream = await connect(port)
    lines = [f"GET {target} HTTP/1.0", f"Host: 127.0.0.1:{port}", *headers, "", ""]
    await stream.send_all("\r\n".join(lines).encode())
    try:
        yield Events(stream)
    finally:
        await trio.aclose_forcefully(stream)


@contextmanager
def more_files(count: int) -> Iterator[bool]:
    """Allow this process more open files; gives false if the system does not."""
    import resource  # noqa: PLC0415 - of Unix

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in {-1, resource.RLIM_INFINITY} and hard < count:
        yield False
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    try:
        yield True
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
