"""Source of a report: a results folder, opened to be read, with its plan and its standings."""

from __future__ import annotations

__all__ = ["ReportSource", "open_source"]

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Literal

import attrs

from flagfall.errors import UsageError
from flagfall.tournament.excerpts import MatchCounts, count_matches
from flagfall.tournament.lock import is_held
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.standings import Standings
from flagfall.tournament.stats.duels import Duels, duels_of
from flagfall.tournament.store import Store, StoredPlan
from flagfall.tournament.stored_standings import StoredResults, stored_results
from flagfall.viewer.report.journals import JournalReader


@attrs.frozen(kw_only=True, eq=False, slots=False)
class ReportSource:
    """Everything that the parts of a report read.

    Attributes:
        folder: the results folder.
        store: its store.
        stored: the plan as it is stored.
        plan: the plan for display; nothing that it names is there.
        results: the matches that count.
        standings: the standings.
        counts: numbers of stored matches.
        state: `over`, `running`, or `interrupted` where matches are left and no run plays them.
        journals: reader of the journals.
    """

    folder: Path
    store: Store
    stored: StoredPlan
    plan: TournamentPlan
    results: StoredResults
    standings: Standings
    counts: MatchCounts
    state: Literal["over", "running", "interrupted"]
    journals: JournalReader

    @cached_property
    def duels(self) -> Duels:
        """All duels, in the order of the schedule."""
        return duels_of(self.results.columns)

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names of the agents, the best first."""
        return tuple(row.agent for row in self.standings.rows)


@contextmanager
def open_source(folder: Path) -> Iterator[ReportSource]:
    """Open a results folder.

    Args:
        folder: the folder of a tournament, which may be running.

    Raises:
        UsageError: it holds no tournament, it is damaged, or none of its matches has begun.
    """
    with closing(Store(folder)) as store:
        stored = store.plan()
        if stored is None:
            raise UsageError(f"{folder}: the tournament has not begun")
        try:
            plan = stored.for_display()
        except UsageError as error:
            raise UsageError(f"{folder}: {error}") from error
        running = is_held(folder)
        results = stored_results(store, plan)
        state: Literal["over", "running", "interrupted"] = "interrupted"
        if results.over:
            state = "over"
        elif running:
            state = "running"
        yield ReportSource(
            folder=folder,
            store=store,
            stored=stored,
            plan=plan,
            results=results,
            standings=results.standings(plan),
            counts=count_matches(store),
            state=state,
            journals=JournalReader(folder),
        )
