"""Cost of a match: setting it up and closing it, its memory while it is open, and its turns among many.

All times are CPU time of this process, so that other programs disturb them little. The matches have one byte
task or the echo task of the kernel's suite, one agent in the event loop, and no sink.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import gc
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import trio

from benchmarks.echo_task import OneTask
from benchmarks.kernel import echo
from benchmarks.matches import CONTROL
from benchmarks.measure import Row, beside, reduced
from benchmarks.suites import Suite, by_name
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.kernel.match import play_match
from flagfall.tasks.catalog import make_task
from flagfall.tasks.schedulers import parse_policy
from flagfall.timing import TimeControl

ROUNDS: Final = 3
BUSY_TURNS: Final = 400
"""Turns of each match where turns are compared; the same for every number of matches."""

OPEN_FOR: Final = TimeControl.parse("start=1h")
"""Time control of matches that stay open."""


class EchoBytes:
    """Byte agent that answers each byte with itself."""

    def reply(self, byte: int, reward: float) -> int:  # noqa: ARG002 - a byte agent gets both
        return byte


def _byte_matches(count: int) -> list[Callable[[], Awaitable[object]]]:
    """Return matches of one turn that only have to be called; tasks and agents are made already."""
    return [
        partial(
            play_match,
            parse_policy("sequential", [make_task("micro1")]),
            [LoopHost(EchoBytes(), "echo")],
            control=CONTROL,
            seed=number,
            steps=1,
        )
        for number in range(count)
    ]


async def _bare_match() -> None:
    """Exchange one value with a task over two channels, under a deadline: the same without flagfall."""

    async def agent(inbox: trio.MemoryReceiveChannel[int], outbox: trio.MemorySendChannel[int]) -> None:
        async for observation in inbox:
            await outbox.send(observation)

    to_agent, from_environment = trio.open_memory_channel[int](0)
    to_environment, from_agent = trio.open_memory_channel[int](0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(agent, from_environment, to_environment)
        with trio.move_on_after(60):
            await to_agent.send(1)
            await from_agent.receive()
        to_agent.close()


def _bare_matches(count: int) -> list[Callable[[], Awaitable[object]]]:
    return [_bare_match] * count


async def _one_by_one(make: Callable[[int], list[Callable[[], Awaitable[object]]]], count: int) -> float:
    """Return how many matches a CPU second plays, one after another."""
    matches = make(count)
    began = time.process_time()
    for match in matches:
        await match()
    return count / (time.process_time() - began)


async def _at_once(make: Callable[[int], list[Callable[[], Awaitable[object]]]], count: int) -> float:
    """Return how many matches a CPU second plays where all are open at the same time."""
    matches = make(count)
    began = time.process_time()
    async with trio.open_nursery() as nursery:
        for match in matches:
            nursery.start_soon(match)
    return count / (time.process_time() - began)


def set_up(scale: int) -> Iterator[Row]:
    """CPU time from `play_match` to its result, against an exchange between two tasks of bare trio."""
    cases = [("alone", 2_000, _one_by_one), *((f"{n:,} open", n, _at_once) for n in (64, 4_096, 16_384))]
    for name, matches, play in cases:
        count = reduced(matches, scale, 16)
        ours = partial(trio.run, play, _byte_matches, count)
        bare = partial(trio.run, play, _bare_matches, count)
        rate, base, ratio = beside(ours, bare, ROUNDS)
        cost = f"{1e6 / rate:.0f} µs"
        yield Row(
            f"CPU of a match, {name}", cost, f"trio {1e6 / base:.0f} µs", f"{1 / ratio:.2f}", "≤ 200 µs"
        )


# Memory.


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def _memory_of_open(count: int) -> float:
    """Return the bytes that a match adds while its agent thinks about the first turn."""
    go_on, thinking = trio.Event(), 0

    async def act(observation: int) -> int:
        nonlocal thinking
        thinking += 1
        await go_on.wait()
        return observation

    async def match(number: int) -> None:
        tasks = parse_policy("sequential", [make_task("micro1")])
        await play_match(tasks, [LoopHost(act, "waiting")], control=OPEN_FOR, seed=number, steps=1)

    async def wait_for(many: int) -> None:
        while thinking < many:  # noqa: ASYNC110 - the agents of all matches count
            await trio.sleep(0.01)
        gc.collect()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(match, 0)
        await wait_for(1)
        before = _resident()
        for number in range(count):
            nursery.start_soon(match, number + 1)
        await wait_for(count + 1)
        added = _resident() - before
        go_on.set()
    return added / count


async def _growth_of_short(count: int) -> float:
    """Return the bytes that a process grows by for each match that is over."""

    async def play(many: int) -> None:
        for number in range(many):
            for match in _byte_matches(1):
                await match()
            if number % 1_000 == 0:
                gc.collect()
        gc.collect()

    await play(max(2_000, count // 10))  # so that what a process needs once is there
    before = _resident()
    await play(count)
    return (_resident() - before) / count


def _in_new_process(measure: Callable[[int], Awaitable[float]], count: int) -> float:
    """Return a measurement in a process that has freed no memory yet, which would be used again."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(trio.run, measure, count).result()


def memory(scale: int) -> Iterator[Row]:
    """Memory of open matches, and of a process after many short ones."""
    count = reduced(16_384, scale, 160)
    size = _in_new_process(_memory_of_open, count)
    yield Row("memory of an open match", f"{size / 1024:.1f} KB", target="≤ 20 KB")
    yield Row("memory of 16,384 open matches", f"{size * 16_384 / 1e6:.0f} MB", target="≤ 350 MB")
    count = reduced(100_000, scale, 100)
    growth = _in_new_process(_growth_of_short, count)
    yield Row("memory after a million short matches", f"{max(0.0, growth):.0f} MB", target="≤ 50 MB")


# Turns.


async def _busy(count: int) -> float:
    """Return how many turns a CPU second plays, in matches of equal length; setting up is part of it."""
    began = time.process_time()
    async with trio.open_nursery() as nursery:
        for number in range(count):
            play = partial(
                play_match,
                OneTask(),
                [LoopHost(echo, "echo")],
                control=CONTROL,
                seed=number,
                steps=BUSY_TURNS,
            )
            nursery.start_soon(play)
    return count * BUSY_TURNS / (time.process_time() - began)


async def _bare_busy(count: int) -> float:
    """Return how many exchanges of as many pairs of tasks a CPU second takes in bare trio."""

    async def agent(inbox: trio.MemoryReceiveChannel[int], outbox: trio.MemorySendChannel[int]) -> None:
        async for observation in inbox:
            await outbox.send(observation)

    async def pair() -> None:
        to_agent, from_environment = trio.open_memory_channel[int](0)
        to_environment, from_agent = trio.open_memory_channel[int](0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent, from_environment, to_environment)
            for turn in range(BUSY_TURNS):
                with trio.move_on_after(60):
                    await to_agent.send(turn)
                    await from_agent.receive()
            to_agent.close()

    began = time.process_time()
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(pair)
    return count * BUSY_TURNS / (time.process_time() - began)


def busy_turns(scale: int) -> Iterator[Row]:
    """CPU time of a turn in 64 to 4,096 busy matches of equal length, against 64 of them and bare trio."""
    few = reduced(64, scale, 8)
    for matches in (64, 512, 4_096):
        count = reduced(matches, scale, 8)
        rounds = range(ROUNDS if scale == 1 else 1)
        pairs = [(trio.run(_busy, few), trio.run(_busy, count)) for _ in rounds]
        bare = trio.run(_bare_busy, min(count, 512))  # more take a minute
        rate = max(ours for _, ours in pairs)
        ratio = statistics.median(base / ours for base, ours in pairs)
        yield Row(
            f"CPU of a turn, {matches:,} busy matches",
            f"{1e6 / rate:.2f} µs",
            f"trio {1e6 / bare:.1f} µs",
            f"{ratio:.2f} of 64",
            "≤ 1.15 of 64" if matches == 4_096 else "",
        )


SUITE: Final = Suite(
    "flagfall matches: set-up, memory, and turns among many", by_name(set_up, memory, busy_turns)
)
