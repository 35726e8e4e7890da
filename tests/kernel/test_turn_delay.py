"""Turns that a model of latency delays: as those of an agent that sleeps, with every limit and every pace."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest
import trio

from flagfall.events import MatchStarted
from flagfall.kernel.outcomes import derive_seed
from flagfall.timing import MS, S, VirtualClock
from flagfall.timing.latency import SeatLatency
from tests.fakes import (
    ListScheduler,
    Played,
    play,
    shuffled_tasks,
)
from tests.kernel.test_determinism import CONTROLS, Whimsical, some_task

TURNS = 100_000


def models(*texts: str | None) -> list[SeatLatency | None]:
    return [None if text is None else SeatLatency.parse(text) for text in texts]


def delays_of(text: str, seed: int, seat: int = 0, phase: Any = "act") -> Iterator[int]:
    """The delays of a seat, as the documents say that they are drawn."""

    def generator(part: str) -> np.random.Generator:
        return np.random.default_rng(derive_seed(seed, "latency", seat, phase, part))

    return (delay for delay, _ in SeatLatency.parse(text).delays(phase, generator))


def facts(played: Played) -> list[Any]:
    assert played.result is not None
    reports = [(seat.disqualified, attrs.asdict(seat.stats)) for seat in played.result.seats]
    events = [event for event in played.events if not isinstance(event, MatchStarted)]
    return [*events, reports, played.result.reason, played.result.elapsed_ns]


# As an agent that sleeps.

MODELS = (
    "mixture(0.5 0s, 0.2 10ms, 0.2 40ms, 0.1 80ms)",  # at times that tie with limits and ticks
    "mixture(0.9 0s, 0.1 1s)",
    "exponential(30ms)",
    "uniform(35ms, 45ms)",
    "cpu=2 mixture(0.5 0s, 0.5 20ms)",
)


class Sleepy(Whimsical):
    """Sleeps in each turn before it does what it would do otherwise, if it has delays."""

    def __init__(self, seed: int, delays: Iterator[int] | None, *, may_break: bool) -> None:
        super().__init__(seed, may_break=may_break)
        self.delays = delays

    async def run(self, seat: Any) -> None:
        await super().run(Sleeping(seat, self.delays))


class Sleeping:
    def __init__(self, seat: Any, delays: Iterator[int] | None) -> None:
        self.seat = seat
        self.delays = delays
        self.reply = seat.reply

    def __aiter__(self) -> Sleeping:
        return self

    async def __anext__(self) -> Any:
        turn = await self.seat.__anext__()
        if self.delays is not None:
            await trio.sleep(next(self.delays) / S)
        return turn


def some_match(seed: int, *, sleepy: bool) -> Played:
    """A match of agents that do anything, delayed by models, or by their own sleep for the same times."""
    dice = random.Random(seed)
    players = dice.choice([1, 1, 2, 3])
    options: dict[str, Any] = {"control": dice.choice(CONTROLS), "seed": seed}
    if dice.random() < 0.3:
        options["tick_ns"] = dice.choice([10, 20, 40]) * MS
    if dice.random() < 0.3:
        options["steps"] = dice.randrange(1, 40)
    tasks = [some_task(dice, players) for _ in range(3)]
    texts = dice.choices(MODELS, k=players)
    if not sleepy:
        options["think"] = models(*texts)
    agents = [
        Sleepy(10 * seed + i, delays_of(text, seed, i) if sleepy else None, may_break=seed % 3 > 0)
        for i, text in enumerate(texts)
    ]
    scheduler = ListScheduler(tasks, asynchronous=dice.random() < 0.2)
    return play(scheduler, *agents, **options)


@pytest.mark.parametrize("group", range(10))
def test_a_delayed_agent_plays_as_one_that_sleeps_for_as_long(group: int):
    seen = set()
    for seed in range(30 * group, 30 * group + 30):
        played = some_match(seed, sleepy=False)
        assert facts(played) == facts(some_match(seed, sleepy=True)), seed
        seen |= {turn.verdict for turn in played.turns}
    assert seen >= {"on time", "late", "illegal", "absent"}


@pytest.mark.parametrize("group", range(10))
def test_time_that_passes_at_once_changes_nothing(group: int, monkeypatch: pytest.MonkeyPatch):
    jumps = 0
    jump = VirtualClock.jump

    def counting(clock: VirtualClock, *arguments: Any) -> bool:
        nonlocal jumps
        has_passed = jump(clock, *arguments)
        jumps += has_passed
        return has_passed

    seeds = range(30 * group, 30 * group + 30)
    with monkeypatch.context() as patch:
        patch.setattr(VirtualClock, "jump", counting)
        with_jumps = [facts(some_match(seed, sleepy=False)) for seed in seeds]
    assert jumps >= 10
    monkeypatch.setattr(VirtualClock, "jump", lambda *_arguments: False)
    for seed, expected in zip(seeds, with_jumps, strict=True):
        with shuffled_tasks(seed):
            assert facts(some_match(seed, sleepy=False)) == expected, seed
