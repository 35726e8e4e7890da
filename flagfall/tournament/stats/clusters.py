"""Shares and quantiles of trials that come in clusters, such as the turns of a match.

Trials of one cluster depend on each other, so they are worth fewer independent ones: as many as give the
variance of the share between clusters (the *design effect*: L. Kish, "Survey Sampling", 1965). A share then
has Jeffreys' interval for that number of trials (E. L. Korn, B. I. Graubard, "Confidence intervals for
proportions with small expected number of positive counts", 1998). A quantile has the interval between the
order statistics that the share of trials above it cannot leave (R. S. Woodruff, "Confidence intervals for
medians and other position measures", 1952).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from flagfall.tournament.columns import Array
from flagfall.tournament.stats.intervals import LEVEL

LEAST_HITS: Final = 10
"""Hits from which the design effect is estimated from them."""

LEAST_CLUSTERS: Final = 2


@attrs.frozen
class Trials:
    """Independent trials that some clusters are worth.

    Attributes:
        worth: their number, from 0 on; 0 for fewer than `LEAST_CLUSTERS` clusters.
    """

    worth: float

    def share(self, share: float) -> tuple[float, float]:
        """Return the 95 % interval of a share that was observed."""
        from scipy.special import betaincinv  # noqa: PLC0415 - takes 0.1 s

        if not self.worth:
            return 0.0, 1.0
        one, other = self.worth * share + 0.5, self.worth * (1 - share) + 0.5
        low = float(betaincinv(one, other, (1 - LEVEL) / 2)) if share > 0 else 0.0
        high = float(betaincinv(one, other, (1 + LEVEL) / 2)) if share < 1 else 1.0
        return low, high

    def observed(self, share: float) -> tuple[float | None, float]:
        """Return the shares between which the observed one is in 95 of 100 cases, if this is the true one.

        Returns:
            The lower end, below which an observed share is too small, and the upper end. The lower one is
            `None` where even a share of zero is not.
        """
        from scipy.special import bdtr  # noqa: PLC0415 - takes 0.1 s

        trials = int(self.worth)
        low = _first(trials, lambda count: bool(bdtr(count, trials, share) > (1 - LEVEL) / 2))
        high = _first(trials, lambda count: bool(bdtr(count, trials, share) >= (1 + LEVEL) / 2))
        return ((low - 1) / trials if low else None), (high / trials if trials else 1.0)


def worth_of(hits: Array, sizes: Array) -> Trials:
    """Return the independent trials that clusters are worth, from how their shares vary.

    Without `LEAST_HITS` hits or misses the variance is not known: then each cluster is worth one trial.

    Args:
        hits: number of hits of each cluster.
        sizes: number of trials of each cluster.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - takes 0.1 s

    clusters, trials, total = int((sizes > 0).sum()), float(sizes.sum()), float(hits.sum())
    if clusters < LEAST_CLUSTERS:
        return Trials(0.0)
    if min(total, trials - total) < LEAST_HITS:
        return Trials(float(clusters))
    share = total / trials
    variance = clusters / (clusters - 1) * float(((hits - share * sizes) ** 2).sum()) / trials**2
    worth = min(trials, share * (1 - share) / variance) if variance else trials
    known = float(stdtrit(max(1.0, trials - 1), 0.975)) / float(stdtrit(clusters - 1, 0.975))
    return Trials(max(1.0, worth * known**2))


def _first(trials: int, is_enough: Callable[[int], bool]) -> int:
    """Return the smallest number of hits that is enough."""
    low, high = 0, trials
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low
