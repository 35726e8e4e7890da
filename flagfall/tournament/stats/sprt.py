"""Sequential probability ratio test of two agents.

It decides whether the first one is stronger by `elo0` (H0) or by `elo1` (H1).

After each meeting the logarithm of the generalized likelihood ratio (LLR) of the two hypotheses is computed.
Below `log(beta / (1 - alpha))` H0 is accepted, above `log((1 - beta) / alpha)` H1 (A. Wald, "Sequential
Analysis", 1947). Outcomes are the points of a meeting: of one game 0, 1/2 or 1 (trinomial), of two games with
one seed and swapped sides their mean, 0 to 1 in quarters (pentanomial). Games of one pair depend on each
other, pairs do not, so only pairs may be counted.

Under each hypothesis the outcomes are distributed as likely as can be where the expected score is that of its
Elo: with the observed shares q_i of outcomes a_i, it is p_i = q_i / (1 + x (a_i - s)), where x makes the
expectation s, and LLR = n sum q_i log(p1_i / p0_i). (A. B. Owen, "Empirical Likelihood", 2001, for p_i;
M. Van den Bergh, "A practical introduction to the GSPRT", for the test in engine matches.)
"""

from __future__ import annotations

__all__ = ["SprtState", "expected_score", "log_likelihood_ratio", "sprt_bounds", "sprt_state"]

import math
from collections.abc import Mapping
from typing import Final, Literal

import attrs

ELO_SCALE: Final = 400.0 / math.log(10)
"""Elo for one unit of log odds."""

UNSEEN: Final = 1e-3
"""Count assumed for outcomes that were never seen; with 0, no other expectation would be possible."""

_HALVINGS: Final = 60


def expected_score(elo: float) -> float:
    """Return the expected score of the stronger agent.

    Args:
        elo: its advantage.
    """
    return 1.0 / (1.0 + math.exp(-elo / ELO_SCALE))


def sprt_bounds(alpha: float, beta: float) -> tuple[float, float]:
    """Return the LLR at which H0 and H1 are accepted.

    Args:
        alpha: probability of accepting H1 if H0 is true.
        beta: probability of accepting H0 if H1 is true.
    """
    return math.log(beta / (1.0 - alpha)), math.log((1.0 - beta) / alpha)


def log_likelihood_ratio(counts: Mapping[float, float], elo0: float, elo1: float) -> float:
    """Return the LLR.

    Args:
        counts: count of each outcome, from 0 to 1 and including both.
        elo0: Elo difference under H0.
        elo1: Elo difference under H1.
    """
    seen = {outcome: count or UNSEEN for outcome, count in counts.items()}
    n = sum(seen.values())
    shares = {outcome: count / n for outcome, count in seen.items()}
    score0, score1 = expected_score(elo0), expected_score(elo1)
    tilt0, tilt1 = _tilt(shares, score0), _tilt(shares, score1)
    return n * sum(
        share * math.log((1.0 + tilt0 * (a - score0)) / (1.0 + tilt1 * (a - score1)))
        for a, share in shares.items()
    )


def _tilt(shares: Mapping[float, float], score: float) -> float:
    """Return the x of the module's head by bisection: the function decreases with x."""
    low, high = -1.0 / (max(shares) - score), 1.0 / (score - min(shares))
    for _ in range(_HALVINGS):
        x = (low + high) / 2.0
        excess = sum(share * (a - score) / (1.0 + x * (a - score)) for a, share in shares.items())
        low, high = (x, high) if excess > 0 else (low, x)
    return (low + high) / 2.0


@attrs.frozen
class SprtState:
    """State of a test.

    Attributes:
        llr: logarithm of the likelihood ratio.
        lower: at or below it H0 is accepted.
        upper: at or above it H1 is accepted.
        counts: count of each outcome.
        decision: the accepted hypothesis; `None` while the test continues.
    """

    llr: float
    lower: float
    upper: float
    counts: Mapping[float, int]

    @property
    def decision(self) -> Literal["H0", "H1"] | None:  # noqa: D102 - see above
        if self.llr <= self.lower:
            return "H0"
        return "H1" if self.llr >= self.upper else None


def sprt_state(
    counts: Mapping[float, int], *, elo0: float, elo1: float, alpha: float, beta: float
) -> SprtState:
    """Return the state of a test with some outcomes.

    Args:
        counts: count of each outcome.
        elo0: see `SprtRule`.
        elo1: see `SprtRule`.
        alpha: see `SprtRule`.
        beta: see `SprtRule`.
    """
    lower, upper = sprt_bounds(alpha, beta)
    llr = log_likelihood_ratio(counts, elo0, elo1) if any(counts.values()) else 0.0
    return SprtState(llr, lower, upper, dict(counts))
