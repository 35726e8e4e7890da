"""Growth curves: the cost of one unit while a run has more matches, seats, cells or results.

Costs are CPU time of this process, so other programs have little influence. Each row is a point; its ratio is
the cost divided by that of the curve's reference point.
"""

from __future__ import annotations

__all__ = ["SUITE"]

from benchmarks.growth_cells import cells
from benchmarks.growth_matches import matches, seats
from benchmarks.growth_results import results
from benchmarks.suites import Suite, by_name

SUITE = Suite("growth curves, CPU time of a unit", by_name(matches, seats, cells, results))
