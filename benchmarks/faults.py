"""Simulation of small matches under fault schedules: schedules per second on one core."""

from __future__ import annotations

__all__ = ["SUITE"]

from collections.abc import Iterator
from typing import Final

import numpy as np

from benchmarks.measure import ROUNDS, Row, cpu_seconds, reduced
from benchmarks.suites import Suite, by_name
from flagfall.agents.hosts.registry import Player
from flagfall.kernel.hosting import LocalHostKind
from flagfall.playing import MatchRequest
from flagfall.testing.cases import TIME_CONTROLS, Ground
from flagfall.testing.exploration import Exploration
from flagfall.testing.faults import random_schedule
from flagfall.testing.simulation.match import hosts_of, simulate

SCHEDULES: Final = 300
EXPLORED: Final = 2_000
TURNS: Final = (20, 50)
"""Least and most turns of a match."""

HOSTS: Final[tuple[LocalHostKind | None, ...]] = (None, "process", "task")


def _simulate(schedules: int, seats: int) -> None:
    """Simulate matches, each under one to three random faults, by turns at all hosts."""
    for seed in range(schedules):
        generator = np.random.default_rng(seed)
        players = tuple(Player("random", HOSTS[(seed + seat) % len(HOSTS)]) for seat in range(seats))
        steps = int(generator.integers(*TURNS, endpoint=True))
        request = MatchRequest(
            tasks="micro1" if seats == 1 else "duel:lamps",
            agents=players,
            scheduler="sequential",
            time_control="start=1s act=40ms/200ms",
            seed=seed,
            steps=steps,
        )
        simulate(request, random_schedule(generator, hosts_of(players), turns=steps))


def schedules(scale: int) -> Iterator[Row]:
    """Measure simulated schedules per second of CPU time.

    Args:
        scale: divides the amount of work.
    """
    count = reduced(SCHEDULES, scale, 3)
    for seats in (1, 2):
        spent = []
        for _ in range(reduced(ROUNDS, scale)):
            began = cpu_seconds()
            _simulate(count, seats)
            spent.append(cpu_seconds() - began)
        name = f"simulated schedules/s, seats: {seats}"
        yield Row(name, f"{count / min(spent):,.0f}", target="≥ 300" if seats == 1 else "")


def exploration(scale: int) -> Iterator[Row]:
    """Measure cases of a search per second of CPU time, with all promises checked.

    Args:
        scale: divides the amount of work.
    """
    count = reduced(EXPLORED, scale, 3)
    requests = [MatchRequest(tasks="micro1", agents=(Player("random", host),)) for host in HOSTS]
    search = Exploration([Ground.of_match(request, TIME_CONTROLS) for request in requests])
    began = cpu_seconds()
    search.search(count)
    spent = cpu_seconds() - began
    assert search.finding is None, search.finding
    yield Row("explored schedules/s, seats: 1", f"{count / spent:,.0f}", target="≥ 300")


SUITE: Final = Suite("Matches under faults, simulated", by_name(schedules, exploration))
