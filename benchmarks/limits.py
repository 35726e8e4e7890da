"""Limits: what plain programs of this machine reach, without flagfall.

No row has a target. Rows of other suites are read beside these: no match begins faster than a task of trio.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import heapq
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import trio

from benchmarks.hosts import pipe_round_trips
from benchmarks.measure import ROUNDS, Row, cpu_seconds, reduced
from benchmarks.suites import Suite, by_name

CALLS: Final = 1_000_000
TASKS: Final = 50_000
EXCHANGES: Final = 20_000
INSERTS: Final = 20_000
PICTURES: Final = 20_000
SLEEPERS: Final = 100


def _row(name: str, unit: str, factor: float, units: int, work: Callable[[], object], rounds: int) -> Row:
    """Measure the CPU time of one unit of work.

    Args:
        name: of the row.
        unit: of the figure, such as `µs`.
        factor: such units in a second.
        units: that the work does.
        work: the work.
        rounds: number of measurements; the least counts.
    """
    spent = []
    for _ in range(rounds):
        began = cpu_seconds()
        work()
        spent.append(cpu_seconds() - began)
    return Row(f"{name}, {unit}", f"{min(spent) / units * factor:,.2f} {unit}")


def _echo(value: int) -> int:
    return value


def _calls(count: int) -> None:
    for number in range(count):
        _echo(number)


def _heap(count: int) -> None:
    entries = [(number, number) for number in range(SLEEPERS)]
    for number in range(count):
        heapq.heappop(entries)
        heapq.heappush(entries, (number + SLEEPERS, number))


def loops(scale: int) -> Iterator[Row]:
    """Measure bare loops.

    Args:
        scale: divides the amount of work.
    """
    calls, rounds = reduced(CALLS, scale), reduced(ROUNDS, scale)
    yield _row("call in a loop", "ns", 1e9, calls, partial(_calls, calls), rounds)
    yield _row(f"heap of {SLEEPERS}, pop and push", "ns", 1e9, calls, partial(_heap, calls), rounds)


async def _passes(count: int) -> None:
    for _ in range(count):
        await trio.lowlevel.checkpoint()


async def _timed_passes(count: int) -> None:
    for _ in range(count):
        with trio.move_on_after(60):
            await trio.lowlevel.checkpoint()


async def _nothing() -> None:
    pass


async def _tasks(count: int) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(_nothing)


def trios(scale: int) -> Iterator[Row]:
    """Measure what trio itself costs.

    Args:
        scale: divides the amount of work.
    """
    tasks, rounds = reduced(TASKS, scale), reduced(ROUNDS, scale)
    for name, work in (
        ("pass of trio's loop", _passes),
        ("pass of trio's loop in move_on_after", _timed_passes),
        ("task of trio that begins and ends", _tasks),
    ):
        yield _row(name, "µs", 1e6, tasks, partial(trio.run, work, tasks), rounds)


def processes(scale: int) -> Iterator[Row]:
    """Measure processes and pipes.

    Args:
        scale: divides the amount of work.
    """
    exchange = statistics.median(pipe_round_trips(reduced(EXCHANGES, scale)))
    yield Row("exchange over two pipes, µs", f"{exchange:.2f} µs of real time, median")
    starts = reduced(ROUNDS, scale)

    def start() -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True)

    yield _row("start of Python", "ms", 1e3, 1, start, starts)

    def fork() -> None:
        child = os.posix_spawn("/bin/true", ["true"], {})
        os.waitpid(child, 0)

    yield _row("start of a tiny program", "ms", 1e3, 1, fork, starts)


def copies(scale: int) -> Iterator[Row]:
    """Measure numpy's copy of pictures, and JSON.

    Args:
        scale: divides the amount of work.
    """
    pictures, rounds = reduced(PICTURES, scale), reduced(ROUNDS, scale)
    picture = np.zeros((64, 64, 3), np.uint8)
    target = np.empty_like(picture)

    def copy() -> None:
        for _ in range(pictures):
            np.copyto(target, picture)

    yield _row("numpy's copy of 64 x 64 pixels", "µs", 1e6, pictures, copy, rounds)
    sprites = [{"id": number, "x": 10.0 * number, "y": 5.0, "kind": 3} for number in range(50)]
    encoder = msgspec.json.Encoder()

    def encode() -> None:
        for _ in range(pictures):
            encoder.encode(sprites)

    kilobytes = pictures * len(encoder.encode(sprites)) // 1000
    yield _row("a kilobyte of JSON", "µs", 1e6, kilobytes, encode, rounds)


def _inserts(database: sqlite3.Connection, count: int) -> None:
    for number in range(count):
        database.execute("INSERT INTO results VALUES (?, ?)", (number, "x" * 200))
        database.commit()


def databases(scale: int) -> Iterator[Row]:
    """Measure SQLite with the store's settings.

    Args:
        scale: divides the amount of work.
    """
    count = reduced(INSERTS, scale)
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "results.db")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("CREATE TABLE results (number INTEGER PRIMARY KEY, text TEXT)")
        yield _row("transaction of SQLite", "µs", 1e6, count, partial(_inserts, database, count), 1)

        def read() -> None:
            assert len(database.execute("SELECT * FROM results").fetchall()) == count

        yield _row("row read by SQLite", "µs", 1e6, count, read, reduced(ROUNDS, scale))
        database.close()


SUITE = Suite(
    "limits: what plain programs reach here, CPU time", by_name(loops, trios, processes, copies, databases)
)
