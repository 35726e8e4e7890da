"""Agents that connect over TCP, TLS and WebSocket: who plays, who may not, and lines that are lost."""

from __future__ import annotations

import asyncio
import json
import shlex
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import trio
import trustme

from flagfall.agents import admission
from flagfall.agents.admission import MAX_HANDSHAKES
from flagfall.agents.hosts.network import NetworkHost
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.listening import open_series
from flagfall.agents.wire.admission import JoinPolicy
from flagfall.agents.wire.client import ServerAddress, connect_and_play
from flagfall.agents.wire.messages import Failed
from flagfall.agents.wire.session import MAX_UNSOLICITED
from flagfall.agents.wire.websocket import MAX_PINGS, WebSocketStream
from flagfall.errors import HostFault, UsageError
from flagfall.events import SeatReady
from flagfall.kernel.channels.framing import FrameError
from flagfall.kernel.channels.pipes import PipeStream
from flagfall.timing import TimeControl
from tests.fakes import NIL, CountTask, Played, Sleeper, TogetherTask, play_here
from tests.ports import free_port

CONTROL = "start=20s init=5s act=5s/20s result=5s"
TOKEN = "open sesame"  # noqa: S105 - for this test
SCHEMES = ["tcp", "tls", "ws", "wss"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    ours = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    ours.private_key_and_cert_chain_pem.write_to_path(str(folder / "host.pem"))
    trustme.CA().cert_pem.write_to_path(str(folder / "stranger.pem"))
    return {name: folder / f"{name}.pem" for name in ("authority", "host", "stranger")}


def hosted(scheme: str, port: int, certificate: Path | None = None, **more: Any) -> NetworkHost:
    secured = certificate if scheme in {"tls", "wss"} else None
    return NetworkHost(scheme, port, "127.0.0.1", JoinPolicy(certificate=secured, **more))


def invited(scheme: str, port: int, authority: Path | None = None, **more: Any) -> ServerAddress:
    return ServerAddress.parse(f"{scheme}://127.0.0.1:{port}", authority=authority, **more)


async def guest(server: ServerAddress, agent: Any) -> Failed | None:
    return await trio.to_thread.run_sync(connect_and_play, server, lambda: agent)


Client = Callable[[], Awaitable[object]]


async def match(
    task: CountTask, host: Any, *clients: Client, others: tuple[Any, ...] = (), **more: Any
) -> Played:
    """A match, and whoever connects meanwhile."""
    played = Played()
    with lines_are_closed():
        async with trio.open_nursery() as nursery:
            for client in clients:
                nursery.start_soon(client)
            played = await play_here(task, host, *others, control=more.pop("control", CONTROL), **more)
            nursery.cancel_scope.cancel()
    return played


class Line:
    """A client of its own, over lines."""

    opened: ClassVar[list[Line]] = []

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._rest = b""
        self._pipe: PipeStream | None = None
        self.opened.append(self)

    def as_pipe(self) -> PipeStream:
        self._pipe = PipeStream(self._stream.socket.detach())
        return self._pipe

    @classmethod
    async def open(cls, port: int) -> Line:
        while True:
            with suppress(OSError):
                return cls(await trio.open_tcp_stream("127.0.0.1", port))
            await trio.sleep(0.01)

    @classmethod
    async def joined(cls, port: int, token: str = "") -> Line:
        line = await cls.open(port)
        await line.say(type="join", token=token)
        return line

    async def say(self, **message: Any) -> None:
        await self._stream.send_all(json.dumps(message).encode() + b"\n")

    async def raw(self, data: bytes) -> None:
        await self._stream.send_all(data)

    async def hear(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            data = await self._stream.receive_some()
            if not data:
                raise EOFError
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    async def is_closed(self) -> bool:
        try:
            return not await self._stream.receive_some()
        except trio.BrokenResourceError:
            return True

    async def start(self) -> dict[str, Any]:
        hello = await self.hear()
        assert hello["type"] == "hello"
        await self.say(type="ready")
        return hello

    async def play(self, turns: int | None = None) -> None:
        """Say back what is shown, so many times or to the end."""
        while turns is None or turns > 0:
            ask = await self.hear()
            if ask["type"] == "bye":
                return
            await self.say(type="answer", number=ask["number"], action=ask["observation"])
            turns = None if turns is None else turns - 1

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        else:
            self._stream.socket.close()


@contextmanager
def lines_are_closed() -> Iterator[None]:
    try:
        yield
    finally:
        while Line.opened:
            Line.opened.pop().close()


# Those who play.


def echo(observation: int) -> int:
    return observation


async def trio_echo(observation: int) -> int:
    await trio.lowlevel.checkpoint()
    return observation


class AsyncioEcho:
    loop = "asyncio"

    async def act(self, observation: int) -> int:
        await asyncio.sleep(0)
        return observation


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("agent", [echo, trio_echo, AsyncioEcho], ids=lambda agent: agent.__name__)
async def test_agents_of_every_kind_over_every_line(
    scheme: str, agent: Any, port: int, certificates: dict[str, Path]
):
    host = hosted(scheme, port, certificates["host"], token=TOKEN)
    server = invited(scheme, port, certificates["authority"], token=TOKEN)
    played = await match(CountTask(6), host, partial(guest, server, agent))
    assert played.actions() == [0, 1, 2, 3, 4, 5]
    assert played.disqualified == []
    assert played.verdicts(0) == ["on time"] * 6
    assert [event.host for event in played.events if isinstance(event, SeatReady)] == ["remote"]


async def test_a_large_observation_goes_over_every_line(port: int):
    class Large(CountTask):
        def reset(self, seed: int) -> Any:
            super().reset(seed)
            return "x" * 2_000_000

    played = await match(
        Large(2), hosted("ws", port), partial(guest, invited("ws", port), lambda seen: len(str(seen)) % 97)
    )
    assert played.actions() == [2_000_000 % 97, 1]


async def test_a_host_that_proves_to_be_somebody_else_is_not_played_at(
    port: int, certificates: dict[str, Path]
):
    host = hosted("tls", port, certificates["host"])
    refused: list[str] = []

    async def client() -> None:
        try:
            await guest(invited("tls", port, certificates["stranger"], wait_seconds=0.5), echo)
        except UsageError as error:
            refused.append(str(error))

    played = await match(CountTask(2), host, client, control="start=1500ms act=100ms/200ms")
    assert [fall.reason for fall in played.disqualified] == [
        "not connected"
    ]  # it came, and went without a word
    assert "refused or lost" in played.disqualified[0].detail
    assert "certificate" in refused[0].lower()


# Those who may not.


async def test_a_wrong_token_is_refused_and_the_right_one_plays(port: int):
    async def client() -> None:
        for token in ("", "open barley", TOKEN[:-1]):
            wrong = await Line.joined(port, token)
            assert await wrong.hear() == {
                "type": "refused",
                "reason": "token",
                "detail": "it is not the right one",
            }
            assert await wrong.is_closed()
        right = await Line.joined(port, TOKEN)
        hello = await right.start()
        assert TOKEN not in json.dumps(hello)
        await right.play()

    played = await match(CountTask(3), hosted("tcp", port, token=TOKEN), client)
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


async def test_one_agent_a_seat(port: int):
    async def client() -> None:
        first = await Line.joined(port)
        await first.start()
        second = await Line.joined(port)
        assert (await second.hear())["reason"] == "taken"
        assert await second.is_closed()
        await first.play()

    played = await match(CountTask(3), hosted("tcp", port), client)
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01",
        b"x" * 5000,
        b'{"type":"ready"}\n',
        b"\n",
        b"\xff\xff\xff\xff",
    ],
)
async def test_who_says_no_join_takes_nobodys_place(port: int, noise: bytes):
    async def client() -> None:
        stranger = await Line.open(port)
        await stranger.raw(noise)
        agent = await Line.joined(port)
        await agent.start()
        await agent.play()

    played = await match(CountTask(3), hosted("tcp", port), client)
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


async def test_those_who_say_nothing_are_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(admission.Admission.__init__, "__defaults__", (0.2,))

    async def client() -> None:
        silent = await Line.open(port)
        slow = await Line.open(port)
        with suppress(trio.BrokenResourceError):
            while True:
                await slow.raw(b" ")
                await trio.sleep(0.02)
        assert await silent.is_closed()
        agent = await Line.joined(port)
        await agent.start()
        await agent.play()

    played = await match(CountTask(3), hosted("tcp", port), client)
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


STALLS = {
    "tcp": [b"", b'{"type":"jo'],
    "tls": [b"", b"\x16\x03\x01\x02\x00\x01"],
    "ws": [b"", b"GET / HTTP/1.1\r\nHost:"],
    "wss": [b"", b"\x16\x03\x01\x02\x00\x01"],
}


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_silent_strangers_keep_no_agent_out(scheme: str, port: int, certificates: dict[str, Path]):
    """More of them than there is place for, which stall at any point of the handshake, and never end."""

    async def client() -> None:
        for number in range(MAX_HANDSHAKES + 16):
            stranger = await Line.open(port)
            with suppress(trio.BrokenResourceError):  # it had to give way to a later one
                await stranger.raw(STALLS[scheme][number % 2])
        server = invited(scheme, port, certificates["authority"], token=TOKEN)
        assert await guest(server, echo) is None

    host = hosted(scheme, port, certificates["host"], token=TOKEN)
    played = await match(CountTask(3), host, client)
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


async def test_a_flood_of_wrong_tokens_keeps_no_agent_out(port: int):
    async def flood() -> None:
        while True:
            with suppress(OSError, trio.BrokenResourceError):
                async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                    await stream.send_all(b'{"type":"join","token":"x"}\n')
                    await stream.receive_some()

    async def client() -> None:
        await Line.open(port)
        assert await guest(invited("tcp", port, token=TOKEN), echo) is None

    played = await match(CountTask(3), hosted("tcp", port, token=TOKEN), client, flood, flood)
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


async def test_an_agent_that_left_before_it_was_ready_costs_nobody_the_seat(port: int):
    async def client() -> None:
        first = await Line.joined(port)
        await first.hear()
        first.close()
        second = await Line.joined(port)
        await second.start()
        await second.play()

    played = await match(CountTask(3), hosted("tcp", port), client)
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


# Faults of the agent.


async def test_the_report_says_why_a_seat_stayed_empty(port: int):
    async def silent() -> None:
        await Line.open(port)

    async def wrong() -> None:
        await (await Line.joined(port, "open barley")).hear()

    async def slow() -> None:
        await (await Line.joined(port, TOKEN)).hear()

    verdicts = []
    for clients in [(), (silent,), (wrong,), (silent, wrong), (slow,)]:
        host = hosted("tcp", port, token=TOKEN)
        played = await match(CountTask(3), host, *clients, control="start=200ms act=100ms/200ms")
        assert played.result is not None
        (report,), (fell,) = played.result.seats, played.disqualified
        assert (report.disqualified, report.detail) == (fell.reason, fell.detail)
        verdicts.append((fell.reason, fell.detail.replace(f"tcp://127.0.0.1:{port}", "HERE")))
    silence = (
        "a client connected to HERE and sent nothing, or no complete handshake; connections of that kind: 1"
    )
    assert verdicts[:4] == [
        ("not connected", "no client connected to HERE"),
        ("silent", silence),
        ("not connected", "no client joined at HERE: connections refused or lost: 1"),
        ("silent", f"{silence}; connections refused: 1"),
    ]
    assert verdicts[4][0] == "late"


async def test_a_line_that_is_lost(port: int):
    async def client() -> None:
        line = await Line.joined(port)
        await line.start()
        await line.play(2)
        line.close()

    played = await match(CountTask(5), hosted("tcp", port), client)
    assert played.actions()[:2] == [0, 1]
    assert [fall.reason for fall in played.disqualified] == ["gone"]


async def _flood(line: Line) -> None:
    for _ in range(MAX_UNSOLICITED + 10):
        await line.say(type="skip", number=-5)


async def _oversize(line: Line) -> None:
    await line.raw(b"x" * 3_000)


async def _another_answer(line: Line) -> None:
    await line.say(type="ready")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (_flood, "messages that answer nothing"),
        (_oversize, "2000 is the limit"),
        (_another_answer, "expected answer, got ready"),
    ],
)
async def test_an_agent_that_breaks_the_rules_is_out(
    port: int, bad: Callable[[Line], Awaitable[None]], said: str
):
    async def client() -> None:
        line = await Line.joined(port)
        await line.start()
        await line.play(1)
        await line.hear()
        with suppress(trio.BrokenResourceError):
            await bad(line)
        await trio.sleep_forever()

    host = hosted("tcp", port, max_message_bytes=2_000)
    played = await match(TogetherTask(2, 3), host, client, others=(Sleeper(0.001),))
    assert [(fall.seat, fall.reason) for fall in played.disqualified] == [(0, "garbage")]
    assert said in played.disqualified[0].detail
    assert played.verdicts(1) == ["on time"] * 3


async def test_an_agent_that_does_not_read_holds_nobody_up(port: int):
    class Large(TogetherTask):
        def step(self, action: Any) -> Any:
            result = super().step(action)
            return result._replace(observation=dict.fromkeys(self.players, "x" * 3_000_000))

    async def client() -> None:
        line = await Line.joined(port)
        await line.start()
        await line.play(1)
        await trio.sleep_forever()

    played = await match(
        Large(2, 4),
        hosted("tcp", port),
        client,
        others=(Sleeper(0.001),),
        control="start=20s act=100ms/300ms",
    )
    assert [(fall.seat, fall.reason) for fall in played.disqualified] == [(0, "late")]
    assert len(played.verdicts(1)) == 4


# Coming back.


async def test_an_agent_may_come_back_while_it_has_time(port: int):
    async def client() -> None:
        first = await Line.joined(port, TOKEN)
        assert (await first.start())["resumed"] is False
        await first.play(1)
        lost = await first.hear()
        first.close()
        second = await Line.joined(port, TOKEN)
        assert "task" not in lost
        assert (await second.start())["resumed"] is True
        again = await second.hear()
        assert (again["task"]["name"], again["spaces"]["nil"]) == (
            "count",
            NIL,
        )  # the kit relays no second hello
        assert (again["number"], again["observation"]) == (lost["number"], lost["observation"])
        assert again["limit_ns"] < lost["limit_ns"]
        await second.say(type="answer", number=again["number"], action=7)
        await second.play()

    played = await match(CountTask(4), hosted("tcp", port, token=TOKEN, reconnect=True), client)
    assert (played.actions(), played.disqualified) == ([0, 7, 2, 3], [])


async def test_a_line_that_only_seems_to_be_there_is_replaced(port: int):
    async def client() -> None:
        first = await Line.joined(port, TOKEN)
        await first.start()
        await first.play(1)
        await first.hear()
        second = await Line.joined(port, TOKEN)
        assert (await second.start())["resumed"] is True
        assert await first.is_closed()
        await second.play()

    played = await match(CountTask(3), hosted("tcp", port, token=TOKEN, reconnect=True), client)
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


async def test_an_agent_that_does_not_come_back_in_time_is_late(port: int):
    async def client() -> None:
        line = await Line.joined(port, TOKEN)
        await line.start()
        await line.play(1)
        line.close()

    host = hosted("tcp", port, token=TOKEN, reconnect=True)
    played = await match(CountTask(50), host, client, control="start=20s act=50ms/200ms")
    assert played.actions()[:2] == [0, NIL]
    assert [fall.reason for fall in played.disqualified] == ["late"]


@pytest.mark.parametrize("scheme", ["tcp", "ws"])
async def test_an_agent_of_the_kit_does_not_notice_that_its_line_was_cut(scheme: str, port: int):
    """Between agent and host, somebody cuts the line again and again, wherever it is."""
    middle = free_port()
    cuts = iter([2_000, 900, 1_500, 700, 1_100, 10**9])
    seen: list[int] = []

    async def carry(stream: trio.SocketStream) -> None:
        left = next(cuts)
        with suppress(OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            there = await trio.open_tcp_stream("127.0.0.1", port)
            async with stream, there, trio.open_nursery() as nursery:

                async def pump(source: trio.SocketStream, sink: trio.SocketStream) -> None:
                    nonlocal left
                    async for data in source:
                        left -= len(data)
                        if left < 0:
                            break
                        await sink.send_all(data)
                    nursery.cancel_scope.cancel()

                nursery.start_soon(pump, stream, there)
                nursery.start_soon(pump, there, stream)

    def note(observation: int) -> int:
        seen.append(observation)
        return observation

    server = invited(scheme, middle, token=TOKEN, reconnect=True)
    played = await match(
        CountTask(60),
        hosted(scheme, port, token=TOKEN, reconnect=True),
        partial(trio.serve_tcp, carry, middle, host="127.0.0.1"),
        partial(guest, server, note),
    )
    assert played.disqualified == []
    assert played.actions() == list(range(60))
    assert seen == list(range(60))  # it was asked everything once
    assert next(cuts, None) is None  # all were made


# Series.


async def test_an_agent_that_comes_between_two_matches_plays_the_next_one(port: int):
    host = hosted("tcp", port)
    quick = "start=100ms act=100ms/200ms"
    async with open_series([host, host]):
        assert [fall.reason for fall in (await match(CountTask(2), host, control=quick)).disqualified] == [
            "not connected"
        ]
        gone = await Line.joined(port)
        waits = await Line.joined(port)
        gone.close()
        Line.opened.clear()  # they are not of one match

        async def client() -> None:
            await waits.start()
            await waits.play()

        played = await match(CountTask(3), host, client)
        waits.close()
    assert (played.actions(), played.disqualified) == ([0, 1, 2], [])


async def test_an_agent_that_comes_back_to_a_match_that_is_over_does_not_play_the_next(port: int):
    host = hosted("tcp", port, token=TOKEN, reconnect=True)
    matches: list[str] = []
    errors: list[str] = []

    class Loses:
        """Loses its line in its second turn, and comes back when that match is over."""

        async def __call__(self) -> None:
            line = await Line.open(port)
            await line.say(type="join", token=TOKEN, match="")
            assert await line.hear() == {"type": "joined"}
            matches.append((await line.start())["match"])
            await line.play(1)
            line.close()

    async def returns() -> None:
        line = await Line.open(port)
        await line.say(type="join", token=TOKEN, match=matches[0])
        assert await line.hear() == {"type": "joined"}
        refused = await line.hear()
        errors.append(refused["reason"])
        fresh = await Line.joined(port, TOKEN)
        matches.append((await fresh.start())["match"])
        await fresh.play()

    async with open_series([host]):
        first = await match(CountTask(50), host, Loses(), control="start=20s act=50ms/200ms")
        second = await match(CountTask(3), host, returns)
    assert [fall.reason for fall in first.disqualified] == ["late"]
    assert (second.actions(), second.disqualified) == ([0, 1, 2], [])
    assert errors == ["over"]
    assert matches[0] != matches[1]


async def test_a_seat_that_is_taken_is_tried_again(port: int):
    """A second agent of the kit waits for the seat, through the match of another one."""
    host = hosted("tcp", port)
    failed: list[object] = []

    async def other() -> None:
        line = await Line.joined(port)
        await line.start()
        await line.play(1)
        with trio.move_on_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(kit)
                await trio.sleep(0.3)  # by then it was refused
                await line.play()

    async def kit() -> None:
        failed.append(await guest(invited("tcp", port, wait_seconds=20), echo))

    async with open_series([host]), trio.open_nursery() as nursery:
        nursery.start_soon(other)
        first = await play_here(CountTask(3), host, control=CONTROL)
        second = await play_here(CountTask(4), host, control=CONTROL)
    while Line.opened:
        Line.opened.pop().close()
    assert (first.actions(), first.disqualified) == ([0, 1, 2], [])
    assert (second.actions(), second.disqualified) == ([0, 1, 2, 3], [])
    assert failed == [None]


# WebSocket.


async def web_line(port: int) -> tuple[WebSocketStream, PipeStream]:
    pipe = (await Line.open(port)).as_pipe()
    payloads = WebSocketStream(pipe, server=False)
    await payloads.connect("127.0.0.1")
    return payloads, pipe


async def test_a_page_in_a_browser_may_not_connect_without_a_token(port: int):
    answers: list[bytes] = []

    async def client() -> None:
        page = await Line.open(port)
        await page.raw(
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        answers.append(await page._stream.receive_some())
        payloads, _ = await web_line(port)
        await payloads.send(b'{"type":"join"}')
        await payloads.receive()
        await payloads.send(b'{"type":"ready"}')
        for _ in range(2):
            ask = json.loads(await payloads.receive())
            await payloads.send(json.dumps({"type": "answer", "number": ask["number"], "action": 5}).encode())
        assert json.loads(await payloads.receive())["type"] == "bye"

    played = await match(CountTask(2), hosted("ws", port), client)
    assert answers[0].startswith(b"HTTP/1.1 403")
    assert (played.actions(), played.disqualified) == ([5, 5], [])


async def test_a_request_of_many_blanks_is_not_parsed(port: int):
    answers: list[bytes] = []

    async def client() -> None:
        stranger = await Line.open(port)
        await stranger.raw(
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            b"X:" + b"\t " * 200 + b"x\r\n\r\n"
        )
        answers.append(await stranger._stream.receive_some())
        assert await guest(invited("ws", port), echo) is None

    played = await match(CountTask(3), hosted("ws", port), client)
    assert answers == [b""]
    assert played.actions() == [0, 1, 2]


async def test_a_client_that_closes_is_answered_and_gone(port: int):
    answers: list[bytes] = []

    async def client() -> None:
        payloads, pipe = await web_line(port)
        await payloads.send(b'{"type":"join"}')
        await payloads.receive()
        await payloads.send(b'{"type":"ready"}')
        await payloads.receive()
        await pipe.write(b"\x88\x82\x00\x00\x00\x00\x03\xe8")
        answers.append(await pipe.read())

    played = await match(TogetherTask(2, 3), hosted("ws", port), client, others=(Sleeper(0.01),))
    assert [fall.reason for fall in played.disqualified] == ["gone"]
    assert answers == [b"\x88\x02\x03\xe8"]


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        (b"\x89\x80\x00\x00\x00\x00" * (MAX_PINGS + 5), "flood"),
        (b"\x8a\x80\x00\x00\x00\x00" * (MAX_PINGS + 5), "flood"),
        (b"\x82\x81\x00\x00\x00\x00{", "not text"),
        (b"\x81\xff\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00" + b"x" * 70_000, "2000 is the limit"),
        (b"\x81\x82\x00\x00\x00\x00\xff\xff", ""),
        (b"\xf1\x80\x00\x00\x00\x00", "not WebSocket"),
    ],
)
async def test_frames_that_break_the_rules(port: int, frames: bytes, said: str):
    async def client() -> None:
        connecting, pipe = await web_line(port)
        await connecting.send(b'{"type":"join"}')
        await connecting.receive()
        await connecting.send(b'{"type":"ready"}')
        await connecting.receive()
        with suppress(trio.BrokenResourceError):
            await pipe.write(frames)
        await trio.sleep_forever()

    played = await match(CountTask(2), hosted("ws", port, max_message_bytes=2_000), client)
    assert [fall.reason for fall in played.disqualified] in (["garbage"], ["gone"])
    assert said in played.disqualified[0].detail


async def test_a_client_is_told_when_the_other_end_is_no_websocket(port: int):
    async def answer(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with lines_are_closed():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(trio.serve_tcp, answer, port, host="127.0.0.1"))
            with pytest.raises(FrameError, match="refused"):
                await web_line(port)
            nursery.cancel_scope.cancel()


# What cannot be.


def test_texts_that_cannot_be(port: int):
    for text in (
        "tcp://127.0.0.1",
        "tcp://:7",
        "tcp://127.0.0.1:x",
        "tcp://example.org:7777",
        "wss://127.0.0.1:0",
    ):
        with pytest.raises(UsageError):
            host_agent(text)
    with pytest.raises(UsageError, match=r"needs a token"):
        host_agent(f"tcp://*:{port}")
    with pytest.raises(UsageError, match=r"name its file"):
        host_agent(f"tls://127.0.0.1:{port}")
    with pytest.raises(UsageError, match="a program of its own"):
        host_agent(f"ws://127.0.0.1:{port}", "thread")


def test_what_others_can_reach_needs_a_token_and_should_be_secured(port: int, certificates: dict[str, Path]):
    with pytest.warns(UserWarning, match="not secured"):
        host_agent(f"tcp://*:{port}", join_policy=JoinPolicy(token=TOKEN))
    host_agent(f"wss://*:{port}", join_policy=JoinPolicy(token=TOKEN, certificate=certificates["host"]))
    with pytest.raises(UsageError, match=r"write tls:// or wss://"):
        host_agent(f"ws://127.0.0.1:{port}", join_policy=JoinPolicy(certificate=certificates["host"]))


def test_joining_that_cannot_be(tmp_path: Path, port: int):
    with pytest.raises(UsageError, match="has a token"):
        JoinPolicy(reconnect=True)
    with pytest.raises(UsageError, match="goes with a certificate"):
        JoinPolicy(key=tmp_path / "key.pem")
    with pytest.raises(UsageError, match="max_message_bytes"):
        JoinPolicy(max_message_bytes=0)
    (tmp_path / "bad.pem").write_text("no certificate")
    for file in ("bad.pem", "missing.pem"):
        with pytest.raises(UsageError, match=file):
            hosted("tls", port, tmp_path / file)
    with pytest.raises(UsageError, match=r"missing"):
        JoinPolicy.read_token(tmp_path / "missing")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(UsageError, match="1 to 1024"):
        JoinPolicy.read_token(tmp_path / "empty")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert JoinPolicy.read_token(tmp_path / "token") == TOKEN


def test_tokens_are_not_shown():
    assert TOKEN not in repr(JoinPolicy(token=TOKEN))
    assert TOKEN not in repr(invited("tcp", 1, token=TOKEN))


def test_invitations_that_cannot_be(tmp_path: Path):
    for url in ("http://arena.example:1", "arena.example:1", "tcp://arena.example", "tcp://:1", "ws://x:y"):
        with pytest.raises(UsageError, match="no address of a host"):
            ServerAddress.parse(url)
    assert ServerAddress.parse("ws://[::1]:7777/seat").host == "::1"
    with pytest.raises(UsageError, match="missing"):
        invited("tls", 1, tmp_path / "missing").context()


def test_nobody_is_at_home(port: int):
    with pytest.raises(UsageError, match=r"no connection to tcp://127\.0\.0\.1"):
        connect_and_play(invited("tcp", port, wait_seconds=0.2), lambda: echo)


async def test_a_port_that_somebody_has(port: int):
    host = hosted("tcp", port)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(UsageError, match="cannot be bound"):
            hosted("tcp", port)
        with pytest.raises(HostFault, match="cannot be bound"):
            await play_here(CountTask(), host, control=CONTROL)


async def test_an_agent_of_the_kit_is_told_that_its_line_was_lost(port: int):
    async def hang_up(stream: trio.SocketStream) -> None:
        line = Line(stream)
        await line.hear()
        await line.say(type="hello", version=1, seat=0, seats=1, seed=0, time_control="none")
        await line.hear()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(trio.serve_tcp, hang_up, port, host="127.0.0.1"))
        with pytest.raises(HostFault, match=r"the connection to tcp://127\.0\.0\.1:\d+ was lost"):
            await guest(invited("tcp", port), echo)
        nursery.cancel_scope.cancel()


async def test_the_cpu_time_of_another_host_is_not_known(port: int):
    with pytest.raises(UsageError, match="clock=cpu"):
        hosted("tcp", port).check(TimeControl.parse("act=1s clock=cpu"))


# When an answer arrives.


@pytest.mark.release
@pytest.mark.parametrize("scheme", [*SCHEMES, "process", "cmd"])
@pytest.mark.parametrize(("seconds", "verdict"), [(0.02, "on time"), (0.75, "late")])
async def test_an_answer_counts_from_when_it_arrives_however_late_the_loop_reads_it(
    scheme: str, seconds: float, verdict: str, port: int, certificates: Any, tmp_path: Path
):
    """The loop stands still beyond the limit while the agent thinks; neither error of a host is made."""
    begun = trio.Event()

    def act(observation: int) -> int:
        time.sleep(seconds if observation == 1 else 0)
        return 7

    async def stand_still() -> None:
        await begun.wait()
        await trio.sleep(0.05)
        time.sleep(0.9)  # noqa: ASYNC251 - that is what is shown

    def look(event: Any) -> None:
        if getattr(event, "turn", None) == 0:
            begun.set()

    clients: list[Client] = [stand_still]
    file = tmp_path / "agent.py"
    think = f"time.sleep({seconds} if observation == 1 else 0)"
    file.write_text(f"import time\ndef act(observation):\n    {think}\n    return 7\n")
    if scheme in SCHEMES:
        host: Any = hosted(scheme, port, certificates["host"])
        clients.append(partial(guest, invited(scheme, port, certificates["authority"]), act))
    else:
        command = shlex.join([sys.executable, "-m", "flagfall", "agent", "serve", f"{file}:act"])
        host = host_agent(f"{file}:act" if scheme == "process" else f"cmd:{command}")
    played = await match(CountTask(3), host, *clients, control="start=20s act=350ms/20s", sinks=[look])
    assert played.verdicts() == ["on time", verdict, "on time"]
