"""How long turns took, counted in buckets: counts of many matches add up, and give quantiles of all of them.

Bucket widths grow with the times, so a quantile is too great by 1/32 at most, and counts stay few: a thousand
buckets reach from a nanosecond to an hour. The layout is that of high dynamic range histograms.
"""

from __future__ import annotations

__all__ = ["MAX_BUCKET", "ThinkTimes"]

from collections import Counter
from collections.abc import Iterable
from typing import Final

_BITS: Final = 5
_PARTS: Final = 1 << _BITS
"""Buckets from a power of two to the next."""

MAX_BUCKET: Final = 64 * _PARTS
"""Above the bucket of the longest time that 64 bits hold."""


class ThinkTimes:
    """A count of durations.

    Args:
        pairs: of buckets and numbers, as `pairs` gives them.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self._counts: Counter[int] = Counter()
        self.update(pairs)

    def add(self, spent_ns: int) -> None:
        """Count one turn; in nanoseconds, at least 0."""
        shift = max(0, spent_ns.bit_length() - _BITS - 1)
        self._counts[(shift << _BITS) + (spent_ns >> shift)] += 1

    def update(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Count what others have counted."""
        for bucket, number in pairs:
            self._counts[bucket] += number

    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Buckets and numbers, the shortest times first."""
        return tuple(sorted(self._counts.items()))

    @property
    def total(self) -> int:
        """How many were counted."""
        return self._counts.total()

    def quantile_ns(self, share: float) -> int:
        """What this share of the turns took at most, too great by 1/32 at most; 0 where there are none.

        Args:
            share: from 0 to 1.
        """
        wanted = share * self.total
        seen = 0
        for bucket, number in self.pairs():
            seen += number
            if seen >= wanted:
                return _longest_ns(bucket)
        return 0


def _longest_ns(bucket: int) -> int:
    """The longest time in a bucket."""
    shift = max(0, (bucket >> _BITS) - 1)
    return ((bucket - (shift << _BITS) + 1) << shift) - 1
