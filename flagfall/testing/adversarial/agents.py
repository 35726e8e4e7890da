"""Misbehaving agents, each in one way. Each has a cap, so that none harms a machine.

Until turn `TURN` they answer with the observation, the index of the turn. Those whose attempt may succeed
answer `DONE` or `REFUSED`. `flagfall.testing.adversarial.matrix` plays them.
"""

# ruff: noqa: ARG002 - signatures are an agent's

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import trio

from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.testing.adversarial import escapes

TURN: Final = 2
"""The turn in which they misbehave."""

DONE: Final = 90
"""Answer of an agent whose attempt succeeded."""

REFUSED: Final = 91
"""Answer of an agent whose attempt failed."""

LITTLE_S: Final = 0.2
"""A time between the soft and the hard limit of a turn, with room for delays on a busy machine."""

LOT_S: Final = 1.2
"""A time far beyond the hard limit: what the host of a busy machine loses meanwhile is credited. A thread
whose agent was disqualified runs on for the rest of it."""

BLOCKING_S: Final = 0.8
"""A time beyond the hard limit for which an agent blocks its loop; its own step is never credited to it."""

LONG_S: Final = 20.0

MAX_FORKS: Final = 200
MAX_MEMORY_BYTES: Final = 600_000_000
MAX_DISK_BYTES: Final = 50_000_000
MAX_FLOOD_BYTES: Final = 2_000_000_000
MESSAGE_BYTES: Final = 100_000_000

OPPONENTS_FILE: Final = "FLAGFALL_OPPONENTS_FILE"
"""Environment variable with the path of a file of an opponent."""

HOSTS_PORT: Final = "FLAGFALL_HOSTS_PORT"
"""Environment variable with a port of this machine at which a program listens."""


def _bad_from(bad: Callable[[], Any]) -> Callable[[int], Any]:
    """Return an agent that calls a function in turn `TURN`, and answers with the result, if there is one."""

    def act(observation: int) -> Any:
        if observation != TURN:
            return observation
        said = bad()
        return observation if said is None else said

    return act


# Late.


async def late_by_a_little(observation: int) -> int:
    """Answers a moment after its limit."""
    await trio.sleep(LITTLE_S if observation == TURN else 0)
    return observation


async def late_by_a_lot(observation: int) -> int:
    """Answers long after its hard limit."""
    await trio.sleep(LOT_S if observation == TURN else 0)
    return observation


async def never_answers(observation: int) -> int:
    """Wait longer than the hard limit."""
    await trio.sleep(LONG_S if observation == TURN else 0)
    return observation


def _spin() -> None:
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        pass


def _ignore_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(LONG_S)


spins: Final = _bad_from(_spin)
sleeps_in_c: Final = _bad_from(lambda: time.sleep(LONG_S))
blocks: Final = _bad_from(lambda: time.sleep(BLOCKING_S))
ignores_sigterm: Final = _bad_from(_ignore_sigterm)
stops_itself: Final = _bad_from(lambda: os.kill(os.getpid(), signal.SIGSTOP))


# Messages.


async def answers_twice(seat: Any) -> None:
    """Answer every turn twice, with different values."""
    async for turn in seat:
        seat.reply(turn.observation)
        seat.reply(99)


class AnswersAnOldTurn:
    """Answers the previous turn before the current one."""

    async def run(self, seat: Any) -> None:
        """Play the seat."""
        before: Envelope | None = None
        async for turn in seat:
            if before is not None:
                seat.reply(99, before.number)
            seat.reply(turn.observation)
            before = turn


def _to_the_wire(data: bytes) -> None:
    """Write to all open descriptors, past the framing of messages."""
    for fd in range(3, 20):
        with suppress(OSError):
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]


def _garbage() -> None:
    _to_the_wire(b"\x00\x00\x00\x04\xc1\xc1\xc1\xc1")
    time.sleep(LONG_S)


def _half_a_message() -> None:
    _to_the_wire(b"\x00\x00\x00\x64abc")
    time.sleep(LONG_S)


def _huge_message() -> None:
    _to_the_wire(MESSAGE_BYTES.to_bytes(4, "big"))
    _to_the_wire(bytes(MESSAGE_BYTES))
    time.sleep(LONG_S)


def _flood(fd: int) -> None:
    data = b"a flood without end " * 3000
    for _ in range(MAX_FLOOD_BYTES // len(data)):
        os.write(fd, data)


garbage: Final = _bad_from(_garbage)
half_a_message: Final = _bad_from(_half_a_message)
huge_message: Final = _bad_from(_huge_message)
floods_stdout: Final = _bad_from(lambda: _flood(1))
floods_stderr: Final = _bad_from(lambda: _flood(2))


async def floods_the_wire(seat: Any) -> None:
    """Answers the first turn again and again, without end."""
    async for turn in seat:
        if turn.observation == TURN:
            for _ in range(MAX_FLOOD_BYTES // 100):
                seat.reply(99, 0)
        seat.reply(turn.observation)


# Ways to end.


def _close_its_pipes() -> None:
    for fd in range(3, 20):
        with suppress(OSError):
            os.close(fd)
    time.sleep(LONG_S)


def _kill_its_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(LONG_S)


closes_its_pipes: Final = _bad_from(_close_its_pipes)
exits_with_0: Final = _bad_from(lambda: os._exit(0))
raises_system_exit: Final = _bad_from(lambda: sys.exit(0))
segfaults: Final = _bad_from(lambda: ctypes.string_at(0))
kills_its_parent: Final = _bad_from(_kill_its_parent)


class _Raising:
    """Raises in one of its methods."""

    where = ""

    def _maybe(self, where: str) -> None:
        if where == self.where:
            raise ValueError(f"bad in {where}")

    def start(self, briefing: Any) -> None:
        self._maybe("start")

    def init(self, observation: int) -> None:
        self._maybe("init")

    def act(self, observation: int) -> int:
        if observation == TURN:
            self._maybe("act")
        return observation

    def result(self, observation: int, reward: float) -> None:
        self._maybe("result")

    def close(self) -> None:
        self._maybe("close")


def _raising_in(where: str) -> type[_Raising]:
    return type("Raising", (_Raising,), {"where": where})


RaisesInStart: Final = _raising_in("start")
RaisesInInit: Final = _raising_in("init")
RaisesInAct: Final = _raising_in("act")
RaisesInResult: Final = _raising_in("result")
RaisesInClose: Final = _raising_in("close")


async def swallows_cancellation(observation: int) -> int:
    """Ignore cancellation."""
    while observation == TURN:
        with suppress(trio.Cancelled):
            await trio.sleep_forever()
    return observation


# Resources.


def _leave_children() -> None:
    """Start children in sessions of their own whose parents have ended, and exit."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(LONG_S)
            os._exit(0)
    os._exit(0)


def _fork_bomb() -> None:
    end = time.monotonic() + LONG_S
    for _ in range(MAX_FORKS):
        if os.fork() == 0:
            os.setsid()
            time.sleep(max(0.0, end - time.monotonic()))
            os._exit(0)
    time.sleep(LONG_S)


def _eat_memory() -> None:
    eaten = [b"x" * 10_000_000 for _ in range(MAX_MEMORY_BYTES // 10_000_000)]
    time.sleep(LONG_S)
    del eaten


def _fill_the_disk() -> None:
    folder = Path(os.environ["TMPDIR"])
    for number in range(MAX_DISK_BYTES // 1_000_000):
        (folder / f"{number}").write_bytes(bytes(1_000_000))
    time.sleep(LONG_S)


def _write_a_huge_file() -> None:
    with (Path(os.environ["TMPDIR"]) / "huge").open("wb") as file:
        for _ in range(MAX_DISK_BYTES // 1_000_000):
            file.write(bytes(1_000_000))
    time.sleep(LONG_S)


def _open_many_files() -> None:
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(10_000)]
    time.sleep(LONG_S)
    del files


leaves_children: Final = _bad_from(_leave_children)
fork_bomb: Final = _bad_from(_fork_bomb)
eats_memory: Final = _bad_from(_eat_memory)
fills_the_disk: Final = _bad_from(_fill_the_disk)
writes_a_huge_file: Final = _bad_from(_write_a_huge_file)
opens_many_files: Final = _bad_from(_open_many_files)


def _read_the_opponents_file() -> int:
    try:
        Path(os.environ[OPPONENTS_FILE]).read_bytes()
    except OSError:
        return REFUSED
    return DONE


def _open_a_socket() -> int:
    try:
        socket.create_connection(("127.0.0.1", int(os.environ[HOSTS_PORT])), timeout=1).close()
    except OSError:
        return REFUSED
    return DONE


reads_its_opponents_files: Final = _bad_from(_read_the_opponents_file)
opens_a_socket: Final = _bad_from(_open_a_socket)


# Escapes.


def _tries(attempt: Callable[[], bool]) -> Callable[[int], Any]:
    """Return an agent that answers whether its attempt succeeded."""
    return _bad_from(lambda: DONE if attempt() else REFUSED)


writes_kernel_files: Final = _tries(escapes.open_kernel_files)
uses_kernel_interfaces: Final = _tries(escapes.use_kernel_interfaces)
reaches_records: Final = _tries(escapes.reach_records)
leaves_its_cores: Final = _tries(escapes.leave_cores)
eats_shared_memory: Final = _tries(escapes.eat_shared_memory)
stops_its_parent: Final = _bad_from(escapes.stop_parent)
traces_its_parent: Final = _bad_from(escapes.trace_parent)
