"""A match of an honest agent that lasts until another process ends it; `benchmarks.stops` stops it."""

from __future__ import annotations

__all__ = ["main"]

import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import trio

from benchmarks.echo_task import OneTask
from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.hosts.thread import ThreadHost
from flagfall.events import Event, SeatReady
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


async def _play(agent: str, control: str, link: Connection) -> None:
    stop = trio.Event()

    def ready(event: Event) -> None:
        if isinstance(event, SeatReady):
            link.send("playing")

    async def until_asked() -> None:
        await trio.to_thread.run_sync(link.recv, abandon_on_cancel=True)
        stop.set()

    with tempfile.TemporaryDirectory() as folder:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(until_asked)
            result = await play_match(
                OneTask(),
                [_host(agent, Path(folder))],
                control=TimeControl.parse(control),
                stop=stop,
                sinks=[ready],
            )
            nursery.cancel_scope.cancel()
    (seat,) = result.seats
    link.send((seat.stats.late, int(seat.disqualified is not None), seat.stats.turns))


def main(agent: str, control: str, link: Connection) -> None:
    """Play, and send three numbers: late turns, 1 if the agent was disqualified (or 0), all turns.

    Args:
        agent: a name in `benchmarks.stops.AGENTS`.
        control: the text of a time control.
        link: to the process that stops this one; any value from it ends the match.
    """
    trio.run(_play, agent, control, link)
