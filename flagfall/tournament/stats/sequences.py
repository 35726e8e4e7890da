"""Confidence sequence of the difference of two agents: it holds at all times together.

An interval for a fixed number of games does not hold for somebody who looks after every round, and stops as
soon as it shows something. Decisions of adaptive tournaments are therefore bets. A player bets that the
points of a meeting, from 0 to 1, exceed m: after points x_1, x_2, ... its capital is the product of
1 + b (x_i - m), for a bet b from 0 to 1 / m. If the expected points are at most m, the capital is expected
not to grow, whatever their distribution, and ever to reach k times what it was has a probability of at most
1 / k (J. Ville, 1939). The capital is divided evenly among bets of all sizes, because the best one is not
known (I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", 2024). The
confidence sequence consists of the m that no player has refuted.

Expected points may depend on the task; then m is their mean over tasks that are played equally often, as the
product of some factors is at most that of as many times their mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Final, TypeAlias

import numpy as np

from flagfall.tournament.stats.duels import expected_score
from flagfall.tournament.stats.intervals import LEVEL

PointCounts: TypeAlias = Mapping[float, int]
"""Meetings of two agents by the mean points of the first one in its games, from 0 to 1."""

_BETS: Final = 0.98 / np.sqrt(2.0) ** np.arange(15)
"""Bets as shares of the largest one, of which a single meeting takes nearly all. The larger the difference,
the larger is the best bet; of differences from a few Elo on, it lies between these."""


def swapped(counts: PointCounts) -> PointCounts:
    """Return the meetings as the second agent sees them."""
    return {1.0 - points: number for points, number in counts.items()}


def log_capital(counts: PointCounts, mean: float) -> float:
    """Return the logarithm of the capital of a player who began with 1, and bets on more points than a mean.

    Args:
        mean: above 0 and below 1.
    """
    bets = _BETS / mean
    logs = np.zeros(len(bets))
    for points, number in counts.items():
        logs += number * np.log1p(bets * (points - mean))
    most = float(logs.max())
    return most + log(float(np.exp(logs - most).mean()))


def is_above(counts: PointCounts, elo: float, level: float = LEVEL) -> bool:
    """Return whether the first agent is certainly stronger than the second by more than some Elo.

    Args:
        level: probability that no call ever errs, for any number of meetings, in either order of the agents.
    """
    return log_capital(counts, expected_score(elo)) >= log(2 / (1 - level))
