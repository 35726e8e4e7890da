"""Measuring two things in turn, so that a noisy machine strikes both alike."""

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
        value: the measure, with its unit.
        baseline: what it was measured beside, with its unit.
        ratio: ours against the baseline's; the middle one of all rounds.
        target: what it should be, in words; empty where none was set.
    """

    name: str
    value: str
    baseline: str = ""
    ratio: str = ""
    target: str = ""


def beside(
    ours: Callable[[], float], baseline: Callable[[], float], rounds: int = ROUNDS
) -> tuple[float, float, float]:
    """Measure both in turn; gives the best of each, and the median of the rounds' ratios.

    Both give a rate (more is better).
    """
    pairs = [(baseline(), ours()) for _ in range(rounds)]
    ratio = statistics.median(mine / theirs for theirs, mine in pairs)
    return max(mine for _, mine in pairs), max(theirs for theirs, _ in pairs), ratio


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def show(title: str, rows: Iterable[Row]) -> None:
    """Print rows as they come."""
    table = Table(title=title, title_justify="left")
    for heading in ("measured", "flagfall", "baseline", "ratio", "target"):
        table.add_column(heading, justify="left" if heading == "measured" else "right")
    for row in rows:
        table.add_row(row.name, row.value, row.baseline, row.ratio, row.target)
    Console(width=150).print(table)
