"""Tournaments: speed of two jobs compared with one, of short matches, of Ray, of the store and standings."""

from __future__ import annotations

__all__ = ["SUITE"]

import os
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import attrs
import trio

from benchmarks.measure import Row, beside, cpu_seconds, reduced, skipped
from benchmarks.suites import Suite, by_name
from benchmarks.tournament_store import standings, store
from flagfall.errors import HostFault
from flagfall.timing.durations import format_duration
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.run.probe import measure_capacity
from flagfall.tournament.run.runner import Engines
from flagfall.tournament.verification import verify_folder

ROUNDS = 3
BUSY_STEPS = 100_000
"""Turns of a match that computes; they take about a second."""

BUSY_MATCHES = 12
LEAST_MATCHES = 6
"""Of two jobs at least two matches each are measured: the first of each is not."""

PACED_MATCHES = 8
PACED_STEPS = 100
"""Turns of 10 ms, a second together."""

SHORT_MATCHES = 10_000
FEWER = 10
"""Part of the short matches of the run that is subtracted: it has the same start, and fewer matches."""

LONG_MATCHES = 100
LONG_STEPS = 10_000

CAPACITY_SECONDS = 30
CAPACITY_STEPS = 100
CAPACITY_BOUND_NS = 20_000_000
MOST_AT_ONCE = 16
COMPUTING = """
import time

def agent(observation):
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    return 1
"""
"""An agent that computes for 10 ms in each turn."""

RAY_MATCHES = 600
RAY_STEPS = 1_000
"""Turns of a match that computes for some 10 ms."""

RAY_ROUNDS = 2
TINY_MATCHES = 1000


def _plan(matches: int, task: str, *, clock: str, journals: bool = True) -> TournamentPlan:
    return parse_plan(f"""
        clock = "{clock}"
        repeats = {matches}
        [output]
        journals = {str(journals).lower()}
        [[agents]]
        spec = "random"
        host = "task"
        [[tasks]]
        task = "micro1"
        {task}
    """)


def _rate(plan: TournamentPlan, jobs: int, engine: Engines = "local") -> float:
    """Return the matches per second while all workers are up: without the first quarter of the matches."""
    times: list[float] = []

    def noticed(_record: MatchRecord) -> None:
        times.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        play = partial(run_tournament, plan, Path(folder), jobs=jobs, engine=engine, on_record=noticed)
        trio.run(play)
    begin = max(jobs, len(times) // 4)
    return (len(times) - begin) / (times[-1] - times[begin - 1])


def scaling(scale: int) -> Iterator[Row]:
    """Measure two jobs; the baseline is one job. The matches compute all the time.

    Args:
        scale: divides the amount of work.
    """
    steps = reduced(BUSY_STEPS, scale)
    plan = _plan(reduced(BUSY_MATCHES, scale, LEAST_MATCHES), f"steps = {steps}", clock="virtual")
    two, one, _ = beside(lambda: _rate(plan, 2), lambda: _rate(plan, 1), reduced(ROUNDS, scale))
    # Ratio of the best rates: other programs slow two jobs down more than one.
    yield Row(
        "matches that compute, two jobs beside one",
        f"{two:.2f}/s",
        f"{one:.2f}/s",
        f"{two / one:.2f}",
        "≥ 1.8",
    )


def tiny(scale: int) -> Iterator[Row]:
    """Measure matches of two turns: the cost of a match besides its turns.

    Args:
        scale: divides the amount of work.
    """
    for name, journals in (("", True), (", no journals", False)):
        plan = _plan(
            reduced(TINY_MATCHES, scale, LEAST_MATCHES), "steps = 2", clock="virtual", journals=journals
        )
        yield Row(f"tiny matches, two jobs{name}", f"{_rate(plan, 2):.0f}/s", "", "", "")


def short(scale: int) -> Iterator[Row]:
    """Measure matches of twenty turns: CPU time of the runner and its workers, without their start.

    Args:
        scale: divides the amount of work.
    """
    many = reduced(SHORT_MATCHES, scale, 10 * LEAST_MATCHES)
    for name, journals in (("", False), (", with journals", True)):
        spent = {}
        for count in (many // FEWER, many):
            plan = _plan(count, "steps = 20", clock="virtual", journals=journals)
            began = cpu_seconds()
            _rate(plan, 1)
            spent[count] = cpu_seconds() - began
        rate = (many - many // FEWER) / max(spent[many] - spent[many // FEWER], 1e-9)
        yield Row(
            f"matches of 20 turns a second of CPU{name}",
            f"{rate:.0f}/s",
            target="" if journals else "≥ 2,500/s",
        )


def verification(scale: int) -> Iterator[Row]:
    """Measure the check of a results folder without executing its matches; the baseline is playing them.

    Args:
        scale: divides the amount of work.
    """
    for steps, matches in ((20, SHORT_MATCHES // FEWER), (LONG_STEPS, LONG_MATCHES)):
        many = reduced(matches, scale, LEAST_MATCHES)
        plan = _plan(many, f"steps = {steps}", clock="virtual")
        with tempfile.TemporaryDirectory() as folder:
            began = cpu_seconds()
            trio.run(partial(run_tournament, plan, Path(folder), jobs=1))
            played = cpu_seconds()
            assert verify_folder(Path(folder)).ok
            ended = cpu_seconds()
        yield Row(
            f"verifying matches of {steps} turns, beside playing them",
            f"{(ended - played) / many * 1e6:.0f} µs",
            f"{(played - began) / many * 1e6:.0f} µs",
            f"{(ended - played) / (played - began):.3f}",
            "≤ 0.10",
        )


def ray(scale: int) -> Iterator[Row]:
    """Measure Ray, in one cluster; the baseline is local workers.

    Args:
        scale: divides the amount of work.
    """
    if find_spec("ray") is None:
        for name in ("matches of 1 s", "matches of 10 ms"):
            yield skipped(f"{name}, Ray beside local workers", "the extra ray is not installed")
        return
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray as library  # noqa: PLC0415 - an extra

    library.init("local", include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        task = f'steps = {reduced(PACED_STEPS, scale)}\ntick = "10ms"'
        paced = _plan(reduced(PACED_MATCHES, scale, LEAST_MATCHES), task, clock="wall")
        yield _beside_local("matches of 1 s", paced, reduced(RAY_ROUNDS, scale), "≤ 1.10")
        count, steps = reduced(RAY_MATCHES, scale, LEAST_MATCHES), reduced(RAY_STEPS, scale)
        computing = _plan(count, f"steps = {steps}", clock="virtual", journals=False)
        yield _beside_local("matches of 10 ms", computing, reduced(RAY_ROUNDS, scale), "≤ 1.15")
    finally:
        library.shutdown()


def capacity(scale: int) -> Iterator[Row]:
    """Measure how many matches at once a probe predicts; the baseline is how many of real tournaments hold.

    Args:
        scale: divides the amount of work.
    """
    name = "matches at once whose turns lose at most 20 ms"
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "computing.py"
        agent.write_text(COMPUTING)
        plan = parse_plan(f"""
            time_control = "start=1m act=1s/10s"
            repeats = {2 * MOST_AT_ONCE}
            [[agents]]
            spec = "{agent}:agent"
            [[tasks]]
            task = "micro1"
            steps = {reduced(CAPACITY_STEPS, scale, 4)}
        """)
        seconds = reduced(CAPACITY_SECONDS, scale, 5)
        bound = format_duration(CAPACITY_BOUND_NS)
        try:
            found = trio.run(partial(measure_capacity, plan, seconds=seconds, bound=bound))
        except HostFault as fault:
            yield skipped(name, str(fault))
            return
        assert found is not None
        holds = _holds(plan, reduced(MOST_AT_ONCE, scale, 2))
    yield Row(name, str(found), f"{holds}", f"{found.jobs / holds:.2f}" if holds else "")


def _holds(plan: TournamentPlan, most: int) -> int:
    """Return with how many jobs 99 of 100 turns of a match take at most the bound longer than one alone."""
    alone_ns = 0
    for jobs in range(1, most + 1):
        some = attrs.evolve(plan, repeats=2 * jobs)
        with tempfile.TemporaryDirectory() as folder:
            records = trio.run(partial(run_tournament, some, Path(folder), jobs=jobs)).values()
        seats = [seat for record in records for seat in record.seats]
        alone_ns = alone_ns or int(median(seat.think_p50_ns for seat in seats))
        if median(seat.think_p99_ns for seat in seats) > alone_ns + CAPACITY_BOUND_NS:
            return jobs - 1
    return most


def _beside_local(name: str, plan: TournamentPlan, rounds: int, target: str) -> Row:
    ours, local, ratio = beside(lambda: _rate(plan, 2, "ray"), lambda: _rate(plan, 2), rounds)
    return Row(
        f"{name}, Ray beside local workers",
        f"{ours:.3g}/s",
        f"{local:.3g}/s",
        f"{1 / ratio:.3f} x the time",
        target,
    )


SUITE = Suite("tournaments", by_name(scaling, tiny, short, store, standings, verification, capacity, ray))
