"""Series of matches with agents that connect: the next connection may come before the last match ended."""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import trio

from .conftest import FLAGFALL

HELD_BACK_SECONDS = 0.3
"""Shorter than the host waits for an agent to close, and longer than an agent takes to connect again."""


def series(port: int, matches: int) -> list[str]:
    words = f"run -t micro4 --steps 5 --matches {matches} --time-control start=10s -q --json -a"
    return [*FLAGFALL, *words.split(), f"tcp://127.0.0.1:{port}"]


def disqualifications(output: bytes) -> list[Any]:
    return [match["seats"][0]["disqualified"] for match in json.loads(output)["matches"]]


class Connection:
    """An agent of its own; says back what it hears."""

    def __init__(self, port: int) -> None:
        while True:
            with suppress(ConnectionRefusedError):
                self._socket = socket.create_connection(("127.0.0.1", port))
                break
        self._lines = self._socket.makefile("rb")
        self.say(type="join")

    def say(self, **message: Any) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def hear(self) -> Any:
        return json.loads(self._lines.readline())

    def play(self) -> None:
        assert self.hear()["type"] == "hello"
        self.say(type="ready")
        while (ask := self.hear())["type"] == "ask":
            self.say(type="answer", number=ask["number"], action=ask["observation"])

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


def test_an_agent_may_connect_for_the_next_match_before_it_has_left_the_last(port: int, folder: Path):
    with subprocess.Popen(series(port, 3), cwd=folder, stdout=subprocess.PIPE) as run:
        connections = [Connection(port)]
        for _ in range(2):
            connections[-1].play()
            connections.append(Connection(port))  # the one before is still open
        connections[-1].play()
        for connection in connections:
            connection.close()
        output, _ = run.communicate(timeout=90)
    assert disqualifications(output) == [None, None, None]


async def test_agents_of_the_kit_lose_no_match_where_the_network_holds_back_the_end_of_a_line(
    port: int, folder: Path
):
    """The host sees the end of each connection only when the next one has come."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    middle = listeners[0].socket.getsockname()[1]
    outputs: list[bytes] = []

    async def run() -> None:
        outputs.append((await trio.run_process(series(port, 3), cwd=folder, capture_stdout=True)).stdout)

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(trio.serve_listeners, partial(hold_back, port), listeners))
            words = f"agent serve repeating --matches 3 --connect tcp://127.0.0.1:{middle}"
            async with trio.open_nursery() as programs:
                programs.start_soon(partial(trio.run_process, [*FLAGFALL, *words.split()], cwd=folder))
                programs.start_soon(run)
            nursery.cancel_scope.cancel()
    assert disqualifications(outputs[0]) == [None, None, None]


async def hold_back(port: int, agent: trio.SocketStream) -> None:
    """Carry bytes between an agent and its host; tell the host late that the agent has closed."""
    with suppress(OSError, trio.BrokenResourceError, trio.ClosedResourceError):
        async with await trio.open_tcp_stream("127.0.0.1", port) as host, trio.open_nursery() as nursery:
            nursery.start_soon(carry, host, agent, nursery.cancel_scope, 0.0)
            await carry(agent, host, nursery.cancel_scope, HELD_BACK_SECONDS)
    await agent.aclose()


async def carry(
    here: trio.SocketStream, there: trio.SocketStream, over: trio.CancelScope, held_back_seconds: float
) -> None:
    with suppress(OSError, trio.BrokenResourceError, trio.ClosedResourceError):
        async for data in here:
            await there.send_all(data)
    await trio.sleep(held_back_seconds)
    over.cancel()
