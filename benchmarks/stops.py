"""Verdicts on honest agents while the program is stopped and continued repeatedly.

A program plays a match on the wall clock; this one stops it with SIGSTOP or by freezing its cgroup. No agent
is responsible for a stop, so no turn may be judged late.
"""

from __future__ import annotations

__all__ = ["main"]

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Row, show

FREEZER = Path("/sys/fs/cgroup/freezer")
CONTROL = "start=20s act=60ms/1s"
AGENTS = ("loop sleeps", "loop computes", "loop blocks briefly", "thread", "process")

SHORT_SECONDS = 0.15
LONG_SECONDS = 2.0

PLAYS = """
import sys
from benchmarks.stopped_match import main
main(sys.argv[1], sys.argv[2])
"""


def _by_signal(pid: int, seconds: float) -> None:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(pid, signal.SIGCONT)


def _by_freezer(pid: int, seconds: float) -> None:
    group = FREEZER / f"flagfall-stops-{os.getpid()}"
    group.mkdir(exist_ok=True)
    (group / "cgroup.procs").write_text(str(pid))
    (group / "freezer.state").write_text("FROZEN")
    time.sleep(seconds)
    (group / "freezer.state").write_text("THAWED")
    for member in (group / "cgroup.procs").read_text().split():  # a process may have been started meanwhile
        (FREEZER / "cgroup.procs").write_text(member)
    group.rmdir()


def stopped(
    agent: str, stop: Callable[[int, float], None], count: int, seconds: float
) -> tuple[int, int, int]:
    """Stop a match repeatedly, and return its late turns, its disqualified seats, and all its turns.

    Args:
        agent: a name in `AGENTS`.
        stop: stops a process for some seconds.
        count: number of stops.
        seconds: length of each stop.
    """
    moment = random.Random(count)
    with subprocess.Popen(
        [sys.executable, "-c", PLAYS, agent, CONTROL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdin is not None
        program.stdout.readline()
        for _ in range(count):
            time.sleep(0.06 + moment.random() * 0.06)
            stop(program.pid, seconds)
        time.sleep(0.1)
        program.stdin.close()
        late, out, turns = map(int, program.stdout.readline().split())
    return late, out, turns


def stops(scale: int) -> Iterator[Row]:
    """Count late turns and disqualifications of honest agents while the program is stopped.

    Args:
        scale: divides the amount of work.
    """
    ways = {"SIGSTOP": _by_signal}
    if os.access(FREEZER / "cgroup.procs", os.W_OK):
        ways["freezer"] = _by_freezer
    for way, stop in ways.items():
        for count, seconds in ((100 // scale, SHORT_SECONDS), (10 // scale, LONG_SECONDS)):
            for agent in AGENTS:
                late, out, turns = stopped(agent, stop, count, seconds)
                name = f"{way}, {count} stops of {seconds:g} s, {agent}"
                yield Row(
                    name,
                    f"{late} late, {out} disqualified",
                    f"{turns} turns",
                    target="0 late, 0 disqualified",
                )


def main(*, quick: bool = False, only: str = "") -> None:
    """Print the table of this suite.

    Args:
        quick: do a tenth of the work.
        only: measure only groups whose name contains this text.
    """
    groups = (stops,)
    rows = (row for group in groups if only in group.__name__ for row in group(10 if quick else 1))
    show("honest agents in a program that is stopped", rows)
