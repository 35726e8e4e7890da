"""Results of meetings: points of each game, and duels of two agents.

Matches of one meeting share a seed and depend on each other; meetings are independent. Intervals are
therefore computed over meetings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import Final, Literal

import attrs
import numpy as np

from flagfall.tournament.columns import NOT_DISQUALIFIED, Array, ResultColumns
from flagfall.tournament.model import EloModel, SprtRule
from flagfall.tournament.records import MatchRecord, compare_solo

PAIR: Final = 2
"""Seats of a game that is a duel."""


def points_of(records: Sequence[MatchRecord]) -> tuple[dict[str, float], ...]:
    """Return the points of each agent, from 0 to 1, in each game of one meeting.

    In a game for several seats they are the scores. Agents that played alone count as one game, in which each
    has the share of the others that it beat; a single agent has none.
    """
    if len(records[0].seats) > 1:
        return tuple({seat.agent: seat.score for seat in record.seats} for record in records)
    if len(records) == 1:
        return ()
    totals = {record.seats[0].agent: 0.0 for record in records}
    for first, second in combinations(records, 2):
        for record, points in zip((first, second), compare_solo(first, second), strict=True):
            totals[record.seats[0].agent] += points
    return ({agent: total / (len(records) - 1) for agent, total in totals.items()},)


@attrs.frozen(eq=False)
class Duels:
    """Comparisons of two agents, in the order of the schedule.

    There is none where both agents were disqualified.

    Attributes:
        first: place of an agent in `ResultColumns.agents`.
        score: the score of the first one: 1, 0.5 or 0.
    """

    first: Array
    second: Array
    score: Array
    meeting: Array

    def beginning(self, meetings: int) -> Duels:
        """Return the duels of the first meetings."""
        end = np.searchsorted(self.meeting, meetings)
        return Duels(self.first[:end], self.second[:end], self.score[:end], self.meeting[:end])

    def outcomes(self, agents: int) -> Array:
        """Return how many duels each agent has lost, drawn and won: a row for each."""
        halves = (self.score * 2).astype(np.int64)
        whole = halves == self.score * 2
        halves = np.where(whole, halves, 3)  # a score that is none of these counts as none
        counts = np.bincount(self.first * 4 + halves, minlength=agents * 4).reshape(-1, 4)[:, :3]
        others = np.bincount(self.second * 4 + halves, minlength=agents * 4).reshape(-1, 4)[:, 2::-1]
        found: Array = counts + others
        return found


def duels_of(results: ResultColumns) -> Duels:
    """Return the comparisons of games for two, and of agents that played alone with the same seed."""
    return _joined([_pairs_of_games(results, PAIR), *(group.duels() for group in _alone(results))])


def pairs_of_games(results: ResultColumns) -> Duels:
    """Return the comparisons of all pairs of agents in games for more than two seats."""
    sizes = np.unique(results.seats[results.seats > PAIR]).tolist() or [PAIR + 1]
    return _joined([_pairs_of_games(results, size) for size in sizes])


def _joined(parts: Sequence[Duels]) -> Duels:
    """Return the duels of all parts by meeting; those of one meeting are in one part, in their order."""
    parts = [part for part in parts if len(part.score)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([part.meeting for part in parts]), kind="stable")
    return Duels(
        *(
            np.concatenate([getattr(part, field.name) for part in parts])[order]
            for field in attrs.fields(Duels)
        )
    )


def _pairs_of_games(results: ResultColumns, size: int) -> Duels:
    """Return the comparisons of games for so many seats, from the order of their scores."""
    place = np.flatnonzero(results.seats == size)
    ones, others = np.triu_indices(size, 1)
    one, other = ((results.first_seat[place][:, None] + seats).ravel() for seats in (ones, others))
    mine, theirs = results.score[one], results.score[other]
    counted = (mine != 0) | (theirs != 0)  # else both were disqualified: who was not beat the other
    return Duels(
        results.agent[one][counted],
        results.agent[other][counted],
        np.where(mine == theirs, 0.5, mine > theirs)[counted],
        np.repeat(results.meeting[place], len(ones))[counted],
    )


@attrs.frozen(eq=False)
class _AloneGroup:
    """Meetings in which equally many agents played alone. Arrays but `meeting` are by meeting and agent."""

    meeting: Array
    agent: Array
    score: Array
    disqualified: Array

    def compare(self, one: int, other: int) -> tuple[Array, Array]:
        """Return the points of two of the agents in each meeting; see `compare_solo`."""
        mine, theirs = self.score[:, one], self.score[:, other]
        one_out, other_out = self.disqualified[:, one], self.disqualified[:, other]
        won = np.where(mine == theirs, 0.5, mine > theirs)
        either = one_out | other_out
        return np.where(either, ~one_out, won), np.where(either, ~other_out, 1 - won)

    def duels(self) -> Duels:
        """Return the duels of all pairs of agents, meeting by meeting."""
        pairs = list(combinations(range(self.agent.shape[1]), 2))
        points = [self.compare(*pair) for pair in pairs]
        mine = np.stack([mine for mine, _ in points], axis=1)
        counted = (mine != 0) | np.stack([theirs != 0 for _, theirs in points], axis=1)
        chosen = slice(None) if counted.all() else np.flatnonzero(counted)
        ones, others = np.array(pairs).T
        return Duels(
            self.agent[:, ones].ravel()[chosen],
            self.agent[:, others].ravel()[chosen],
            mine.ravel()[chosen],
            np.repeat(self.meeting, len(pairs))[chosen],
        )

    def points(self) -> Array:
        """Return the share of the others that each agent beat, by meeting and agent."""
        totals = np.zeros(self.agent.shape)
        size = self.agent.shape[1]
        for one, other in combinations(range(size), 2):
            mine, theirs = self.compare(one, other)
            totals[:, one] += mine
            totals[:, other] += theirs
        shares: Array = totals / (size - 1)
        return shares


def _alone(results: ResultColumns) -> Iterator[_AloneGroup]:
    """Yield the meetings of agents that played alone, by the number of agents; at least two."""
    alone = np.flatnonzero(results.seats == 1)
    meetings, first, counts = np.unique(results.meeting[alone], return_index=True, return_counts=True)
    for size in np.unique(counts[counts > 1]):
        chosen = counts == size
        seats = results.first_seat[alone[first[chosen][:, None] + np.arange(size)]]
        disqualified = results.disqualified[seats] != NOT_DISQUALIFIED
        yield _AloneGroup(meetings[chosen], results.agent[seats], results.score[seats], disqualified)


@attrs.frozen(eq=False)
class MeetingPoints:
    """Points of agents in meetings, in the order of the meetings.

    Attributes:
        points: mean of its points, from 0 to 1, over the games of the meeting; see `points_of`.
    """

    agent: Array
    task: Array
    points: Array


def meeting_points(results: ResultColumns) -> MeetingPoints:
    """Return the points of all agents in all meetings."""
    seats = np.flatnonzero(np.repeat(results.seats > 1, results.seats))
    meetings, agents, points = [], [], []
    if len(seats):
        meeting, agent, means = mean_by_meeting(results, seats)
        meetings.append(meeting)
        agents.append(agent)
        points.append(means)
    for group in _alone(results):
        meetings.append(np.repeat(group.meeting, group.agent.shape[1]))
        agents.append(group.agent.ravel())
        points.append(group.points().ravel())
    if not meetings:
        nothing = np.zeros(0, dtype=np.int64)
        return MeetingPoints(nothing, nothing, np.zeros(0))
    meeting = np.concatenate(meetings)
    order = np.argsort(meeting, kind="stable")
    task_of = np.zeros(int(results.meeting.max()) + 1, dtype=np.int64)
    task_of[results.meeting] = results.task
    return MeetingPoints(
        np.concatenate(agents)[order], task_of[meeting[order]], np.concatenate(points)[order]
    )


def mean_by_meeting(results: ResultColumns, seats: Array) -> tuple[Array, Array, Array]:
    """Return the mean score of each agent in each meeting: meetings, agents and means."""
    size = max(1, len(results.agents))
    keys = results.meeting[results.match_of_seat[seats]] * size + results.agent[seats]
    order = np.argsort(keys, kind="stable")  # quick, because most are in order
    ordered = keys[order]
    new = np.diff(ordered, prepend=-1) != 0
    found, place = ordered[new], np.cumsum(new) - 1
    means = np.bincount(place, results.score[seats][order]) / np.bincount(place)
    return found // size, found % size, means


# Sequential probability ratio test of two agents.
#
# It decides whether the first one is stronger by `elo0` (H0) or by `elo1` (H1).
#
# After each meeting the logarithm of the generalized likelihood ratio (LLR) of the two hypotheses is
# computed. Below `log(beta / (1 - alpha))` H0 is accepted, above `log((1 - beta) / alpha)` H1 (A. Wald,
# "Sequential Analysis", 1947). Outcomes are the points of a meeting: of one game 0, 1/2 or 1 (trinomial), of
# two games with one seed and swapped sides their mean, 0 to 1 in quarters (pentanomial). Games of one pair
# depend on each other, pairs do not, so only pairs may be counted.
#
# Under each hypothesis the outcomes are distributed as likely as can be where the expected score is that of
# its Elo: with the observed shares q_i of outcomes a_i, it is p_i = q_i / (1 + x b_i), where x makes
# sum p_i b_i = 0, b_i = a_i - s for the expected score s, and LLR = n sum q_i log(p1_i / p0_i). (A. B. Owen,
# "Empirical Likelihood", 2001, for p_i; M. Van den Bergh, "A practical introduction to the GSPRT", for the
# test in engine matches.)
#
# Normalized Elo is 800 / log(10) times t = (s - 1/2) / sd, with the standard deviation sd of a game; for
# pairs it is sqrt(2) times that of the mean of a pair. It equals Elo where differences are small and no game
# is drawn, and alone determines how many games a test takes. The most likely distribution with a given t has
# b_i = a_i - 1/2 - t sd (1 + ((a_i - s) / sd)^2) / 2, with its own s and sd. (M. Van den Bergh, "Comments on
# normalized Elo", section 4.1; fishtest and fastchess test in this way.)

ELO_SCALE: Final = 400.0 / math.log(10)
"""Elo for one unit of log odds."""

NORMALIZED_SCALE: Final = 2.0 * ELO_SCALE
"""Normalized Elo for a mean that is one standard deviation of a game above 1/2."""

UNSEEN: Final = 1e-3
"""Count assumed for outcomes that were never seen; with 0, no other expectation would be possible."""

_STEPS: Final = 100
_CLOSE: Final = 1e-12


def expected_score(elo: float) -> float:
    """Return the expected score of the stronger agent."""
    return 1.0 / (1.0 + math.exp(-elo / ELO_SCALE))


def sprt_bounds(alpha: float, beta: float) -> tuple[float, float]:
    """Return the LLR at which H0 and H1 are accepted."""
    return math.log(beta / (1.0 - alpha)), math.log((1.0 - beta) / alpha)


def log_likelihood_ratio(
    counts: Mapping[float, float], elo0: float, elo1: float, model: EloModel = "logistic"
) -> float:
    """Return the LLR.

    Args:
        counts: count of each outcome, from 0 to 1 and including both: three of single games, five of pairs.
    """
    seen = {outcome: count or UNSEEN for outcome, count in counts.items()}
    n = sum(seen.values())
    shares = {outcome: count / n for outcome, count in seen.items()}
    if model == "normalized":
        scale = sqrt((len(counts) - 1) // 2) / NORMALIZED_SCALE
        ratios0, ratios1 = (_ratios_of_t(shares, elo * scale) for elo in (elo0, elo1))
    else:
        ratios0, ratios1 = (
            _ratios(shares, {a: a - score for a in shares}) for score in map(expected_score, (elo0, elo1))
        )
    return n * sum(share * math.log(ratios0[a] / ratios1[a]) for a, share in shares.items())


def _ratios(shares: Mapping[float, float], b: Mapping[float, float]) -> dict[float, float]:
    """Return q_i / p_i = 1 + x b_i of the head of this part, by Newton's method between bounds."""
    low, high, x = -1.0 / max(b.values()), -1.0 / min(b.values()), 0.0
    for _ in range(_STEPS):
        weighed = [(share, b[a] / (1.0 + x * b[a])) for a, share in shares.items()]
        excess = sum(share * one for share, one in weighed)  # decreases with x
        low, high = (x, high) if excess > 0 else (low, x)
        before, x = x, x + excess / sum(share * one * one for share, one in weighed)
        if not low < x < high:
            x = (low + high) / 2.0
        if abs(x - before) <= _CLOSE * abs(x):
            break
    return {a: 1.0 + x * b[a] for a in shares}


def _ratios_of_t(shares: Mapping[float, float], t: float) -> dict[float, float]:
    """Return q_i / p_i of the most likely distribution with a given t.

    With s = 1/2 + u, sd is u / t, so b_i follows from u alone. The distribution that it gives has a larger
    expectation than s if u is too small, and a smaller one if it is too large.
    """
    if t < 0:
        mirrored = _ratios_of_t({1.0 - a: share for a, share in shares.items()}, -t)
        return {a: mirrored[1.0 - a] for a in shares}
    if t < _CLOSE:
        return _ratios(shares, {a: a - 0.5 for a in shares})
    low, high = (1.0 - 1.0 / sqrt(1.0 + t * t)) / 2.0, 0.5  # below, no outcome has a positive b
    u = (low + high) / 2.0
    for _ in range(_STEPS):
        b = {a: a - 0.5 - u / 2.0 - (t * (a - 0.5 - u)) ** 2 / (2.0 * u) for a in shares}
        ratios = _ratios(shares, b)
        found = sum(share / ratios[a] * (a - 0.5) for a, share in shares.items())
        if abs(found - u) < _CLOSE:
            break
        low, high = (u, high) if found > u else (low, u)
        u = found if low < found < high else (low + high) / 2.0
    return ratios


@attrs.frozen
class SprtState:
    """State of a test.

    Attributes:
        lower: at or below it H0 is accepted.
        upper: at or above it H1 is accepted.
    """

    llr: float
    lower: float
    upper: float
    counts: Mapping[float, int]

    @property
    def decision(self) -> Literal["H0", "H1"] | None:
        """The accepted hypothesis; `None` while the test continues."""
        if self.llr <= self.lower:
            return "H0"
        return "H1" if self.llr >= self.upper else None


def sprt_state(counts: Mapping[float, int], rule: SprtRule) -> SprtState:
    """Return the state of a test with some outcomes."""
    lower, upper = sprt_bounds(rule.alpha, rule.beta)
    llr = 0.0
    if any(counts.values()):
        llr = log_likelihood_ratio(counts, rule.elo0, rule.elo1, rule.model)
    return SprtState(llr, lower, upper, dict(counts))
