"""Measurements in alternation with a baseline, so that a noisy machine affects both alike."""

from __future__ import annotations

__all__ = ["Row", "beside", "percentile", "show"]

import statistics
from collections.abc import Callable, Iterable, Sequence

import attrs
from rich.console import Console
from rich.table import Table

ROUNDS = 5


@attrs.frozen
class Row:
    """One line of a table.

    Attributes:
        name: what was measured.
        value: the figure, with its unit.
        baseline: the figure of the baseline, with its unit.
        ratio: ours divided by the baseline; the median of all rounds.
        target: the target as text; empty if there is none.
    """

    name: str
    value: str
    baseline: str = ""
    ratio: str = ""
    target: str = ""


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


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of all values does not exceed.

    Args:
        values: at least one number.
        share: from 0 to 1, such as 0.99.
    """
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def show(title: str, rows: Iterable[Row]) -> None:
    """Print a table.

    Args:
        title: printed above the table.
        rows: measured while they are read.
    """
    table = Table(title=title, title_justify="left")
    for heading in ("measured", "flagfall", "baseline", "ratio", "target"):
        table.add_column(heading, justify="left" if heading == "measured" else "right")
    for row in rows:
        table.add_row(row.name, row.value, row.baseline, row.ratio, row.target)
    Console(width=150).print(table)
