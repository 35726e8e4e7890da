"""A match of an honest agent that lasts until the end of standard input; `benchmarks.stops` stops it."""

from __future__ import annotations

__all__ = ["main"]

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from benchmarks.echo_task import OneTask
from flagfall.agents.hosts.in_loop import LoopHost
from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.thread import ThreadHost
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.timing import TimeControl

NAPPING = "import time\ndef nap(observation):\n    time.sleep(0.01)\n    return 0\n"


async def _sleeps(_observation: Any) -> int:
    await trio.sleep(0.01)
    return 0


async def _computes(_observation: Any) -> int:
    until_ns = time.thread_time_ns() + 4_000_000
    while time.thread_time_ns() < until_ns:
        pass
    return 0


async def _blocks_briefly(_observation: Any) -> int:
    time.sleep(0.01)  # noqa: ASYNC251 - the blocking step is measured
    return 0


def _naps(_observation: Any) -> int:
    time.sleep(0.01)
    return 0


def _host(agent: str, folder: Path) -> AgentHost:
    if agent == "process":
        path = folder / "napping.py"
        path.write_text(NAPPING)
        return ProcessHost(f"{path}:nap", agent)
    if agent == "thread":
        return ThreadHost(_naps, agent)
    loop: dict[str, Callable[[Any], Any]] = {
        "loop sleeps": _sleeps,
        "loop computes": _computes,
        "loop blocks briefly": _blocks_briefly,
    }
    return LoopHost(loop[agent], agent)


async def _play(agent: str, control: str) -> None:
    stop = trio.Event()

    async def until_input_ends() -> None:
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        stop.set()

    with tempfile.TemporaryDirectory() as folder:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(until_input_ends)
            sys.stdout.write("go\n")
            sys.stdout.flush()
            result = await play_match(
                OneTask(), [_host(agent, Path(folder))], control=TimeControl.parse(control), stop=stop
            )
            nursery.cancel_scope.cancel()
    (seat,) = result.seats
    sys.stdout.write(f"{seat.stats.late} {int(seat.disqualified is not None)} {seat.stats.turns}\n")


def main(agent: str, control: str) -> None:
    """Play, and print three numbers: late turns, 1 if the agent was disqualified (or 0), all turns.

    Args:
        agent: a name in `benchmarks.stops.AGENTS`.
        control: the text of a time control.
    """
    trio.run(_play, agent, control)
