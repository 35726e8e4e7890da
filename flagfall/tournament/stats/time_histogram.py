"""Histogram of turn times: histograms of many matches can be added, and give quantiles over all of them.

Bucket widths grow with the times, so a quantile is at most 1/32 too large, and the buckets stay few: a
thousand of them reach from a nanosecond to an hour. The layout is that of HdrHistogram.
"""

from __future__ import annotations

__all__ = ["MAX_BUCKET", "MAX_TURNS", "TimeHistogram", "longest_ns"]

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

_BITS: Final = 5
_PARTS: Final = 1 << _BITS
"""Buckets between two powers of two."""

MAX_BUCKET: Final = 64 * _PARTS
"""Exceeds the bucket of the longest time that 64 bits hold."""

MAX_TURNS: Final = 1 << 39
"""Most turns that a stored histogram may count in a bucket: ten million such counts fit into 64 bits."""


class TimeHistogram:
    """Histogram of durations.

    Args:
        pairs: buckets and counts, as `pairs` returns them.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self._counts: dict[int, int] = {}
        self.update(pairs)

    def add(self, spent_ns: int) -> None:
        """Count one turn.

        Args:
            spent_ns: its time in nanoseconds, at least 0.
        """
        self._count(_bucket(spent_ns), 1)

    def add_all(self, spent_ns: Sequence[int]) -> None:
        """Count turns; equal times, as on the virtual clock, together.

        Args:
            spent_ns: their times in nanoseconds.
        """
        if spent_ns and spent_ns.count(spent_ns[0]) == len(spent_ns):
            self._count(_bucket(spent_ns[0]), len(spent_ns))
            return
        for one_ns, count in Counter(spent_ns).items():
            self._count(_bucket(one_ns), count)

    def update(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the counts of another histogram.

        Args:
            pairs: as `pairs` returns them.
        """
        for bucket, number in pairs:
            self._count(bucket, number)

    def _count(self, bucket: int, number: int) -> None:
        self._counts[bucket] = self._counts.get(bucket, 0) + number

    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Return buckets and counts, the shortest times first."""
        return tuple(sorted(self._counts.items()))

    @property
    def total(self) -> int:
        """Number of turns counted."""
        return sum(self._counts.values())

    def quantile_ns(self, share: float) -> int:
        """Return the time that a share of the turns did not exceed, at most 1/32 too large; 0 without turns.

        Args:
            share: from 0 to 1.
        """
        wanted = share * self.total
        seen = 0
        for bucket, number in self.pairs():
            seen += number
            if seen >= wanted:
                return longest_ns(bucket)
        return 0


def _bucket(spent_ns: int) -> int:
    """Return the bucket of a time."""
    shift = max(0, spent_ns.bit_length() - _BITS - 1)
    return (shift << _BITS) + (spent_ns >> shift)


def longest_ns(bucket: int) -> int:
    """Return the longest time in a bucket, in nanoseconds.

    Args:
        bucket: as `TimeHistogram.pairs` returns them.
    """
    shift = max(0, (bucket >> _BITS) - 1)
    return ((bucket - (shift << _BITS) + 1) << shift) - 1
