"""A line on the terminal that tells how far a long run is."""

from __future__ import annotations

__all__ = ["Progress", "show_progress"]

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from flagfall.events import Event, TurnPlayed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

REFRESHES: Final = 4
"""A second. Each costs the loop a millisecond or so, for the thread of the display takes Python's lock."""

_BAR_CHARS: Final = 30


class Progress:
    """What is shown; as a sink it counts turns, and does nothing else with them.

    Args:
        matches: how many there will be.
        steps: turns of each, where there is a limit.
    """

    def __init__(self, matches: int, steps: int | None) -> None:
        self._matches = matches
        self._steps = steps
        self._title = ""
        self._turns = 0
        self._before = 0
        self._began = time.monotonic()
        self._spinner = Spinner("dots")

    def begin(self, number: int, who: str) -> None:
        """The next match begins."""
        of = f"match {number} ({number + 1} of {self._matches}): " if self._matches > 1 else ""
        self._title = of + who
        self._before += self._turns
        self._turns = 0

    def show_turns(self, turns: int) -> None:
        """Take note of the number of turns of this match that are done."""
        self._turns = turns

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if type(event) is TurnPlayed:
            self._turns = event.turn + 1

    def __rich__(self) -> Table:
        seconds = max(time.monotonic() - self._began, 1e-3)
        rate = (self._before + self._turns) / seconds
        cells: list[RenderableType] = [self._spinner, Text(self._title)]
        if self._steps is not None:
            cells.append(ProgressBar(total=self._steps, completed=self._turns, width=_BAR_CHARS))
        told = f"{self._turns:,} turns  {rate:,.0f}/s  {seconds:.0f} s"
        line = Table.grid(padding=(0, 1))
        line.add_row(*cells, Text(told))
        return line


@contextmanager
def show_progress(progress: Progress, console: Console) -> Iterator[None]:
    """Show it while the context lasts; nothing of it stays on the terminal."""
    with Live(
        get_renderable=lambda: progress,
        console=console,
        refresh_per_second=REFRESHES,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield
