"""Verdicts on honest agents while the program is stopped and continued repeatedly.

A program plays a match on the wall clock; this one stops it with SIGSTOP or by freezing its cgroup. No agent
is responsible for a stop, so no turn may be judged late.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import stopped_match
from benchmarks.measure import Row, reduced, skipped
from benchmarks.suites import Suite, by_name

FREEZER = Path("/sys/fs/cgroup/freezer")
CONTROL = "start=20s act=60ms/1s"
AGENTS = ("loop sleeps", "loop computes", "loop blocks briefly", "thread", "process")

SHORT_SECONDS = 0.15
LONG_SECONDS = 2.0

PROCESSES = multiprocessing.get_context("forkserver")
"""Starts programs that have imported everything, so that many short matches cost little."""

PROCESSES.set_forkserver_preload(["benchmarks.stopped_match"])


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
    ours, theirs = PROCESSES.Pipe()
    program = PROCESSES.Process(target=stopped_match.main, args=(agent, CONTROL, theirs))
    program.start()
    assert program.pid is not None
    ours.recv()
    for _ in range(count):
        time.sleep(0.06 + moment.random() * 0.06)
        stop(program.pid, seconds)
    time.sleep(0.1)
    ours.send("end")
    late, out, turns = ours.recv()
    program.join()
    return late, out, turns


def stops(scale: int) -> Iterator[Row]:
    """Count late turns and disqualifications of honest agents while the program is stopped.

    Args:
        scale: divides the amount of work.
    """
    ways = {"SIGSTOP": _by_signal, "freezer": _by_freezer}
    for way, stop in ways.items():
        for whole, seconds in ((100, SHORT_SECONDS), (10, LONG_SECONDS)):
            count = reduced(whole, scale)
            for agent in AGENTS:
                name = f"{way}, stops of {seconds:g} s, {agent}"
                if way == "freezer" and not os.access(FREEZER / "cgroup.procs", os.W_OK):
                    yield skipped(name, f"{FREEZER} cannot be written")
                    continue
                late, out, turns = stopped(agent, stop, count, seconds if count > 1 else SHORT_SECONDS)
                yield Row(
                    name,
                    f"{late} late, {out} disqualified",
                    f"{count} stops, {turns} turns",
                    target="0 late, 0 disqualified",
                )


SUITE = Suite("honest agents in a program that is stopped", by_name(stops))
