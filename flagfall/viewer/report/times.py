"""Parts of a report about time: distributions of think times, limits, and disqualifications."""

from __future__ import annotations

__all__ = ["disqualifications", "limits", "think_times"]

from collections import Counter, defaultdict
from math import floor, log2
from typing import Any, Final

import numpy as np

from flagfall.events import SeatDisqualified
from flagfall.tournament.columns import NOT_DISQUALIFIED
from flagfall.tournament.excerpts import first_falls
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.stats.time_histogram import longest_ns
from flagfall.viewer.report.source import ReportSource

BINS_OF_AN_OCTAVE: Final = 4
"""Bins between a time and its double: a bar is a fifth longer than the one before it."""

MAX_FALLS: Final = 100
"""Most rows of disqualifications, one for each agent and reason."""

MAX_DETAIL_CHARS: Final = 4000
"""Longest detail of a disqualification, most of which is the end of an agent's standard error."""

MAX_NAMED_TASKS: Final = 12
MAX_REASON_CHARS: Final = 100


def think_times(source: ReportSource) -> list[dict[str, Any]]:
    """Return the distribution of the think times of each agent.

    Args:
        source: the tournament.

    Returns:
        By agent: `first`, the number of the first bin, and `counts` of turns. Bin n begins at
        2 ** (n / `BINS_OF_AN_OCTAVE`) ns.
    """
    columns = source.results.columns
    place = {name: number for number, name in enumerate(source.ranked)}
    bins: dict[int, Counter[int]] = defaultdict(Counter)
    for agent, _, bucket, count in columns.thinking.tolist():
        spent_ns = longest_ns(bucket)
        bins[place[columns.agents[agent]]][floor(BINS_OF_AN_OCTAVE * log2(max(1, spent_ns)))] += count
    return [
        {
            "agent": agent,
            "first": min(found),
            "counts": [found[number] for number in range(min(found), max(found) + 1)],
        }
        for agent, found in sorted(bins.items())
    ]


def limits(source: ReportSource) -> list[dict[str, Any]]:
    """Return the different limits of a turn, each with the places of its tasks.

    Args:
        source: the tournament.
    """
    found: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    for place, task in enumerate(source.plan.tasks):
        soft_ns = task.tick_ns if task.tick_ns is not None else task.control.act
        found[soft_ns, task.control.act_hard].append(place)
    return [
        {"soft_ns": soft_ns, "hard_ns": hard_ns, "tasks": tasks}
        for (soft_ns, hard_ns), tasks in found.items()
        if soft_ns is not None or hard_ns is not None
    ]


def disqualifications(source: ReportSource) -> dict[str, Any]:
    """Return why agents were disqualified, how often and on which tasks, with the detail of the first case.

    Args:
        source: the tournament.
    """
    columns = source.results.columns
    place = {name: number for number, name in enumerate(source.ranked)}
    fallen = np.flatnonzero(columns.fell != NOT_DISQUALIFIED)
    if not len(fallen):
        return {"rows": [], "left_out": 0}
    tasks = columns.task[columns.match_of_seat[fallen]]
    counts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    keys = zip(columns.agent[fallen].tolist(), columns.fell[fallen].tolist(), tasks.tolist(), strict=True)
    for (agent, reason, task), count in Counter(keys).items():
        counts[columns.agents[agent], columns.falls[reason]][task] += count
    rows: list[dict[str, Any]] = []
    for agent, reason, record in first_falls(source.store, MAX_FALLS):
        if (agent, reason) not in counts:
            continue
        on = counts[agent, reason]
        detail = _detail(source, agent, record)
        rows.append(
            {
                "agent": place[agent],
                "reason": reason[:MAX_REASON_CHARS],
                "count": on.total(),
                "tasks": [[task, count] for task, count in on.most_common(MAX_NAMED_TASKS)],
                "match": record.id,
                "at_ns": None if detail is None else detail.at_ns,
                "detail": "" if detail is None else _bounded(detail.detail),
            }
        )
    rows.sort(key=lambda row: -row["count"])
    return {"rows": rows, "left_out": max(0, len(counts) - len(rows))}


def _detail(source: ReportSource, agent: str, record: MatchRecord) -> SeatDisqualified | None:
    """Return the event of the disqualification, from the journal."""
    digest = source.journals.read(record)
    if digest is None:
        return None
    seats = [number for number, seat in enumerate(record.seats) if seat.agent == agent and seat.fell]
    return next((digest.falls[seat] for seat in seats if seat in digest.falls), None)


def _bounded(text: str) -> str:
    """Return a text without its middle, since its beginning names the fault and its end has the error."""
    if len(text) <= MAX_DETAIL_CHARS:
        return text
    head = MAX_DETAIL_CHARS // 4
    tail = MAX_DETAIL_CHARS - head
    return f"{text[:head]}\n... ({len(text) - head - tail:,} characters left out)\n{text[-tail:]}"
