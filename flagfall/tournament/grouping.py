"""Sums of array rows that have the same key."""

from __future__ import annotations

__all__ = ["Groups"]

from collections.abc import Iterator
from typing import Final

import numpy as np

from flagfall.tournament.columns import Array

_SMALL: Final = 1 << 16


class Groups:
    """Rows of a column, by a key.

    Args:
        keys: key of each row, at least 0.
        size: number of possible keys.
    """

    def __init__(self, keys: Array, size: int) -> None:
        self.counts: Array = np.bincount(keys, minlength=size)
        self.keys: Array = np.flatnonzero(self.counts)
        # numpy sorts numbers of 16 bits in linear time.
        small = keys.astype(np.uint16) if size <= _SMALL else keys
        self._order = np.argsort(small, kind="stable")
        self._starts = (np.cumsum(self.counts) - self.counts)[self.keys]
        self._size = size

    def firsts(self) -> Array:
        """Return the first row of each key that occurs."""
        rows: Array = self._order[self._starts]
        return rows

    def rows(self) -> Iterator[Array]:
        """Yield the rows of each key that occurs, in order."""
        return iter(np.split(self._order, self._starts[1:]) if len(self.keys) else ())

    def sums(self, values: Array) -> Array:
        """Return the sum of whole numbers for each key."""
        return self._reduced(np.add, values.astype(np.int64))

    def largest(self, values: Array) -> Array:
        """Return the largest of numbers from 0 on for each key; 0 where there is none."""
        return self._reduced(np.maximum, values)

    def _reduced(self, operation: np.ufunc, values: Array) -> Array:
        reduced = np.zeros(self._size, dtype=np.int64)
        if len(self.keys):
            reduced[self.keys] = operation.reduceat(values[self._order], self._starts)
        return reduced
