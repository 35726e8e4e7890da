"""The server of pages over real sockets: what it answers, what it refuses, and what it bounds."""

from __future__ import annotations

import resource
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
import trustme
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, RejectConnection, TextMessage
from wsproto.events import Request as Upgrade

from flagfall.errors import UsageError
from flagfall.viewer.server import app, connection, run
from flagfall.viewer.server.access import MAX_BODY_BYTES, MAX_TARGET_BYTES, Access, Bind
from flagfall.viewer.server.app import EventResponse, Hub, path_inside
from flagfall.viewer.server.connection import MAX_HEAD_BYTES, MAX_MESSAGE_BYTES
from tests.tournament.runs import until
from tests.viewer.http_talk import Served, ask, connect, events, read_all, request, serving, status, text

TOKEN = "a token of the test"  # noqa: S105

BIG_BYTES = 30_000_000


class _Big(Response):
    """A response that is larger than all buffers, and sets an event when it is over."""

    def __init__(self, over: trio.Event) -> None:
        super().__init__(bytes(BIG_BYTES))
        self._over = over

    async def __call__(self, *args: Any) -> None:
        try:
            await super().__call__(*args)
        finally:
            self._over.set()


class Pages:
    """Routes of the tests, and what reached them."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.big_is_over = trio.Event()
        self.bodies: list[bytes] = []
        self.routes = [
            Route("/", self._first),
            Route("/broken", self._broken),
            Route("/refused", self._refused),
            Route("/events", self._events),
            Route("/post", self._post, methods=["POST"]),
            Route("/big", self._big),
            WebSocketRoute("/echo", self._echo),
        ]

    async def _first(self, _request: Request) -> Response:
        return PlainTextResponse("the first page")

    async def _broken(self, _request: Request) -> Response:
        raise LookupError("two\nlines")

    async def _refused(self, _request: Request) -> Response:
        raise UsageError("there is no match \x1b[31mx: choose another")

    async def _events(self, _request: Request) -> Response:
        return EventResponse(self.hub)

    async def _post(self, request: Request) -> Response:
        self.bodies.append(await request.body())
        return PlainTextResponse("taken")

    async def _big(self, _request: Request) -> Response:
        return _Big(self.big_is_over)

    async def _echo(self, socket: WebSocket) -> None:
        await socket.accept()
        with suppress(WebSocketDisconnect):
            while True:
                await socket.send_text(await socket.receive_text())


@asynccontextmanager
async def pages(bind: Bind | None = None) -> AsyncIterator[tuple[Pages, Served]]:
    made = Pages()
    async with serving(made.routes, bind) as server:
        yield made, server


async def test_every_answer_has_the_headers_that_keep_browsers_from_harm():
    async with pages() as (_, server):
        for target in ("/", "/nothing", "/broken", "/static/common/dom.js", f"/?{'x' * MAX_TARGET_BYTES}"):
            answer = (await server.ask(target)).lower()
            assert "content-security-policy: default-src 'none'" in answer
            assert "unsafe" not in answer.partition("\r\n\r\n")[0]
            for header in (
                "x-content-type-options: nosniff",
                "referrer-policy: no-referrer",
                "cross-origin-resource-policy: same-origin",
            ):
                assert header in answer
        assert "cache-control: no-store" in await server.ask("/")


REFUSED: dict[str, tuple[int, tuple[str, ...], dict[str, Any]]] = {
    "an unknown page": (404, ("/nothing",), {}),
    "a page that fails": (500, ("/broken",), {}),
    "a page that cannot be shown": (400, ("/refused",), {}),
    "a long query": (414, ("/?" + "q" * MAX_TARGET_BYTES,), {}),
    "a query longer than all headers may be": (431, ("/?" + "q" * 4 * MAX_HEAD_BYTES,), {}),
    "a header that is too long": (431, ("/", "X: " + "x" * 4 * MAX_HEAD_BYTES), {}),
    "a host of somebody else": (403, ("/", "Host: rebound.example"), {}),
    "a host of somebody else with the port": (403, ("/", "Host: rebound.example:80"), {}),
    "a host that begins with ours": (403, ("/", "Host: 127.0.0.1.rebound.example"), {}),
    "a header of many blanks": (400, ("/", "X:" + " \t" * 200 + "x"), {}),
    "an empty host": (400, ("/", "Host: "), {}),
    "an origin of somebody else": (403, ("/", "Origin: http://elsewhere.example"), {}),
    "no origin at all": (403, ("/", "Origin: null"), {}),
    "an origin that is no address": (403, ("/", "Origin: http://[::"), {}),
    "another server of this machine": (403, ("/", "Origin: http://127.0.0.1:1"), {}),
    "a picture in a page elsewhere": (
        403,
        ("/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"),
        {},
    ),
    "a posted form": (405, ("/",), {"method": "POST"}),
    "a file to put": (405, ("/",), {"method": "PUT", "body": b"x"}),
    "a deletion": (405, ("/",), {"method": "DELETE"}),
    "options": (405, ("/",), {"method": "OPTIONS"}),
    "an invented method": (405, ("/",), {"method": "DANCE"}),
    "a body to a page": (400, ("/",), {"body": b"x"}),
    "chunks to a page": (400, ("/", "Transfer-Encoding: chunked"), {}),
    "a body that is too long": (413, ("/post",), {"method": "POST", "body": bytes(MAX_BODY_BYTES + 1)}),
    "chunks to post": (411, ("/post", "Transfer-Encoding: chunked"), {"method": "POST"}),
    "a file outside": (404, ("/static/../server/app.py",), {}),
    "a file outside, encoded": (404, ("/static/%2e%2e/server/app.py",), {}),
    "a file outside, with encoded slashes": (404, ("/static/..%2f..%2f..%2fetc%2fpasswd",), {}),
    "an absolute file": (404, ("/static//etc/passwd",), {}),
    "a zero byte": (404, ("/static/common/dom.js%00",), {}),
    "a folder": (404, ("/static/common",), {}),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_refusal_is_one_clear_line(case: str):
    wanted, words, options = REFUSED[case]
    async with pages() as (made, server):
        answer = await server.ask(*words, **options)
        assert status(answer) == wanted
        assert text(answer).startswith(f"{wanted} ")
        assert text(answer).count("\n") == 1
        assert text(answer).strip().isprintable()
        assert len(text(answer)) < 400
        assert made.bodies == []
        assert status(await server.ask("/")) == 200
        assert len(server.lines) == (case == "a page that fails")


UPGRADE = b"GET /echo HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"

GARBAGE = {
    "no request": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello",
    "half a request": b"GET / HTTP/1.1\r\nHost: 127",
    "nothing": b"",
    "a request of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "two lengths": b"POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "lines without end": b"a" * 100_000,
    "a WebSocket without a key": UPGRADE + b"\r\n",
    "a WebSocket with a header that is not text": UPGRADE + b"Sec-WebSocket-Key: \xff\r\n\r\n",
}


@pytest.mark.parametrize("case", GARBAGE)
async def test_garbage_ends_its_own_connection_only(case: str):
    async with pages() as (_, server):
        stream = await connect(server.port)
        await stream.send_all(GARBAGE[case])
        await stream.send_eof()
        answer = await read_all(stream)
        assert not answer or status(answer) >= 400
        assert status(await server.ask("/")) == 200
        assert server.lines == []


async def test_a_client_that_goes_in_the_middle_of_a_body_is_no_failure():
    async with pages() as (made, server):
        stream = await connect(server.port)
        await stream.send_all(b"POST /post HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nhalf")
        await stream.send_eof()
        await read_all(stream)
        assert made.bodies == []
        assert server.lines == []


async def test_a_change_to_http2_is_not_made():
    async with pages() as (_, server):
        answer = await server.ask("/", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
        assert status(answer) == 200


async def test_a_page_that_fails_is_reported_in_one_line():
    async with pages() as (_, server):
        answer = await server.ask("/broken")
        assert "LookupError: two" in text(answer)
        (line,) = server.lines
        assert line.startswith("the page /broken failed: LookupError: two")
        assert "\n" not in line


async def test_only_files_of_the_package_are_static():
    async with pages() as (_, server):
        answer = await server.ask("/static/common/dom.js")
        assert status(answer) == 200
        assert "content-type: text/javascript" in answer
        tag = answer.partition("etag: ")[2].partition("\r\n")[0]
        assert status(await server.ask("/static/common/dom.js", f"If-None-Match: {tag}")) == 304


# Slow and silent clients.


async def drip(stream: trio.SocketStream, data: bytes) -> None:
    """Send bytes one by one, and the last one again and again."""
    while True:
        await stream.send_all(data[:1])
        data = data[1:] or data
        await trio.sleep(0.01)


async def test_a_request_that_comes_too_slowly_is_cut_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.5)
    async with pages() as (_, server):
        stream = await connect(server.port)
        data = request(server.port, "/")
        with trio.fail_after(30), pytest.raises(trio.BrokenResourceError):
            await drip(stream, data[:-1])
        await trio.aclose_forcefully(stream)
        assert status(await server.ask("/")) == 200


async def test_a_connection_without_requests_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "KEEP_ALIVE_SECONDS", 0.2)
    async with pages() as (_, server):
        stream = await connect(server.port)
        await stream.send_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert (await read_all(stream)).endswith("the first page")


@pytest.mark.parametrize("target", ["/big", "/events"])
async def test_a_client_that_never_reads_is_dropped(target: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.3)
    async with pages() as (made, server):
        stream = await connect(server.port)
        await stream.send_all(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        if target == "/events":
            await until(lambda: made.hub.viewers == 1)
            with trio.fail_after(30):
                while made.hub.viewers:
                    made.hub.publish("large", "x" * 200_000)
                    await trio.sleep(0.01)
        else:
            with trio.fail_after(30):
                await made.big_is_over.wait()
        assert len(await read_all(stream)) < BIG_BYTES  # the server has closed
        assert server.lines == []


async def test_a_viewer_that_is_slow_is_dropped_and_the_others_are_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app, "QUEUED_EVENTS", 4)
    async with pages() as (made, server), events(server.port) as quick, events(server.port):
        await until(lambda: made.hub.viewers == 2)
        with trio.fail_after(30):
            number = 0
            while made.hub.viewers == 2:
                number += 1
                made.hub.publish("large", [number, "x" * 300_000])
                assert (await quick.next("large"))[0] == number
        assert made.hub.viewers == 1


async def test_the_next_request_on_a_connection_that_gets_events_does_not_keep_it(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(app, "HEARTBEAT_SECONDS", 0.1)
    async with pages() as (made, server):
        stream = await connect(server.port)
        await stream.send_all(request(server.port, "/events") + request(server.port, "/"))
        await until(lambda: made.hub.viewers == 1)
        await trio.aclose_forcefully(stream)
        await until(lambda: made.hub.viewers == 0)


async def test_a_viewer_that_comes_later_gets_the_newest_event_of_each_kind():
    async with pages() as (made, server):
        for number in range(3):
            made.hub.publish("state", number)
            made.hub.publish("more", [number], keep=list(range(number + 1)))
        async with events(server.port) as found:
            assert await found.next("state") == 2
            assert await found.next("more") == [0, 1, 2]
            made.hub.publish("more", [3], keep=[0, 1, 2, 3])
            assert await found.next("more") == [3]


async def test_too_many_viewers_are_refused(monkeypatch):
    monkeypatch.setattr(app, "MAX_VIEWERS", 1)
    async with pages() as (made, server), events(server.port) as found:
        made.hub.publish("state", 1)
        await found.next("state")
        answer = await server.ask("/events")
        assert status(answer) == 503
        assert "close a page" in text(answer)


async def test_the_server_ends_at_once_whatever_its_clients_do():
    async with AsyncExitStack() as clients:
        with trio.fail_after(30):
            async with pages() as (made, server):
                await clients.enter_async_context(await connect(server.port))
                for data in (b"GET / HT", b"GET /big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
                    stream = await clients.enter_async_context(await connect(server.port))
                    await stream.send_all(data)
                await clients.enter_async_context(events(server.port))
                await until(lambda: made.hub.viewers == 1)


# Many connections.


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(run, "connection_bound", lambda: 20)
    return 20


async def test_connections_beyond_the_bound_are_refused_and_the_others_live_on(few: int):
    async with pages() as (made, server), AsyncExitStack() as stack:
        viewers = [await stack.enter_async_context(events(server.port)) for _ in range(few)]
        await until(lambda: made.hub.viewers == few)
        for _ in range(5):
            answer = await server.ask("/")
            assert status(answer) == 503
            assert text(answer) == "503 too many connections: close some, or try again\n"
        made.hub.publish("state", "still here")
        for viewer in viewers:
            assert await viewer.next("state") == "still here"


async def test_idle_connections_make_room(few: int):
    async with pages() as (_, server), AsyncExitStack() as stack:
        for _ in range(3 * few):
            await stack.enter_async_context(await connect(server.port))
        assert status(await server.ask("/")) == 200


def test_connections_leave_descriptors_for_files(monkeypatch: pytest.MonkeyPatch):
    for soft, wanted in (
        (1_000_000, run.MAX_CONNECTIONS),
        (1024, 824),
        (64, run.MIN_CONNECTIONS),
        (-1, 1000),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _which, soft=soft: (soft, soft))
        assert run.connection_bound() == wanted


# Tokens.


async def test_pages_with_a_token_are_for_those_who_have_it():
    async with pages(Bind(token=TOKEN)) as (_, server):
        for words in (
            ("/",),
            ("/?token=wrong",),
            ("/?token=",),
            ("/", "Authorization: Bearer wrong"),
            ("/", f"Authorization: Basic {TOKEN}"),
            ("/", f"Cookie: flagfall-{server.port}={TOKEN.replace(' ', '_')}"),
            ("/events",),
            ("/static/common/dom.js",),
            ("/?token=%C3%A4",),
        ):
            answer = await server.ask(*words)
            assert status(answer) == 401, words
            assert "set-cookie" not in answer.lower()
            assert TOKEN not in answer
        assert status(await server.ask("/", f"Authorization: Bearer {TOKEN}")) == 200
        assert server.lines == []


async def test_a_token_in_an_address_is_changed_for_a_cookie_and_leaves_the_address():
    async with pages(Bind(token=TOKEN)) as (_, server):
        offered = TOKEN.replace(" ", "%20")
        answer = await server.ask(f"/?turn=3&token={offered}&b=%3Cb%3E")
        assert status(answer) == 200
        assert 'content="0; url=/?turn=3&amp;b=%3Cb%3E"' in text(answer)
        assert TOKEN not in answer
        assert offered not in answer
        cookie = answer.partition("set-cookie: ")[2].partition("\r\n")[0]
        assert cookie.startswith(f"flagfall-{server.port}=")
        assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
        mine = cookie.partition(";")[0]
        assert text(await server.ask("/", f"Cookie: other=1; {mine}")) == "the first page"
        elsewhere = f"Cookie: {mine.replace(str(server.port), '1')}"
        assert status(await server.ask("/", elsewhere)) == 401  # the cookie of another port
        away = await server.ask(f"//elsewhere.example/?token={offered}")
        assert "url=/elsewhere.example/" in text(away)


async def test_another_token_makes_old_cookies_useless():
    async with pages(Bind(token=TOKEN)) as (_, server):
        cookie = (
            (await server.ask("/?token=" + TOKEN.replace(" ", "+")))
            .partition("set-cookie: ")[2]
            .partition(";")[0]
        )
        port = server.port
    async with pages(Bind(port=port, token=TOKEN[::-1])) as (_, server):
        assert status(await server.ask("/", f"Cookie: {cookie}")) == 401


@pytest.mark.parametrize("part", ["a", "\\", "\\1", '"', "="])
def test_what_stands_in_a_cookie_makes_no_work_before_the_token_is_known(part: str):
    value = f'flagfall-80="{part * (15_000 // len(part))}"'
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/"}
    scope |= {"query_string": b"", "headers": [(b"host", b"127.0.0.1:80"), (b"cookie", value.encode())]}
    calls: list[str] = []
    sys.setprofile(lambda _frame, event, _value: calls.append(event))
    try:
        refusal = Access(TOKEN).refusal(scope)
    finally:
        sys.setprofile(None)
    assert refusal is not None
    assert refusal.status_code == 401
    assert len(calls) < 1000


async def test_blanks_are_counted_over_the_parts_of_a_request():
    async with pages() as (_, server):
        stream = await connect(server.port)
        await stream.send_all(request(server.port, "/", "X:" + " " * 200 + "x", "Y: y"))
        assert status(await read_all(stream)) == 200
        stream = await connect(server.port)
        await stream.send_all(request(server.port, "/").removesuffix(b"\r\n") + b"X:" + b" " * 200)
        await trio.testing.wait_all_tasks_blocked()
        await stream.send_all(b" " * 200 + b"x\r\n\r\n")
        assert status(await read_all(stream)) == 400


async def test_blanks_behind_a_request_end_the_connection_without_a_word():
    async with pages() as (made, server):
        stream = await connect(server.port)
        await stream.send_all(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HTTP/1.1\r\n")
        await until(lambda: made.hub.viewers == 1)
        await stream.send_all(b"X:" + b" " * 400)
        await read_all(stream)
        await until(lambda: made.hub.viewers == 0)
        assert server.lines == []


def test_a_token_is_not_printed():
    assert TOKEN not in repr(Bind(token=TOKEN))


# Addresses and TLS.


@pytest.mark.parametrize("address", ["*", "0.0.0.0", "192.0.2.1", "::"])  # noqa: S104 - refused
def test_an_address_that_others_reach_needs_a_token(address: str):
    with pytest.raises(UsageError, match="others can reach it, so it needs a token: name a token file"):
        Bind(address)


def test_an_address_that_others_reach_is_not_secured_without_a_certificate():
    with pytest.warns(UserWarning, match=r"\* is not secured: .* name a certificate"):
        Bind("*", token=TOKEN)


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: Bind("example.org"), "write an IP address of this machine, localhost, or \\* for all"),
        (lambda: Bind(port=70_000), "write a number from 1 to 65535"),
        (lambda: Bind(key=Path("key.pem")), "a key goes with a certificate"),
        (lambda: Bind(certificate=Path("missing.pem")).tls_context(), "missing.pem"),
    ],
)
def test_wrong_addresses_are_refused_in_one_line(make: Callable[[], object], line: str):
    with pytest.raises(UsageError, match=line) as caught:
        make()
    assert "\n" not in str(caught.value)


async def test_a_port_that_is_taken_is_refused():
    async with pages() as (_, server):
        with pytest.raises(UsageError, match=f"port {server.port} at 127.0.0.1 cannot be bound"):
            await Bind(port=server.port).open_listeners()


async def test_pages_over_tls(tmp_path: Path):
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    file = tmp_path / "host.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(file)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with pages(Bind(token=TOKEN, certificate=file)) as (_, server):
        assert server.url.startswith("https://127.0.0.1:")
        answer = await ask(server.port, f"/?token={TOKEN.replace(' ', '+')}", tls=trusting)
        cookie = answer.partition("set-cookie: ")[2].partition("\r\n")[0]
        assert cookie.startswith("__Host-flagfall-")
        assert "Secure" in cookie.split("; ")
        answer = await ask(server.port, "/", f"Cookie: {cookie.partition(';')[0]}", tls=trusting)
        assert text(answer) == "the first page"
        assert await server.ask("/") == ""  # without TLS
        strange = ssl.create_default_context()
        with pytest.raises(trio.BrokenResourceError):
            await ask(server.port, "/", tls=strange)
        assert server.lines == []


# WebSockets.


async def _upgrade(server: Served, *, origin: str | None) -> tuple[WSConnection, trio.SocketStream, object]:
    stream = await connect(server.port)
    talk = WSConnection(ConnectionType.CLIENT)
    extra = [] if origin is None else [(b"origin", origin.encode())]
    await stream.send_all(
        talk.send(Upgrade(host=f"127.0.0.1:{server.port}", target="/echo", extra_headers=extra))
    )
    return talk, stream, await _next(talk, stream)


async def _next(talk: WSConnection, stream: trio.SocketStream) -> object:
    with trio.fail_after(30):
        while True:
            for event in talk.events():
                if not isinstance(event, Ping):
                    return event
            data = await stream.receive_some()
            talk.receive_data(data or None)


async def test_a_web_socket_is_for_pages_of_this_server():
    async with pages() as (_, server):
        talk, stream, answer = await _upgrade(server, origin=f"http://127.0.0.1:{server.port}")
        assert isinstance(answer, AcceptConnection)
        await stream.send_all(talk.send(TextMessage(data="hello")))
        echo = await _next(talk, stream)
        assert isinstance(echo, TextMessage)
        assert echo.data == "hello"
        await stream.send_all(talk.send(TextMessage(data="x" * (MAX_MESSAGE_BYTES + 1))))
        closed = await _next(talk, stream)
        assert isinstance(closed, CloseConnection)
        await trio.aclose_forcefully(stream)
        _, stream, answer = await _upgrade(server, origin="http://elsewhere.example")
        assert isinstance(answer, RejectConnection)
        assert answer.status_code == 403
        await trio.aclose_forcefully(stream)
        assert server.lines == []


async def test_a_web_socket_needs_the_token_too():
    async with pages(Bind(token=TOKEN)) as (_, server):
        _, stream, answer = await _upgrade(server, origin=f"http://127.0.0.1:{server.port}")
        assert isinstance(answer, RejectConnection)
        assert answer.status_code == 401
        await trio.aclose_forcefully(stream)


# Files of a folder.


def test_names_lead_to_files_of_the_folder_only(tmp_path: Path):
    folder, outside = tmp_path / "results", tmp_path / "outside"
    (folder / "journals").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (folder / "journals" / "m.jsonl").write_text("mine")
    (folder / "link").symlink_to(outside / "secret")
    (folder / "journals" / "there").symlink_to(outside)
    assert path_inside(folder, "journals/m.jsonl").read_text() == "mine"
    for name in (
        "../outside/secret",
        "journals/../../outside/secret",
        str(outside / "secret"),
        "link",
        "journals/there/secret",
        "journals",
        "journals/",
        "",
        ".",
        "..",
        "journals/no.jsonl",
        "journals/m.jsonl\0",
        "journals\\m.jsonl",
        "a/" * 1000,
        "n" * 5000,
    ):
        with pytest.raises(UsageError) as caught:
            path_inside(folder, name)
        assert "secret" not in str(caught.value)
        assert len(str(caught.value)) < 200
