"""Growth with the recorded results of a tournament."""

from __future__ import annotations

__all__ = ["results"]

from collections.abc import Iterator
from functools import cache
from typing import Final

from benchmarks.curves import curve, sizes_up_to
from benchmarks.measure import Row
from benchmarks.tournament_store import GrowthPoint, growth_points

RESULTS: Final = (10, 100, 1_000, 10_000, 100_000, 1_000_000)


def results(scale: int) -> Iterator[Row]:
    """Measure the store and the standings of a round robin of ten agents.

    Args:
        scale: divides the amount of work.
    """

    @cache
    def point(size: int) -> GrowthPoint:
        return next(growth_points([size]))

    def standings_us(size: int) -> float:
        return point(size).standings_s / size * 1e6

    sizes = sizes_up_to(RESULTS, scale)
    yield from curve("storing a result", "µs", sizes, lambda size: point(size).put_us, target="≤ 200 µs")
    yield from curve("standings", "µs", sizes, standings_us, target="≤ 2 µs at 1,000,000")
    yield from curve("memory of standings", "MB", sizes, lambda size: point(size).standings_mb)
