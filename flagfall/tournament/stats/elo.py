"""Elo by the model of Bradley and Terry, with intervals.

The expected score of i against j is 1 / (1 + 10 ** ((R_j - R_i) / 400)); a draw is half a win for each.
Ratings are where the likelihood is greatest, found by Newton's method (R. A. Bradley and M. E. Terry, "Rank
analysis of incomplete block designs", 1952; D. R. Hunter, "MM algorithms for generalized Bradley-Terry
models", 2004).

*Groups.* Agents with no chain of duels between them cannot be compared: each such group is rated
separately. The likelihood has a maximum only if in every split of a group into two, each side has scored
against the other (L. R. Ford, 1957). Without one, because an agent is undefeated, the largest part that has
one is rated by itself. Where the results do not bound the Elo of the other agents on one side, their
intervals have no end there; their values, which order them, are found with one drawn duel of each agent
against the mean as a weak prior.

*Intervals.* By the likelihood ratio: an interval ends where the likelihood has fallen by too much, along the
line on which it falls least at first (the least favourable direction: C. Stein, 1956). How much is too much
is the square of a quantile of Student's t, times the dispersion: the variance of the results of meetings, as
a multiple of that of independent wins and losses (R. W. M. Wedderburn, "Quasi-likelihood functions", 1974).
Duels of one meeting (same seed, swapped sides) depend on each other, and draws vary less, so the dispersion
is estimated from the scores of whole meetings, with one meeting of independent duels added: agents that
always draw have an interval, too.

*Games for more than two seats* are rated by the model of Plackett and Luce, in which the best of any agents
is i with a probability proportional to 10 ** (R_i / 400) (R. L. Plackett, "The analysis of permutations",
1975). Of each two agents the better one then follows the model of Bradley and Terry (the choice axiom: R. D.
Luce, "Individual choice behavior", 1959), and breaking games into all their pairs gives a consistent estimate
(H. Azari Soufiani et al., "Generalized method-of-moments for rank aggregation", 2013). Pairs of one game
depend on each other, as duels of one meeting do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf, sqrt
from typing import Final

import attrs
import numpy as np

from flagfall.tournament.columns import Array
from flagfall.tournament.stats.duels import ELO_SCALE, Duels
from flagfall.tournament.stats.intervals import LEVEL, Estimate, Interval

LEAST_MEETINGS: Final = 5
"""Meetings of a group from which its agents have intervals."""

LEAST_FREEDOM: Final = 9.5
"""Degrees of freedom of the dispersion from which there are intervals. Ten meetings of two agents have 10."""

_PRIOR_DUELS: Final = 1.0
_STEPS: Final = 100
_LONGEST_STEP: Final = 2.0
"""Bound of a step of Newton's method, which overshoots where the likelihood is flat; in units of log odds."""
_CLOSE: Final = 1e-11
_DECIMALS: Final = 6
"""Decimals of an Elo. Matrix products and exponentials have other last digits on another processor. Rounded,
equal agents rank equal, and two machines write the same standings, except at an edge of rounding."""

_MANY_DUELS: Final = 100_000
"""Duels up to which each is a term of the likelihood; more are counted by agents and score first. The sums
are the same but for rounding."""

_MAIN: Final = 0.1
"""Agents whose weights in a sum of strengths are at least this much of the largest one matter most to it."""

_AT_A_TIME: Final = 200_000
"""Most numbers of a table of meetings and agents; larger tables are added up in parts, which fit into the
processor's cache."""


@attrs.frozen(eq=False, slots=False)
class Ratings:
    """Elo ratings.

    Attributes:
        groups: sets of agents that can be compared, the largest first.
        level: of the intervals of `elo`.
    """

    groups: tuple[tuple[str, ...], ...]
    _fits: Sequence[_GroupFit]
    _anchor: str | None
    level: float

    @cached_property
    def elo(self) -> Mapping[str, Interval]:
        """Elo by agent; agents without a duel have none."""
        return {
            name: fit.estimate(place, base).interval(self.level) for name, place, fit, base in self._agents()
        }

    @cached_property
    def unbounded(self) -> frozenset[str]:
        """Agents whose Elo the results bound on one side at most."""
        return frozenset(
            name for name, place, fit, base in self._agents() if not all(fit.bounds(place, base))
        )

    def difference(self, one: str, *others: str) -> Estimate | None:
        """Return the Elo of one agent less the mean of others; `None` if they cannot be compared."""
        for members, fit in zip(self.groups, self._fits, strict=True):
            if {one, *others} <= set(members):
                return fit.estimate(members.index(one), [members.index(other) for other in others])
        return None

    def _agents(self) -> Iterator[tuple[str, int, _GroupFit, Sequence[int]]]:
        """Yield each agent, its place in its group, and the fit and the base of the group."""
        for members, fit in zip(self.groups, self._fits, strict=True):
            base = [members.index(self._anchor)] if self._anchor in members else fit.core
            for place, name in enumerate(members):
                yield name, place, fit, base


def rate_duels(
    names: Sequence[str], duels: Duels, anchor: str | None = None, level: float = LEVEL
) -> Ratings:
    """Rate every agent that had a duel.

    Args:
        anchor: agent with an Elo of 0. In groups without it, and if it is `None`, the mean is 0: of the
            agents whose Elo the results bound on both sides, or of all if there are none.
        level: of the intervals of `Ratings.elo`; differences have their own.
    """
    group_of: dict[int, tuple[int, ...]] = {}
    for first, second in _pairs_in_order(duels, len(names)):
        one, other = (group_of.setdefault(agent, (agent,)) for agent in (first, second))
        if one is not other:
            group_of.update(dict.fromkeys(one + other, one + other))
    groups = sorted(dict.fromkeys(group_of.values()), key=len, reverse=True)
    fits = [_GroupFit(_among(duels, group, len(names)), len(group)) for group in groups]
    return Ratings(tuple(tuple(names[agent] for agent in group) for group in groups), fits, anchor, level)


def _pairs_in_order(duels: Duels, agents: int) -> list[tuple[int, int]]:
    """Return the different pairs of agents, in the order of their first duels."""
    keys = duels.first * agents + duels.second
    if not len(keys):
        return []
    first = np.full(agents * agents, len(keys))
    first[keys[::-1]] = np.arange(len(keys))[::-1]  # of equal places the last one is assigned
    ordered = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(keys))]
    return [(int(key) // agents, int(key) % agents) for key in ordered]


def _among(duels: Duels, agents: Sequence[int], size: int) -> Duels:
    """Return the duels of some agents with each other, which get the numbers of their places.

    Args:
        size: number of all agents.
    """
    place = np.full(size, -1)
    place[list(agents)] = np.arange(len(agents))
    first, second = place[duels.first], place[duels.second]
    inside = (first >= 0) & (second >= 0)
    return Duels(first[inside], second[inside], duels.score[inside], duels.meeting[inside])


class _GroupFit:
    """Fit of agents that a chain of duels connects.

    Attributes:
        core: the largest part of the group in which in every split, each side has scored against the other;
            all agents if there is none of several.
    """

    def __init__(self, duels: Duels, size: int) -> None:
        self._reach = _reach(duels, size)
        mutual = self._reach & self._reach.T
        sizes = mutual.sum(axis=1)
        part = mutual[sizes.argmax()] if sizes.max() > 1 else np.ones(size, dtype=bool)
        self.core = np.flatnonzero(part).tolist()
        self._all = _Fit(duels, size, is_bounded=bool(mutual.all()))
        self._core = self._all
        if 1 < len(self.core) < size:
            self._core = _Fit(_among(duels, self.core, size), len(self.core), is_bounded=True)

    def estimate(self, agent: int, base: Sequence[int]) -> Estimate:
        """Return the Elo of an agent less the mean Elo of some agents."""
        fit, one, others = self._all, agent, list(base)
        if {agent, *base} <= set(self.core):
            fit, one, others = self._core, self.core.index(agent), [self.core.index(other) for other in base]
        contrast = np.zeros(fit.size)
        contrast[others] = -1.0 / len(others)
        contrast[one] += 1.0
        return fit.estimate(contrast, self.bounds(agent, base))

    def bounds(self, agent: int, base: Sequence[int]) -> tuple[bool, bool]:
        """Return whether the results bound the Elo of an agent below, and above, relative to some agents."""
        return bool(self._reach[agent, base].all()), bool(self._reach[base, agent].all())


def _reach(duels: Duels, size: int) -> Array:
    """Return which agent reaches which other one by steps to an agent that it scored against.

    An agent's Elo is bounded above by those of the agents that reach it, and below by those that it reaches.
    """
    reach = np.eye(size, dtype=bool)
    reach[duels.first[duels.score > 0], duels.second[duels.score > 0]] = True
    reach[duels.second[duels.score < 1], duels.first[duels.score < 1]] = True
    for _ in range(size.bit_length()):
        reach = (reach.astype(float) @ reach.astype(float)) > 0
    return reach


class _Fit:
    """Strengths, in units of log odds, at which the likelihood is greatest.

    Args:
        is_bounded: the likelihood has a maximum; otherwise there is a prior.
    """

    def __init__(self, duels: Duels, size: int, *, is_bounded: bool) -> None:
        self.size = size
        self._duels = duels
        self._first, self._second, self._scores = duels.first, duels.second, duels.score
        self._counts = np.ones(len(duels.score))
        if len(duels.score) > _MANY_DUELS:
            self._count_equal_duels()
        self._prior = 0.0 if is_bounded else _PRIOR_DUELS
        self._strengths = np.zeros(size)
        self._climb()
        self._inverse = np.linalg.inv(self._information(self._expected()))

    def _count_equal_duels(self) -> None:
        """Replace all duels of the same two agents with the same score by one with their count."""
        scores, score_of = np.array([0.0, 0.5, 1.0]), (self._scores * 2).astype(np.int64)
        if (scores.take(score_of, mode="clip") != self._scores).any():  # not checked
            scores, score_of = np.unique(self._scores, return_inverse=True)
        counts = np.bincount((self._first * self.size + self._second) * len(scores) + score_of)
        cells = np.flatnonzero(counts)
        self._first, self._second = np.divmod(cells // len(scores), self.size)
        self._scores = scores[cells % len(scores)]
        self._counts = counts[cells].astype(float)

    def _expected(self) -> Array:
        return _logistic(self._strengths[self._first] - self._strengths[self._second])

    def _gradient(self, expected: Array) -> Array:
        surprise = (self._scores - expected) * self._counts
        gradient: Array = (
            np.bincount(self._first, surprise, self.size)
            - np.bincount(self._second, surprise, self.size)
            - self._prior * (_logistic(self._strengths) - 0.5)
        )
        return gradient

    def _information(self, expected: Array) -> Array:
        """Return the information of duels and prior; the mean is fixed, since duels do not determine it."""
        weights = expected * (1.0 - expected) * self._counts
        between = np.zeros((self.size, self.size))
        np.add.at(between, (self._first, self._second), weights)
        between += between.T
        own = _logistic(self._strengths)
        information: Array = np.diag(between.sum(axis=1) + self._prior * own * (1.0 - own)) - between
        return information + (1.0 / self.size if not self._prior else 0.0)

    def _climb(self) -> None:
        for _ in range(_STEPS):
            expected = self._expected()
            step = np.linalg.solve(self._information(expected), self._gradient(expected))
            longest = float(np.abs(step).max())
            self._strengths = self._strengths + step * min(1.0, _LONGEST_STEP / max(longest, _CLOSE))
            if longest < _CLOSE:
                return

    def estimate(self, contrast: Array, bounds: tuple[bool, bool]) -> Estimate:
        """Return a sum of strengths with some weights, in Elo.

        Args:
            contrast: the weights, whose sum is 0.
            bounds: whether the results bound it below, and above.
        """
        from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - takes 0.1 s

        value = round(float(contrast @ self._strengths) * ELO_SCALE, _DECIMALS) + 0.0  # no -0.0
        if not contrast.any():
            return Estimate(value=value, quantile=lambda _: value, below=lambda number: float(number > value))
        meetings, dispersion, freedom = self._dispersion
        if meetings < LEAST_MEETINGS or freedom < LEAST_FREEDOM:
            return Estimate(value=value, lack="too few")
        fall = self._fall_of_likelihood(contrast)
        reach = sqrt(float(contrast @ self._inverse @ contrast))

        def quantile(level: float) -> float:
            t = float(stdtrit(freedom, level))
            if not bounds[t > 0]:
                return inf if t > 0 else -inf
            wanted, shift = dispersion * t * t, t * sqrt(dispersion) * reach
            for _ in range(_STEPS if t else 0):
                fallen, slope = fall(shift)
                step = (fallen - wanted) / slope
                shift -= step
                if abs(step) < _CLOSE:
                    break
            return value + round(shift * ELO_SCALE, _DECIMALS)

        def below(number: float) -> float:
            shift = (number - value) / ELO_SCALE
            t = sqrt(max(0.0, fall(shift)[0]) / dispersion)
            return float(stdtr(freedom, t if shift > 0 else -t))

        return Estimate(value=value, quantile=quantile, below=below)

    def _fall_of_likelihood(self, contrast: Array) -> Callable[[float], tuple[float, float]]:
        """Return the fall of twice the log likelihood, and its slope, by the shift of a contrast.

        Duels of the agents that matter most are exact terms; the others, whose strengths hardly change
        relative to each other, add a square.
        """
        line = self._inverse @ contrast
        line /= contrast @ line
        main = np.abs(contrast) > _MAIN * np.abs(contrast).max()
        own = main[self._first] | main[self._second]
        apart = (self._strengths[self._first] - self._strengths[self._second])[own]
        change = (line[self._first] - line[self._second])[own]
        scores, counts = self._scores[own], self._counts[own]
        if self._prior:  # a drawn duel of each agent with the mean
            apart, change = np.append(apart, self._strengths), np.append(change, line)
            scores = np.append(scores, np.full(self.size, 0.5))
            counts = np.append(counts, np.full(self.size, self._prior))
        expected = _logistic(apart)
        curvature = float((counts * expected * (1.0 - expected) * change * change).sum())
        rest = max(0.0, 1.0 / float(contrast @ self._inverse @ contrast) - curvature)
        push = float((counts * (scores - expected) * change).sum())

        def fall(shift: float) -> tuple[float, float]:
            there = apart + shift * change
            lost = counts * (np.logaddexp(0.0, there) - np.logaddexp(0.0, apart) - scores * shift * change)
            slope = (counts * (_logistic(there) - scores) * change).sum()
            return (
                2.0 * float(lost.sum()) + 2.0 * push * shift + rest * shift * shift,
                2.0 * float(slope) + 2.0 * push + 2.0 * rest * shift,
            )

        return fall

    @cached_property
    def _dispersion(self) -> tuple[int, float, float]:
        """The number of meetings, the dispersion of their results, and its degrees of freedom.

        A meeting of k agents has k - 1 scores that are free. It counts by its leverage, the share of the
        information that it gives, which is also by how much the fit has followed it.
        """
        duels, inverse = self._duels, self._inverse
        expected = _logistic(self._strengths[duels.first] - self._strengths[duels.second])
        order = np.argsort(duels.meeting, kind="stable")
        first, second, meeting = duels.first[order], duels.second[order], duels.meeting[order]
        surprise, variance = (duels.score - expected)[order], (expected * (1.0 - expected))[order]
        meetings = np.cumsum(np.diff(meeting, prepend=meeting[:1]) != 0)
        count = int(meetings[-1]) + 1
        spread = np.diag(inverse)[first] + np.diag(inverse)[second] - 2.0 * inverse[first, second]
        leverage = np.bincount(meetings, variance * spread, count)
        squares, free = 0.0, np.empty(count)
        rows = max(1, _AT_A_TIME // self.size)
        for begin in range(0, count, rows):
            low, high = np.searchsorted(meetings, [begin, begin + rows])
            base = (meetings[low:high] - begin) * self.size
            cells = np.concatenate([base + first[low:high], base + second[low:high]])
            size = min(rows, count - begin) * self.size
            scores = np.bincount(cells, np.concatenate([surprise[low:high], -surprise[low:high]]), size)
            scores = scores.reshape(-1, self.size)
            squares += float((scores @ inverse * scores).sum())
            present = np.bincount(cells, minlength=size).reshape(-1, self.size) > 0
            free[begin : begin + rows] = present.sum(axis=1) - 1
        unfitted = 1.0 - np.minimum(leverage / free, 1.0)
        one_more = float(leverage.mean())
        dispersion = (squares + one_more) / (float((leverage * unfitted).sum()) + one_more)
        if self._prior:  # an agent that always wins shows no variation: as if each meeting were one duel
            dispersion = max(dispersion, len(meeting) / float(free.sum()))
        return count, dispersion, float(((free + 1.0) / 2.0 * unfitted).sum()) + 1.0


def _logistic(log_odds: Array) -> Array:
    chance: Array = 1.0 / (1.0 + np.exp(-log_odds))
    return chance
