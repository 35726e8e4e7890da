"""Growth curves: rows that measure the same at growing sizes."""

from __future__ import annotations

__all__ = ["curve", "sizes_up_to"]

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from benchmarks.measure import Row

LEAST_POINTS: Final = 2


def sizes_up_to(sizes: Sequence[int], scale: int) -> Sequence[int]:
    """Return the sizes that are not larger than the largest divided by the scale, at least the first two.

    Args:
        sizes: in ascending order.
        scale: divides the largest.
    """
    fitting = [size for size in sizes if size <= sizes[-1] // scale]
    return fitting if len(fitting) >= LEAST_POINTS else sizes[:LEAST_POINTS]


def curve(
    name: str,
    unit: str,
    sizes: Iterable[int],
    cost: Callable[[int], float],
    *,
    reference: int = 0,
    target: str = "",
) -> Iterator[Row]:
    """Measure the points of a curve.

    Args:
        name: of the curve.
        unit: of the cost, such as `µs`.
        sizes: where it is measured, in ascending order.
        cost: returns the cost of one unit at a size.
        reference: the size whose cost the ratio of larger ones divides by; 0 for the first size.
        target: of the points after the reference.
    """
    base = 0.0
    for size in sizes:
        value = cost(size)
        beyond = bool(base)
        yield Row(
            f"{name}, {size:,}",
            f"{value:,.2f} {unit}",
            ratio=f"{value / base:.2f}" if beyond else "",
            target=target if beyond else "",
            curve=f"{name}, {unit}",
            size=size,
            number=value,
        )
        if not base and size >= reference:
            base = value
