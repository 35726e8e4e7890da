"""Standings of a stored tournament."""

from __future__ import annotations

__all__ = ["StoredResults", "stored_results", "stored_standings"]

from collections.abc import Mapping

import attrs

from flagfall.tournament.columns import ResultColumns, columns_of
from flagfall.tournament.formats.schedule import most_matches, schedule
from flagfall.tournament.model import Points, TournamentPlan
from flagfall.tournament.noted import NotedSum, noted_sums
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.standings import Standings, standings_of
from flagfall.tournament.stats.intervals import RESAMPLES
from flagfall.tournament.stats.sprt import SprtState
from flagfall.tournament.store import Store


@attrs.frozen(kw_only=True, eq=False)
class StoredResults:
    """Results of a stored tournament, from which its standings are computed.

    Attributes:
        columns: the matches that count.
        records: their records by id; `None` where the columns were read without them.
        points: the points of the format.
        sprt: state of the sequential test.
        over: no match is left to play.
        noted: sums of the numbers that agents noted on their turns.
    """

    columns: ResultColumns
    records: Mapping[str, MatchRecord] | None
    points: Points
    sprt: SprtState | None
    over: bool
    noted: tuple[NotedSum, ...]

    def standings(self, plan: TournamentPlan, *, resamples: int = RESAMPLES) -> Standings:
        """Return the standings.

        Args:
            plan: the plan of the tournament.
            resamples: see `flagfall.tournament.standings.compute_standings`.
        """
        return standings_of(
            plan,
            self.columns,
            points=self.points,
            sprt=self.sprt,
            over=self.over,
            noted=self.noted,
            resamples=resamples,
        )


def stored_results(store: Store, plan: TournamentPlan) -> StoredResults:
    """Return the results of a stored tournament, whose records are checked against the plan.

    Args:
        store: the store of the tournament.
        plan: its plan.

    Raises:
        DamagedStore: a record cannot be read, or is not a match of the plan.
    """
    columns = store.columns(plan)
    if columns is not None:
        over = len(columns) >= most_matches(plan)
        noted = store.noted()
        return StoredResults(columns=columns, records=None, points={}, sprt=None, over=over, noted=noted)
    records = store.played(plan)
    order = schedule(plan)
    return StoredResults(
        columns=columns_of(plan, order.played(records)),
        records=records,
        points=plan.format.ranks(plan, records),
        sprt=order.sprt(records),
        over=order.over(records),
        noted=noted_sums(records.values()),
    )


def stored_standings(store: Store, plan: TournamentPlan, *, resamples: int = RESAMPLES) -> Standings:
    """Return the standings of a stored tournament, whose records are checked against the plan.

    Args:
        store: the store of the tournament.
        plan: its plan.
        resamples: see `flagfall.tournament.standings.compute_standings`.

    Raises:
        DamagedStore: a record cannot be read, or is not a match of the plan.
    """
    return stored_results(store, plan).standings(plan, resamples=resamples)
