"""An agent in a process of its own: it can be stopped, whatever it does."""

from __future__ import annotations

__all__ = [
    "LAST_WORDS_SECONDS",
    "ProcessHost",
    "end_process",
    "keep_tail",
    "open_process",
    "play_with",
    "with_stderr",
]

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Literal

import trio

from flagfall.agents.wire_host import CLOSE_SECONDS, ask_over, come_up
from flagfall.errors import AgentFault, HostFault
from flagfall.kernel.channels.pipes import READ_BYTES, BytePipe, FramedPipe
from flagfall.kernel.match import Briefing
from flagfall.kernel.seat import Seat
from flagfall.timing import process_cpu_clock

TERM_SECONDS: Final = 0.005
"""Between asking a process to go and making it: a hard limit must be over within 20 ms."""

LAST_WORDS_SECONDS: Final = 0.1
"""How long a process that broke down has to end by itself, so that its exit code is its own."""

STDERR_BYTES: Final = 8 * 1024
"""How much of what an agent wrote to its standard error is kept, the newest."""

_REST_READS: Final = 16
"""A pipe holds one of these, or sixteen where somebody made it as large as Linux allows."""


class ProcessHost:
    """Runs a Python agent in a process, in a session and process group of its own.

    Args:
        spec: `module:Name` or `file.py:Name`, see `flagfall.agents.specs`.
        name: for tables and records.
    """

    kind: Literal["process"] = "process"

    def __init__(self, spec: str, name: str) -> None:
        self.name = name
        self._spec = spec

    async def run(self, seat: Seat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        try:
            await seat.turn()
        except trio.EndOfChannel:
            return
        process = await open_process([sys.executable, "-m", "flagfall.agents"])
        await play_with(process, partial(self._play, process, seat, briefing))

    async def _play(self, process: trio.Process, seat: Seat, briefing: Briefing, bytes_: BytePipe) -> None:
        pipe = FramedPipe(bytes_)
        await come_up(pipe, seat, briefing, self._spec)
        if seat.budget.control.clock == "cpu":
            seat.cpu_clock = process_cpu_clock(process.pid)
        await ask_over(pipe, seat)
        pipe.close()
        with trio.move_on_after(CLOSE_SECONDS):
            await process.wait()


async def open_process(command: Sequence[str]) -> trio.Process:
    """Start a program in a session and process group of its own, with pipes for all that it reads and says.

    Raises:
        HostFault: there are no more processes, descriptors or memory; no agent pays for that.
    """
    try:
        return await trio.lowlevel.open_process(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise HostFault(f"no process for an agent: {error}") from error


def _pipe_of(process: trio.Process) -> BytePipe:
    """The process's standard input and output as one pipe; its trio streams are given up for it."""
    assert isinstance(process.stdin, trio.lowlevel.FdStream)
    assert isinstance(process.stdout, trio.lowlevel.FdStream)
    pipe = BytePipe(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
    process.stdin.close()
    process.stdout.close()
    return pipe


async def play_with(process: trio.Process, play: Callable[[BytePipe], Awaitable[None]]) -> None:
    """Play with a process, and see to it that it is gone afterwards, with all of its group.

    Args:
        process: from `open_process`.
        play: is given its standard input and output as one pipe.

    Raises:
        AgentFault: as `play` raised it, with what the process wrote to its standard error.
        HostFault: from `play`.
    """
    tail = bytearray()
    fault: AgentFault | HostFault | None = None
    try:
        pipe = _pipe_of(process)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(keep_tail, process, tail)
                try:
                    await play(pipe)
                except (AgentFault, HostFault) as caught:
                    fault = caught
                    if isinstance(caught, AgentFault) and caught.reason != "garbage":
                        with trio.move_on_after(LAST_WORDS_SECONDS):  # for an exit code of its own
                            await process.wait()
                nursery.cancel_scope.cancel()
        finally:
            pipe.close()
    finally:
        await end_process(process, tail)
    if isinstance(fault, AgentFault):
        raise with_stderr(fault, process, tail) from fault
    if fault is not None:
        raise fault


async def keep_tail(process: trio.Process, tail: bytearray) -> None:
    """Read what the process writes to its standard error, and keep the newest of it."""
    assert process.stderr is not None
    async for chunk in process.stderr:
        tail += chunk
        del tail[:-STDERR_BYTES]


def _take_rest(stderr: trio.abc.ReceiveStream, tail: bytearray) -> None:
    """What is in the pipe when the process is gone, without waiting for those who may hold it open."""
    assert isinstance(stderr, trio.lowlevel.FdStream)
    with suppress(OSError):  # BlockingIOError: there is no more
        for _ in range(_REST_READS):
            if not (chunk := os.read(stderr.fileno(), READ_BYTES)):
                break
            tail += chunk
            del tail[:-STDERR_BYTES]


def with_stderr(fault: AgentFault, process: trio.Process, tail: bytearray) -> AgentFault:
    """The fault with what the process said last."""
    said = tail.decode(errors="replace").strip()
    ended = "" if process.returncode is None else f" (exit code {process.returncode})"
    detail = fault.detail + ended + (f"\n{said}" if said else "")
    return AgentFault(fault.reason, detail)


async def end_process(process: trio.Process, tail: bytearray) -> None:
    """See to it that the process is gone, and all of its group; not to be cancelled."""
    with trio.CancelScope(shield=True):
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM)
            with trio.move_on_after(TERM_SECONDS):
                await process.wait()
        _signal(process.pid, signal.SIGKILL)
        await process.wait()
        if process.stderr is not None:
            _take_rest(process.stderr, tail)
            await process.stderr.aclose()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
