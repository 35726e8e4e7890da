"""Tournaments: from a plan to standings.

A plan says who plays what; a schedule, made from the plan and the records so far, says which matches can be
played now; records say what became of them; standings are made from the plan and the records. All of that is
values and functions; what runs matches, stores records and talks to people stands beside it.
"""

__all__ = [
    "Column",
    "add_column",
    "compute_standings",
    "load_plan",
    "run_tournament",
]

from flagfall.lazy_names import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flagfall.tournament.plan.parser import load_plan
    from flagfall.tournament.run.api import run_tournament
    from flagfall.tournament.standings import compute_standings
    from flagfall.tournament.tables import Column, add_column

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "flagfall.tournament.plan.parser": "load_plan",
        "flagfall.tournament.run.api": "run_tournament",
        "flagfall.tournament.standings": "compute_standings",
        "flagfall.tournament.tables": "Column add_column",
    },
)
del TYPE_CHECKING, lazy_names
