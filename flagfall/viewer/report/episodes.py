"""Learning curves of a report: results of the tasks of a match in order, averaged over repeats."""

from __future__ import annotations

__all__ = ["learning_curves"]

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flagfall.tournament.columns import Array
from flagfall.tournament.excerpts import sample, spec_of
from flagfall.tournament.model import PlannedTask
from flagfall.viewer.report.journals import Episode
from flagfall.viewer.report.source import ReportSource

MAX_JOURNALS: Final = 600
"""Most journals that are read for learning curves; of more matches a random part is read."""

MAX_POINTS: Final = 60
"""Points of a curve: as many as can be told apart on half of a screen."""

MAX_SERIES: Final = 400
"""Most curves of a report, which bounds the size of the page."""

FEW: Final = 10
"""Repeats up to which the band of a curve reaches from the lowest to the highest; beyond, it covers the
middle 80 % of the repeats."""

_MIDDLE: Final = (0.1, 0.9)
_DIGITS: Final = 5


def learning_curves(source: ReportSource) -> dict[str, Any]:
    """Return the curves of all tasks with one seat of which a match plays several instances.

    Args:
        source: the tournament.

    Returns:
        `tasks`: by task, its `measure` (`solved` or `reward`), `episodes` of a point, `repeats` at most and
        what the `band` covers, and a series for each agent; `read` and `of`: journals that were read, of how
        many; `unread`: those that could not be read to their end; `left_out`: curves beyond `MAX_SERIES`.
    """
    records, sampled = sample(source.store, MAX_JOURNALS, source.plan.seed)
    specs = spec_of(source.plan, source.results.records, (record.id for record in records))
    rank = {name: place for place, name in enumerate(source.ranked)}
    found: dict[str, dict[int, list[Sequence[Episode]]]] = defaultdict(lambda: defaultdict(list))
    read, before = 0, source.journals.unread
    for record in records:
        spec = specs.get(record.id)
        if spec is None or len(spec.entrants) != 1:
            continue
        digest = source.journals.read(record)
        if digest is not None and digest.episodes:
            read += 1
            found[spec.task][rank[spec.entrants[0]]].append(digest.episodes)
    tasks, left = [], MAX_SERIES
    for place, task in enumerate(source.plan.tasks):
        if agents := found.get(task.name):
            kept = dict(sorted(agents.items())[: max(0, left)])
            left -= len(agents)
            if kept and (curve := _curve(task, kept)) is not None:
                tasks.append({"task": place, **curve})
    return {
        "tasks": tasks,
        "read": read,
        "of": source.counts.journals,
        "sampled": sampled,
        "unread": source.journals.unread - before,
        "left_out": max(0, -left),
    }


def _curve(task: PlannedTask, agents: dict[int, list[Sequence[Episode]]]) -> dict[str, Any] | None:
    repeats = [episodes for several in agents.values() for episodes in several]
    longest = max(map(len, repeats))
    if longest < 2:  # noqa: PLR2004 - a single point is no curve
        return None
    judged = any(episode.result is not None for episodes in repeats for episode in episodes)
    measure = "solved" if judged and task.score == "result" else "reward"
    width = -(-longest // MAX_POINTS)
    return {
        "measure": measure,
        "episodes": width,
        "repeats": max(map(len, agents.values())),
        "band": "range" if max(map(len, agents.values())) <= FEW else "middle",
        "series": [{"agent": agent, **_series(several, measure, width)} for agent, several in agents.items()],
    }


def _series(several: Sequence[Sequence[Episode]], measure: str, width: int) -> dict[str, Any]:
    """Return the mean of the repeats of one agent in each bin of episodes, with the band.

    A bin counts if at least half of the repeats have reached it: a mean over fewer would jump.
    """
    bins = -(-max(map(len, several)) // width)
    table = np.full((len(several), bins), np.nan)
    for row, episodes in enumerate(several):
        values = np.array(
            [float(one.result is True) if measure == "solved" else one.reward for one in episodes]
        )
        starts = np.arange(0, len(values), width)
        table[row, : len(starts)] = np.add.reduceat(values, starts) / np.diff([*starts, len(values)])
    counts = (~np.isnan(table)).sum(axis=0)
    table = table[:, 2 * counts >= len(several)]
    few = len(several) <= FEW
    low, high = (
        (np.nanmin(table, axis=0), np.nanmax(table, axis=0))
        if few
        else np.nanquantile(table, _MIDDLE, axis=0)
    )
    return {
        "repeats": len(several),
        "mean": _rounded(np.nanmean(table, axis=0)),
        "low": _rounded(low),
        "high": _rounded(high),
    }


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]
