"""Progress display of a running tournament."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from flagfall.cli.console.output import number, table
from flagfall.cli.console.progress import show_live
from flagfall.texts import counted, sanitize_terminal

if TYPE_CHECKING:
    from flagfall.tournament.records import MatchRecord
    from flagfall.tournament.run.runner import Run

LINE_SECONDS: Final = 10.0
"""Interval of progress lines if the standard error is not a terminal."""

RUNNING_ROWS: Final = 8
AGENT_ROWS: Final = 12
_BAR_CHARS: Final = 40


class TournamentScreen:
    """Progress of a tournament on the standard error: live on a terminal, otherwise as occasional lines.

    If it is quiet, it shows only problems.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False)
        self._quiet = quiet
        self._run: Run | None = None
        self._began = self._reported = time.monotonic()
        self._before = 0
        self._points: Counter[str] = Counter()
        self._matches: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        self._disqualified: Counter[str] = Counter()

    def begin(self, run: Run) -> None:
        """Start with the records of earlier runs."""
        self._run = run
        self._before = len(run.records)
        self._began = time.monotonic()
        for record in run.records.values():
            self._add(record)

    def show_record(self, record: MatchRecord) -> None:
        """Show the stored record of an attempt, void or not."""
        if record.status == "void":
            self.say(f"{record.id} is void: {sanitize_terminal(record.why)}")
        else:
            self._add(record)
        is_due = time.monotonic() > self._reported + LINE_SECONDS
        if is_due and not self._console.is_terminal and not self._quiet:
            self._reported = time.monotonic()
            self.say(self._progress())

    def _add(self, record: MatchRecord) -> None:
        for seat in record.seats:
            self._matches[seat.agent] += 1
            self._points[seat.agent] += seat.score  # type: ignore[assignment]  # a counter of any numbers
            self._late[seat.agent] += seat.late
            self._disqualified[seat.agent] += seat.fell is not None

    def say(self, text: str) -> None:
        """Print a line of text."""
        with suppress(OSError):  # the terminal was closed
            if self._console.is_terminal:
                self._console.print(f"flagfall: {text}", soft_wrap=True)
            else:
                print(f"flagfall: {text}", file=sys.stderr, flush=True)

    def shown(self) -> AbstractContextManager[None]:
        """Return a context with the live display, if there is a terminal; it is removed at the end."""
        if self._quiet or not self._console.is_terminal:
            return nullcontext()
        return show_live(self, self._console)

    def _progress(self) -> str:
        assert self._run is not None
        run = self._run
        played = len(run.records)
        words = [
            f"{played:,} of {counted(run.total, 'match', 'matches')}"
            if run.total is not None
            else counted(played, "match", "matches")
        ]
        rate = (played - self._before) / max(time.monotonic() - self._began, 1e-3)
        if rate:
            words.append(f"{rate:.3g}/s")
            if run.total is not None:
                words.append(f"{(run.total - played) / rate:,.0f} s left")
        words += [f"{run.voids} void"] if run.voids else []
        words += ["stopping"] if run.stopping else ["paused"] if run.paused else []
        return ", ".join(words)

    def __rich__(self) -> Group:
        if self._run is None:
            return Group(Text("measuring this machine's timer"))
        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._run.total or 1, completed=len(self._run.records), width=_BAR_CHARS)
        line.add_row(bar, Text(self._progress()))
        return Group(line, self._running(self._run), self._agents())

    def _running(self, run: Run) -> Table:
        rows = table("match", "task", "agents", numbers=("attempt", "for"))
        now = time.monotonic()
        for running in list(run.running.values())[:RUNNING_ROWS]:
            agents = sanitize_terminal(", ".join(running.spec.entrants))
            seconds = f"{now - running.since:.0f} s"
            rows.add_row(
                running.spec.id, sanitize_terminal(running.spec.task), agents, str(running.attempt), seconds
            )
        return rows

    def _agents(self) -> Table:
        rows = table("agent", numbers=("matches", "mean score", "late", "out"))
        means = {name: self._points[name] / matches for name, matches in list(self._matches.items())}
        for name in sorted(means, key=lambda name: -means[name])[:AGENT_ROWS]:
            counts = (self._late[name], self._disqualified[name])
            rows.add_row(
                sanitize_terminal(name),
                number(self._matches[name]),
                f"{means[name]:z.3f}",
                *map(number, counts),
            )
        return rows
