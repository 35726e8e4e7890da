"""Intervals of means by the bootstrap: what would the mean have been with other seeds?

B. Efron and R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13 (percentiles), chapter 8
(groups that are drawn from separately). Deviations are widened by sqrt(m / (m - 1)) for a group of m
values, because those drawn from m values vary less than the values do by just that; with few values it
matters.
"""

from __future__ import annotations

__all__ = ["LEVEL", "Interval", "bootstrap_mean", "wilson"]

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import Final

import attrs
import numpy as np

LEVEL: Final = 0.95
"""How often an interval should have the true value in it."""

RESAMPLES: Final = 2000
_AT_A_TIME: Final = 1_000_000
"""Drawn numbers that are in memory at a time."""


@attrs.frozen
class Interval:
    """A value, and where the true one is likely to be.

    Attributes:
        value: the estimate.
        low: the lower end; `None` where there is too little to tell.
        high: the upper end; likewise.
    """

    value: float
    low: float | None = None
    high: float | None = None


def bootstrap_mean(
    groups: Sequence[Sequence[float]], seed: int, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval:
    """The mean of the means of some groups, with its interval.

    Args:
        groups: of values that do not depend on each other; none is empty. With only one value in a group
            nobody can tell how it varies, and there is no interval.
        seed: of the drawing.
        resamples: how often all is drawn anew; 0 for no interval.
        level: how often the interval should have the true mean in it.
    """
    arrays = [np.asarray(group, dtype=float) for group in groups]
    value = float(np.mean([array.mean() for array in arrays]))
    if not resamples or any(len(array) == 1 for array in arrays):
        return Interval(value)
    generator = np.random.default_rng(seed)
    drawn = np.mean([_deviations(array, generator, resamples) for array in arrays], axis=0)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, value + float(low), value + float(high))


def wilson(share: float, count: int, level: float = LEVEL) -> Interval:
    """The interval of a share of `count` trials (E. B. Wilson, 1927), which has a width at 0 and 1, too."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * count)) / (1 + z * z / count)
    reach = z * sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2) / (1 + z * z / count)
    return Interval(share, centre - reach, centre + reach)


def _deviations(values: np.ndarray, generator: np.random.Generator, resamples: int) -> np.ndarray:
    """How far the means of drawn values are from the mean."""
    count = len(values)
    rows = max(1, _AT_A_TIME // count)
    means = [
        values[generator.integers(count, size=(min(rows, resamples - done), count))].mean(axis=1)
        for done in range(0, resamples, rows)
    ]
    widened = np.sqrt(count / (count - 1))
    deviations: np.ndarray = (np.concatenate(means) - values.mean()) * widened
    return deviations
