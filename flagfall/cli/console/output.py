"""Output of commands: tables as wide as their content, JSON, numbers and durations for people."""

from __future__ import annotations

__all__ = ["duration", "number", "print_json", "print_table", "table"]

import json
import sys
from math import isfinite
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

_UNITS: Final = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000))
_DIGITS: Final = 3


def table(*words: str, numbers: tuple[str, ...] = (), title: str | None = None) -> Table:
    """Return an empty table.

    Args:
        words: headings of the columns for text, at the left.
        numbers: headings of the columns for numbers, at the right.
        title: printed above the table.
    """
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for name in words:
        made.add_column(name, no_wrap=True)
    for name in numbers:
        made.add_column(name, justify="right", no_wrap=True)
    return made


def print_table(shown: Table) -> None:
    """Print a table to the standard output; tables wider than the terminal are not cut.

    Args:
        shown: the table.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    wrapping = any(not column.no_wrap for column in shown.columns)
    if not wrapping:
        needed = Measurement.get(console, console.options.update(max_width=10_000), shown).maximum
        console.width = max(console.width, needed)
    with console.capture() as captured:  # rich would exit the program when the reader has gone
        console.print(shown)
    sys.stdout.write(captured.get())


def print_json(value: Any) -> None:
    """Print a value as JSON to the standard output.

    Args:
        value: plain data; numbers may be those of numpy.
    """
    json.dump(value, sys.stdout, indent=2, default=_plain)
    print()


def _plain(value: Any) -> Any:
    """Return a numpy number as a Python number."""
    return value.item()


def number(value: float) -> str:
    """Return a number as text; whole numbers have no decimal point.

    Args:
        value: any number, infinite ones included.
    """
    return f"{value:,.0f}" if not isfinite(value) or value == int(value) else f"{value:,.3f}"


def duration(ns: float) -> str:
    """Return a duration as text with three digits: `0`, `850ns`, `12.3us`, `1.25s`.

    Args:
        ns: the duration in nanoseconds.
    """
    for unit, size in _UNITS:
        if ns >= size:
            value = ns / size
            places = max(0, _DIGITS - len(str(int(value))))
            return f"{value:.{places}f}{unit}"
    return f"{ns:.0f}ns" if ns else "0"
