"""Data of a report, as plain values for the page, the plots and other programs."""

from __future__ import annotations

__all__ = ["report_data"]

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from flagfall.tournament.tables.agents import shown_columns
from flagfall.viewer.report.comparisons import cross_table, rating_course
from flagfall.viewer.report.episodes import learning_curves
from flagfall.viewer.report.facts import facts_of, state_line
from flagfall.viewer.report.matches import Chosen, latest_matches, match_rows, void_attempts
from flagfall.viewer.report.source import ReportSource
from flagfall.viewer.report.times import BINS_OF_AN_OCTAVE, disqualifications, limits, think_times

MAX_TITLE_CHARS: Final = 300
MAX_TASK_ROWS: Final = 5000
"""Most rows of the table of tasks and agents; `flagfall results` has them all."""


def report_data(
    source: ReportSource, chosen: Sequence[Chosen] = (), *, target: Path | None = None
) -> dict[str, Any]:
    """Return the data of a report.

    Agents are numbered by their order in the standings, and tasks by that in the plan.

    Args:
        source: the tournament.
        chosen: matches whose replays are embedded.
        target: folder of the report, from which links lead to journals; `None` for no links.

    Raises:
        DamagedStore: a record cannot be read.
    """
    stands = source.standings.as_data()
    rank = {name: place for place, name in enumerate(source.ranked)}
    tasks = {task.name: place for place, task in enumerate(source.plan.tasks)}
    return {
        "version": 1,
        "title": source.plan.name[:MAX_TITLE_CHARS],
        "state": source.state,
        "state_line": state_line(source),
        "facts": facts_of(source),
        "notes": stands["notes"],
        "agents": list(source.ranked),
        "tasks": [
            {"name": task.name, "seats": task.seats, "score": task.score, "control": str(task.control)}
            for task in source.plan.tasks
        ],
        "columns": [column.as_data() for column in shown_columns("pages", source.standings.drawn)],
        "drawn": source.standings.drawn,
        "standings": stands["rows"],
        "timeless": stands["timeless"],
        "sprt": stands["sprt"],
        "task_rows": [
            {**row, "agent": rank[row["agent"]], "task": tasks[row["task"]]}
            for row in stands["tasks"][:MAX_TASK_ROWS]
        ],
        "task_rows_of": len(stands["tasks"]),
        "cross": cross_table(source),
        "ratings": rating_course(source),
        "curves": learning_curves(source),
        "times": {
            "bins_of_an_octave": BINS_OF_AN_OCTAVE,
            "agents": think_times(source),
            "limits": limits(source),
        },
        "falls": disqualifications(source),
        "matches": latest_matches(source, target),
        "voids": void_attempts(source),
        "embedded": [
            {**row, "why": one.why, "prefix": f"match-{number}-"}
            for number, (one, row) in enumerate(
                zip(chosen, match_rows(source, [one.record for one in chosen], target), strict=True)
            )
        ],
    }
