"""Wrong verdicts beside busy programs: answers of slow agents that are taken, honest agents called late."""

from __future__ import annotations

__all__ = ["SUITE"]

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import trio

from benchmarks.echo_task import OneTask
from benchmarks.hosts import connecting
from benchmarks.measure import Row, reduced
from benchmarks.suites import Suite, by_name
from flagfall.agents.hosts.registry import host_agent
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import SeatReport
from flagfall.timing import TimeControl

TURNS: Final = 1_000
BURNERS: Final = (0, 2, 8, 20)
CONTROL: Final = TimeControl.parse("start=1m act=40ms/10s")
HOSTS: Final = ("task", "thread", "process", "tcp", "ws")

AGENTS: Final = """
import time, trio

async def honest_task(observation):
    await trio.sleep(0.02)
    return 1

async def slow_task(observation):
    await trio.sleep(0.046)
    return 1

def honest(observation):
    time.sleep(0.02)
    return 1

def slow(observation):
    time.sleep(0.046)
    return 1
"""
"""They take half of the limit, and 15 % more than it."""


def _played(kind: str, agent: str, turns: int) -> SeatReport:
    with ExitStack() as stack:
        host: AgentHost
        if kind in {"tcp", "ws"}:
            host = stack.enter_context(connecting(agent, kind))
        else:
            host = host_agent(f"{agent}_task" if kind == "task" else agent, kind)  # type: ignore[arg-type]
        result = trio.run(partial(play_match, OneTask(), [host], control=CONTROL, steps=turns))
    return result.seats[0]


def load(scale: int) -> Iterator[Row]:
    """Count wrong verdicts on two agents, beside programs that compute without end.

    Args:
        scale: divides the amount of work.
    """
    turns = reduced(TURNS, scale)
    with tempfile.TemporaryDirectory() as folder:
        agents = Path(folder) / "agents.py"
        agents.write_text(AGENTS)
        for burners in BURNERS:
            for kind in HOSTS:
                with ExitStack() as stack:
                    for _ in range(reduced(burners, scale, 0)):
                        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
                        stack.enter_context(busy)
                        stack.callback(busy.kill)
                    honest, slow = (_played(kind, f"{agents}:{who}", turns) for who in ("honest", "slow"))
                out = [seat.disqualified for seat in (honest, slow)]
                assert out == [None, None], out
                yield Row(
                    f"{kind}, {burners} busy programs",
                    f"{slow.stats.turns - slow.stats.late} taken, {honest.stats.late} late",
                    f"{turns:,} turns of each",
                    target="≤ 5 taken",
                )


SUITE = Suite("wrong verdicts beside busy programs", by_name(load))
