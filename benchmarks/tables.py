"""Tables of results, for a terminal and as Markdown."""

from __future__ import annotations

__all__ = ["markdown", "show"]

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.results import Result

WIDTH = 160


def _cells(result: Result, *, compared: bool) -> list[str]:
    row = result.row
    before = [result.before, result.change] if compared else []
    value = f"skipped: {row.skipped}" if row.skipped else row.value
    return [row.name, value, *before, row.baseline, row.ratio, row.target]


def _headings(*, compared: bool) -> list[str]:
    before = ["before", "now / before"] if compared else []
    return ["measured", "figure", *before, "baseline", "ratio", "target"]


def show(title: str, results: Iterable[Result], notes: Sequence[str], *, compared: bool) -> None:
    """Print a table; if measuring fails, print the rows that were measured.

    Args:
        title: printed above the table.
        results: measured while they are read.
        notes: lines below the table, such as the machine's.
        compared: add columns with the version before.
    """
    table = Table(title=title, title_justify="left")
    for heading in _headings(compared=compared):
        table.add_column(heading, justify="left" if heading == "measured" else "right")
    try:
        for result in results:
            table.add_row(*_cells(result, compared=compared))
    finally:
        console = Console(width=WIDTH, markup=False, highlight=False)
        console.print(table)
        for note in notes:
            console.print(note, soft_wrap=True)


def markdown(title: str, results: Iterable[Result], notes: Sequence[str], *, compared: bool) -> None:
    """Print a table as Markdown.

    Args:
        title: printed as a heading.
        results: measured while they are read.
        notes: lines below the heading.
        compared: add columns with the version before.
    """
    headings = _headings(compared=compared)
    print(f"### {title}\n", *(f"{note}  " for note in notes), "", sep="\n")
    print(f"| {' | '.join(headings)} |\n|---|{'---:|' * (len(headings) - 1)}")
    for result in results:
        print(f"| {' | '.join(cell.replace('|', '/') for cell in _cells(result, compared=compared))} |")
    print()
