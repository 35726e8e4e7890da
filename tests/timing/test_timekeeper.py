"""One timekeeper for all matches of a loop: it wakes in time, seldom, and leaves with the last match."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import trio

from flagfall.timing import MS, Deadline, VirtualClock, sleep_until_ns, timekeeping
from flagfall.timing.heartbeat import shared
from flagfall.timing.stalls import STALL_NS
from flagfall.timing.timekeeper import LINGER_NS, SLICE_NS, Timekeeper, timekeeper_of_loop
from tests.fakes import CountTask, Sleeper, play_here


class Alarm(Deadline):
    def __init__(self) -> None:
        super().__init__()
        self.fired = trio.Event()
        self.at_ns = 0

    def fire(self, now_ns: int) -> None:
        self.at_ns = now_ns
        self.fired.set()


class Steps(trio.abc.Instrument):
    """Counts the steps of the timekeeper's task."""

    def __init__(self) -> None:
        self.count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task.name == "flagfall timekeeper"


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
    shared.close_if_idle()
    threads = {t.name for t in threading.enumerate() if not t.name.startswith("Trio thread")}
    return tasks_living(), len(list(Path("/proc/self/fd").iterdir())), threads


async def test_nothing_is_left_after_the_last_match_however_many_there_were():
    before = left_over()
    instruments = len(trio._core._run.GLOBAL_RUN_CONTEXT.runner.instruments)
    for _ in range(20):
        await play_here(CountTask(1), Sleeper(0.0))
        assert len(trio._core._run.GLOBAL_RUN_CONTEXT.runner.instruments) <= instruments + 2, "its two hooks"
    assert tasks_living() <= before[0] + 1, "matches that follow each other share one timekeeper"
    with trio.fail_after(30):
        while left_over() != before:  # noqa: ASYNC110 - no event: it ends `LINGER_NS` after the last match
            await trio.sleep(LINGER_NS / 1e9)
    assert len(trio._core._run.GLOBAL_RUN_CONTEXT.runner.instruments) == instruments


async def test_matches_that_follow_each_other_share_a_watch():
    watches = set()
    for _ in range(20):
        await play_here(CountTask(1), Sleeper(0.0))
        watches.add(timekeeper_of_loop()._watch)
    assert len(watches - {None}) == 1


def test_nothing_is_left_of_a_loop_that_ends_with_its_match():
    async def match() -> None:
        await play_here(CountTask(1), Sleeper(0.0))

    shared.close_if_idle()
    before = threading.enumerate(), len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        trio.run(match)
        shared.close_if_idle()
        assert (threading.enumerate(), len(list(Path("/proc/self/fd").iterdir()))) == before


async def test_a_match_that_begins_while_the_last_timekeeper_ends_has_its_deadlines():
    late = Sleeper(5.0)  # far over the limit: what the host loses is credited
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


async def test_deadlines_that_are_due_together_are_fired_by_one_wake_up():
    steps = Steps()
    async with timekeeping() as keeper:
        await trio.testing.wait_all_tasks_blocked()
        alarms = [Alarm() for _ in range(20)]
        due_ns = keeper.now() + 20 * MS
        for alarm in alarms:
            alarm.due_ns = due_ns
            keeper.deadlines.arm(alarm)
        trio.lowlevel.add_instrument(steps)
        with trio.fail_after(30):
            for alarm in alarms:
                await alarm.fired.wait()
        trio.lowlevel.remove_instrument(steps)
    # The second one, if any: it woke a moment before, since trio's time is a rounded one.
    assert 1 <= steps.count <= 2


async def test_many_deadlines_fire_in_slices_between_which_others_run():
    """A batch must not become a stall itself; beside busy tasks a slice is as long as they took."""
    keeper = Timekeeper()
    now_ns = 0
    fired: list[int] = []

    class Slow(Deadline):
        def fire(self, now_ns: int) -> None:
            fired.append(now_ns)
            advance(SLICE_NS // 10)

    def advance(ns: int) -> None:
        nonlocal now_ns
        now_ns += ns

    keeper.now = lambda: now_ns
    for _ in range(100):
        entry = Slow()
        entry.due_ns = 0
        keeper.deadlines.arm(entry)
    for slice_ns, total in ((SLICE_NS, 10), (SLICE_NS, 20), (5 * SLICE_NS, 70), (5 * SLICE_NS, 100)):
        began_ns = now_ns
        keeper._fire_due(slice_ns)
        assert len(fired) == total
        assert set(fired[-10:]) == {began_ns}
    assert 2 * SLICE_NS <= STALL_NS


async def test_another_task_runs_between_slices():
    """Each deadline takes half a slice: after two of them, the rest of the loop has a pass."""
    passes = 0
    seen: list[int] = []

    class Slow(Deadline):
        def fire(self, now_ns: int) -> None:  # noqa: ARG002 - the time is not looked at
            seen.append(passes)
            until_ns = keeper.now() + SLICE_NS * 6 // 10
            while keeper.now() < until_ns:
                pass

    async with timekeeping() as keeper:
        due_ns = keeper.now() + 10 * MS
        for _ in range(10):
            entry = Slow()
            entry.due_ns = due_ns
            keeper.deadlines.arm(entry)
        with trio.fail_after(30):
            while len(seen) < 10:
                passes += 1
                await trio.lowlevel.checkpoint()
    assert len(set(seen)) >= 2


def test_a_run_that_ends_before_its_matches_ends_the_timekeeper():
    """The timekeeper wakes without an exception, but it must not ignore that the run is cancelled."""

    async def main() -> Timekeeper:
        return await timekeeping().__aenter__()

    trio.run(main).leave()


def test_a_late_turn_is_armed_once():
    """A seat that never answers is armed for its next turn, not for its hard limit as well."""

    class Silent:
        async def run(self, seat: Any) -> None:
            seat.wants = {"act"}
            await seat.turn()
            seat.reply()
            await seat.turn()
            await trio.sleep_forever()

    async def main() -> tuple[int, int]:
        async with timekeeping() as keeper:
            await play_here(CountTask(10**9), Silent(), steps=2_000, control="act=40ms/10h start=1s")
            return keeper.deadlines._ticket, len(keeper.deadlines._heap)

    armed, places = trio.run(main, clock=VirtualClock())
    assert armed <= 2_000 + 10
    assert places <= 5
