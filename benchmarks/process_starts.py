"""Cost of the start of agents in processes: one, and many of them at the same time."""

from __future__ import annotations

__all__ = ["AGENT", "many", "starts"]

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import trio

from benchmarks.echo_task import OneTask
from benchmarks.measure import Row, percentile, reduced, skipped
from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.process.isolation import Isolation, IsolationKind
from flagfall.agents.process.sandbox import check_sandbox
from flagfall.errors import UsageError
from flagfall.events import Event, SeatReady, TurnPlayed
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.match import play_match
from flagfall.timing import MS, TimeControl

AGENT = f"{Path(__file__).with_name('echo_agent.py')}:Echo"
STARTS = 15
FILES_OF_AN_AGENT = 8
CONTROL = TimeControl.parse("act=10s start=120s")
"""Limits that many starts at once on a busy machine keep."""


async def _match(steps: int, isolation: Isolation, sinks: Sequence[Sink], number: int = 0) -> None:
    host = ProcessHost(AGENT, "echo", isolation)
    await play_match(OneTask(), [host], control=CONTROL, seed=number, steps=steps, sinks=sinks)


def _why_no_sandbox() -> str:
    """Return why there can be no sandbox here; empty if there can be one."""
    try:
        check_sandbox()
    except UsageError as error:
        return str(error)
    return ""


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
        if kind == "sandbox" and (reason := _why_no_sandbox()):
            yield skipped(f"start of an agent, isolation {kind}, ms", reason)
            continue
        pairs = [(_start_ms(Isolation(kind)), _python_ms()) for _ in range(reduced(STARTS, scale))]
        ours, base = (statistics.median(column) for column in zip(*pairs, strict=True))
        yield Row(
            f"start of an agent, isolation {kind}, ms",
            f"{ours:.0f}",
            f"python {base:.0f}",
            f"{ours / base:.2f}",
        )


async def _all_at_once(count: int, turns: int, isolation: Isolation) -> tuple[float, float, list[float]]:
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
            nursery.start_soon(_match, turns, isolation, [sink], number)
    return max(ready) - began, time.perf_counter() - began, spent


def many(scale: int) -> Iterator[Row]:
    """Measure many processes in one event loop, each in its own match.

    Args:
        scale: divides the number of processes and of turns.
    """
    turns = reduced(1_000, scale, 50)
    rows: list[tuple[int, IsolationKind, str]] = [
        (64, "process", "≤ 3"),
        (256, "process", ""),
        (64, "sandbox", ""),
    ]
    for whole_count, kind, target in rows:
        name = f"{whole_count} agents at once, isolation {kind}"
        if kind == "sandbox" and (reason := _why_no_sandbox()):
            yield skipped(f"{name}: all are ready after, s", reason)
            continue
        count = reduced(whole_count, scale, 2)
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < FILES_OF_AN_AGENT * count:
            yield skipped(f"{name}: all are ready after, s", "too few open files: see ulimit -n")
            continue
        up, whole, spent = trio.run(_all_at_once, count, turns, Isolation(kind))
        yield Row(f"{name}: all are ready after, s", f"{up:.1f}", target=target)
        shares = [f"{percentile(spent, share):.2f}" for share in (0.5, 0.99)]
        yield Row(f"{name}: a turn, ms p50 / p99", " / ".join(shares))
        rate = count * turns / max(whole - up, 1e-9)
        yield Row(f"{name}: turns/s after that", f"{rate:,.0f}")
