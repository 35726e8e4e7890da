"""Comparison of two results folders, such as last month's and this one's, by the names of agents and tasks.

The tournaments are independent: each figure has an interval of its own, and a difference is made of two; see
`independent_difference`. Elo is relative to the agents of a tournament, so that of each agent is taken less
the mean of the agents that both have, and whose Elo both bound. Scores of games are shares of the opponents
beaten, so they are compared only where both tournaments had the same agents at a game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.texts import one_line, short_names
from flagfall.tournament.plan.fingerprint import changed_settings, changes
from flagfall.tournament.stats.elo import Ratings
from flagfall.tournament.stats.intervals import Interval, independent_difference
from flagfall.viewer.pages import self_contained_page
from flagfall.viewer.report.data import MAX_TASK_ROWS, MAX_TITLE_CHARS
from flagfall.viewer.report.source import ReportSource, facts_of, state_line

MAX_AGENTS: Final = 200
"""Most agents that are compared, the best ones of the second tournament."""

MAX_CHANGES: Final = 200
MAX_CHANGE_CHARS: Final = 300
"""Most lines on how the plans differ, and the length of each."""

LEAST_AGENTS: Final = 2
"""Agents whose mean is what Elo is relative to: a single one is its own mean."""


def comparison_data(first: ReportSource, second: ReportSource) -> dict[str, Any]:
    """Return the data of a page that compares two tournaments: the second less the first.

    Raises:
        UsageError: no agent is in both.
    """
    sources = (first, second)
    ranked = [name for name in second.ranked if name in set(first.ranked)]
    if not ranked:
        raise UsageError(
            f"{first.folder} and {second.folder} have no agent in common: agents are compared by name"
        )
    kept = ranked[:MAX_AGENTS]
    _, settings = changed_settings(first.stored.facts, second.stored.facts)
    differing = changes(first.stored.facts, second.stored.facts)
    rows, other_opponents = _task_rows(first, second, set(kept))
    return {
        "version": 1,
        "folders": [
            {
                "title": source.plan.name[:MAX_TITLE_CHARS],
                "state": source.state,
                "state_line": state_line(source),
                "facts": facts_of(source),
            }
            for source in sources
        ],
        "elo_level": _level(sources),
        "agents": _agents(sources, kept),
        "agents_of": len(ranked),
        "only": [_others(first, second), _others(second, first)],
        "short": short_names(row["task"] for row in rows),
        "tasks": rows[:MAX_TASK_ROWS],
        "tasks_of": len(rows),
        "settings": sorted(settings),
        "other_opponents": other_opponents,
        "changes": [one_line(line, MAX_CHANGE_CHARS) for line in differing[:MAX_CHANGES]],
        "changes_of": len(differing),
    }


def _level(sources: Sequence[ReportSource]) -> float:
    return max(source.standings.table.elo.level for source in sources)


def _agents(sources: Sequence[ReportSource], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each agent: its Elo in both, relative to others, and its think times."""
    ratings = [source.standings.table.elo for source in sources]
    rated = [
        name for name in names if all(name in some.elo and name not in some.unbounded for some in ratings)
    ]
    rows = [{row.agent: row for row in source.standings.rows} for source in sources]
    level = _level(sources)
    return [
        {
            "agent": name,
            "elo": _pair(*(_relative(some, name, rated, level) for some in ratings)),
            "matches": [some[name].matches for some in rows],
            "think_p50_ns": [some[name].think_p50_ns for some in rows],
            "think_p99_ns": [some[name].think_p99_ns for some in rows],
        }
        for name in names
    ]


def _relative(ratings: Ratings, name: str, among: Sequence[str], level: float) -> Interval | None:
    """Return the Elo of an agent less the mean of some; `None` if it is not known."""
    found = ratings.difference(name, *among) if len(among) >= LEAST_AGENTS else None
    return None if found is None else found.interval(level)


def _pair(first: Interval | None, second: Interval | None) -> list[dict[str, Any]] | None:
    """Return two figures and their difference, the second less the first; `None` if one is not known."""
    if first is None or second is None:
        return None
    return [attrs.asdict(one) for one in (first, second, independent_difference(second, first))]


def _task_rows(
    first: ReportSource, second: ReportSource, names: set[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of tasks and agents that both have, and the names of games with other opponents."""
    before = {(row.task, row.agent): row for row in first.standings.tasks}
    measures = [_measures(source) for source in (first, second)]
    rows: list[dict[str, Any]] = []
    others: dict[str, None] = {}
    for row in second.standings.tasks:
        former = before.get((row.task, row.agent))
        if former is None or row.agent not in names:
            continue
        if measures[0][row.task] != measures[1][row.task]:
            others[row.task] = None
            continue
        matches, score = [former.matches, row.matches], _pair(former.score, row.score)
        rows.append({"task": row.task, "agent": row.agent, "matches": matches, "score": score})
    return rows, list(others)


def _measures(source: ReportSource) -> Mapping[str, Any]:
    """Return by task what its score counts: of one seat the measure, of a game the opponents."""
    return {
        task.name: task.score if task.seats == 1 else (task.seats, frozenset(task.agents))
        for task in source.plan.tasks
    }


def _others(source: ReportSource, than: ReportSource) -> list[str]:
    """Return the agents of a tournament that the other one does not have."""
    known = set(than.ranked)
    return [name for name in source.ranked if name not in known][:MAX_AGENTS]


def comparison_page(data: Mapping[str, Any]) -> bytes:
    """Return the page that compares two tournaments."""
    title = " and ".join(folder["title"] for folder in data["folders"])
    return self_contained_page(
        title=f"{title} - tournaments compared",
        entry="comparison/main.js",
        blocks={"comparison": data},
        styles=("report/report.css",),
    )
