"""Misbehaving agents, each in one way, that need an event loop or a system; `plain_agents` has the others.

Each has a cap, so that none harms a machine.

Until turn `TURN` they answer with the observation, the index of the turn. Those whose attempt may succeed
answer `DONE` or `REFUSED`. `flagfall.testing.adversarial.matrix` plays them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import trio

from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.testing.adversarial import escapes
from flagfall.testing.adversarial.plain_agents import DONE, LONG_S, MAX_FLOOD_BYTES, REFUSED, TURN, bad_from

LITTLE_S: Final = 0.2
"""A time between the soft and the hard limit of a turn, with room for delays on a busy machine."""

LOT_S: Final = 1.2
"""A time far beyond the hard limit: what the host of a busy machine loses meanwhile is credited. A thread
whose agent was disqualified runs on for the rest of it."""

MAX_FORKS: Final = 200
MAX_DISK_BYTES: Final = 50_000_000
MESSAGE_BYTES: Final = 100_000_000

HOSTS_PORT: Final = "FLAGFALL_HOSTS_PORT"
"""Environment variable with a port of this machine at which a program listens."""


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


def _ignore_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(LONG_S)


ignores_sigterm: Final = bad_from(_ignore_sigterm)
stops_itself: Final = bad_from(lambda: os.kill(os.getpid(), signal.SIGSTOP))


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


garbage: Final = bad_from(_garbage)
half_a_message: Final = bad_from(_half_a_message)
huge_message: Final = bad_from(_huge_message)


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


closes_its_pipes: Final = bad_from(_close_its_pipes)
exits_with_0: Final = bad_from(lambda: os._exit(0))
segfaults: Final = bad_from(lambda: ctypes.string_at(0))
kills_its_parent: Final = bad_from(_kill_its_parent)


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


leaves_children: Final = bad_from(_leave_children)
fork_bomb: Final = bad_from(_fork_bomb)
fills_the_disk: Final = bad_from(_fill_the_disk)
writes_a_huge_file: Final = bad_from(_write_a_huge_file)
opens_many_files: Final = bad_from(_open_many_files)


def _open_a_socket() -> int:
    try:
        socket.create_connection(("127.0.0.1", int(os.environ[HOSTS_PORT])), timeout=1).close()
    except OSError:
        return REFUSED
    return DONE


opens_a_socket: Final = bad_from(_open_a_socket)


# Escapes.


def _tries(attempt: Callable[[], bool]) -> Callable[[int], Any]:
    """Return an agent that answers whether its attempt succeeded."""
    return bad_from(lambda: DONE if attempt() else REFUSED)


writes_kernel_files: Final = _tries(escapes.open_kernel_files)
uses_kernel_interfaces: Final = _tries(escapes.use_kernel_interfaces)
reaches_records: Final = _tries(escapes.reach_records)
leaves_its_cores: Final = _tries(escapes.leave_cores)
eats_shared_memory: Final = _tries(escapes.eat_shared_memory)
stops_its_parent: Final = bad_from(escapes.stop_parent)
traces_its_parent: Final = bad_from(escapes.trace_parent)
