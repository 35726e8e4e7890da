"""Measurements in alternation with a baseline, so that a noisy machine affects both alike."""

from __future__ import annotations

__all__ = ["ROUNDS", "Row", "beside", "cpu_beside", "cpu_seconds", "percentile", "reduced", "skipped"]

import math
import re
import resource
import statistics
from collections.abc import Callable, Sequence
from typing import Final

import attrs

ROUNDS: Final = 5
LEADING_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)")


def leading_number(text: str) -> float:
    """Return the number that a text begins with, or NaN.

    Args:
        text: such as `12,300/s` or `0.31 / 0.92 ms`.
    """
    found = LEADING_NUMBER.match(text)
    return float(found[0].replace(",", "")) if found else math.nan


@attrs.frozen
class Row:
    """One line of a table.

    Attributes:
        name: what was measured; unique in its suite, and the same at every scale.
        value: the figure, with its unit. It begins with its number.
        baseline: the figure of the baseline, with its unit.
        ratio: ours divided by the baseline; the median of all rounds.
        target: the target as text; empty if there is none.
        skipped: why nothing was measured; empty for a measured row.
        curve: name of the growth curve that the row is a point of; empty for all other rows.
        size: place of the point on its curve, such as a number of matches.
        number: the figure as a number; by default the one that `value` begins with.
    """

    name: str
    value: str
    baseline: str = ""
    ratio: str = ""
    target: str = ""
    skipped: str = attrs.field(default="", kw_only=True)
    curve: str = attrs.field(default="", kw_only=True)
    size: int = attrs.field(default=0, kw_only=True)
    number: float = attrs.field(kw_only=True)

    @number.default
    def _leading_number(self) -> float:
        return leading_number(self.value)


def skipped(name: str, reason: str) -> Row:
    """Return the row of something that this machine cannot measure.

    Args:
        name: of the row.
        reason: one line that names what is missing.
    """
    return Row(name, "", skipped=reason)


def reduced(amount: int, scale: int, least: int = 1) -> int:
    """Return an amount of work divided by the scale.

    Args:
        amount: of work at scale 1.
        scale: divides it.
        least: the smallest amount that still can be measured.
    """
    return max(least, amount // scale)


def beside(
    ours: Callable[[], float], baseline: Callable[[], float], rounds: int = ROUNDS
) -> tuple[float, float, float]:
    """Measure two rates in alternation.

    Args:
        ours: returns a rate; more is better.
        baseline: returns the rate to compare with.
        rounds: number of measurements of each.

    Returns:
        The best rate of each, and the median of the ratios of the rounds.
    """
    pairs = [(baseline(), ours()) for _ in range(rounds)]
    ratio = statistics.median(mine / theirs for theirs, mine in pairs)
    return max(mine for _, mine in pairs), max(theirs for theirs, _ in pairs), ratio


def cpu_seconds() -> float:
    """Return the CPU time of this process, all its threads, and its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def cpu_beside(
    ours: Callable[[], int], baseline: Callable[[], int], rounds: int = ROUNDS
) -> tuple[float, float, float]:
    """Measure the CPU time of two pieces of work in alternation; other programs disturb it little.

    Args:
        ours: does some work, and returns the number of its units.
        baseline: does the work to compare with, and returns the number of its units.
        rounds: number of measurements of each.

    Returns:
        The least CPU seconds a unit of each, and the median of the ratios of the rounds.
    """

    def cost(work: Callable[[], int]) -> float:
        began = cpu_seconds()
        units = work()
        return (cpu_seconds() - began) / units

    pairs = [(cost(baseline), cost(ours)) for _ in range(rounds)]
    ratio = statistics.median(mine / theirs for theirs, mine in pairs)
    return min(mine for _, mine in pairs), min(theirs for theirs, _ in pairs), ratio


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all values does not exceed.

    Args:
        values: at least one number.
        share: from 0 to 1, such as 0.99.
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
