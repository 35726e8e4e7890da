"""How late this machine wakes, and which limits are too tight for that."""

from __future__ import annotations

from pathlib import Path

import attrs

from flagfall.timing import TimeControl
from flagfall.timing.durations import MS
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.run.api import (
    TIGHT,
    TimerLatency,
    measure_latency,
    run_tournament,
    warn_tight_limits,
)
from flagfall.tournament.run.engine import jobs_on
from tests.tournament.runs import small_plan


def with_control(text: str) -> TournamentPlan:
    plan = small_plan(1)
    tasks = tuple(attrs.evolve(task, control=TimeControl.parse(text)) for task in plan.tasks)
    return attrs.evolve(plan, tasks=tasks)


def test_a_limit_below_some_times_the_lag_is_too_tight() -> None:
    lag = TimerLatency(1 * MS, 2 * MS)
    assert TIGHT == 5
    assert list(warn_tight_limits(with_control("act=10ms/1s"), lag)) == []
    found = list(warn_tight_limits(with_control("act=9999us/1s"), lag))
    assert [line[:38] for line in found] == [
        "task micro1: act=9999us is less than 5",
        "task micro2: act=9999us is less than 5",
    ]
    assert "p50 1ms, p99 2ms" in found[0]
    assert len(list(warn_tight_limits(with_control("bank=10s+1ms"), lag))) == 2
    assert list(warn_tight_limits(with_control("untimed"), lag)) == []


async def test_the_lag_of_this_machine() -> None:
    lag = await measure_latency()
    assert 0 <= lag.p50_ns <= lag.p99_ns


async def test_a_run_warns_of_tight_limits_and_of_too_many_jobs(tmp_path: Path) -> None:
    plan = parse_plan(
        """
        time_control = "act=10us/5s"
        [[agents]]
        spec = "random"
        host = "task"
        [[tasks]]
        task = "micro1"
        steps = 2
        """
    )
    told: list[str] = []
    await run_tournament(plan, tmp_path, jobs=jobs_on(plan) + 1, warn=told.append)
    assert [line.split(":")[0] for line in told] == [
        "task micro1",
        f"{jobs_on(plan) + 1} matches at the same time are more than there are processors for",
    ]


def test_no_more_timed_agents_than_processors() -> None:
    timed = attrs.evolve(small_plan(1), clock="wall")
    for_two = attrs.evolve(timed, tasks=tuple(attrs.evolve(task, seats=2) for task in timed.tasks))
    assert [jobs_on(timed, cores) for cores in (1, 2, 5)] == [1, 2, 5]
    assert [jobs_on(for_two, cores) for cores in (1, 2, 5)] == [1, 1, 2]
    assert jobs_on(attrs.evolve(for_two, clock="virtual"), 5) == 5
