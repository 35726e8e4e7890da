"""Parts of a report that compare agents: the cross table, and ratings over the course of the tournament."""

from __future__ import annotations

__all__ = ["cross_table", "rating_course"]

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from flagfall.tournament.columns import Array
from flagfall.tournament.tables.agents import COLUMNS, AgentTable, Column
from flagfall.viewer.report.source import ReportSource

MAX_POINTS: Final = 24
"""Points of a curve of ratings: each is a rating of all results up to there."""

MIN_POINTS: Final = 4

MAX_WORK: Final = 2e10
"""Steps that all ratings of a curve may take together, as meetings times the square of the agents: 10 s."""


def cross_table(source: ReportSource) -> dict[str, Any]:
    """Return the duels of each two agents.

    Args:
        source: the tournament.

    Returns:
        `pairs`: places of two agents in the standings, points of the first, and duels.
    """
    duels, size = source.duels, len(source.results.columns.agents)
    rank = _ranks(source)
    first, second = rank[duels.first], rank[duels.second]
    swapped = first > second
    low, high = np.where(swapped, second, first), np.where(swapped, first, second)
    points = np.where(swapped, 1.0 - duels.score, duels.score)
    cells = low * size + high
    games = np.bincount(cells, minlength=0)
    totals = np.bincount(cells, points)
    return {
        "pairs": [
            [int(cell) // size, int(cell) % size, float(totals[cell]), int(games[cell])]
            for cell in np.flatnonzero(games)
        ]
    }


def _ranks(source: ReportSource) -> Array:
    """Return the place of each agent of the columns in the standings."""
    place = {name: number for number, name in enumerate(source.ranked)}
    return np.array([place[name] for name in source.results.columns.agents], dtype=np.int64)


def rating_course(source: ReportSource) -> dict[str, Any] | None:
    """Return the rating of all agents after growing parts of the schedule; without duels, their mean score.

    Args:
        source: the tournament.

    Returns:
        `kind`: key of the rating, or `score`; `label`: its name; `matches`: of each point, how many matches
        it is based on; `series`: by agent, with gaps where it has no rating yet. `None` where there is
        nothing to compare.
    """
    drawn = COLUMNS[source.standings.drawn]
    is_rated = drawn.key != "score" and len(source.results.columns)
    return _course(source, drawn) if is_rated else _score_course(source)


def _course(source: ReportSource, rating: Column) -> dict[str, Any]:
    columns = source.results.columns
    size = len(columns.agents)
    meetings = int(columns.meeting[-1]) + 1
    most = int(min(MAX_POINTS, max(MIN_POINTS, 2 * MAX_WORK / (meetings * size * size))))
    ends = _ends(meetings, most)
    rank = _ranks(source)
    course = _Course(len(source.ranked), len(ends))
    matches = np.searchsorted(columns.meeting, ends).tolist()
    for point, (end, number) in enumerate(zip(ends, matches, strict=True)):
        table = AgentTable(source.plan, columns.beginning(number), resamples=0)
        table.duels = source.duels.beginning(end)  # of all, they take as long as the rating
        for place, found in enumerate(rating.values(table)):
            if found is not None:
                course.put(int(rank[place]), point, found.value, found.low, found.high)
    return {
        "kind": rating.key,
        "label": rating.label,
        "matches": matches,
        "series": course.series(max(1, rating.decimals)),
    }


def _ends(meetings: int, most: int) -> Array:
    """Return the numbers of the meetings at which the parts end."""
    ends: Array = np.unique(np.linspace(meetings / most, meetings, most).round().astype(np.int64))
    return ends[ends > 0]


def _score_course(source: ReportSource) -> dict[str, Any] | None:
    columns = source.results.columns
    measures = {(task.seats > 1, task.score if task.seats == 1 else "") for task in source.plan.tasks}
    by_reward = any(task.seats == 1 and task.score == "reward" for task in source.plan.tasks)
    if not len(columns) or len(measures) > 1 or (by_reward and len(source.plan.tasks) > 1):
        return None
    ends = _ends(len(columns), MAX_POINTS)
    rank, match = _ranks(source), columns.match_of_seat
    course = _Course(len(source.ranked), len(ends))
    for place in range(len(columns.agents)):
        rows = np.flatnonzero(columns.agent == place)
        sums = np.cumsum(columns.score[rows])
        for point, end in enumerate(ends):
            if count := int(np.searchsorted(match[rows], end)):
                course.put(int(rank[place]), point, float(sums[count - 1]) / count, None, None)
    return {"kind": "score", "label": "Mean score", "matches": ends.tolist(), "series": course.series(4)}


class _Course:
    """Values of agents at points, with gaps.

    Args:
        agents: number of agents.
        points: number of points.
    """

    def __init__(self, agents: int, points: int) -> None:
        self._values = np.full((3, agents, points), np.nan)

    def put(self, agent: int, point: int, value: float, low: float | None, high: float | None) -> None:
        self._values[:, agent, point] = (
            value,
            np.nan if low is None else low,
            np.nan if high is None else high,
        )

    def series(self, places: int) -> list[Mapping[str, Any]]:
        """Return the values of each agent that has any, with some decimal places."""
        rounded = np.round(self._values, places)
        return [
            {
                "agent": agent,
                **{
                    name: [None if np.isnan(number) else float(number) for number in rounded[part, agent]]
                    for part, name in enumerate(("value", "low", "high"))
                },
            }
            for agent in range(rounded.shape[1])
            if not np.isnan(rounded[0, agent]).all()
        ]
