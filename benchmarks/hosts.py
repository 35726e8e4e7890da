"""Cost of agents in processes: a turn, a start, and many of them at the same time."""

from __future__ import annotations

__all__ = ["SUITE"]

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import trio

from benchmarks.echo_task import OneTask
from benchmarks.matches import CONTROL, journals, no_sinks
from benchmarks.measure import Row, percentile, reduced, skipped
from benchmarks.suites import Suite, by_name
from flagfall.agents.hosts.command import CommandHost
from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import Isolation, IsolationKind
from flagfall.agents.process.sandbox import check_sandbox
from flagfall.errors import UsageError
from flagfall.events import Event, SeatReady, TurnPlayed
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.kernel.sinks import Sink
from flagfall.timing import MS

AGENT = f"{Path(__file__).with_name('echo_agent.py')}:Echo"
PROGRAM = f"{sys.executable} {Path(__file__).parents[1] / 'examples' / 'wire' / 'bot.py'}"
PINGS = 10_000
STARTS = 15
AT_ONCE = 64
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


async def _match(steps: int, isolation: Isolation, sinks: Sequence[Sink], number: int = 0) -> None:
    await _play(steps, ProcessHost(AGENT, "echo", isolation), sinks, number)


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
                "≤ 120",
            )


def _over_tcp(turns: int) -> list[float]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"tcp://127.0.0.1:{port}"
    host = host_agent(url)
    words = [sys.executable, "-m", "flagfall", "agent", "serve", AGENT, "--connect", url]
    with subprocess.Popen(words) as agent:
        try:
            return _round_trips(turns, host, no_sinks)
        finally:
            agent.terminate()


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


def _start_ms(isolation: Isolation) -> float:
    spent: list[float] = []

    def sink(event: Event) -> None:
        if isinstance(event, SeatReady):
            spent.append(event.spent_ns / MS)

    trio.run(partial(_match, 1, isolation, [sink]))
    return spent[0]


def _python_ms() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import trio, msgspec"], check=True)
    return (time.perf_counter() - began) * 1000


def starts(scale: int) -> Iterator[Row]:
    """Measure the start of an agent; the baseline is a Python process that imports trio and msgspec.

    Args:
        scale: divides the amount of work.
    """
    kinds: list[IsolationKind] = ["none", "process", "sandbox"]
    for kind in kinds:
        try:
            if kind == "sandbox":
                check_sandbox()
        except UsageError as error:
            yield skipped(f"start of an agent, isolation {kind}, ms", str(error))
            continue
        pairs = [(_start_ms(Isolation(kind)), _python_ms()) for _ in range(reduced(STARTS, scale))]
        ours, base = (statistics.median(column) for column in zip(*pairs, strict=True))
        yield Row(
            f"start of an agent, isolation {kind}, ms",
            f"{ours:.0f}",
            f"python {base:.0f}",
            f"{ours / base:.2f}",
        )


async def _all_at_once(count: int, turns: int) -> tuple[float, float, list[float]]:
    """Return seconds until all agents are ready, seconds for all turns, and the milliseconds of each turn."""
    spent: list[float] = []
    ready: list[float] = []
    began = time.perf_counter()

    def sink(event: Event) -> None:
        if isinstance(event, SeatReady):
            ready.append(time.perf_counter())
        elif isinstance(event, TurnPlayed):
            spent.append(event.spent_ns / MS)

    async with trio.open_nursery() as nursery:
        for number in range(count):
            nursery.start_soon(_match, turns, Isolation(), [sink], number)
    return max(ready) - began, time.perf_counter() - began, spent


def many(scale: int) -> Iterator[Row]:
    """Measure many processes in one event loop, each in its own match.

    Args:
        scale: divides the amount of work.
    """
    turns = reduced(1_000, scale, 50)
    count = reduced(AT_ONCE, scale, 2)
    up, whole, spent = trio.run(_all_at_once, count, turns)
    yield Row(f"{AT_ONCE} processes at once: all are ready after, s", f"{up:.1f}", target="")
    shares = [f"{percentile(spent, share):.2f}" for share in (0.5, 0.99)]
    yield Row(f"{AT_ONCE} processes at once: a turn, ms p50 / p99", " / ".join(shares))
    rate = count * turns / max(whole - up, 1e-9)
    yield Row(f"{AT_ONCE} processes at once: turns/s after that", f"{rate:,.0f}")


SUITE = Suite("agents in processes", by_name(round_trips, other_wires, starts, many))
