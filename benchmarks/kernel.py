"""What a turn costs, and how exactly a deadline is kept.

Every row stands beside a baseline that ran in turn with it, in this process. The absolute figures depend
on the machine; the ratios are what to look at.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import trio
import trio.testing

from benchmarks.echo_task import OneTask
from benchmarks.matches import byte_rows, journals, no_sinks, play_matches
from benchmarks.measure import ROUNDS, Row, beside, percentile, reduced
from benchmarks.suites import Suite, by_name
from benchmarks.waiting_turns import waiting_turns
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.events import Event, TurnPlayed
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.match import play_match
from flagfall.recording.think_times import ThinkTimes, lost_turns
from flagfall.tasks.catalog import make_task
from flagfall.tasks.schedulers import parse_policy
from flagfall.timing import MS, TimeControl, VirtualClock, sleep_until_ns, timekeeping
from flagfall.timing.latency import SeatLatency
from flagfall.timing.stalls import GRACE_NS

MICRO_TASKS = ["micro1", "micro2", "micro3", "micro4", *(f"micro5.{n}" for n in range(1, 19))]


async def echo(observation: int) -> int:
    """Answer at once."""
    return observation


# Round trips.


def _echo_matches(count: int, turns: int, sinks: Callable[[int], list[Sink]]) -> float:
    return trio.run(play_matches, count, turns // count, OneTask, lambda: LoopHost(echo, "echo"), sinks)


async def _channels(pairs: int, turns: int) -> float:
    """Play the same turns over memory channels of trio, with a cancel scope for each.

    Its limit is never reached: after a reply that came too late, both ends would wait for each other.
    """

    async def agent(inbox: trio.MemoryReceiveChannel[int], outbox: trio.MemorySendChannel[int]) -> None:
        async with outbox:
            async for observation in inbox:
                await outbox.send(await echo(observation))

    async def environment(outbox: trio.MemorySendChannel[int], inbox: trio.MemoryReceiveChannel[int]) -> None:
        async with outbox:
            for turn in range(turns):
                with trio.move_on_after(60):
                    await outbox.send(turn)
                    await inbox.receive()

    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(pairs):
            to_agent, from_environment = trio.open_memory_channel[int](0)
            to_environment, from_agent = trio.open_memory_channel[int](0)
            nursery.start_soon(agent, from_environment, to_environment)
            nursery.start_soon(environment, to_agent, from_agent)
    return pairs * turns / (time.perf_counter() - began)


def round_trips(scale: int) -> Iterator[Row]:
    """Round trips with deadline, verdict and budget, against channels with `move_on_after`."""
    rounds = reduced(ROUNDS, scale)
    with tempfile.TemporaryDirectory() as folder:
        for matches, target in ((1, "≥ 3"), (8, "≥ 3"), (64, "≥ 5")):
            most = max(64_000, matches * 4_000)  # so long that setting up is no part of it
            turns = reduced(most, scale, matches)
            ours = partial(_echo_matches, matches, turns, no_sinks)
            trios = partial(trio.run, _channels, matches, reduced(32_000 // matches, scale))
            rate, base, ratio = beside(ours, trios, rounds)
            yield Row(
                f"round trips/s, {matches} matches",
                f"{rate:,.0f}",
                f"trio {base:,.0f}",
                f"{ratio:.2f}",
                target,
            )
            journaled = partial(_echo_matches, matches, turns, journals(Path(folder)))
            rate, base, ratio = beside(journaled, ours, rounds)
            yield Row(
                f"round trips/s with a journal, {matches} matches",
                f"{rate:,.0f}",
                f"without {base:,.0f}",
                f"{ratio:.2f}",
                "≥ 0.85",
            )


# Byte steps.


def byte_steps(scale: int) -> Iterator[Row]:
    """Byte steps a second on the micro-tasks with the random agent."""
    return byte_rows(lambda: parse_policy("sequential", [make_task(task) for task in MICRO_TASKS]), scale)


# Deadlines.


async def _overshoots(matches: int, turns: int) -> list[float]:
    """How many milliseconds after its 40 ms soft limit each turn was judged."""
    control = TimeControl.parse("act=40ms start=10s")
    over: list[float] = []

    def watch() -> Sink:
        last_ns = -1

        def sink(event: Event) -> None:
            nonlocal last_ns
            if isinstance(event, TurnPlayed):
                if last_ns >= 0:
                    over.append((event.at_ns - last_ns) / MS - 40)
                last_ns = event.at_ns

        return sink

    async with trio.open_nursery() as nursery:
        for number in range(matches):
            nursery.start_soon(
                partial(
                    play_match,
                    OneTask(),
                    [LoopHost(_Never, "never")],
                    control=control,
                    seed=number,
                    steps=turns,
                    sinks=[watch()],
                )
            )
    return over


class _Never:
    """Comes up, and never takes a turn."""

    async def run(self, seat: Any) -> None:  # noqa: ARG002 - that is the point
        await trio.sleep_forever()


async def _trio_overshoots(tasks: int, turns: int) -> list[float]:
    over: list[float] = []

    async def sleeper() -> None:
        for _ in range(turns):
            due = trio.current_time() + 0.04
            await trio.sleep_until(due)
            over.append((trio.current_time() - due) * 1000)

    async with trio.open_nursery() as nursery:
        for _ in range(tasks):
            nursery.start_soon(sleeper)
    return over


def _spread(values: list[float]) -> str:
    return f"{percentile(values, 0.5):.2f} / {percentile(values, 0.99):.2f} / {max(values):.2f}"


def overshoot(scale: int) -> Iterator[Row]:
    """Lateness of a 40 ms soft limit against bare `trio.sleep_until`: p50 / p99 / max in ms."""
    turns = reduced(100, scale, 5)
    for burners in (0, os.cpu_count() or 1):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(burners)]
        try:
            load = "every core busy" if burners else "idle"
            grace_ms = GRACE_NS // MS if burners else 0  # a turn on a host that stalled has a grace period
            for matches in (1, 64):
                ours: list[float] = []
                trios: list[float] = []
                for _ in range(reduced(2, scale)):
                    trios += trio.run(_trio_overshoots, matches, turns)
                    ours += trio.run(_overshoots, matches, turns)
                excess = percentile(ours, 0.99) - percentile(trios, 0.99)
                yield Row(
                    f"overshoot ms, {matches} matches, {load}",
                    _spread(ours),
                    f"trio {_spread(trios)}",
                    f"p99 {excess:+.2f} ms",
                    f"p99 ≤ +{1 + grace_ms} ms",
                )
        finally:
            for burner in busy:
                burner.kill()
                burner.wait()


# Virtual time.

SLEEPERS = 100


async def _virtual_sleeps(events: int) -> float:
    began = time.perf_counter()
    async with timekeeping() as keeper, trio.open_nursery() as nursery:

        async def sleeper(number: int) -> None:
            for step in range(events // SLEEPERS):
                await sleep_until_ns(keeper, keeper.now() + 1 + (number * 7919 + step * 104729) % 1_000_003)

        for number in range(SLEEPERS):
            nursery.start_soon(sleeper, number)
    return events / (time.perf_counter() - began)


async def _mock_sleeps(events: int) -> float:
    began = time.perf_counter()

    async def sleeper(number: int) -> None:
        for step in range(events // SLEEPERS):
            await trio.sleep((1 + (number * 7919 + step * 104729) % 1_000_003) / 1e9)

    async with trio.open_nursery() as nursery:
        for number in range(SLEEPERS):
            nursery.start_soon(sleeper, number)
    return events / (time.perf_counter() - began)


def virtual_events(scale: int) -> Iterator[Row]:
    """Sleepers woken a second in virtual time, against trio's jumping clock."""
    rate, base, ratio = beside(
        lambda: trio.run(_virtual_sleeps, reduced(100_000, scale, SLEEPERS), clock=VirtualClock()),
        lambda: trio.run(
            _mock_sleeps, reduced(5_000, scale, SLEEPERS), clock=trio.testing.MockClock(autojump_threshold=0)
        ),
        3,
    )
    yield Row(
        "virtual events/s, 100 sleepers",
        f"{rate:,.0f}",
        f"MockClock {base:,.0f}",
        f"{ratio:.1f}",
        "≥ 100,000",
    )


# Models of latency.


def _delayed_turns(turns: int, think: str | None) -> float:
    model = None if think is None else SeatLatency.parse(think)
    host = partial(LoopHost, echo, "echo")
    return trio.run(play_matches, 1, turns, OneTask, host, no_sinks, model, clock=VirtualClock())


def _judged_turns(turns: int, control: str) -> float:
    """Return how many turns a second are drawn from a model and judged, without a match."""
    model = SeatLatency.parse("exponential(20ms)")
    began = time.perf_counter()
    found = lost_turns(ThinkTimes.modelled(model, turns, 0), TimeControl.parse(control))
    return int(found.turns.sum()) / (time.perf_counter() - began)


def delayed_turns(scale: int) -> Iterator[Row]:
    """Measure turns that a model of latency delays, against those of an agent that takes no time."""
    turns = reduced(200_000, scale)
    for think, target in (("uniform(5ms, 20ms)", "≥ 300,000"), ("exponential(20ms)", "")):
        ours, plain = (partial(_delayed_turns, turns, model) for model in (think, None))
        rate, base, ratio = beside(ours, plain, reduced(ROUNDS, scale))
        yield Row(f"delayed turns/s, {think}", f"{rate:,.0f}", f"none {base:,.0f}", f"{ratio:.2f}", target)
    for limit, target in (("act=40ms", "≥ 300,000"), ("act=20ms bank=5s+1ms late=nil", "")):
        judged = max(_judged_turns(turns, limit) for _ in range(reduced(ROUNDS, scale)))
        yield Row(f"modelled turns/s, {limit}", f"{judged:,.0f}", target=target)


SUITE = Suite(
    "what a turn costs, and how exactly a deadline is kept",
    by_name(round_trips, waiting_turns, byte_steps, virtual_events, delayed_turns, overshoot),
)
