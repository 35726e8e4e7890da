"""Growth with the recorded results of a tournament."""

from __future__ import annotations

__all__ = ["results"]

import tempfile
import time
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

import attrs

from benchmarks.curves import curve, sizes_up_to
from benchmarks.measure import Row
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord, MatchSpec, SeatRecord
from flagfall.tournament.store import Store
from flagfall.tournament.stored_standings import stored_standings

RESULTS: Final = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
AGENTS: Final = tuple(f"a{number}" for number in range(10))
"""As many as the least results; a plan has at most 100,000 repeats."""

THINKING: Final = tuple((bucket, 1) for bucket in range(100, 120))
"""Turn times of a match of 20 turns."""

ROUNDS: Final = 3
BATCH: Final = 1_000
"""Results that are made before they are stored, so that making them is not measured."""

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


def _records(plan: TournamentPlan) -> Iterator[MatchRecord]:
    return (_record(spec, number) for number, spec in enumerate(schedule(plan).walk({})))


def _rounds(count: int) -> range:
    return range(ROUNDS if count <= FEW else 1)


def _standings_us(count: int) -> float:
    """Return the CPU time of the standings of stored results, for each result, in microseconds."""
    plan = _plan(count)
    spent = []
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), "make")
        stored = 0
        records = _records(plan)
        while batch := list(islice(records, BATCH)):
            store.put(*batch)
            stored += len(batch)
        for _ in _rounds(count):
            began = time.process_time()
            stored_standings(store, plan)
            spent.append((time.process_time() - began) / stored * 1e6)
        store.close()
    return min(spent)


@attrs.frozen
class _StoreCosts:
    """CPU time of storing and of reading a result, in microseconds."""

    put: float
    read: float


@cache
def _store_us(count: int) -> _StoreCosts:
    """Return the costs of a store, which is filled as a run fills it: one result after another."""
    costs = []
    for _ in _rounds(count):
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Path(folder), "make")
            records = _records(_plan(count))
            stored, spent = 0, 0.0
            while batch := list(islice(records, BATCH)):
                began = time.process_time()
                for record in batch:
                    store.put(record)
                spent += time.process_time() - began
                stored += len(batch)
            began = time.process_time()
            assert sum(1 for _ in store.records()) == stored
            read = time.process_time() - began
            costs.append(_StoreCosts(spent / stored * 1e6, read / stored * 1e6))
            store.close()
    return _StoreCosts(min(cost.put for cost in costs), min(cost.read for cost in costs))


def results(scale: int) -> Iterator[Row]:
    """Measure standings and the store.

    Args:
        scale: divides the amount of work.
    """
    sizes = sizes_up_to(RESULTS, scale)
    _store_us.cache_clear()  # a run measures anew
    yield from curve("standings", "µs", sizes, _standings_us, target="≤ 2 µs at 1,000,000")
    yield from curve("storing a result", "µs", sizes, lambda size: _store_us(size).put, target="≤ 200 µs")
    yield from curve("reading a stored result", "µs", sizes, lambda size: _store_us(size).read)
