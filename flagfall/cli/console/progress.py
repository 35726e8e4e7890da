"""Progress line of a long run on the terminal."""

from __future__ import annotations

__all__ = ["Progress", "show_progress", "watch_turns"]

import time
from contextlib import ExitStack, contextmanager
from math import inf
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from flagfall.events import Event, TurnPlayed
from flagfall.terminal_text import sanitize_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType

REFRESHES: Final = 4
"""Refreshes per second. Each costs the event loop about 1 ms, as the display thread takes the GIL."""

_BAR_CHARS: Final = 30

SHOW_AFTER_SECONDS: Final = 1.0
"""Time after which the progress of a command is shown."""


class Progress:
    """State of the progress line; as a sink of events it counts turns.

    Args:
        matches: number of matches to be played.
        steps: limit of turns for each match; `None` if there is none.
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
        """Begin the next match.

        Args:
            number: the number of the match, from 0.
            who: the names of its agents.
        """
        of = f"match {number} ({number + 1} of {self._matches}): " if self._matches > 1 else ""
        self._title = of + who
        self._before += self._turns
        self._turns = 0

    def show_turns(self, turns: int) -> None:
        """Set the number of turns played in this match.

        Args:
            turns: the number of turns.
        """
        self._turns = turns

    def __call__(self, event: Event) -> None:
        """Count the turn of a `TurnPlayed` event."""
        if type(event) is TurnPlayed:
            self._turns = event.turn + 1

    def __rich__(self) -> Table:
        seconds = max(time.monotonic() - self._began, 1e-3)
        rate = (self._before + self._turns) / seconds
        cells: list[RenderableType] = [self._spinner, Text(self._title)]
        if self._steps is not None:
            cells.append(ProgressBar(total=self._steps, completed=self._turns, width=_BAR_CHARS))
        text = f"{self._turns:,} turns  {rate:,.0f}/s  {seconds:.0f} s"
        line = Table.grid(padding=(0, 1))
        line.add_row(*cells, Text(text))
        return line


@contextmanager
def show_progress(progress: Progress, console: Console) -> Iterator[None]:
    """Show the progress line while the context lasts, and clear it afterwards.

    Args:
        progress: the state to show.
        console: the console of a terminal.
    """
    with Live(
        get_renderable=lambda: progress,
        console=console,
        refresh_per_second=REFRESHES,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


@contextmanager
def watch_turns(title: str, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Return a context with a callback for the number of turns done, which a terminal shows if it takes long.

    Args:
        title: what is done, such as `verifying match.jsonl`.
        quiet: show nothing.
    """
    console = Console(stderr=True, highlight=False, markup=False)
    progress = Progress(1, None)
    progress.begin(0, sanitize_terminal(title))
    show_at = inf if quiet or not console.is_terminal else time.monotonic() + SHOW_AFTER_SECONDS
    with ExitStack() as shown:

        def watch(turns: int) -> None:
            nonlocal show_at
            progress.show_turns(turns)
            if time.monotonic() >= show_at:
                show_at = inf
                shown.enter_context(show_progress(progress, console))

        yield watch
