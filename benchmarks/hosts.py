"""Cost of agents in processes: a turn, a start, and many of them at the same time."""

from __future__ import annotations

__all__ = ["SUITE", "connecting"]

import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import trio

from benchmarks.echo_task import OneTask
from benchmarks.matches import CONTROL, journals, no_sinks
from benchmarks.measure import Row, percentile, reduced
from benchmarks.process_starts import AGENT, many, starts
from benchmarks.suites import Suite, by_name
from flagfall.agents.hosts.process import CommandHost, ProcessHost
from flagfall.agents.hosts.registry import host_agent
from flagfall.events import Event, TurnPlayed
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match

PROGRAM = f"{sys.executable} {Path(__file__).parents[1] / 'examples' / 'wire' / 'bot.py'}"
PINGS = 10_000
ROUNDS = 3

_PONG = "import os\nwhile data := os.read(0, 65536): os.write(1, data)"


def pipe_round_trips(count: int) -> list[float]:
    """Return the times of bare round trips over two pipes with a process, in microseconds.

    Args:
        count: number of round trips.
    """
    spent = []
    with subprocess.Popen(
        [sys.executable, "-c", _PONG], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        to_child, from_child = child.stdin.fileno(), child.stdout.fileno()
        for _ in range(count):
            began = time.perf_counter_ns()
            os.write(to_child, b"ping")
            os.read(from_child, 64)
            spent.append((time.perf_counter_ns() - began) / 1000)
    return spent


async def _play(steps: int, host: AgentHost, sinks: Sequence[Sink], number: int = 0) -> None:
    await play_match(OneTask(), [host], control=CONTROL, seed=number, steps=steps, sinks=sinks)


def _round_trips(turns: int, host: AgentHost, sinks: Callable[[int], list[Sink]]) -> list[float]:
    """Return the times from the end of one turn to the end of the next, in microseconds."""
    ends: list[int] = []

    def sink(event: Event) -> None:
        if isinstance(event, TurnPlayed):
            ends.append(event.at_ns)

    trio.run(partial(_play, turns, host, [*sinks(0), sink]))
    return [(later - sooner) / 1000 for sooner, later in pairwise(ends)]


def round_trips(scale: int) -> Iterator[Row]:
    """Measure a turn of an agent in a process; the baseline is a bare round trip.

    Args:
        scale: divides the amount of work.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, sinks in (("", no_sinks), (", with a journal", journals(Path(folder)))):
            ours: list[float] = []
            pipes: list[float] = []
            for _ in range(reduced(ROUNDS, scale)):
                pipes += pipe_round_trips(reduced(PINGS, scale))
                ours += _round_trips(reduced(PINGS, scale), ProcessHost(AGENT, "echo"), sinks)
            mine, theirs = statistics.median(ours), statistics.median(pipes)
            yield Row(
                f"process round trip{name}, µs p50 / p99",
                f"{mine:.0f} / {percentile(ours, 0.99):.0f}",
                f"pipe {theirs:.0f} / {percentile(pipes, 0.99):.0f}",
                f"{mine / theirs:.2f}",
                "≤ 20" if name else "",
            )
    waits = _wait_round_trips(reduced(PINGS, scale))
    pipes = pipe_round_trips(reduced(PINGS, scale))
    yield Row(
        "pipe round trip, where trio waits for the answer, µs p50 / p99",
        f"{statistics.median(waits):.0f} / {percentile(waits, 0.99):.0f}",
        f"pipe {statistics.median(pipes):.0f} / {percentile(pipes, 0.99):.0f}",
        f"{statistics.median(waits) / statistics.median(pipes):.2f}",
    )


@contextmanager
def connecting(agent: str, scheme: str) -> Iterator[AgentHost]:
    """Start a program that plays an agent and connects to this machine; give the host that waits for it.

    Args:
        agent: text of the agent.
        scheme: `tcp` or `ws`.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"{scheme}://127.0.0.1:{port}"
    host = host_agent(url)
    words = [sys.executable, "-m", "flagfall", "agent", "serve", agent, "--connect", url]
    with subprocess.Popen(words) as program:
        try:
            yield host
        finally:
            program.terminate()


def _over_tcp(turns: int) -> list[float]:
    with connecting(AGENT, "tcp") as host:
        return _round_trips(turns, host, no_sinks)


def other_wires(scale: int) -> Iterator[Row]:
    """Measure a turn of a program that speaks JSON, and of an agent that connects.

    Args:
        scale: divides the amount of work.
    """
    kinds: dict[str, Callable[[int], list[float]]] = {
        "a program with JSON": lambda turns: _round_trips(turns, CommandHost(PROGRAM), no_sinks),
        "over TCP on this machine": _over_tcp,
    }
    for name, measure in kinds.items():
        pipes = pipe_round_trips(reduced(PINGS, scale))
        ours = measure(reduced(PINGS, scale))
        mine, theirs = statistics.median(ours), statistics.median(pipes)
        yield Row(
            f"round trip, {name}, µs p50 / p99",
            f"{mine:.0f} / {percentile(ours, 0.99):.0f}",
            f"pipe {theirs:.0f} / {percentile(pipes, 0.99):.0f}",
            f"{mine / theirs:.2f}",
        )


class _Steps(trio.abc.Instrument):
    """Counts the steps of all tasks of a loop."""

    def __init__(self) -> None:
        self.count = 0

    def before_task_step(self, _task: trio.lowlevel.Task) -> None:
        """Count a step."""
        self.count += 1


def turn_work(scale: int) -> Iterator[Row]:
    """Count the work of the host for a turn of an agent in a process, with a journal.

    Args:
        scale: divides the amount of work.
    """
    turns = reduced(PINGS, scale, 50)
    steps = _Steps()
    before = resource.getrusage(resource.RUSAGE_SELF)
    with tempfile.TemporaryDirectory() as folder:
        play = partial(_play, turns, ProcessHost(AGENT, "echo"), journals(Path(folder))(0))
        trio.run(play, instruments=[steps])
    after = resource.getrusage(resource.RUSAGE_SELF)
    waits = after.ru_nvcsw - before.ru_nvcsw
    preempted = after.ru_nivcsw - before.ru_nivcsw
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    yield Row("CPU time of the host for a turn, µs", f"{spent / turns * 1e6:.1f}")
    yield Row("steps of all tasks of the loop for a turn", f"{steps.count / turns:.2f}", target="≤ 1.2")
    yield Row("wake-ups of the host for a turn: it waited", f"{waits / turns:.2f}")
    yield Row("wake-ups of the host for a turn: its agent had its core", f"{preempted / turns:.2f}")


def _wait_round_trips(count: int) -> list[float]:
    """Return the times of round trips as `pipe_round_trips`, where trio waits for the answer."""
    spent: list[float] = []

    async def ping(to_child: int, from_child: int) -> None:
        for _ in range(count):
            began = time.perf_counter_ns()
            os.write(to_child, b"ping")
            await trio.lowlevel.wait_readable(from_child)
            os.read(from_child, 64)
            spent.append((time.perf_counter_ns() - began) / 1000)

    with subprocess.Popen(
        [sys.executable, "-c", _PONG], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        trio.run(ping, child.stdin.fileno(), child.stdout.fileno())
    return spent


SUITE = Suite("agents in processes", by_name(round_trips, turn_work, other_wires, starts, many))
