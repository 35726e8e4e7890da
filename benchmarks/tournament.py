"""Tournaments: speed of two jobs compared with one, cost of Ray, speed of tiny matches."""

from __future__ import annotations

__all__ = ["SUITE"]

import os
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import trio

from benchmarks.measure import Row, beside, reduced, skipped
from benchmarks.suites import Suite, by_name
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.run.runner import Engines

ROUNDS = 3
BUSY_STEPS = 100_000
"""Turns of a match that computes; they take about a second."""

BUSY_MATCHES = 12
LEAST_MATCHES = 6
"""Of two jobs at least two matches each are measured: the first of each is not."""

PACED_MATCHES = 16
PACED_STEPS = 100
"""Turns of 10 ms, a second together."""

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
    """Return the matches per second while all jobs are busy: from the first record of each to the last."""
    times: list[float] = []

    def noticed(_record: MatchRecord) -> None:
        times.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        play = partial(run_tournament, plan, Path(folder), jobs=jobs, engine=engine, on_record=noticed)
        trio.run(play)
    return (len(times) - jobs) / (times[-1] - times[jobs - 1])


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


def ray(scale: int) -> Iterator[Row]:
    """Measure matches of one second with Ray; the baseline is local workers.

    Args:
        scale: divides the amount of work.
    """
    if find_spec("ray") is None:
        yield skipped("matches of 1 s, Ray beside local workers", "the extra ray is not installed")
        return
    os.environ.setdefault("RAY_ADDRESS", "local")  # a cluster of this benchmark alone
    task = f'steps = {reduced(PACED_STEPS, scale)}\ntick = "10ms"'
    plan = _plan(reduced(PACED_MATCHES, scale, LEAST_MATCHES), task, clock="wall")
    rounds = reduced(ROUNDS, scale)
    ours, local, ratio = beside(lambda: _rate(plan, 2, "ray"), lambda: _rate(plan, 2), rounds)
    yield Row(
        "matches of 1 s, Ray beside local workers",
        f"{ours:.3f}/s",
        f"{local:.3f}/s",
        f"{1 / ratio:.3f} x the time",
        "≤ 1.10",
    )


SUITE = Suite("tournaments", by_name(scaling, tiny, ray))
