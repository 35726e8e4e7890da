"""How many matches at once a machine carries: what follows from measurements, and measuring."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pytest
import trio

from flagfall.agents.process.supervisor import descendants
from flagfall.errors import HostFault, UsageError
from flagfall.timing.durations import HOUR, MS, S
from flagfall.tournament.capacity import (
    VISITS,
    WINDOW_TURNS,
    Capacity,
    Level,
    Resource,
    Window,
    capacity_of,
    memory_allowed,
    next_jobs,
    parse_bound,
    smallest_limit,
)
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.run import probe
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.run.engine import jobs_on
from flagfall.tournament.run.probe import measure_capacity
from flagfall.tournament.run.turn_delays import Sample, counts_delays, read_samples
from tests.tournament.runs import small_plan

BOUND = 10 * MS
ENOUGH = WINDOW_TURNS


def level(jobs: int, *p99_ns: int) -> Level:
    """A level with a measurement for each of these 99th percentiles."""
    return Level(jobs, tuple(delay for p99 in p99_ns for delay in [p99] * ENOUGH))


def levels(**p99_ns: int | Sequence[int]) -> dict[int, Level]:
    """Levels by `n4=...`: the 99th percentile with 4 at once, or several of them."""
    return {
        int(name[1:]): level(int(name[1:]), *([found] if isinstance(found, int) else found))
        for name, found in p99_ns.items()
    }


def probed(carries: Callable[[int], bool], most: int = 4096) -> tuple[dict[int, Level], list[int]]:
    """What a probe finds that has as long as it wants, and the numbers of matches in its order."""
    found: dict[int, Level] = {}
    order = []
    while (jobs := next_jobs(found, BOUND, most)) is not None:
        order.append(jobs)
        delay = 0 if carries(jobs) else 2 * BOUND
        found[jobs] = found.get(jobs, Level(jobs, (), visits=0)).with_visit([delay] * ENOUGH, 0.5)
    return found, order


def test_a_measurement_is_of_the_turns_of_which_99_in_100_are_shorter() -> None:
    assert Window.of(range(1, 101)) == Window(100, p50_ns=50, p99_ns=99)
    assert Window.of([5, 1, 9]) == Window(3, p50_ns=5, p99_ns=9)
    assert Window.of(range(1, 1001)) == Window(1000, p50_ns=500, p99_ns=990)


def test_turns_are_divided_into_measurements_of_a_hundred_or_more() -> None:
    def sizes(turns: int) -> list[int]:
        return [window.turns for window in Level(1, tuple(range(turns))).windows]

    assert sizes(0) == []
    assert sizes(1) == [1]
    assert sizes(199) == [199]
    assert sizes(200) == [100, 100]
    assert sizes(2000) == [222, 222, 222, 222, 223, 222, 222, 222, 223]
    assert Level(1, tuple(range(200))).p99_ns == (98 + 198) // 2


@pytest.mark.parametrize("most", range(40))
def test_a_probe_finds_the_number_at_which_delays_exceed_the_bound(most: int) -> None:
    found, _ = probed(lambda jobs: jobs <= most)
    capacity = capacity_of(found, BOUND)
    assert (capacity.jobs, capacity.low, capacity.high) == (most, most, most)
    assert capacity.exact
    assert capacity.limited_by == "delays"


def test_a_probe_doubles_and_then_halves_what_is_between() -> None:
    assert probed(lambda jobs: jobs <= 5)[1] == [1, 2, 4, 8, 6, 5, 5, 6, 5, 6]
    assert probed(lambda _jobs: False)[1] == [1] * VISITS


def test_a_probe_stops_where_memory_does() -> None:
    found, order = probed(lambda _jobs: True, most=11)
    assert order == [1, 2, 4, 8, 11, 11, 11]
    memory = Resource("memory", 100, 1199)
    capacity = capacity_of(found, BOUND, [memory, Resource("processes", 1, 1000)])
    assert (capacity.jobs, capacity.exact, capacity.limited_by) == (11, True, "memory")
    assert str(capacity) == "11 matches at once"


def test_a_single_bad_moment_is_outvoted() -> None:
    found: dict[int, Level] = {}
    for jobs, delay in ((1, 0), (2, 20), (1, 0), (2, 0), (2, 0)):
        assert next_jobs(found, BOUND, 2) == jobs
        found[jobs] = found.get(jobs, Level(jobs, (), visits=0)).with_visit([delay * MS] * ENOUGH, 0)
    assert next_jobs(found, BOUND, 2) is None
    capacity = capacity_of(found, BOUND)
    assert not capacity.exact
    assert str(capacity) == "2 matches at once (1 or more)"


def test_between_two_numbers_delays_are_interpolated() -> None:
    capacity = capacity_of(levels(n1=0, n4=2 * MS, n8=10 * MS), 5 * MS)
    assert str(capacity) == "5 matches at once (4 to 7)"  # 4 + 4 * (5 - 2) / (10 - 2) = 5.5


def test_never_exceeded_is_at_least() -> None:
    capacity = capacity_of(levels(n1=0, n2=0, n4=BOUND), BOUND)
    assert str(capacity) == "at least 4 matches at once"
    assert (capacity.exact, capacity.limited_by) == (False, "")


def test_one_match_may_be_too_many() -> None:
    capacity = capacity_of(levels(n1=BOUND + 1), BOUND)
    assert (capacity.jobs, str(capacity)) == (0, "0 matches at once")
    assert capacity.remarks == (
        "even one match has delays above 10ms: it needs longer limits, or a faster or idler machine",
    )


def test_measurements_that_differ_are_the_uncertainty() -> None:
    noisy = levels(n1=0, n2=(0, 0, 20 * MS), n4=(0, 0, 0), n6=(0, 20 * MS, 20 * MS), n8=20 * MS)
    capacity = capacity_of(noisy, BOUND)
    assert (capacity.low, capacity.jobs, capacity.high) == (1, 5, 7)
    unsure = capacity_of(levels(n1=0, n2=(0, 20 * MS, 20 * MS)), BOUND)
    assert str(unsure) == "1 match at once (1 or more)"
    unsure = capacity_of(levels(n1=(0, 0, 20 * MS), n2=(0, 20 * MS, 20 * MS)), BOUND)
    assert str(unsure) == "1 match at once (0 or more)"


def test_few_turns_are_no_evidence() -> None:
    few = {1: level(1, 0), 2: Level(2, (0,) * 9), 3: Level(3, (20 * MS,) * 9)}
    capacity = capacity_of(few, BOUND)
    assert (capacity.low, capacity.jobs, capacity.high) == (1, 2, None)
    assert capacity.remarks == (
        "fewer than 100 turns were measured with 2, 3 at once: a longer time tells more",
    )


def test_numbers_at_which_no_turn_ended_say_nothing() -> None:
    found = {1: Level(1, ()), 2: Level(2, ()), 4: level(4, 0)}
    assert next_jobs(found, BOUND, 4096) == 8
    assert str(capacity_of(found, BOUND)) == "at least 4 matches at once"


def timed(control: str, task: str = "") -> TournamentPlan:
    return parse_plan(
        f"""
        time_control = "{control}"
        repeats = 20
        [[agents]]
        spec = "random"
        host = "task"
        [[tasks]]
        task = "micro1"
        steps = 50
        {task}
        """
    )


def test_the_bound_is_a_time_or_a_share_of_the_smallest_limit() -> None:
    plan = timed("act=40ms/1s")
    assert smallest_limit(plan) == 40 * MS
    assert parse_bound(None, plan) == 4 * MS
    assert parse_bound("2.5%", plan) == MS
    assert parse_bound("100%", plan) == 40 * MS
    assert parse_bound("3s", plan) == 3 * S
    assert smallest_limit(timed("act=1s", 'tick = "30ms"')) == 30 * MS
    untimed = timed("total=1m")
    assert smallest_limit(untimed) is None
    assert parse_bound(None, untimed) == 10 * MS


@pytest.mark.parametrize(
    "text", ["", "0", "0%", "101%", "-5%", "5 %", "1e3%", "nan%", "0s", "9" * 5000, "x%"]
)
def test_other_bounds_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="bound"):
        parse_bound(text, timed("act=40ms"))


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="no turn of the plan is limited"):
        parse_bound("5%", timed("untimed"))


def test_agents_count_with_their_memory_limits() -> None:
    plan = parse_plan(
        """
        time_control = "act=40ms"
        format = "round-robin"
        [[agents]]
        spec = "random"
        limits = "memory=1GiB"
        [[agents]]
        spec = "silent"
        limits = "memory=3GiB"
        [[agents]]
        spec = "repeating"
        [[tasks]]
        task = "micro1"
        """
    )
    assert memory_allowed(plan) == 3 * 1024**3
    pair = attrs.evolve(plan, tasks=tuple(attrs.evolve(task, seats=2) for task in plan.tasks))
    assert memory_allowed(pair) == 4 * 1024**3


# Measuring, with real workers and agents.

needs_counters = pytest.mark.skipif(not counts_delays(), reason="the kernel counts no delays")

BURN = """
import time

class Burn:
    def act(self, observation):
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        return 1

class Sleep:
    def act(self, observation):
        time.sleep(0.5)
        return 1

class Broken:
    def __init__(self):
        raise ValueError("it is broken")
"""


def burning(folder: Path, agent: str = "Burn") -> TournamentPlan:
    """A plan whose agents compute 20 ms in each turn, all on the same core."""
    (folder / "burn.py").write_text(BURN)
    core = min(os.sched_getaffinity(0))
    return parse_plan(
        f"""
        time_control = "act=2s/10s"
        repeats = 20
        [[agents]]
        spec = "{folder}/burn.py:{agent}"
        limits = "cores={core}"
        [[tasks]]
        task = "micro1"
        steps = 50
        """
    )


@needs_counters
@pytest.mark.release
async def test_two_that_compute_on_one_core_delay_each_other(tmp_path: Path) -> None:
    capacity = await measure_capacity(burning(tmp_path), seconds=10, bound="5ms")
    assert capacity is not None
    assert capacity.jobs <= 1
    assert all(found.p99_ns > 5 * MS for found in capacity.levels if found.jobs > 1 and found.windows)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a probe has its files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def samples(folder: Path) -> list[Sample]:
    """The turns that were played so far, and the matches that have begun."""
    return [sample for file in folder.glob("*/delays") for sample in read_samples(file, 0)[0]]


async def measured_until(plan: TournamentPlan, is_enough: Callable[[], bool]) -> Capacity:
    """What a probe finds that is stopped by what it has done, not by a time."""
    stop = trio.Event()

    async def stop_when_enough() -> None:
        while not is_enough():  # noqa: ASYNC110 - a file of other processes
            await trio.sleep(0.05)
        stop.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop_when_enough)
        capacity = await measure_capacity(plan, seconds=3600, bound="1h", stop=stop)
    assert capacity is not None
    return capacity


@needs_counters
async def test_more_and_more_matches_are_played_and_what_they_use_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_gone_beyond_two() -> bool:
        return len({sample.worker for sample in samples(folder)}) > 2

    monkeypatch.setattr(probe, "VISIT_SHARE", 0.5 / 3600)
    capacity = await measured_until(timed("act=1s/10s"), has_gone_beyond_two)
    assert not capacity.exact
    assert capacity.jobs == max(found.jobs for found in capacity.levels if found.windows) > 1
    assert all(0 < resource.of_match < resource.free for resource in capacity.resources)


@needs_counters
async def test_the_time_in_which_an_agent_waits_is_no_delay(folder: Path, tmp_path: Path) -> None:
    capacity = await measured_until(burning(tmp_path, "Sleep"), lambda: len(samples(folder)) >= 5)
    assert min(capacity.levels[0].delays_ns) < 250 * MS


@needs_counters
async def test_a_probe_leaves_nothing_behind(folder: Path) -> None:
    before = set(descendants(os.getpid()))
    capacity = await measured_until(timed("act=1s/10s"), lambda: len(samples(folder)) >= 1000)
    assert (capacity.exact, capacity.bound_ns) == (False, HOUR)
    assert [found.jobs for found in capacity.levels] == [capacity.jobs] == [1]
    assert [resource.name for resource in capacity.resources] == ["memory", "processes"]
    assert list(folder.iterdir()) == []  # noqa: ASYNC240 - of an empty folder
    assert set(descendants(os.getpid())) <= before


@needs_counters
async def test_a_broken_agent_ends_the_probe_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(HostFault, match="it is broken"):
        await measure_capacity(burning(tmp_path, "Broken"), seconds=60)


@needs_counters
async def test_a_probe_can_be_stopped() -> None:
    stop = trio.Event()
    stop.set()
    assert await measure_capacity(timed("act=1s"), seconds=3600, stop=stop) is None


async def test_on_the_virtual_clock_each_processor_carries_a_match() -> None:
    plan = small_plan(1)
    capacity = await measure_capacity(plan)
    assert capacity is not None
    assert (capacity.jobs, capacity.levels) == (jobs_on(plan), ())


async def test_jobs_auto_on_the_virtual_clock(tmp_path: Path) -> None:
    plan = small_plan(1)
    told: list[str] = []
    records = await run_tournament(plan, tmp_path / "out", jobs="auto", warn=told.append)
    assert len(records) == 4
    count = jobs_on(plan)
    what = "match" if count == 1 else "matches"
    assert told == [f"jobs auto: {count} at once; this machine carries {count} {what} at once"]
    told.clear()
    await run_tournament(plan, tmp_path / "out", jobs="auto", resume=True, warn=told.append)
    assert told == []  # nothing is left to play, so nothing is measured


async def test_jobs_auto_does_not_measure_other_machines(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="jobs auto measures this machine"):
        await run_tournament(small_plan(1), tmp_path / "out", jobs="auto", engine="ray")
    assert not (tmp_path / "out").exists()
