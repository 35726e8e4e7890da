"""Results, journals and tournaments in a notebook: `show(...)` returns an object that displays itself.

Jupyter and other notebooks call `_repr_html_` of the last value of a cell. Tables need neither script nor
style sheet. Pages stand in a frame without access to the notebook.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.safe_values import safe_repr
from flagfall.texts import counted, one_line, sanitize_terminal
from flagfall.tournament.standings import Standings
from flagfall.tournament.stats.intervals import Interval
from flagfall.tournament.tables import Column, shown_columns
from flagfall.viewer.replay.page import replay_page
from flagfall.viewer.report.data import report_data, report_page
from flagfall.viewer.report.source import open_source

if TYPE_CHECKING:
    import os


MAX_ROWS: Final = 200
MAX_NAME_CHARS: Final = 80
MAX_STDERR_CHARS: Final = 4000

_CELL: Final = "padding:0.25em 0.7em;border-bottom:1px solid rgba(128,128,128,0.3);white-space:nowrap"
_NUMBER: Final = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"
_WIDTH, _HEIGHT = 140, 16
_BLUE: Final = "#3d8ac0"
"""Colour of intervals; it can be seen on light and on dark pages."""

_UNITS: Final = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))


def match_table(result: MatchResult) -> str:
    """Return the result of a match as HTML."""
    seats = _table(
        ("Agent", "Disqualified", "Reward", "Turns", "Late", "Illegal", "Think time", "Longest turn"),
        [
            (
                _text(seat.agent),
                _text(seat.disqualified or "no"),
                *map(_number, (seat.stats.reward, seat.stats.turns, seat.stats.late, seat.stats.illegal)),
                *map(_duration, (seat.stats.think_ns, seat.stats.think_max_ns)),
            )
            for seat in result.seats
        ],
        words=2,
    )
    tasks = _table(
        ("Task", "Played", "Solved", "Failed", "Steps", "Reward"),
        [
            (_text(of.task), *map(_number, (of.played, of.solved, of.failed, of.steps, of.reward)))
            for of in result.tasks
        ],
        words=1,
    )
    errors = "".join(
        f"<details><summary>{_text(seat.agent)}: end of the standard error</summary>"
        '<pre style="white-space:pre-wrap">'
        f"{escape(sanitize_terminal(text[-MAX_STDERR_CHARS:]))}</pre></details>"
        for seat in result.seats
        if (text := seat.detail or seat.stderr_tail)
    )
    head = f"{_text(result.reason)}: {counted(result.turns, 'turn')} in {_duration(result.elapsed_ns)}"
    return f"<div><p><b>Match</b> {head}</p>{seats}{tasks}{errors}</div>"


def standings_table(standings: Standings) -> str:
    """Return standings as HTML."""
    rows = standings.rows[:MAX_ROWS]
    columns = [
        column
        for column in shown_columns("pages", standings.drawn)
        if any(row.values[column.key] is not None for row in rows)
    ]
    drawn = [interval for row in rows if (interval := row.values[standings.drawn]) is not None]
    ends = [end for one in drawn for end in (one.value, one.low, one.high) if end is not None]
    table = _table(
        ("#", "Agent", "Interval", *(column.label for column in columns)),
        [
            (
                str(row.place),
                _text(row.agent),
                _drawing(row.values[standings.drawn], min(ends, default=0.0), max(ends, default=1.0)),
                *(_cell(column, row.values[column.key]) for column in columns),
            )
            for row in rows
        ],
        words=3,
    )
    notes = [*standings.notes]
    if len(standings.rows) > len(rows):
        notes.append(f"the first {len(rows)} of {len(standings.rows)} agents")
    title = "Standings" if standings.over else "Standings so far"
    lines = "".join(f"<p><small>{_text(note, 1000)}</small></p>" for note in notes)
    return f"<div><p><b>{title}</b></p>{table}{lines}</div>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, words: int) -> str:
    """Return a table of cells that are HTML already; the columns after some for words hold numbers."""

    def style(place: int) -> str:
        return _CELL + ";text-align:left" if place < words else _NUMBER

    head = "".join(
        f'<th scope="col" style="{style(place)}">{escape(text)}</th>' for place, text in enumerate(heads)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{style(place)}">{cell}</td>' for place, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return (
        '<div style="overflow-x:auto" tabindex="0"><table style="border-collapse:collapse;background:none">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _drawing(interval: Interval | None, low: float, high: float) -> str:
    if interval is None:
        return ""

    def x(value: float) -> float:
        return round(5 + (value - low) / ((high - low) or 1.0) * (_WIDTH - 10), 1)

    middle = _HEIGHT / 2
    span = ""
    if not interval.lack:
        first, last = (low if interval.low is None else interval.low), interval.high
        span = (
            f'<line x1="{x(first)}" x2="{x(high if last is None else last)}" y1="{middle}" y2="{middle}"'
            f' stroke="{_BLUE}" stroke-width="4" stroke-opacity="0.45" stroke-linecap="round"/>'
        )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" aria-hidden="true">{span}'
        f'<circle cx="{x(interval.value)}" cy="{middle}" r="4" fill="{_BLUE}"/></svg>'
    )


def _cell(column: Column, value: Any) -> str:
    if value is None:
        return ""
    if column.form == "duration":
        return _duration(value)
    if column.form == "dollars":
        return f"${value:.3g}"
    places = column.decimals
    if column.form != "interval":
        return _number(value)
    return escape(value.text(f"z,.{places}f"))


def _text(text: str, most: int = MAX_NAME_CHARS) -> str:
    return f"<bdi>{escape(one_line(text, most))}</bdi>"


def _number(value: Any) -> str:
    return escape(f"{value:z,.0f}" if value == int(value) else f"{value:z,.3f}")


def _duration(ns: float) -> str:
    for unit, size in _UNITS:
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.0f} ns"


DEFAULT_HEIGHT: Final = 720
"""Height of a page in pixels: most of a window."""

_MAX_HEIGHT: Final = 10_000


@attrs.frozen
class Shown:
    """Something that displays itself in a notebook; `text` describes it where HTML is not displayed."""

    text: str
    html: str = attrs.field(repr=False)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def show(
    what: MatchResult | Standings | str | os.PathLike[str],
    *,
    height: int = DEFAULT_HEIGHT,
    turns: tuple[int, int] | None = None,
    trust: bool = False,
) -> Shown:
    """Return an object that displays a result, a journal or a tournament in a notebook.

    Args:
        what: a result of `flagfall.run`, standings of a tournament, the path of a journal, or the folder of a
            tournament.
        height: height of a page in pixels; tables are as high as they are.
        turns: of a journal, the first and the last turn to show; by default all.
        trust: modules that a journal names may be imported, to draw pictures.

    Raises:
        UsageError: it is none of these, it cannot be read, or it is too large for a page.
    """
    if isinstance(what, MatchResult):
        return Shown(f"match: {what.reason}, {counted(what.turns, 'turn')}", match_table(what))
    if isinstance(what, Standings):
        return Shown(f"standings of {counted(len(what.rows), 'agent')}", standings_table(what))
    try:
        path = Path(what)
    except TypeError:
        raise UsageError(
            "show() takes the result of a match, standings, a journal or the folder of a tournament, not"
            f" {safe_repr(what)}"
        ) from None
    if not 0 < height <= _MAX_HEIGHT:
        raise UsageError(f"height={height}: write a number of pixels from 1 to {_MAX_HEIGHT}")
    if path.is_dir():
        with open_source(path) as source:
            page = report_page(report_data(source))
        return Shown(f"report of {path}", _frame(page, height, "Report of a tournament"))
    if not path.is_file():
        raise UsageError(f"no such file: {path}")
    page = replay_page(path, turns=turns, trust=trust)
    return Shown(f"replay of {path}", _frame(page, height, "Replay of a match"))


def _frame(page: bytes, height: int, title: str) -> str:
    """Return a page in a frame of its own origin: its script cannot reach the notebook."""
    return (
        f'<iframe title="{title}" sandbox="allow-scripts" srcdoc="{escape(page.decode())}"'
        f' style="width:100%;height:{height}px;border:0" loading="lazy"></iframe>'
    )
