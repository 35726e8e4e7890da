"""Elo by the model of Bradley and Terry, with intervals.

The expected score of i against j is 1 / (1 + 10 ** ((R_j - R_i) / 400)); a draw is half a win for each.
Ratings are where the likelihood is greatest, found by Newton's method (R. A. Bradley and M. E. Terry, "Rank
analysis of incomplete block designs", 1952; D. R. Hunter, "MM algorithms for generalized Bradley-Terry
models", 2004).

*Groups.* Agents with no chain of duels between them cannot be compared: each such group is rated
separately. The likelihood has a maximum only if in every split of a group into two, each side has scored
against the other (L. R. Ford, 1957). Without one, because an agent is undefeated, each agent of the group
gets one drawn duel against its mean as a weak prior.

*Intervals.* Duels of one meeting (same seed, swapped sides) depend on each other, so the variance is that of
meetings: V = H^-1 (sum of g g') H^-1 with the information H and the score g of each meeting, the "sandwich"
(P. J. Huber, 1967), times C / (C - 1) for C meetings. It needs many meetings: below 30, and with a prior,
the variance is at least H^-1, which takes all duels as independent and draws as if they varied as wins do.

*Games for more than two seats* are rated by the model of Plackett and Luce, in which the best of any agents
is i with a probability proportional to 10 ** (R_i / 400) (R. L. Plackett, "The analysis of permutations",
1975). Of each two agents the better one then follows the model of Bradley and Terry (the choice axiom: R. D.
Luce, "Individual choice behavior", 1959), and breaking games into all their pairs gives a consistent estimate
(H. Azari Soufiani et al., "Generalized method-of-moments for rank aggregation", 2013). Pairs of one game
depend on each other, as duels of one meeting do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Final

import attrs
import numpy as np

from flagfall.tournament.stats.duels import ELO_SCALE, Duels
from flagfall.tournament.stats.intervals import LEVEL, Interval

ENOUGH_MEETINGS: Final = 30
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

_AT_A_TIME: Final = 200_000
"""Most numbers of a table of meetings and agents; larger tables are added up in parts, which fit into the
processor's cache."""


@attrs.frozen
class Ratings:
    """Elo ratings.

    Attributes:
        elo: by agent; agents without a duel have none.
        groups: sets of agents that can be compared, the largest first.
        with_prior: agents of groups that needed a prior.
    """

    elo: Mapping[str, Interval]
    groups: tuple[tuple[str, ...], ...]
    with_prior: frozenset[str]


def rate_duels(
    names: Sequence[str], duels: Duels, anchor: str | None = None, level: float = LEVEL
) -> Ratings:
    """Rate every agent that had a duel.

    Args:
        anchor: agent with an Elo of 0; in groups without it, and if it is `None`, the mean is 0.
    """
    group_of: dict[int, tuple[int, ...]] = {}
    for first, second in _pairs_in_order(duels, len(names)):
        one, other = (group_of.setdefault(agent, (agent,)) for agent in (first, second))
        if one is not other:
            group_of.update(dict.fromkeys(one + other, one + other))
    groups = sorted(dict.fromkeys(group_of.values()), key=len, reverse=True)
    number_of = np.full(len(names), -1)
    for number, group in enumerate(groups):
        number_of[list(group)] = number
    elo: dict[str, Interval] = {}
    with_prior: set[str] = set()
    named = []
    for number, group in enumerate(groups):
        inside = number_of[duels.first] == number if len(groups) > 1 else slice(None)
        local = np.zeros(len(names), dtype=np.int64)
        local[list(group)] = np.arange(len(group))
        members = tuple(names[agent] for agent in group)
        fit = _Fit(
            members,
            Duels(
                local[duels.first[inside]],
                local[duels.second[inside]],
                duels.score[inside],
                duels.meeting[inside],
            ),
        )
        named.append(members)
        if fit.prior:
            with_prior |= set(members)
        elo |= fit.intervals(anchor, level)
    return Ratings(elo, tuple(named), frozenset(with_prior))


def _pairs_in_order(duels: Duels, agents: int) -> list[tuple[int, int]]:
    """Return the different pairs of agents, in the order of their first duels."""
    keys = duels.first * agents + duels.second
    if not len(keys):
        return []
    first = np.full(agents * agents, len(keys))
    first[keys[::-1]] = np.arange(len(keys))[::-1]  # of equal places the last one is assigned
    ordered = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(keys))]
    return [(int(key) // agents, int(key) % agents) for key in ordered]


class _Fit:
    """Fit of one group."""

    def __init__(self, names: Sequence[str], duels: Duels) -> None:
        self._names = names
        self._duels = duels
        self._first, self._second, self._scores = duels.first, duels.second, duels.score
        self._counts = np.ones(len(duels.score))
        if len(duels.score) > _MANY_DUELS:
            self._count_equal_duels()
        self.prior = 0.0 if self._has_maximum() else _PRIOR_DUELS
        self._strengths = np.zeros(len(names))
        self._climb()

    def _count_equal_duels(self) -> None:
        """Replace all duels of the same two agents with the same score by one with their count."""
        scores, score_of = np.array([0.0, 0.5, 1.0]), (self._scores * 2).astype(np.int64)
        if (scores.take(score_of, mode="clip") != self._scores).any():  # not checked
            scores, score_of = np.unique(self._scores, return_inverse=True)
        size = len(self._names)
        counts = np.bincount((self._first * size + self._second) * len(scores) + score_of)
        cells = np.flatnonzero(counts)
        self._first, self._second = np.divmod(cells // len(scores), size)
        self._scores = scores[cells % len(scores)]
        self._counts = counts[cells].astype(float)

    def _has_maximum(self) -> bool:
        """Return whether each agent reaches each other one by steps to an agent that it scored against."""
        size = len(self._names)
        reach = np.eye(size, dtype=bool)
        reach[self._first[self._scores > 0], self._second[self._scores > 0]] = True
        reach[self._second[self._scores < 1], self._first[self._scores < 1]] = True
        for _ in range(size.bit_length()):
            reach = (reach.astype(float) @ reach.astype(float)) > 0
        return bool(reach.all())

    def _expected(self) -> np.ndarray:
        apart = self._strengths[self._first] - self._strengths[self._second]
        expected: np.ndarray = 1.0 / (1.0 + np.exp(-apart))
        return expected

    def _gradient(self, expected: np.ndarray) -> np.ndarray:
        surprise = (self._scores - expected) * self._counts
        own = 1.0 / (1.0 + np.exp(-self._strengths))
        gradient: np.ndarray = (
            np.bincount(self._first, surprise, len(self._names))
            - np.bincount(self._second, surprise, len(self._names))
            - self.prior * (own - 0.5)
        )
        return gradient

    def _information(self, expected: np.ndarray) -> np.ndarray:
        """Return the information of duels and prior; the mean is fixed, since duels do not determine it."""
        size = len(self._names)
        weights = expected * (1.0 - expected) * self._counts
        between = np.zeros((size, size))
        np.add.at(between, (self._first, self._second), weights)
        between += between.T
        own = 1.0 / (1.0 + np.exp(-self._strengths))
        information: np.ndarray = np.diag(between.sum(axis=1) + self.prior * own * (1.0 - own)) - between
        return information + (1.0 / size if not self.prior else 0.0)

    def _climb(self) -> None:
        for _ in range(_STEPS):
            expected = self._expected()
            step = np.linalg.solve(self._information(expected), self._gradient(expected))
            longest = float(np.abs(step).max())
            self._strengths = self._strengths + step * min(1.0, _LONGEST_STEP / max(longest, _CLOSE))
            if longest < _CLOSE:
                return

    def _variances(self, contrast: np.ndarray) -> np.ndarray:
        """Return the variance of each contrast of strengths."""
        inverse = np.linalg.inv(self._information(self._expected()))
        count, products = self._meeting_scores()
        sandwich = inverse @ products @ inverse * (count / max(1, count - 1))
        variances: np.ndarray = np.diag(contrast @ sandwich @ contrast.T)
        if count < ENOUGH_MEETINGS or self.prior:
            variances = np.maximum(variances, np.diag(contrast @ inverse @ contrast.T))
        return variances

    def _meeting_scores(self) -> tuple[int, np.ndarray]:
        """Return the number of meetings, and the sum of g g' over the score g of each meeting."""
        duels, size = self._duels, len(self._names)
        surprise = duels.score - 1.0 / (
            1.0 + np.exp(self._strengths[duels.second] - self._strengths[duels.first])
        )
        first, second, meeting = duels.first, duels.second, duels.meeting
        if (meeting[1:] < meeting[:-1]).any():
            order = np.argsort(meeting, kind="stable")
            first, second, meeting, surprise = first[order], second[order], meeting[order], surprise[order]
        meetings = np.zeros(len(meeting), dtype=np.int64)
        np.cumsum(meeting[1:] != meeting[:-1], out=meetings[1:])
        count = int(meetings[-1]) + 1
        products = np.zeros((size, size))
        rows = max(1, _AT_A_TIME // size)
        for begin in range(0, count, rows):
            low, high = np.searchsorted(meetings, [begin, begin + rows])
            places = (meetings[low:high] - begin) * size
            cells = min(rows, count - begin) * size
            scores = np.bincount(
                np.concatenate([places + first[low:high], places + second[low:high]]),
                np.concatenate([surprise[low:high], -surprise[low:high]]),
                cells,
            )
            table = scores.reshape(-1, size)
            products += table.T @ table
        return count, products

    def intervals(self, anchor: str | None, level: float) -> dict[str, Interval]:
        """Return the Elo of each agent."""
        size = len(self._names)
        base = np.full(size, 1.0 / size)
        if anchor in self._names:
            base = np.zeros(size)
            base[self._names.index(anchor)] = 1.0
        contrast = np.eye(size) - base
        values = contrast @ self._strengths * ELO_SCALE
        variances = np.maximum(self._variances(contrast), 0.0)  # rounding may make the anchor's own negative
        reach = NormalDist().inv_cdf((1 + level) / 2) * ELO_SCALE * np.sqrt(variances)
        rounded = np.stack([values, values - reach, values + reach], axis=1).round(_DECIMALS) + 0.0  # no -0.0
        return {name: Interval(*row) for name, row in zip(self._names, rounded.tolist(), strict=True)}
