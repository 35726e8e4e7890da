"""Formula One scoring: agents are ranked on each task, and points for the places add up across tasks.

On a task an agent is ranked by its result (task instances solved, or the sum of its scores), then by the sum
of its game scores, then by fewer game ticks. Equal agents share a place and its points. An agent that was
disqualified on the task comes last, without points. Across tasks agents are ranked by the sum of their
points; of equal sums the one with more first places is ahead, then the one with more second places, and so
on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeVar

import attrs

from flagfall.configfile.converter import Problems
from flagfall.tournament.model import DEFAULT_SCORING, Format, PlannedTask, Scoring, TournamentPlan

POINTS: Final = (25, 18, 15, 12, 10, 8, 6, 4, 2, 1)
"""Points for the places from the first on, as in Formula One since 2010; later places have none."""

_T = TypeVar("_T")


@attrs.frozen
class Placing:
    """Place of one agent on one task.

    Attributes:
        place: one-based; equal agents share one.
        wins: task instances solved, of a task with one seat.
        score: sum of the game scores.
        ticks: sum of the game ticks.
        games: task instances that count.
        disqualified: reason of its disqualification; empty if there was none.
    """

    agent: str
    place: int
    points: int
    wins: int
    score: float
    ticks: int
    games: int
    disqualified: str = ""


@attrs.frozen
class TaskRanking:
    """Places of all agents on one task, the best first."""

    task: str
    placings: tuple[Placing, ...]


@attrs.frozen
class PointsRow:
    """One agent across all tasks.

    Attributes:
        places: its places, in the order of the tasks.
        disqualified: number of tasks on which it was disqualified.
    """

    agent: str
    place: int
    points: int
    places: tuple[int, ...]
    wins: int
    disqualified: int


@attrs.frozen(kw_only=True)
class TaskTotals:
    """Sums over the matches of one agent on one task.

    Attributes:
        disqualified: reason of its first disqualification; empty if there was none.
    """

    wins: int
    result: float
    score: float
    ticks: int
    games: int
    disqualified: str


def rank_totals(
    plan: TournamentPlan, totals: Mapping[tuple[str, str], TaskTotals]
) -> tuple[TaskRanking, ...]:
    """Return the ranking on each task that has results, in the order of the plan.

    Args:
        totals: by the names of the task and the agent, of agents that have played the task.
    """
    rankings = (
        TaskRanking(
            task.name,
            _placings(
                task, {name: totals[task.name, name] for name in task.agents if (task.name, name) in totals}
            ),
        )
        for task in plan.tasks
    )
    return tuple(ranking for ranking in rankings if ranking.placings)


def _placings(task: PlannedTask, results: Mapping[str, TaskTotals]) -> tuple[Placing, ...]:
    alone = task.seats == 1
    unplaced = {name: _unplaced(name, totals, alone=alone) for name, totals in results.items()}
    solving = alone and task.score == "result"

    def key(name: str) -> tuple[float, ...]:
        one = unplaced[name]
        if one.disqualified:
            return (1,)
        return (0, -(one.wins if solving else results[name].result), -one.score, one.ticks)

    placings = []
    for place, name in ranked(results, key):
        one = unplaced[name]
        points = POINTS[place - 1] if place <= len(POINTS) and not one.disqualified else 0
        placings.append(attrs.evolve(one, place=place, points=points))
    return tuple(placings)


def _unplaced(name: str, totals: TaskTotals, *, alone: bool) -> Placing:
    return Placing(
        agent=name,
        place=0,
        points=0,
        wins=totals.wins if alone else 0,
        score=totals.score if alone else 0.0,
        ticks=totals.ticks if alone else 0,
        games=totals.games,
        disqualified=totals.disqualified,
    )


def total_points(names: Iterable[str], rankings: Iterable[TaskRanking]) -> tuple[PointsRow, ...]:
    """Return all agents across all tasks, the best first."""
    placings = _placings_by_agent(names, rankings)
    return tuple(
        PointsRow(
            agent=agent,
            place=place,
            points=sum(placing.points for placing in placings[agent]),
            places=tuple(placing.place for placing in placings[agent]),
            wins=sum(placing.wins for placing in placings[agent]),
            disqualified=sum(bool(placing.disqualified) for placing in placings[agent]),
        )
        for place, agent in ranked(placings, lambda agent: [-n for n in _countback(placings[agent])])
    )


def rank_key(names: Iterable[str], rankings: Iterable[TaskRanking]) -> dict[str, tuple[int, ...]]:
    """Return, by agent, its points followed by its number of first places, second places and so on."""
    placings = _placings_by_agent(names, rankings)
    return {agent: _countback(mine) for agent, mine in placings.items()}


def _placings_by_agent(names: Iterable[str], rankings: Iterable[TaskRanking]) -> dict[str, list[Placing]]:
    placings: dict[str, list[Placing]] = {name: [] for name in names}
    for ranking in rankings:
        for placing in ranking.placings:
            placings[placing.agent].append(placing)
    return placings


def _countback(placings: Sequence[Placing]) -> tuple[int, ...]:
    places = [placing.place for placing in placings if placing.points]
    return (sum(p.points for p in placings), *(places.count(n) for n in range(1, len(POINTS) + 1)))


def ranked(values: Iterable[_T], key: Callable[[_T], Any]) -> list[tuple[int, _T]]:
    """Return all values with their place, the best first; equal values share a place.

    Args:
        key: returns a sort key of a value, smaller is better.
    """
    placed: list[tuple[int, _T]] = []
    for _, equal in groupby(sorted(values, key=key), key):
        place = len(placed) + 1
        placed += [(place, value) for value in equal]
    return placed


def check_scoring(scoring: Scoring, form: Format, problems: Problems) -> None:
    """Report a scoring in a plan whose format ranks agents by a rule of its own."""
    if scoring != DEFAULT_SCORING and form.own_ranking:
        problems.add(("scoring",), f"the format {form.kind} ranks agents by its own rule: leave scoring out")
