"""Standings of a stored tournament."""

from __future__ import annotations

__all__ = ["stored_standings"]

from flagfall.tournament.formats.schedule import most_matches
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.standings import Standings, standings, standings_of
from flagfall.tournament.stats.intervals import RESAMPLES
from flagfall.tournament.store import Store


def stored_standings(store: Store, plan: TournamentPlan, *, resamples: int = RESAMPLES) -> Standings:
    """Return the standings of a stored tournament, whose records are checked against the plan.

    Args:
        store: the store of the tournament.
        plan: its plan.
        resamples: see `flagfall.tournament.standings.standings`.

    Raises:
        DamagedStore: a record cannot be read, or is not a match of the plan.
    """
    results = store.columns(plan)
    if results is None:
        return standings(plan, store.played(plan), resamples=resamples)
    over = len(results) >= most_matches(plan)
    return standings_of(plan, results, points={}, sprt=None, over=over, resamples=resamples)
