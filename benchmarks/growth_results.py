"""Growth with the recorded results of a tournament."""

from __future__ import annotations

__all__ = ["results"]

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.curves import curve, sizes_up_to
from benchmarks.measure import Row
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord, MatchSpec, SeatRecord
from flagfall.tournament.standings import standings
from flagfall.tournament.store import Store

RESULTS: Final = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
STORED: Final = (10, 100, 1_000, 10_000, 100_000)
"""Every result is stored by itself, as a run does it; a million takes minutes."""

AGENTS: Final = ("echo", "random")
THINKING: Final = tuple((bucket, 1) for bucket in range(100, 120))
"""Turn times of a match of 20 turns."""

ROUNDS: Final = 3
FEW: Final = 1_000
"""Up to this size a measurement is repeated."""


def _plan(count: int) -> TournamentPlan:
    agents = "".join(f'[[agents]]\nname = "{name}"\nspec = "random"\nhost = "task"\n' for name in AGENTS)
    return parse_plan(f"""
        clock = "virtual"
        repeats = {count // len(AGENTS)}
        {agents}
        [[tasks]]
        task = "micro1"
        steps = 20
    """)


def _record(spec: MatchSpec, number: int) -> MatchRecord:
    seats = tuple(
        SeatRecord(
            agent=name, score=number % 7 / 7, reward=number % 7, turns=20, think_ns=2_000, thinking=THINKING
        )
        for name in spec.entrants
    )
    return MatchRecord(id=spec.id, seats=seats, solved=number % 7, tasks=7, turns=20, elapsed_ns=20_000)


def _played(plan: TournamentPlan) -> dict[str, MatchRecord]:
    return {spec.id: _record(spec, number) for number, spec in enumerate(schedule(plan, {}))}


def _standings_us(count: int) -> float:
    """Return the CPU time of the standings for each of their results, in microseconds."""
    plan = _plan(count)
    records = _played(plan)
    spent = []
    for _ in range(ROUNDS if count <= FEW else 1):
        began = time.process_time()
        standings(plan, records)
        spent.append((time.process_time() - began) / len(records) * 1e6)
    return min(spent)


def _store_us(count: int, *, read: bool = False) -> float:
    """Return the CPU time of storing a result, or of reading it, in microseconds."""
    plan = _plan(count)
    records = list(_played(plan).values())
    spent = []
    for _ in range(ROUNDS if count <= FEW else 1):
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder), "make")
            began = time.process_time()
            for record in records:
                store.put(record)
            if read:
                began = time.process_time()
                assert sum(1 for _ in store.records()) == len(records)
            spent.append((time.process_time() - began) / len(records) * 1e6)
            store.close()
    return min(spent)


def results(scale: int) -> Iterator[Row]:
    """Measure standings and the store.

    Args:
        scale: divides the amount of work.
    """
    yield from curve("standings", "µs", sizes_up_to(RESULTS, scale), _standings_us)
    stored = sizes_up_to(STORED, scale)
    yield from curve("storing a result", "µs", stored, _store_us, target="≤ 200 µs")
    yield from curve("reading a stored result", "µs", stored, partial(_store_us, read=True))
