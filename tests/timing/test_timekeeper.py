"""One timekeeper for all matches of a loop: it wakes in time, seldom, and leaves with the last match."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import trio

from flagfall.timing import MS, Deadline, sleep_until_ns, timekeeping
from flagfall.timing.timekeeper import LINGER_NS
from tests.fakes import CountTask, Sleeper, play_here


class Alarm(Deadline):
    def __init__(self) -> None:
        super().__init__()
        self.fired = trio.Event()
        self.at_ns = 0

    def fire(self, now_ns: int) -> None:
        self.at_ns = now_ns
        self.fired.set()


def tasks_living() -> int:
    return trio.lowlevel.current_statistics().tasks_living


async def test_it_wakes_for_what_is_armed_later_and_due_earlier():
    async with timekeeping() as keeper:
        late, early = Alarm(), Alarm()
        began_ns = keeper.now()
        late.due_ns = began_ns + 60_000 * MS
        keeper.deadlines.arm(late)
        await trio.sleep(0.005)
        early.due_ns = began_ns + 20 * MS
        keeper.deadlines.arm(early)
        with trio.fail_after(30):
            await early.fired.wait()
        assert early.at_ns >= began_ns + 20 * MS
        late.due_ns = keeper.now() + MS
        keeper.deadlines.arm(late)
        with trio.fail_after(30):
            await late.fired.wait()


async def test_our_sleep_on_the_wall_clock():
    async with timekeeping() as keeper:
        due_ns = keeper.now() + 10 * MS
        await sleep_until_ns(keeper, due_ns)
        assert keeper.now() >= due_ns
        with trio.move_on_after(0.001) as scope:
            await sleep_until_ns(keeper, due_ns + 10**12)
        assert scope.cancelled_caught


def left_over() -> tuple[int, int, set[str]]:
    """Tasks of the loop, descriptors of the process, and the names of its threads."""
    threads = {t.name for t in threading.enumerate() if not t.name.startswith("Trio thread")}
    return tasks_living(), len(list(Path("/proc/self/fd").iterdir())), threads


async def test_nothing_is_left_after_the_last_match_however_many_there_were():
    before = left_over()
    instruments = len(trio._core._run.GLOBAL_RUN_CONTEXT.runner.instruments)
    for _ in range(20):
        await play_here(CountTask(1), Sleeper(0.0))
        assert len(trio._core._run.GLOBAL_RUN_CONTEXT.runner.instruments) == instruments
    assert tasks_living() <= before[0] + 1, "matches that follow each other share one timekeeper"
    with trio.fail_after(30):
        while left_over() != before:  # noqa: ASYNC110 - no event: it ends `LINGER_NS` after the last match
            await trio.sleep(LINGER_NS / 1e9)


def test_nothing_is_left_of_a_loop_that_ends_with_its_match():
    async def match() -> None:
        await play_here(CountTask(1), Sleeper(0.0))

    before = threading.enumerate(), len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        trio.run(match)
        assert (threading.enumerate(), len(list(Path("/proc/self/fd").iterdir()))) == before


async def test_a_match_that_begins_while_the_last_timekeeper_ends_has_its_deadlines():
    late = Sleeper(0.05)
    for pause_ns in (0, LINGER_NS - 2 * MS, LINGER_NS - MS, LINGER_NS, LINGER_NS + MS, 2 * LINGER_NS):
        await trio.sleep(pause_ns / 1e9)
        with trio.fail_after(30):
            played = await play_here(CountTask(1), late, control="act=10ms/20s")
        assert played.verdicts() == ["late"]


async def test_matches_that_overlap_share_one():
    async with timekeeping() as one:
        async with timekeeping() as other:
            assert one is other
            now = tasks_living()
        assert tasks_living() == now
        alarm = Alarm()
        alarm.due_ns = one.now() + 5 * MS
        one.deadlines.arm(alarm)
        with trio.fail_after(30):
            await alarm.fired.wait()


async def test_turns_hardly_touch_the_heap():
    async def act(observation: int) -> int:
        return observation % 100

    class Long(CountTask):
        def step(self, action: Any) -> Any:
            self.taken = self.taken[-1:]
            return super().step(action)

    async with timekeeping() as keeper:
        before = keeper.deadlines._ticket
        began_ns = keeper.now()
        await play_here(Long(10**9), act, steps=20_000)
        spans = (keeper.now() - began_ns) // (40 * MS) + 1
        assert keeper.deadlines._ticket - before <= 2 * spans + 10
