"""Parts of a report that compare agents: the cross table, and ratings over the course of the tournament."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import floor, log2
from typing import Any, Final

import attrs
import numpy as np

from flagfall.events import SeatDisqualified
from flagfall.tournament.columns import NOT_DISQUALIFIED, Array
from flagfall.tournament.excerpts import first_disqualifications, sample, spec_of
from flagfall.tournament.limits import LimitCurve
from flagfall.tournament.model import PlannedTask
from flagfall.tournament.records import MatchRecord, longest_ns
from flagfall.tournament.stats.differences import Comparisons
from flagfall.tournament.stats.elo import Ratings
from flagfall.tournament.stats.intervals import Interval
from flagfall.tournament.tables import COLUMNS, AgentTable, Column
from flagfall.tournament.what_if import study_folder
from flagfall.viewer.report.source import Episode, ReportSource

MAX_POINTS: Final = 24
"""Points of a curve of ratings: each is a rating of all results up to there."""

MIN_POINTS: Final = 4

MAX_WORK: Final = 2e10
"""Steps that all ratings of a curve may take together, as meetings times the square of the agents: 10 s."""


def cross_table(source: ReportSource) -> dict[str, Any]:
    """Return the duels of each two agents: their places in the standings, points of the first, and duels."""
    duels, size = source.standings.table.duels, len(source.results.columns.agents)
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


MAX_COMPARED: Final = 24
"""Agents, from the best one on, whose differences are computed: those of the cross table."""


def differences(source: ReportSource) -> list[dict[str, Any]]:
    """Return the differences of each two of the best agents: `one` less `other`, by their places.

    Returns:
        By pair: `score` and `better`, see `Difference`; `los`, see `DuelDifference`; `elo` and `skill`, which
        agents may have that did not meet. `None` is what cannot be known; pairs without any are left out.
    """
    table = source.standings.table
    comparisons = Comparisons(source.plan, table.results, table.duels, table.elo)
    found = []
    for (one, name), (other, opponent) in combinations(enumerate(source.ranked[:MAX_COMPARED]), 2):
        pair = comparisons.compare(name, opponent)
        elo = _rated_difference(table.elo, name, opponent) if pair.duels is None else pair.duels.elo
        values = {
            "score": pair.whole.score,
            "better": pair.whole.better,
            "los": pair.duels and pair.duels.los,
            "elo": elo,
            "skill": _rated_difference(table.skill, name, opponent),
        }
        if any(value is not None for value in values.values()):
            shown = {
                key: attrs.asdict(value) if isinstance(value, Interval) else value
                for key, value in values.items()
            }
            found.append({"one": one, "other": other, **shown})
    return found


def _rated_difference(ratings: Ratings, one: str, other: str) -> Interval | None:
    found = ratings.difference(one, other)
    return None if found is None else found.interval(ratings.level)


def _ranks(source: ReportSource) -> Array:
    """Return the place of each agent of the columns in the standings."""
    place = {name: number for number, name in enumerate(source.ranked)}
    return np.array([place[name] for name in source.results.columns.agents], dtype=np.int64)


def rating_course(source: ReportSource) -> dict[str, Any] | None:
    """Return the rating of all agents after growing parts of the schedule; without duels, their mean score.

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
        table = AgentTable(source.plan, columns.beginning(number))
        table.duels = source.standings.table.duels.beginning(end)  # of all, they take as long as the rating
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
    """Values of agents at points, with gaps."""

    def __init__(self, agents: int, points: int) -> None:
        self._values = np.full((3, agents, points), np.nan)

    def put(self, agent: int, point: int, value: float, low: float | None, high: float | None) -> None:
        self._values[:, agent, point] = np.array((value, low, high), dtype=float)  # None becomes NaN

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


MAX_JOURNALS: Final = 600
"""Most journals that are read for learning curves; of more matches a random part is read."""

MAX_EPISODE_POINTS: Final = 60
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
    judged = any(episode.result is not None for episodes in repeats for episode in episodes)
    measure = "solved" if judged and task.score == "result" else "reward"
    width = -(-longest // MAX_EPISODE_POINTS)
    series = [{"agent": agent, **_series(several, measure, width)} for agent, several in agents.items()]
    if max(len(one["mean"]) for one in series) < 2:  # noqa: PLR2004 - a single point is no curve
        return None
    return {
        "measure": measure,
        "episodes": width,
        "repeats": max(map(len, agents.values())),
        "band": "range" if max(map(len, agents.values())) <= FEW else "middle",
        "series": series,
    }


def _series(several: Sequence[Sequence[Episode]], measure: str, width: int) -> dict[str, Any]:
    """Return the mean of the repeats of one agent in each bin of episodes, with the band.

    A bin counts if at least half of the repeats have reached it: a mean over fewer would jump.
    """
    bins = -(-max(map(len, several)) // width)
    table = np.full((len(several), bins), np.nan)
    for row, episodes in enumerate(several):
        found = [one.result is True if measure == "solved" else one.reward for one in episodes]
        values = np.array(found, dtype=float)
        starts = np.arange(0, len(values), width)
        table[row, : len(starts)] = np.add.reduceat(values, starts) / np.diff([*starts, len(values)])
    counts = (~np.isnan(table)).sum(axis=0)
    table = table[:, 2 * counts >= len(several)]
    if len(several) <= FEW:
        low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    else:
        low, high = np.nanquantile(table, _MIDDLE, axis=0)
    return {
        "repeats": len(several),
        "mean": _rounded(np.nanmean(table, axis=0)),
        "low": _rounded(low),
        "high": _rounded(high),
    }


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in values]


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

    Returns:
        By agent: `first`, the number of the first bin, and `counts` of turns. Bin n begins at
        2 ** (n / `BINS_OF_AN_OCTAVE`) ns. Empty if no turn took any time, as mostly on the virtual clock.
    """
    columns = source.results.columns
    if not columns.thinking[:, 2].any():
        return []
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
    """Return the different limits of a turn, each with the places of its tasks."""
    found: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    for place, task in enumerate(source.plan.tasks):
        soft_ns = task.tick_ns if task.tick_ns is not None else task.control.act
        found[soft_ns, task.control.act_hard].append(place)
    return [
        {"soft_ns": soft_ns, "hard_ns": hard_ns, "tasks": tasks}
        for (soft_ns, hard_ns), tasks in found.items()
        if soft_ns is not None or hard_ns is not None
    ]


MAX_LIMIT_CURVES: Final = 50
"""Most curves of turns lost over the limit, those of the best agents: each takes 2 kB of a page."""


def limit_curves(source: ReportSource) -> dict[str, Any]:
    """Return the share of turns that agents would lose over the limit of a turn, and the advised limits.

    Returns:
        `curves`: by time control and agent, the fields of `flagfall.tournament.limits.LimitCurve`, with the
        place of the agent, or `None` for all together. `left_out`: the number of curves that are not there.
        `unread`: the number of matches whose journals are not. `remarks`: sentences. No journal is read if no
        turn took any time, as mostly on the virtual clock.
    """
    if not source.results.columns.thinking[:, 2].any():
        return {"curves": [], "left_out": 0, "unread": 0, "remarks": []}
    found = study_folder(source.folder, source.store, source.plan)
    place: dict[str, int | None] = {name: number for number, name in enumerate(source.ranked)}
    place[""] = None
    controls = list(dict.fromkeys(curve.control for curve in found.curves))
    order = sorted(found.curves, key=lambda curve: (place[curve.agent] or -1, controls.index(curve.control)))
    return {
        "curves": [_limit_curve(curve, place[curve.agent]) for curve in order[:MAX_LIMIT_CURVES]],
        "left_out": max(0, len(order) - MAX_LIMIT_CURVES),
        "unread": sum(found.unread.values()),
        "remarks": list(found.remarks),
    }


def _limit_curve(curve: LimitCurve, agent: int | None) -> dict[str, Any]:
    shares = {
        name: [float(f"{share:.{_DIGITS}g}") for share in getattr(curve, name)]
        for name in ("share", "low", "high")
    }
    return attrs.asdict(curve) | shares | {"agent": agent}


def disqualifications(source: ReportSource) -> dict[str, Any]:
    """Return why agents were disqualified, how often, on which tasks, and the detail of the first."""
    columns = source.results.columns
    place = {name: number for number, name in enumerate(source.ranked)}
    disqualified = np.flatnonzero(columns.disqualified != NOT_DISQUALIFIED)
    if not len(disqualified):
        return {"rows": [], "left_out": 0}
    tasks = columns.task[columns.match_of_seat[disqualified]]
    counts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    keys = zip(
        columns.agent[disqualified].tolist(),
        columns.disqualified[disqualified].tolist(),
        tasks.tolist(),
        strict=True,
    )
    for (agent, reason, task), count in Counter(keys).items():
        counts[columns.agents[agent], columns.disqualifications[reason]][task] += count
    rows: list[dict[str, Any]] = []
    for agent, reason, record in first_disqualifications(source.store, MAX_FALLS):
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
    disqualified = {} if digest is None else digest.disqualifications
    seats = (number for number, seat in enumerate(record.seats) if seat.agent == agent and seat.fell)
    return next((disqualified[seat] for seat in seats if seat in disqualified), None)


def _bounded(text: str) -> str:
    """Return a text without its middle, since its beginning names the fault and its end has the error."""
    if len(text) <= MAX_DETAIL_CHARS:
        return text
    head = MAX_DETAIL_CHARS // 4
    tail = MAX_DETAIL_CHARS - head
    return f"{text[:head]}\n... ({len(text) - head - tail:,} characters left out)\n{text[-tail:]}"
