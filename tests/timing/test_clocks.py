"""The virtual clock as the clock of a loop, and the clocks that count what the CPU does."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from functools import partial

import pytest
import trio
import trio.lowlevel
from trio.testing import MockClock

from flagfall.errors import UsageError
from flagfall.timing import (
    MS,
    S,
    Timekeeper,
    VirtualClock,
    process_cpu_clock,
    sleep_until_ns,
    time_source,
    timekeeping,
)
from flagfall.timing.clocks import (
    MAX_RENEWALS,
    STOPPED_NS,
    ClockHold,
    clock_of,
    counting_steps,
    real_limit,
    real_sleep,
)


async def test_sleeping_takes_exactly_its_time(virtual_clock: VirtualClock):
    began = time.perf_counter()
    for _ in range(1000):
        await trio.sleep(3600)
    assert virtual_clock.now_ns == 3_600_000 * S
    assert trio.current_time() == 3_600_000
    assert time.perf_counter() - began < 10


async def test_limits_of_trio_hold(virtual_clock: VirtualClock):
    with trio.move_on_after(0.25) as scope:
        await trio.sleep_forever()
    assert scope.cancelled_caught
    assert virtual_clock.now_ns == 250 * MS
    with pytest.raises(trio.TooSlowError), trio.fail_after(1):
        await trio.sleep(2)
    with trio.move_on_after(3) as scope:
        await trio.sleep(2)
    assert not scope.cancelled_caught
    assert virtual_clock.now_ns == 3250 * MS


async def test_our_sleep_is_exact_and_leaves_nothing_when_cancelled(virtual_clock: VirtualClock):
    async with timekeeping() as keeper:
        await sleep_until_ns(keeper, 7)
        assert virtual_clock.now_ns == 7
        await sleep_until_ns(keeper, 3)
        assert virtual_clock.now_ns == 7
        with trio.move_on_after(1):
            await sleep_until_ns(keeper, 10 * S)
        await trio.sleep(20)
        assert virtual_clock.deadlines.next_due_ns() == 2**62


async def test_sleepers_of_both_kinds_wake_in_time_order(virtual_clock: VirtualClock):
    woken: list[tuple[str, int]] = []

    async def by_trio(seconds: float) -> None:
        await trio.sleep(seconds)
        woken.append(("trio", virtual_clock.now_ns))

    async def by_ns(keeper: Timekeeper, due_ns: int) -> None:
        await sleep_until_ns(keeper, due_ns)
        woken.append(("ours", virtual_clock.now_ns))

    async with timekeeping() as keeper, trio.open_nursery() as nursery:
        for number in (5, 3, 1):
            nursery.start_soon(by_trio, number / 1000)
            nursery.start_soon(by_ns, keeper, (number + 1) * MS)
    assert woken == [
        ("trio", 1 * MS),
        ("ours", 2 * MS),
        ("trio", 3 * MS),
        ("ours", 4 * MS),
        ("trio", 5 * MS),
        ("ours", 6 * MS),
    ]


async def test_no_time_passes_during_real_work(virtual_clock: VirtualClock):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 5)
        with virtual_clock.hold():
            await trio.to_thread.run_sync(time.sleep, 0.02)
            assert virtual_clock.now_ns == 0
    assert virtual_clock.now_ns == 5 * S


async def test_nanoseconds_do_not_drift(virtual_clock: VirtualClock):
    for _ in range(10_000):
        await trio.sleep(0.0000001)  # 100 ns
    assert virtual_clock.now_ns == 10_000 * 100


def test_the_time_of_a_loop_is_that_of_its_clock():
    async def source() -> int:
        now = time_source()
        before = now()
        await trio.sleep(2)
        return now() - before

    assert trio.run(source, clock=MockClock(autojump_threshold=0)) == 2 * S


def test_a_process_that_has_ended_has_used_what_it_had():
    pid = os.fork()
    if pid == 0:
        time.sleep(0.05)
        os._exit(0)
    clock = process_cpu_clock(pid)
    used = clock()
    os.waitpid(pid, 0)
    assert clock() >= used
    assert clock() == clock()


def test_a_clock_that_never_was_stands_at_zero():
    assert clock_of((~4_000_000 << 3) | 2)() == 0


async def test_steps_of_a_task_and_of_those_below_it_are_counted_and_no_others():
    def burn(ns: int) -> None:
        end = time.thread_time_ns() + ns
        while time.thread_time_ns() < end:
            pass

    async def burning() -> None:
        for _ in range(5):
            burn(2 * MS)
            await trio.lowlevel.checkpoint()

    used: list[int] = []

    async def counted() -> None:
        with counting_steps() as clock:
            burn(5 * MS)
            async with trio.open_nursery() as below:
                below.start_soon(burning)
            await trio.sleep(0.02)
            used.append(clock.used_ns())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(burning)
        nursery.start_soon(counted)
    assert 15 * MS <= used[0] < 22 * MS


async def test_a_restarted_clock_begins_at_zero_if_nothing_is_due_on_it(virtual_clock: VirtualClock):
    await trio.sleep(1.5)
    async with timekeeping() as keeper, trio.open_nursery() as nursery:
        nursery.start_soon(sleep_until_ns, keeper, 2 * S)
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()  # time passes only when no task can run
        assert not virtual_clock.restart()
        assert virtual_clock.now_ns == 1_500 * MS
    assert virtual_clock.now_ns == 2 * S
    with virtual_clock.hold():
        assert not virtual_clock.restart()
    assert virtual_clock.restart()
    assert (virtual_clock.now_ns, trio.current_time()) == (0, 0.0)
    await trio.sleep(0.25)
    assert virtual_clock.now_ns == 250 * MS


async def test_real_limits_count_real_time_while_the_clock_stands_still(virtual_clock: VirtualClock):
    began = time.perf_counter()
    with virtual_clock.hold():
        with real_limit(0.2) as scope, trio.move_on_after(0.001):  # the virtual one never comes
            await trio.sleep_forever()
        assert scope.cancelled_caught
        await real_sleep(0.1)
    assert time.perf_counter() - began >= 0.3
    assert virtual_clock.now_ns == 0


async def test_real_limits_let_virtual_time_pass_where_nothing_holds_it(virtual_clock: VirtualClock):
    with real_limit(60) as scope:
        await trio.sleep(3600)
    assert not scope.cancelled_caught
    assert virtual_clock.now_ns == 3600 * S
    with real_limit(0.01) as scope:
        while True:  # noqa: ASYNC110 - it jumps from deadline to deadline, and never waits
            await trio.sleep(1)
    assert scope.cancelled_caught


async def test_a_patient_limit_is_longer_on_a_virtual_clock_alone():
    async def waited(clock: VirtualClock | None) -> float:
        began = time.perf_counter()
        with nullcontext() if clock is None else clock.hold(), real_limit(0.01, patient=True):
            await trio.sleep_forever()
        return time.perf_counter() - began

    clock = VirtualClock(guard_seconds=2)
    assert await trio.to_thread.run_sync(partial(trio.run, waited, clock, clock=clock)) >= 1
    assert await trio.to_thread.run_sync(trio.run, waited, None) >= 0.01


async def test_holds_are_counted_and_each_has_a_guard():
    async def main() -> list[tuple[str, int]]:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, VirtualClock)
        seen: list[tuple[str, int]] = []

        async def work(name: str, seconds: float) -> None:
            hold = ClockHold(clock, lambda: seen.append((f"{name} is late", clock.now_ns)))
            hold.begin()
            hold.begin()  # it holds already
            await real_sleep(seconds)
            hold.end()
            hold.end()
            seen.append((name, clock.now_ns))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work, "short", 0.1)
            nursery.start_soon(work, "long", 1)
            await trio.sleep(5)
            seen.append(("sleeper", clock.now_ns))
        return seen

    clock = VirtualClock(guard_seconds=0.5)
    seen = await trio.to_thread.run_sync(partial(trio.run, main, clock=clock))
    assert seen == [("short", 0), ("long is late", 0), ("long", 0), ("sleeper", 5 * S)]


async def test_a_hold_that_is_renewed_has_the_whole_time_of_its_guard():
    async def main() -> list[str]:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, VirtualClock)
        late: list[str] = []
        hold = ClockHold(clock, lambda: late.append("late"))
        hold.begin()
        for _ in range(10):
            await real_sleep(0.1)
            hold.renew()
        hold.end()
        return late

    assert await trio.to_thread.run_sync(partial(trio.run, main, clock=VirtualClock(guard_seconds=0.9))) == []


def test_an_agent_that_holds_up_the_loop_escapes_its_guard_a_few_times_only():
    """A long message takes some tenths of a second to read: with many of them it would never end."""
    late: list[str] = []
    hold = ClockHold(VirtualClock(), lambda: late.append("late"))
    hold.begin()
    for times in range(MAX_RENEWALS + 1):
        assert not late, times
        hold.fire(hold.due_ns + STOPPED_NS + 1)
    assert late == ["late"]
    hold.renew()  # the next answer
    hold.fire(hold.due_ns + STOPPED_NS + 1)
    assert late == ["late"]


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_guard_needs_some_time(seconds: float):
    with pytest.raises(UsageError, match="guard_seconds"):
        VirtualClock(guard_seconds=seconds)


async def test_a_guard_may_be_without_limit():
    async def main() -> None:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, VirtualClock)
        hold = ClockHold(clock, lambda: pytest.fail("there is no limit"))
        hold.begin()
        await real_sleep(0.05)
        hold.end()

    await trio.to_thread.run_sync(partial(trio.run, main, clock=VirtualClock(guard_seconds=float("inf"))))
