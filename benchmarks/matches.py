"""Measured matches: many at the same time, and byte tasks in a plain loop, with actors and with a journal."""

from __future__ import annotations

__all__ = ["CONTROL", "byte_rows", "journals", "no_sinks", "play_matches"]

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import trio

from benchmarks.measure import ROUNDS, Row, beside, reduced
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.samples.basic import RandomAgent
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.hosting import AgentHost, Briefing
from flagfall.kernel.match import play_match
from flagfall.kernel.roles import SchedulerRole
from flagfall.kernel.script import run_plain
from flagfall.recording.journal.writer import Journal
from flagfall.timing import TimeControl
from flagfall.timing.latency import SeatLatency

CONTROL = TimeControl.parse("act=40ms/1s start=10s")


async def play_matches(
    count: int,
    steps: int,
    scheduler: Callable[[], SchedulerRole],
    host: Callable[[], AgentHost],
    sinks: Callable[[int], list[Sink]],
    think: SeatLatency | None = None,
) -> float:
    """Play matches at the same time, and return their turns per second in total.

    Args:
        count: number of matches.
        steps: turns of each match.
        scheduler: creates the tasks of a match.
        host: creates the host of its agent.
        sinks: creates its sinks, from the number of the match.
        think: the model of latency of the agents, on the virtual clock.
    """
    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for number in range(count):
            play = partial(
                play_match,
                scheduler(),
                [host()],
                control=CONTROL,
                seed=number,
                steps=steps,
                sinks=sinks(number),
                think=[think] if think else (),
            )
            nursery.start_soon(play)
    return count * steps / (time.perf_counter() - began)


def no_sinks(_number: int) -> list[Sink]:
    """Return no sinks."""
    return []


def journals(folder: Path) -> Callable[[int], list[Sink]]:
    """Return a function that creates the journal of a match.

    Args:
        folder: where the journals are written.
    """
    return lambda number: [Journal(folder / f"{number}.jsonl")]


def _plain_bytes(steps: int, scheduler: Callable[[], SchedulerRole]) -> float:
    agent = RandomAgent()
    agent.start(Briefing(seat=0, seats=1, seed=1, time_control=str(CONTROL)))
    made = scheduler()
    began = time.perf_counter()
    turns = run_plain(made, agent.reply, steps=steps)
    return turns / (time.perf_counter() - began)


def _byte_matches(
    count: int, steps: int, scheduler: Callable[[], SchedulerRole], sinks: Callable[[int], list[Sink]]
) -> float:
    return trio.run(
        play_matches, count, steps // count, scheduler, lambda: LoopHost(RandomAgent, "random"), sinks
    )


def byte_rows(scheduler: Callable[[], SchedulerRole], scale: int) -> Iterator[Row]:
    """Measure byte steps per second with the random agent.

    Args:
        scheduler: creates the tasks of a match.
        scale: divides the amount of work.
    """
    steps = reduced(200_000, scale, 64)
    rounds = reduced(3, scale)
    with tempfile.TemporaryDirectory() as folder:
        plain = partial(_plain_bytes, steps, scheduler)
        yield Row(
            "byte steps/s, plain loop",
            f"{max(plain() for _ in range(reduced(ROUNDS, scale))):,.0f}",
            target="≥ 200,000",
        )
        for matches, target in ((1, "≥ 25,000"), (64, "≥ 45,000")):
            bare = partial(_byte_matches, matches, steps, scheduler, no_sinks)
            rate, base, ratio = beside(bare, plain, rounds)
            yield Row(
                f"byte steps/s, actors, {matches} matches",
                f"{rate:,.0f}",
                f"plain {base:,.0f}",
                f"{ratio:.2f}",
            )
            journaled = partial(_byte_matches, matches, steps, scheduler, journals(Path(folder)))
            rate, base, ratio = beside(journaled, bare, rounds)
            yield Row(
                f"byte steps/s, actors with a journal, {matches} matches",
                f"{rate:,.0f}",
                f"without {base:,.0f}",
                f"{ratio:.2f}",
                target,
            )
