"""Results, journals and tournaments in a notebook: `show(...)` returns an object that displays itself.

Jupyter and other notebooks call `_repr_html_` of the last value of a cell. Tables need neither script nor
style sheet. Pages stand in a frame without access to the notebook.
"""

from __future__ import annotations

__all__ = ["Shown", "show"]

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.safe_values import safe_repr
from flagfall.terminal_text import counted
from flagfall.tournament.standings import Standings
from flagfall.viewer.replay.page import replay_page
from flagfall.viewer.report.data import report_data
from flagfall.viewer.report.page import report_page
from flagfall.viewer.report.source import open_source
from flagfall.viewer.tables import match_table, standings_table

if TYPE_CHECKING:
    import os

DEFAULT_HEIGHT: Final = 720
"""Height of a page in pixels: most of a window."""

_MAX_HEIGHT: Final = 10_000


@attrs.frozen
class Shown:
    """Something that displays itself in a notebook.

    Attributes:
        text: description where HTML is not displayed.
        html: fragment of HTML.
    """

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
