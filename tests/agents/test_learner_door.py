"""Choice of the learner where several clients connect over ZeroMQ, in one match and in a series."""

from __future__ import annotations

import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from flagfall.agents.admission import MAX_HANDSHAKES
from flagfall.agents.listening import open_series
from flagfall.agents.zmq.host import RemoteLearnerHost
from flagfall.errors import UsageError
from tests.agents.test_zmtp import GREETING, READY
from tests.fakes import NIL, CountTask, Played, TogetherTask, play_here

CLIENT = """
import sys, time, zmq
def connect():
    pair = zmq.Context.instance().socket(zmq.PAIR)
    pair.setsockopt(zmq.RCVTIMEO, 15_000)
    pair.setsockopt(zmq.LINGER, 1_000)
    pair.connect(f"tcp://127.0.0.1:{sys.argv[1]}")
    return pair
def turn(pair, reply=b"\\x07"):
    print(pair.recv().decode(), ord(pair.recv().decode()), file=heard, flush=True)
    pair.send(reply)
heard = open(sys.argv[0] + ".heard", "w")
"""
PLAY = "pair = connect(); pair.send(b'hello')\nwhile True: turn(pair)"
CONTROL = "start=20s act=10s/10s"


class Clients:
    """Programs that connect, started in a nursery, and raw connections."""

    def __init__(self, port: int, folder: Path) -> None:
        self.port = port
        self._folder = folder
        self._started = 0
        self._open: list[socket.socket] = []

    async def start(self, nursery: trio.Nursery, behaviour: str) -> None:
        self._started += 1
        program = self._folder / f"client{self._started}.py"
        program.write_text(CLIENT + behaviour)
        command = [sys.executable, str(program), str(self.port)]
        await nursery.start(partial(trio.run_process, command, check=False))

    async def connect(self, data: bytes) -> socket.socket:
        """Send this over TCP, and nothing else."""
        while True:
            with suppress(ConnectionRefusedError):
                connection = socket.create_connection(("127.0.0.1", self.port))
                break
            await trio.sleep(0.01)
        self._open.append(connection)
        connection.sendall(data)
        return connection

    @contextmanager
    def closed_at_end(self) -> Iterator[None]:
        try:
            yield
        finally:
            for connection in self._open:
                connection.close()


@pytest.fixture
def clients(port: int, tmp_path: Path) -> Iterator[Clients]:
    made = Clients(port, tmp_path)
    with made.closed_at_end():
        yield made


async def play(task: Any, host: Any, *others: Any, control: str = CONTROL) -> Played:
    with trio.fail_after(80):
        return await play_here(task, host, *others, control=control)


def fall(match: Played) -> tuple[str, str]:
    (fell,) = match.disqualified
    assert match.result is not None
    assert (match.result.seats[0].disqualified, match.result.seats[0].detail) == (fell.reason, fell.detail)
    return fell.reason, fell.detail


@pytest.mark.parametrize(
    "data",
    [b"", GREETING, GREETING + READY, GREETING + READY + b"\0\x05hel"],
    ids=["nothing", "greeting", "handshake", "half a hello"],
)
async def test_a_client_that_only_greets_keeps_no_learner_out(clients: Clients, data: bytes):
    async def come(nursery: trio.Nursery) -> None:
        for _ in range(MAX_HANDSHAKES + 8):
            with suppress(ConnectionError):
                await clients.connect(data)
        await clients.start(nursery, PLAY)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(come, nursery)
        match = await play(CountTask(3), RemoteLearnerHost(clients.port))
        nursery.cancel_scope.cancel()
    assert (match.actions(), match.disqualified) == ([7, 7, 7], [])


async def test_the_learner_is_who_says_the_token(clients: Clients):
    """Others say `hello`, another token, or the token with something more."""
    wrong = [b"hello", b"open barley", b"open sesame "]
    host = RemoteLearnerHost(clients.port, token="open sesame")  # noqa: S106 - for this test
    async with trio.open_nursery() as nursery:
        for first in wrong:
            await clients.start(
                nursery, f"pair = connect(); pair.send({first!r}); pair.send(b'hello')\n{PLAY[28:]}"
            )
        await clients.start(
            nursery,
            "time.sleep(0.5); pair = connect(); pair.send(b'open sesame'); pair.send(b'hello')\n"
            "while True: turn(pair, b'\\x08')",
        )
        match = await play(CountTask(3), host)
        nursery.cancel_scope.cancel()
    assert (match.actions(), match.disqualified) == ([8, 8, 8], [])
    assert "sesame" not in repr(host)


@pytest.mark.parametrize(
    ("data", "reason", "sign"),
    [
        (None, "not connected", "no client connected to 127.0.0.1:"),
        (GREETING + READY, "silent", "and sent nothing"),
        (GREETING + READY + b"\0\x05hallo", "garbage", "expected hello, got b'hallo'"),
        (b"GET / HTTP/1.1\r\n\r\n", "not connected", "connections refused or lost: 1"),
        (GREETING + READY + b"\0\x05hello", "late", "busy for"),
    ],
    ids=["nobody", "silent", "no hello", "no ZeroMQ", "late"],
)
async def test_the_report_says_why_a_seat_stayed_empty(
    clients: Clients, data: bytes | None, reason: str, sign: str
):
    async with trio.open_nursery() as nursery:
        if data is not None:
            nursery.start_soon(clients.connect, data)
        match = await play(
            CountTask(3), RemoteLearnerHost(clients.port), control="start=300ms act=100ms/200ms"
        )
        nursery.cancel_scope.cancel()
    found, detail = fall(match)
    assert found == reason
    assert sign in detail


STUCK = (
    "pair = connect(); pair.send(b'hello'); turn(pair); turn(pair); pair.recv(); pair.recv(); time.sleep(60)"
)


@pytest.mark.parametrize("series", [True, False], ids=["series", "single matches"])
async def test_a_leftover_client_does_not_take_the_seat_of_the_next_match(clients: Clients, *, series: bool):
    """It stopped answering, and its library connects again by itself."""
    host = RemoteLearnerHost(clients.port)
    async with trio.open_nursery() as nursery, open_series([host] if series else []):
        await clients.start(nursery, STUCK)
        first = await play(CountTask(9), host, control="start=20s act=1s/1s")
        await clients.start(nursery, f"time.sleep(0.5)\n{PLAY}")
        second = await play(CountTask(3), host)
        nursery.cancel_scope.cancel()
    assert first.actions() == [7, 7, NIL]
    assert [fell.reason for fell in first.disqualified] == ["late"]
    assert (second.actions(), second.disqualified) == ([7, 7, 7], [])


async def test_what_a_client_of_an_earlier_match_says_is_no_answer(clients: Clients):
    """It answers after its match, and again and again: nothing of it is played."""
    late = "pair = connect(); pair.send(b'hello'); turn(pair); pair.recv(); pair.recv(); time.sleep(1.2)\n"
    late += "while True: time.sleep(0.05); pair.send(b'\\x63')"
    host = RemoteLearnerHost(clients.port)
    async with trio.open_nursery() as nursery:
        await clients.start(nursery, late)
        first = await play(CountTask(9), host, control="start=20s act=1s/1s")
        await clients.start(nursery, f"time.sleep(0.5)\n{PLAY}")
        second = await play(CountTask(3), host)
        nursery.cancel_scope.cancel()
    assert first.actions() == [7, NIL]
    assert (second.actions(), second.disqualified, second.dropped) == ([7, 7, 7], [], [])


async def series(clients: Clients, behaviour: str) -> list[Played]:
    """Three matches of two turns with one client."""
    host = RemoteLearnerHost(clients.port)
    matches = []
    async with trio.open_nursery() as nursery, open_series([host]):
        await clients.start(nursery, behaviour)
        for _ in range(3):
            matches.append(await play(CountTask(2), host))  # noqa: PERF401 - one after the other
        nursery.cancel_scope.cancel()
    return matches


async def test_a_learner_that_stays_connected_plays_a_series(clients: Clients, tmp_path: Path):
    """It says `hello` once, as the learners of round 1 do; each of its messages has its place."""
    matches = await series(clients, PLAY)
    assert [match.disqualified for match in matches] == [[], [], []]
    assert [match.actions() for match in matches] == [[7, 7]] * 3
    assert (tmp_path / "client1.py.heard").read_text().splitlines() == [
        "0 0",
        "7 1",
        "7 0",
        "7 1",
        "7 0",
        "7 1",
    ]


async def test_the_last_reward_of_a_series_is_sent_when_it_is_over(clients: Clients, tmp_path: Path):
    last = tmp_path / "last"
    behaviour = "pair = connect(); pair.send(b'hello'); turn(pair); turn(pair)\nlast = pair.recv()\n"
    behaviour += f"open({str(last)!r}, 'wb').write(last)"
    host = RemoteLearnerHost(clients.port)
    async with trio.open_nursery() as nursery:
        await clients.start(nursery, behaviour)
        async with open_series([host]):
            assert (await play(CountTask(2), host)).disqualified == []
    assert last.read_bytes() == b"7"


async def test_a_learner_that_connects_anew_for_each_match_plays_a_series(clients: Clients):
    once = "pair = connect(); pair.send(b'hello'); turn(pair); turn(pair); pair.close()"
    matches = await series(clients, f"for _ in range(3): {once}")
    assert [match.disqualified for match in matches] == [[], [], []]
    assert [match.actions() for match in matches] == [[7, 7]] * 3


async def test_a_program_of_a_series_is_started_for_each_match(clients: Clients, tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(CLIENT.replace("sys.argv[1]", "sys.argv[-1]") + PLAY)
    command = shlex.join([sys.executable, str(program)])
    host = RemoteLearnerHost(clients.port, command=command)
    async with trio.open_nursery() as nursery, open_series([host]):
        for _ in range(2):
            # Another client that has said hello before the program is started is not the learner.
            await clients.connect(GREETING + READY + b"\0\x05hello")
            admission = host._series
            assert admission is not None
            while not admission.has_waiting():  # noqa: ASYNC110 - there is no event
                await trio.sleep(0.01)
            match = await play(CountTask(2), host)
            assert (match.actions(), match.disqualified) == ([7, 7], [])
        nursery.cancel_scope.cancel()


async def test_endless_frames_of_one_message_are_not_kept(clients: Clients):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clients.connect, GREETING + READY + b"\0\x05hello" + b"\x01\x01a" * 10_000)
        match = await play(CountTask(2), RemoteLearnerHost(clients.port))
    assert fall(match)[0] == "gone"
    assert "frames" in fall(match)[1]


async def test_one_address_is_for_one_seat(port: int):
    host = RemoteLearnerHost(port)
    with pytest.raises(UsageError, match="give each one its own"):
        async with open_series([host]):
            await play(TogetherTask(2, 2), host, host)
