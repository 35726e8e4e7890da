"""Means of few values, with intervals that cover the true mean as often as they say.

*Bounded values* (shares, scores): the mean of some trials of which a share succeeds has Jeffreys' interval,
from the distribution Beta(k + 1/2, n - k + 1/2) (L. D. Brown, T. T. Cai, A. DasGupta, "Interval estimation
for a binomial proportion", 2001). It never leaves the bounds, and has a width even if all values are equal.
Values between the bounds vary less than trials: their mean is worth as many trials as give its variance
(E. L. Korn, B. I. Graubard, "Confidence intervals for proportions with small expected number of positive
counts", 1998).

*Unbounded values* (rewards): Student's t of the values, transformed so that they have no skewness (P. Hall,
"On the removal of skewness by transformation", 1992), with one degree of freedom less for the skewness.

Values come in groups, such as the tasks of a plan: the groups are fixed, count alike, and are estimated each
by its own values. `python -m benchmarks statistics` measures how often the intervals cover.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cbrt, hypot, inf, isinf, sqrt
from typing import Final, Literal, TypeAlias

import attrs
import numpy as np

from flagfall.tournament.columns import Array

LEVEL: Final = 0.95
"""Default confidence level."""

LEAST_OF_A_GROUP: Final = 2
"""Values of each group: of several groups, each varies by itself."""

LEAST_TRIALS: Final = 3
"""Bounded values of all groups from which there is an interval."""

LEAST_REWARDS: Final = 4
"""Unbounded values of all groups from which there is an interval: if they are skewed, no interval of three
covers."""

LEAST_FREEDOM: Final = 1.5
"""Degrees of freedom from which unbounded values have an interval: four of one group have 2."""

TWO_VALUES: Final = 10
"""Unbounded values from which only two different ones, such as 0 and 1, are taken for the bounds."""

_MOST_TRIALS: Final = 20
"""Trials that a value is worth at most, however little it varies."""

_NO_SKEWNESS: Final = 1e-9
_PAIR: Final = 2
_TRUSTED: Final = 1.5
"""Trials that a value is worth up to which the variance is taken as it is estimated."""

_UNSEEN: Final = 0.07
"""Success and failure assumed for the variance of a group at one of the bounds."""


Lack: TypeAlias = Literal["", "too few", "all equal", "not finite"]
"""Why there is no interval: too few values, unbounded ones that are all equal, or one that is no number."""


@attrs.frozen
class Interval:
    """An estimate with its confidence interval.

    Attributes:
        low: lower end; `None` if there is none. With a `high`, the results do not bound it below.
        high: upper end; `None` likewise.
        lack: why there is neither.
    """

    value: float = attrs.field(converter=float)
    low: float | None = attrs.field(default=None, converter=attrs.converters.optional(float))
    high: float | None = attrs.field(default=None, converter=attrs.converters.optional(float))
    lack: Lack = ""

    def text(self, form: str) -> str:
        """Return it as text: `5 [3, 6]`, `>= 3`, `<= 6`, or `5 (too few)`.

        Args:
            form: format of a number, such as `.2f`.
        """
        value, *ends = (
            None if end is None else format(end, form) for end in (self.value, self.low, self.high)
        )
        match ends:
            case [None, None]:
                return f"{value} ({self.lack})" if self.lack else "not bounded"
            case [low, None]:
                return f">= {low}"
            case [None, high]:
                return f"<= {high}"
            case [low, high]:
                return f"{value} [{low}, {high}]"
        raise AssertionError


@attrs.frozen(kw_only=True, eq=False)
class Estimate:
    """An estimate with its confidence distribution: the ends of the intervals of all levels.

    Attributes:
        quantile: returns below which number the true value is with some confidence, from 0 to 1; infinite
            where the results do not bound it. `None` where there is no interval; `lack` says why.
        below: returns the confidence that the true value is below a number.
    """

    value: float
    quantile: Callable[[float], float] | None = None
    below: Callable[[float], float] | None = None
    lack: Lack = ""

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the interval that leaves out half of the rest on either side."""
        if self.quantile is None:
            return Interval(self.value, lack=self.lack)
        low, high = (_end(self.quantile(share)) for share in ((1 - level) / 2, (1 + level) / 2))
        return Interval(self.value, low, high)

    def probability_above(self, number: float) -> float | None:
        """Return the confidence that the true value is above a number; `None` where there is no interval."""
        return None if self.below is None else 1.0 - self.below(number)


def independent_difference(one: Interval, other: Interval) -> Interval:
    """Return an estimate less another one from other results, with an interval of the level of theirs.

    The square of the distance of an end from the difference is the sum of those of the two ends that make it
    from their estimates, as squares of errors of independent estimates add up (R. G. Newcombe, "Interval
    estimation for the difference between independent proportions", 1998; G. Y. Zou and A. Donner,
    "Construction of confidence limits about effect measures: a general approach", 2008).
    """
    value = one.value - other.value
    if lack := one.lack or other.lack:
        return Interval(value, lack=lack)
    low, high = (
        None
        if mine is None or theirs is None
        else value + sign * hypot(mine - one.value, theirs - other.value)
        for sign, mine, theirs in ((-1, one.low, other.high), (1, one.high, other.low))
    )
    return Interval(value, low, high)


def bounded_mean(groups: Sequence[Array], low: float = 0.0, high: float = 1.0) -> Estimate:
    """Estimate the mean of the means of some groups of values between two bounds.

    Args:
        groups: values that are independent of each other; no group is empty.
    """
    from scipy.special import betainc, betaincinv, stdtrit  # noqa: PLC0415 - takes 0.1 s

    span = high - low
    shares = [(group - low) / span for group in groups]
    mean = _mean(groups)
    share = min(1.0, max(0.0, _mean(shares)))
    sizes = np.array([len(group) for group in shares])
    if sizes.min() < LEAST_OF_A_GROUP or sizes.sum() < LEAST_TRIALS:
        return Estimate(value=mean, lack="too few")
    values = len(sizes) ** 2 / float((1 / sizes).sum())  # of groups of equal sizes, the number of all values
    trials = values - 1
    if 0 < share < 1:
        variance = sum(map(_variance_of_mean, shares)) / len(shares) ** 2
        trials = share * (1 - share) / variance if variance else inf
        if trials > values:  # the variance that shows it is an estimate, from few values
            known = 1.96 / float(stdtrit((sizes - 1).sum() + 2, 0.975))
            trials = max(min(trials, _TRUSTED * values), trials * known**2)
        trials = min(max(trials, values - 1), _MOST_TRIALS * values)
    one, other = (trials + 1) * share + 0.5, (trials + 1) * (1 - share) + 0.5
    return Estimate(
        value=mean,
        quantile=lambda level: low + span * float(betaincinv(one, other, level)),
        below=lambda number: float(betainc(one, other, min(1.0, max(0.0, (number - low) / span)))),
    )


LEAST_SQUARE: Final = 1e-300
"""Squares of variances below this have no digits left; the values are as good as equal."""


def unbounded_mean(groups: Sequence[Array]) -> Estimate:
    """Estimate the mean of the means of some groups of values that can be any numbers.

    Args:
        groups: values that are independent of each other; no group is empty.
    """
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - takes 0.1 s

    mean, different = _mean(groups), np.unique(np.concatenate(groups))
    if not np.isfinite(different).all():
        return Estimate(value=mean, lack="not finite")
    sizes = [len(group) for group in groups]
    if sum(sizes) >= TWO_VALUES and len(different) == _PAIR:
        return bounded_mean(groups, *different.tolist())
    if min(sizes) < LEAST_OF_A_GROUP or sum(sizes) < LEAST_REWARDS:
        return Estimate(value=mean, lack="too few")
    count = len(groups)
    parts = np.array([group.var(ddof=1) / len(group) for group in groups]) / count**2
    error = sqrt(parts.sum())
    if all(group.min() == group.max() for group in groups) or error**4 < LEAST_SQUARE:
        return Estimate(value=mean, lack="all equal")
    skewness = sum(map(_third_cumulant_of_mean, groups)) / count**3 / error**3
    freedom = parts.sum() ** 2 / float((parts**2 / (np.array(sizes) - 1)).sum()) - 1  # Welch's, less one
    if freedom < LEAST_FREEDOM:
        return Estimate(value=mean, lack="too few")

    def quantile(level: float) -> float:
        t = -float(stdtrit(freedom, level))
        if abs(skewness) < _NO_SKEWNESS:
            return mean - error * t
        return mean - error * 3 / skewness * (cbrt(1 + skewness * (t - skewness / 6)) - 1)

    def below(number: float) -> float:
        t = (mean - number) / error
        bent = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
        return float(stdtr(freedom, -bent))

    return Estimate(value=mean, quantile=quantile, below=below)


def _mean(groups: Sequence[Array]) -> float:
    return float(np.mean([group.mean() for group in groups]))


def _variance_of_mean(shares: Array) -> float:
    """Return the variance of the mean of a group.

    A group at one of the bounds has shown no variation yet. A single one needs none; of several, those at the
    bounds are assumed to have a little.
    """
    count, share = len(shares), shares.mean()
    if share in {0.0, 1.0}:
        share = (count * share + _UNSEEN) / (count + 2 * _UNSEEN)
        return float(share * (1 - share) / count)
    return float(shares.var(ddof=1) / count)


def _third_cumulant_of_mean(values: Array) -> float:
    """Return the third cumulant of the mean of a group, estimated without bias; 0 for a pair."""
    count = len(values)
    if count == _PAIR:
        return 0.0
    return float(((values - values.mean()) ** 3).sum() / (count * (count - 1) * (count - 2)))


def _end(number: float) -> float | None:
    """Return an end of an interval with nine digits, for another processor has other last ones."""
    return None if isinf(number) else float(f"{number:.9g}")
