"""Games of adaptive tournaments, beside a round robin that is played until as much is known, by simulation.

A field has 8 to 16 agents, whose strengths are normal with a standard deviation of 200 Elo. They play by the
model of Bradley and Terry, with half as many draws as there could be. The matches are those that the format
asks for; their results are made up. The round robin is examined after each eighth more of its games.
"""

from __future__ import annotations

__all__ = ["SUITE"]

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import numpy as np

from benchmarks.measure import Row, reduced
from benchmarks.suites import Suite, by_name
from flagfall.timing import TimeControl
from flagfall.tournament.columns import Array
from flagfall.tournament.formats.adaptive import GROWTH, Adaptive
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import Output, PlannedAgent, PlannedTask, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, SeatRecord
from flagfall.tournament.standings import Standings, compute_standings
from flagfall.tournament.stats.duels import Duels, expected_score
from flagfall.tournament.stats.elo import Ratings, rate_duels
from flagfall.tournament.stats.intervals import Interval

FIELDS: Final = 200
LEAST_FIELDS: Final = 2
AGENTS: Final = (8, 16)
SPREAD: Final = 200.0
"""Standard deviation of the strengths, in Elo."""

DRAWS: Final = 0.5
"""Draws, as a share of the most that there could be."""

PRECISION: Final = 20.0
"""Elo to either side."""

REPEATS: Final = 20_000
"""Most encounters of a pair: so many that no pair needs them."""

IsDone: TypeAlias = Callable[[Ratings], bool]


@attrs.define
class Tally:
    """What was found in some fields: sums, and a value for each interval."""

    games: int = 0
    baseline: int = 0
    covered: list[bool] = attrs.field(factory=list)
    decided: int = 0
    wrong: int = 0


def _field(random: np.random.Generator) -> dict[str, float]:
    """Return the strengths of the agents of a field by name; their mean is 0."""
    strengths = random.normal(0.0, SPREAD, random.integers(AGENTS[0], AGENTS[1] + 1))
    return {f"a{one}": float(elo) for one, elo in enumerate(strengths - strengths.mean())}


def _scores(random: np.random.Generator, expected: Array) -> Array:
    drawn, luck = DRAWS * np.minimum(expected, 1 - expected), random.random(expected.shape)
    return np.where(luck < expected - drawn, 1.0, np.where(luck < expected + drawn, 0.5, 0.0))


def _adaptive(form: Adaptive, field: dict[str, float], random: np.random.Generator) -> Standings:
    """Return the standings at the end of an adaptive tournament."""
    task = PlannedTask(name="game", tasks=("game",), seats=2, agents=tuple(field), control=TimeControl())
    plan = TournamentPlan(
        name="field",
        agents=tuple(PlannedAgent(name=name, spec=name) for name in field),
        tasks=(task,),
        format=form,
        repeats=REPEATS,
        output=Output(folder=Path("field")),
    )
    records: dict[str, MatchRecord] = {}
    due: list[MatchSpec] = []
    for spec in schedule(plan).live(records):
        if spec is not None:
            due.append(spec)
            continue
        apart = [field[one.entrants[0]] - field[one.entrants[1]] for one in due]
        scores = _scores(random, np.array([expected_score(elo) for elo in apart]))
        for one, score in zip(due, scores.tolist(), strict=True):
            seats = [
                SeatRecord(agent=agent, score=points)
                for agent, points in zip(one.entrants, (score, 1 - score), strict=True)
            ]
            records[one.id] = MatchRecord(id=one.id, seats=tuple(seats))
        due = []
    return compute_standings(plan, records)


def _round_robin(field: dict[str, float], random: np.random.Generator, is_done: IsDone) -> int:
    """Return the games of a round robin that ends when a condition holds."""
    names = [*field]
    first, second = np.array(list(combinations(range(len(names)), 2))).T
    expected = np.array([expected_score(one - other) for one, other in combinations(field.values(), 2)])
    parts: list[Array] = []
    repeats = 0
    while True:
        more = max(1, repeats // GROWTH)
        parts.append(_scores(random, np.repeat(expected, 2) * np.ones((more, 1))).ravel())
        repeats += more
        one, other = (np.tile(np.repeat(agents, 2), repeats) for agents in (first, second))
        duels = Duels(one, other, np.concatenate(parts), np.arange(repeats * len(first)).repeat(2))
        if is_done(rate_duels(names, duels)):
            return len(duels.score)


def _is_precise(interval: Interval) -> bool:
    if interval.low is None or interval.high is None:
        return False
    return max(interval.value - interval.low, interval.high - interval.value) <= PRECISION


def _knows_ratings(ratings: Ratings) -> bool:
    return all(map(_is_precise, ratings.elo.values()))


def _knows_order(ratings: Ratings) -> bool:
    """Return whether each neighbouring pair is decided, at this look by itself, or its difference is precise.

    Intervals for a fixed number of games, looked at again and again, favour the round robin.
    """
    ranking = sorted(ratings.elo, key=lambda name: -ratings.elo[name].value)
    neighbours = sorted(
        pairwise(ranking), key=lambda pair: ratings.elo[pair[0]].value - ratings.elo[pair[1]].value
    )
    for better, worse in neighbours:
        difference = ratings.difference(better, worse)
        interval = None if difference is None else difference.interval()
        if interval is None or not (_is_precise(interval) or (interval.low or 0.0) > 0):
            return False
    return True


def _tally(form: Adaptive, is_done: IsDone, fields: int) -> Tally:
    random = np.random.default_rng(1)
    tally = Tally()
    for _ in range(fields):
        field = _field(random)
        standings = _adaptive(form, field, random)
        tally.games += sum(row.matches for row in standings.rows) // 2
        tally.baseline += _round_robin(field, random, is_done)
        for row in standings.rows:
            low, high = row.elo.low, row.elo.high
            tally.covered.append(
                (low is None or low <= field[row.agent]) and (high is None or field[row.agent] <= high)
            )
        for remark in standings.notes:
            if remark.startswith("stronger"):
                for pair in remark.rpartition(": ")[2].split(", "):
                    better, _, worse = pair.partition(" over ")
                    tally.decided += 1
                    tally.wrong += field[better] < field[worse]
    return tally


def _rows(name: str, form: Adaptive, is_done: IsDone, scale: int) -> Iterator[Row]:
    fields = reduced(FIELDS, scale, LEAST_FIELDS)
    tally = _tally(form, is_done, fields)
    yield Row(
        f"{name}: games",
        f"{tally.games / fields:,.0f}",
        f"round robin {tally.baseline / fields:,.0f}",
        f"{tally.games / tally.baseline:.2f}",
        "≤ 0.5 times",
    )
    yield Row(f"{name}: coverage", f"{np.mean(tally.covered):.3f}", target="0.93 to 0.97")
    yield Row(f"{name}: wrong decisions", f"{tally.wrong} of {tally.decided}", target="≤ 5 %")


def ratings(scale: int) -> Iterator[Row]:
    """Measure until every Elo is known to 20 Elo.

    Args:
        scale: divides the number of fields.
    """
    form = Adaptive(goal="ratings", precision=PRECISION)
    yield from _rows("every Elo to ±20", form, _knows_ratings, scale)


def order(scale: int) -> Iterator[Row]:
    """Measure until each two neighbours are decided, or their difference is known to 20 Elo.

    Args:
        scale: divides the number of fields.
    """
    form = Adaptive(goal="order", precision=PRECISION)
    yield from _rows("neighbours decided or to ±20", form, _knows_order, scale)


SUITE: Final = Suite("Games of adaptive tournaments", by_name(ratings, order))
