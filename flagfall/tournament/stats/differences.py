"""Differences between two agents, and the part of all differences that no rating can show.

*Differences* are paired: agents that play alone get the same seed in one meeting, and a game is played on
both seats with one seed. Results of a meeting depend on each other for both agents, so the difference of
their means within it varies less than each of them (common random numbers). Meetings are independent; tasks
count alike.

*Normalized Elo* is 800 / log(10) times (s - 1/2) / sd, for the mean s of the points of a game and its
standard deviation sd. Games of one meeting depend on each other, so sd comes from the means of meetings: that
of a mean of n games is multiplied by sqrt(n). (M. Van den Bergh, "Comments on normalized Elo"; fishtest and
fastchess have it so.) Its interval is that of s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import sqrt
from statistics import NormalDist
from typing import Final

import attrs
import numpy as np

from flagfall.tournament.columns import Array, ResultColumns
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.stats.duels import (
    ELO_SCALE,
    NORMALIZED_SCALE,
    PAIR,
    Duels,
    mean_by_meeting,
)
from flagfall.tournament.stats.elo import Ratings
from flagfall.tournament.stats.intervals import Interval, bounded_mean, unbounded_mean


@attrs.frozen(kw_only=True)
class Difference:
    """Difference of the mean scores of two agents, the first less the second.

    Attributes:
        meetings: meetings in which both played.
        score: in the measure of the task; `None` where they did not meet, where a reward is infinite, and
            where the measures of several tasks cannot be added up.
        better: probability that the mean of the first one is higher; `None` with too few meetings.
    """

    meetings: int
    score: Interval | None = None
    better: float | None = None


@attrs.frozen(kw_only=True)
class DuelDifference:
    """Duels of two agents, from the point of view of the first one.

    Attributes:
        pairs: number of meetings with a game on each seat, by their points: 0, 1/2, 1, 3/2, 2.
        elo: difference of their Elo, from the duels of all agents.
        elo_level: confidence level of its interval; all others have 95 %.
        normalized: normalized Elo; `None` if all meetings had the same result.
        los: likelihood of superiority: probability that the first one scores more than half.
    """

    won: int
    drawn: int
    lost: int
    pairs: tuple[int, ...]
    elo: Interval
    elo_level: float
    normalized: Interval | None
    los: float | None


@attrs.frozen(kw_only=True)
class Comparison:
    """Two agents compared, the first less the second.

    Attributes:
        tasks: by the name of each task that both have played.
        whole: all tasks together.
        duels: `None` if they had none.
    """

    agents: tuple[str, str]
    tasks: dict[str, Difference]
    whole: Difference
    duels: DuelDifference | None


class Comparisons:
    """Comparisons of the agents of a tournament. What they share is computed once.

    Args:
        duels: all duels of the results.
        ratings: Elo of all agents, from these duels.
    """

    def __init__(self, plan: TournamentPlan, results: ResultColumns, duels: Duels, ratings: Ratings) -> None:
        self._plan = plan
        self._results = results
        self._duels = duels
        self._ratings = ratings
        self._place = {name: place for place, name in enumerate(results.agents)}

    @cached_property
    def _scores(self) -> tuple[dict[int, tuple[Array, Array]], Array]:
        """By agent, its meetings and its mean score in each; and the task of each meeting."""
        meeting, agent, mean = mean_by_meeting(self._results, np.arange(len(self._results.agent)))
        task = np.zeros(int(meeting[-1]) + 1 if len(meeting) else 0, dtype=np.int64)
        task[self._results.meeting] = self._results.task
        rows = {place: np.flatnonzero(agent == place) for place in self._place.values()}
        return {place: (meeting[some], mean[some]) for place, some in rows.items()}, task

    def compare(self, one: str, other: str) -> Comparison:
        """Compare two agents."""
        by_task = self._by_task(one, other)
        return Comparison(
            agents=(one, other),
            tasks={self._plan.tasks[task].name: self._estimate({task: by_task[task]}) for task in by_task},
            whole=self._estimate(by_task),
            duels=self._duel_difference(one, other),
        )

    def _by_task(self, one: str, other: str) -> dict[int, Array]:
        """Return the differences in meetings of both, by the place of the task."""
        by_agent, task_of = self._scores
        (mine, my_means), (theirs, their_means) = by_agent[self._place[one]], by_agent[self._place[other]]
        both, my_rows, their_rows = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
        with np.errstate(invalid="ignore"):  # of infinite rewards, which _estimate leaves out
            apart, task = my_means[my_rows] - their_means[their_rows], task_of[both]
        return {int(place): apart[task == place] for place in np.unique(task)}

    def _estimate(self, by_task: dict[int, Array]) -> Difference:
        meetings = sum(map(len, by_task.values()))
        tasks = [self._plan.tasks[task] for task in by_task]
        is_reward = any(task.seats == 1 and task.score == "reward" for task in tasks)
        groups = list(by_task.values())
        cannot_be_added = is_reward and (len(tasks) > 1 or not np.isfinite(groups[0]).all())
        if not meetings or cannot_be_added:
            return Difference(meetings=meetings)
        mean = unbounded_mean(groups) if is_reward else bounded_mean(groups, -1.0, 1.0)
        return Difference(meetings=meetings, score=mean.interval(), better=mean.probability_above(0.0))

    def _duel_difference(self, one: str, other: str) -> DuelDifference | None:
        mine, theirs, duels = self._place[one], self._place[other], self._duels
        rows = np.flatnonzero(
            ((duels.first == mine) & (duels.second == theirs))
            | ((duels.first == theirs) & (duels.second == mine))
        )
        if not len(rows):
            return None
        score = np.where(duels.first[rows] == mine, duels.score[rows], 1.0 - duels.score[rows])
        lost, drawn, won = (int(np.count_nonzero(score == points)) for points in (0.0, 0.5, 1.0))
        _, meeting, games = np.unique(duels.meeting[rows], return_inverse=True, return_counts=True)
        points = np.bincount(meeting, score)
        means = points / games
        deviation = sqrt(float(np.mean(games * (means - means.mean()) ** 2)))
        mean = bounded_mean([means], 0.0, 1.0)
        elo = self._ratings.difference(one, other)
        assert elo is not None  # they had a duel
        return DuelDifference(
            won=won,
            drawn=drawn,
            lost=lost,
            pairs=tuple(np.bincount((2 * points[games == PAIR]).astype(np.int64), minlength=5).tolist()),
            elo=elo.interval(self._ratings.level),
            elo_level=self._ratings.level,
            normalized=_normalized(mean.interval(), deviation) if deviation else None,
            los=mean.probability_above(0.5),
        )


def _normalized(share: Interval, deviation: float) -> Interval:
    """Return a share of the points as normalized Elo."""

    def scaled(one: float) -> float:
        return (one - 0.5) / deviation * NORMALIZED_SCALE

    low, high = (None if end is None else scaled(end) for end in (share.low, share.high))
    return Interval(scaled(share.value), low, high, share.lack)


# Cycles: where one agent beats a second one, the second a third, and the third the first, no rating says so.
#
# Of the deviance of a field of equal agents from the results (2 sum n (y log(y / p) + (1 - y) log((1 - y) /
# (1 - p))) for a pair with the share y of the points of n meetings, p = 1/2), ratings explain a part, and the
# rest is cyclic. To second order this is the orthogonal decomposition of log odds, weighted by games, of X.
# Jiang, L.-H. Lim, Y. Yao and Y. Ye ("Statistical ranking and combinatorial Hodge theory", 2011). The log
# odds themselves do not add up along a chain of agents that always beat the next one, which is no cycle.
#
# Chance makes cycles, too. So the test of Pearson compares the ratings with the results, and what chance
# makes on average is subtracted. A meeting counts once, as if it was a win or a loss: draws and games with
# swapped sides vary less, which makes the test stricter. It leaves out pairs whose weaker agent should win
# less than one meeting.

CHANCE: Final = 0.01
"""Share of tournaments without cycles that are said to have some."""

_LEAST_SHARE: Final = 0.005
_LEAST_VARIANCE: Final = 1.0
"""Variance of the wins of a pair from which they are near enough to a normal distribution."""

_SURE: Final = NormalDist().inv_cdf(0.95)
_MOST_AGENTS: Final = 300
"""Agents up to which the strongest cycle is searched, which takes time of their third power: 0.2 s."""


@attrs.frozen
class Cycles:
    """Differences between agents that no rating shows.

    Attributes:
        share: of all differences between agents, from 0 to 1.
        strongest: three agents of which each beats the next one, and the last one the first; `None` if no
            three surely do.
    """

    share: float
    strongest: tuple[str, str, str] | None


def find_cycles(names: Sequence[str], duels: Duels, ratings: Ratings) -> Cycles | None:
    """Return the cyclic share of the differences between agents.

    Returns:
        `None` if it may be chance: with fewer than three agents, or few games.
    """
    from scipy.special import chdtrc  # noqa: PLC0415 - takes 0.1 s

    size = len(names)
    one, other, count, share = _pairs(duels, size)
    elo = np.array([ratings.elo[name].value if name in ratings.elo else 0.0 for name in names])
    expected = 1.0 / (1.0 + np.exp((elo[other] - elo[one]) / ELO_SCALE))
    variance = count * expected * (1.0 - expected)
    counted = variance >= _LEAST_VARIANCE
    freedom = int(counted.sum()) - _rank(one[counted], other[counted], size)
    if freedom < 1:
        return None
    pearson = float(((count * (share - expected))[counted] ** 2 / variance[counted]).sum())
    if chdtrc(freedom, pearson) > CHANCE:
        return None
    rest = _deviance(count, share, expected) - freedom
    whole = _deviance(count, share, np.full(len(share), 0.5)) - len(share)
    found = min(1.0, rest / whole) if whole > 0 else 1.0
    return Cycles(found, _strongest(names, one, other, count, share)) if found >= _LEAST_SHARE else None


def _pairs(duels: Duels, size: int) -> tuple[Array, Array, Array, Array]:
    """Return the pairs of agents that met: both, the number of meetings, the share of points of the first."""
    swapped = duels.first > duels.second
    low, high = np.minimum(duels.first, duels.second), np.maximum(duels.first, duels.second)
    score = np.where(swapped, 1.0 - duels.score, duels.score)
    cells, cell = np.unique((duels.meeting * size + low) * size + high, return_inverse=True)
    means = np.bincount(cell, score) / np.bincount(cell)
    pairs, pair = np.unique(cells % (size * size), return_inverse=True)
    count = np.bincount(pair)
    return pairs // size, pairs % size, count, np.bincount(pair, means) / count


def _rank(one: Array, other: Array, size: int) -> int:
    """Return the number of agents of some pairs, less the number of groups that are connected by them."""
    group = np.arange(size)
    while True:
        least = np.minimum(group[one], group[other])
        before = group.copy()
        np.minimum.at(group, one, least)
        np.minimum.at(group, other, least)
        if (group == before).all():
            return size - len(np.unique(group))


def _deviance(count: Array, share: Array, expected: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [
            np.where(part > 0, part * np.log(part / wanted), 0.0)
            for part, wanted in ((share, expected), (1.0 - share, 1.0 - expected))
        ]
    return float(2.0 * (count * sum(terms)).sum())


def _strongest(
    names: Sequence[str], one: Array, other: Array, count: Array, share: Array
) -> tuple[str, str, str] | None:
    """Return the cycle of three whose least sure win is the surest."""
    if len(names) > _MOST_AGENTS:
        return None
    sure = np.full((len(names), len(names)), -np.inf)
    sure[one, other] = (2.0 * share - 1.0) * np.sqrt(count)
    sure[other, one] = -sure[one, other]
    best, found = _SURE, None
    for first in range(len(names)):
        least = np.minimum(np.minimum(sure[first][:, None], sure), sure[:, first][None, :])
        if least.max() > best:
            best = float(least.max())
            second, third = divmod(int(least.argmax()), len(names))
            found = names[first], names[second], names[third]
    return found
