"""The work of setting up and closing a match: passes of the loop, steps, objects. Counts, not times."""

from __future__ import annotations

import gc
from functools import partial
from typing import Any

import pytest
import trio

from flagfall.agents.hosts.this_process import LoopHost
from flagfall.kernel.match import play_match
from flagfall.tasks.catalog import make_task
from flagfall.tasks.schedulers import parse_policy
from flagfall.timing import TimeControl, VirtualClock
from tests.fakes import ActorTask, CountTask, ListScheduler, play, play_here, shuffled_tasks

MOST_PASSES = 7
"""The agent starts; the first task begins; the turn is played; the seat is closed; the agent ends; the match
sees that; the nursery is left. Each pass costs about 5 us."""

MOST_OBJECTS = 111
"""Objects of an open match that the garbage collector visits; a third of them are trio's tasks and nursery.
Among thousands of open matches, these visits cost as much as all the rest of setting up a match."""

CONTROL = TimeControl.parse("act=40ms/1s start=10s")


class Echo:
    def reply(self, byte: int, _reward: float) -> int:
        return byte


def byte_match(number: int = 0, agent: Any = None, steps: int = 1) -> Any:
    tasks = parse_policy("sequential", [make_task("micro1")])
    host = LoopHost(agent or Echo(), "agent")
    return play_match(tasks, [host], control=CONTROL, seed=number, steps=steps)


class Count(trio.abc.Instrument):
    def __init__(self) -> None:
        self.passes = self.steps = 0

    def before_io_wait(self, _timeout: float) -> None:
        self.passes += 1

    def before_task_step(self, _task: trio.lowlevel.Task) -> None:
        self.steps += 1


async def counted(match: Any) -> Count:
    count = Count()
    trio.lowlevel.add_instrument(count)
    await match
    trio.lowlevel.remove_instrument(count)
    return count


def test_a_match_takes_few_passes_of_the_loop():
    for seed in range(20):
        with shuffled_tasks(seed):
            count = trio.run(lambda: counted(byte_match()), clock=VirtualClock())
        assert count.passes <= MOST_PASSES
        assert count.steps <= MOST_PASSES + 2, "in some passes the agent and the environment run"


def test_each_further_task_takes_two_passes():
    def passes(tasks: int) -> int:
        scheduler = ListScheduler([CountTask(1, continuous=True) for _ in range(tasks)])
        return trio.run(lambda: counted(play_here(scheduler, lambda _shown: 1)), clock=VirtualClock()).passes

    assert passes(11) - passes(1) <= 2 * 10 + 1  # one more or less, in whatever order tasks run


def test_a_scheduler_that_waits_is_an_actor_and_a_plain_one_is_not():
    names: set[str] = set()

    def act(_observation: int) -> int:
        task = trio.lowlevel.current_root_task()
        assert task is not None
        below = [task]
        while below:
            found = below.pop()
            names.add(found.name)
            below += [child for nursery in found.child_nurseries for child in nursery.child_tasks]
        return 1

    for asynchronous in (False, True):
        names.clear()
        scheduler = ListScheduler([CountTask(1), CountTask(1)], asynchronous=asynchronous)
        assert play(scheduler, act).reason == "finished"
        assert ("task scheduler" in names) == asynchronous


@pytest.mark.parametrize("asynchronous", [False, True])
def test_tasks_that_ask_for_no_turn_let_the_loop_run(asynchronous: bool):
    async def nothing(_turns: Any) -> None:
        pass

    class Endless(ListScheduler):
        given = 0

        def next_task(self) -> Any:
            self.given += 1
            assert self.given < 1_000, "the loop did not run meanwhile"
            return self._given_later() if asynchronous else ActorTask(nothing, continuous=True)

        async def _given_later(self) -> Any:
            return ActorTask(nothing, continuous=True)

    async def match() -> str:
        stop = trio.Event()

        async def stop_soon() -> None:
            for _ in range(20):
                await trio.lowlevel.checkpoint()
            stop.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop_soon)
            return (await play_here(Endless([]), lambda _shown: 1, stop=stop)).reason

    assert trio.run(match, clock=VirtualClock()) == "stopped"


async def thinking_matches(count: int) -> int:
    """Return how many objects so many matches add, all of them in their first turn."""
    go_on, thinking = trio.Event(), 0

    async def act(observation: int) -> int:
        nonlocal thinking
        thinking += 1
        await go_on.wait()
        return observation

    async def open_until(nursery: trio.Nursery, many: int) -> int:
        for number in range(thinking, many):
            nursery.start_soon(partial(byte_match, number, act))
        while thinking < many:
            await trio.lowlevel.checkpoint()
        gc.collect()
        return len(gc.get_objects())

    async with trio.open_nursery() as nursery:
        before = await open_until(nursery, 1)
        added = await open_until(nursery, 1 + count) - before
        go_on.set()
    return added


def test_an_open_match_is_few_objects():
    assert trio.run(thinking_matches, 50, clock=VirtualClock()) <= 50 * MOST_OBJECTS


@pytest.mark.parametrize("clock", [VirtualClock, None])
def test_a_match_that_is_over_is_freed_without_the_collector(clock: Any):
    async def matches() -> int:
        for number in range(20):
            await byte_match(number)
        gc.collect()
        before = len(gc.get_objects())
        gc.disable()
        try:
            for number in range(100):
                await byte_match(number)
            return len(gc.get_objects()) - before
        finally:
            gc.enable()

    # The clock of a turn that was on time stands in the queue of deadlines until its limit or another comes.
    assert trio.run(matches, clock=clock and clock()) <= 100 * 7


@pytest.mark.parametrize("clock", [VirtualClock, None])
def test_matches_one_after_another_leave_no_objects_behind(clock: Any):
    async def matches() -> None:
        for number in range(200):
            await byte_match(number)
        gc.collect()
        before = len(gc.get_objects())
        for number in range(1_500):
            await byte_match(number)
        gc.collect()
        # A deadline that was not reached leaves a clock in the queue until that has a thousand places.
        assert len(gc.get_objects()) - before <= 7_000

    trio.run(matches, clock=clock and clock())
