"""Stored results of tournaments: cost of storing them, and of the standings of many."""

from __future__ import annotations

__all__ = ["GrowthPoint", "growth_points", "standings", "store"]

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import attrs

from benchmarks.measure import Row, reduced
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord, MatchSpec, SeatRecord
from flagfall.tournament.store import Store

RESULTS: Final = 1_000_000
LEAST_RESULTS: Final = 10_000
STORED: Final = 20_000
TOGETHER: Final = 20
"""Results of one transaction: those that a batch of matches of half a millisecond reports at a time."""

AGENTS: Final = 10
PAIRS: Final = AGENTS * (AGENTS - 1)
"""Matches of a repeat: each pair meets twice, with swapped sides."""

OUTCOMES: Final = (((1.0, -1.0), (1.0, 0.0)), ((-1.0, 1.0), (0.0, 1.0)), ((0.0, 0.0), (0.5, 0.5)))
"""Rewards and scores of the two seats."""

THINKING: Final = tuple(
    tuple((bucket, 1 + bucket % 3) for bucket in range(300 + first, 305 + first)) for first in range(40)
)

READER: Final = """
import json, sys, time
from pathlib import Path
from flagfall.tournament.store import Store
from flagfall.tournament.standings import stored_standings

began = time.process_time()
store = Store(Path(sys.argv[1]))
found = stored_standings(store, store.plan().for_display())
spent = time.process_time() - began
matches = sum(row.matches for row in found.tasks) // 2
status = Path("/proc/self/status").read_text()
peak_kb = int(status.partition("VmHWM:")[2].split()[0])
print(json.dumps([matches, spent, peak_kb / 1024]))
"""
"""Program that reads a store. Its peak memory is that of `/proc`, as `ru_maxrss` begins with that of the
parent process."""


def plan_of(results: int) -> TournamentPlan:
    """Return a round robin of ten agents at a game for two.

    Args:
        results: least number of matches.
    """
    agents = "".join(f'[[agents]]\nname = "a{number}"\nspec = "random"\n' for number in range(AGENTS))
    return parse_plan(f"""
        clock = "virtual"
        format = "round-robin"
        repeats = {-(-results // PAIRS)}
        [output]
        journals = false
        {agents}
        [[tasks]]
        task = "pettingzoo:classic/tictactoe_v3"
    """)


def made_up(plan: TournamentPlan, results: int) -> Iterator[MatchRecord]:
    """Yield possible results, which differ from match to match.

    Args:
        plan: from `plan_of`.
        results: number of records.
    """
    chance = random.Random(1)
    for spec in islice(schedule(plan).walk({}), results):
        yield _record(spec, chance)


def _record(spec: MatchSpec, chance: random.Random) -> MatchRecord:
    number = chance.getrandbits(30)
    rewards, scores = OUTCOMES[number % 3]
    seats = (
        SeatRecord(
            agent=agent,
            score=score,
            reward=reward,
            turns=5,
            late=int(number % 100 == place),
            think_ns=number,
            think_max_ns=number // 3,
            thinking=THINKING[(number + place) % len(THINKING)],
        )
        for place, (agent, score, reward) in enumerate(zip(spec.entrants, scores, rewards, strict=True))
    )
    return MatchRecord(id=spec.id, seats=tuple(seats), tasks=1, turns=10, elapsed_ns=number)


def fill(
    folder: Path, results: int, together: int = TOGETHER, *, durable: bool = False
) -> tuple[float, float]:
    """Store results; return the CPU time and the wall time of storing them, in seconds.

    Args:
        folder: folder of the tournament.
        results: number of matches.
        together: matches of one transaction.
        durable: as under the wall clock.
    """
    plan = plan_of(results)
    store = Store(folder, "make", durable=durable)
    store.begin(plan)
    records = made_up(plan, results)
    cpu = wall = 0.0
    while some := list(islice(records, together)):
        cpu_began, began = time.process_time(), time.perf_counter()
        store.put(*some)
        wall += time.perf_counter() - began
        cpu += time.process_time() - cpu_began
    store.close()
    return cpu, wall


def read(folder: Path) -> tuple[int, float, float]:
    """Compute the standings in a process of their own; return matches, CPU seconds and peak megabytes.

    Args:
        folder: folder of the tournament.
    """
    command = [sys.executable, "-c", READER, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    matches, seconds, megabytes = json.loads(done.stdout)
    return matches, seconds, megabytes


@attrs.frozen
class GrowthPoint:
    """Costs of a tournament with some results.

    Attributes:
        results: number of matches.
        put_us: CPU time of storing a result, in microseconds.
        standings_s: CPU time of the standings, in seconds, without the start of the program.
        standings_mb: peak memory of the program that computes them, in megabytes.
    """

    results: int
    put_us: float
    standings_s: float
    standings_mb: float


def growth_points(sizes: Iterable[int]) -> Iterator[GrowthPoint]:
    """Yield the costs of tournaments of different sizes.

    Args:
        sizes: numbers of results, such as 10 to 1,000,000.
    """
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            cpu, _ = fill(Path(folder), size)
            matches, seconds, megabytes = read(Path(folder))
            assert matches == size
            yield GrowthPoint(size, cpu / size * 1e6, seconds, megabytes)


def store(scale: int) -> Iterator[Row]:
    """Measure the store: results with two seats, some in a transaction.

    Args:
        scale: divides the amount of work.
    """
    count = reduced(STORED, scale, TOGETHER)
    for name, durable in (("", False), (", on disk before they count", True)):
        with tempfile.TemporaryDirectory() as folder:
            cpu, wall = fill(Path(folder), count, durable=durable)
        spent = wall if durable else cpu
        yield Row(f"results stored{name}", f"{count / spent:.0f}/s", target="≥ 5,000/s")


def standings(scale: int) -> Iterator[Row]:
    """Measure the standings of many stored results.

    Args:
        scale: divides the amount of work.
    """
    count = reduced(RESULTS, scale, LEAST_RESULTS)
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), count)
        matches, seconds, megabytes = read(Path(folder))
    assert matches == count
    yield Row("standings of 1,000,000 results, CPU", f"{seconds:.2f} s", target="≤ 2 s")
    yield Row("standings of 1,000,000 results, memory", f"{megabytes:.0f} MB", target="≤ 1,000 MB")
