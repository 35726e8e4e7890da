"""Output of commands: tables that fit the terminal, JSON, numbers and durations for people."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from math import floor, isfinite, log10
from operator import methodcaller
from textwrap import fill
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

from flagfall.texts import sanitize_terminal

MAX_ROWS: Final = 1000
"""Most rows of a table of matches; the layout of a longer table takes minutes."""

PIPE_WIDTH: Final = 200
"""Characters of a line in files and pipes, unless the variable `COLUMNS` says otherwise."""

_ANY_WIDTH: Final = 10_000
_LONGEST_WORD: Final = 16
"""Most characters of a word that a narrow column does not break."""

_UNITS: Final = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000))
_DIGITS: Final = 3


def table(*words: str, numbers: tuple[str, ...] = (), title: str | None = None) -> Table:
    """Return an empty table.

    Args:
        words: headings of the columns for text, at the left.
        numbers: headings of the columns for numbers, at the right.
    """
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for name in words:
        made.add_column(name, no_wrap=True)
    for name in numbers:
        made.add_column(name, justify="right", no_wrap=True)
    return made


def print_table(shown: Table, *, spare: Sequence[str] = (), wide: bool = False) -> None:
    """Print a table to the standard output.

    Where a line has too little room, columns are left out, which a line below the table names; where that is
    not enough, texts are wrapped.

    Args:
        spare: headings of the columns that may be left out, the least important first.
        wide: print the whole table in any case.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    left_out: list[str] = []
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    if wide:
        console.width = max(console.width, _width(console, shown))
    else:
        for heading in spare:
            if _width(console, shown) <= console.width:
                break
            left_out += _leave_out(shown, heading)
        if _width(console, shown) > console.width:
            for column in shown.columns:
                column.no_wrap, column.overflow = False, "fold"
                column.min_width = min(_longest_word(console, column), _LONGEST_WORD)
    with console.capture() as captured:  # rich would exit the program when the reader has gone
        console.print(shown)
    sys.stdout.write(captured.get())
    if left_out:
        print_text(f"left out for lack of width: {', '.join(left_out)} (--wide shows all)")


def print_text(text: str) -> None:
    """Print a text without line breaks that may be long; at a terminal its lines break between words."""
    print(fill(text, Console().width) if sys.stdout.isatty() else text)


def _width(console: Console, shown: Table) -> int:
    """Return the number of characters that a line of the table needs."""
    return Measurement.get(console, console.options.update(max_width=_ANY_WIDTH), shown).maximum


def _longest_word(console: Console, column: Column) -> int:
    """Return the number of characters of the longest word in a column."""
    cells = (column.header, *column.cells)
    return max(Measurement.get(console, console.options, cell).minimum for cell in cells)


def _leave_out(shown: Table, heading: str) -> list[str]:
    """Remove the columns with a heading; return their headings."""
    gone = [column for column in shown.columns if column.header == heading]
    kept = (column for column in shown.columns if column.header != heading)
    # Their numbers say which one is the last, and is padded less.
    shown.columns = [replace(column, _index=place) for place, column in enumerate(kept)]
    return [str(column.header) for column in gone]


def print_json(value: Any) -> None:
    """Print plain data, in which numbers may be those of numpy, as JSON to the standard output."""
    json.dump(value, sys.stdout, indent=2, default=methodcaller("item"))
    print()


_NEAR_ZERO: Final = 0.01
_MOST_PLACES: Final = 9


def number(value: float) -> str:
    """Return a number, which may be infinite, as text.

    Whole numbers have no decimal point, others three digits after it or, near zero, three digits that count.
    """
    if not isfinite(value) or value == int(value):
        return f"{value:z,.0f}"
    places = 3 if abs(value) >= _NEAR_ZERO else min(_MOST_PLACES, 2 - floor(log10(abs(value))))
    return f"{value:z,.{places}f}"


def label(name: str) -> str:
    """Return a name that an agent gave to its numbers as a label of one line: `completion tokens`."""
    return sanitize_terminal(name).replace("_", " ").replace("\n", " ")


def duration(ns: float) -> str:
    """Return a duration in nanoseconds as text with three digits: `0`, `850ns`, `12.3us`, `1.25s`."""
    for unit, size in _UNITS:
        if ns >= size:
            value = ns / size
            places = max(0, _DIGITS - len(str(int(value))))
            return f"{value:.{places}f}{unit}"
    return f"{ns:.0f}ns" if ns else "0"
