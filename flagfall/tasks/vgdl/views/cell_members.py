"""Members of cells: which sprites are in each cell of a level, in order, and quick access to their values."""

from __future__ import annotations

__all__ = ["CellMembers"]

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

CROWD: Final = 32
"""Cells with at least this many sprites are rebuilt once for each series of changes, not for each change."""

Fetch: TypeAlias = Callable[[Mapping[int, Any]], tuple[Any, ...]]
"""Function that returns the values of some sprites from a mapping by their numbers, in order."""


def _fetcher(numbers: Sequence[int]) -> Fetch:
    """Return a function that takes the values of some keys from a mapping, as a tuple.

    `operator.itemgetter` does this five times as fast as a loop, but not for less than two keys.

    Args:
        numbers: the keys.
    """
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return _fetcher_of_one(numbers[0]) if numbers else _fetch_nothing


def _fetcher_of_one(number: int) -> Fetch:
    return lambda values: (values[number],)


def _fetch_nothing(_values: Mapping[int, Any]) -> tuple[Any, ...]:
    return ()


class CellMembers:
    """Numbers of the sprites in each cell.

    Call `finish` after a series of changes, before `fetch` is used.

    Args:
        cells: number of cells.
        order: sort key by number; the sprites of a cell ascend by it.

    Attributes:
        fetch: by cell, the function that takes the values of its sprites from a mapping by number.
    """

    __slots__ = ("_numbers", "_order", "_pending", "fetch")

    def __init__(self, cells: int, order: Mapping[int, Any]) -> None:
        self._order = order
        self._numbers: list[tuple[int, ...]] = [()] * cells
        self._pending: dict[int, dict[int, None]] = {}
        self.fetch: list[Fetch] = [_fetch_nothing] * cells

    def copy(self, order: Mapping[int, Any]) -> CellMembers:
        """Return an independent copy; only after `finish`.

        Args:
            order: sort key by number, for the copy.
        """
        new = CellMembers(0, order)
        new._numbers = self._numbers.copy()
        new.fetch = self.fetch.copy()
        return new

    def move(self, number: int, old: Collection[int], new: Collection[int]) -> None:  # noqa: C901 - calls would cost more than the work
        """Move a sprite from some cells to others.

        Args:
            number: of a sprite that has a sort key.
            old: all cells in which it is.
            new: all cells in which it will be.
        """
        members, fetch = self._numbers, self.fetch
        for cell in old:
            if cell not in new:
                before = members[cell]
                count = len(before)
                if count == 1:
                    members[cell] = ()
                    fetch[cell] = _fetch_nothing
                elif count == 2:  # noqa: PLR2004 - one is left
                    other = before[before[0] == number]
                    members[cell] = (other,)
                    fetch[cell] = _fetcher_of_one(other)
                elif count < CROWD:
                    rest = members[cell] = tuple([other for other in before if other != number])
                    fetch[cell] = itemgetter(*rest)
                else:
                    del self._open(cell)[number]
        for cell in new:
            if cell not in old:
                before = members[cell]
                if not before:
                    members[cell] = (number,)
                    fetch[cell] = _fetcher_of_one(number)
                elif len(before) < CROWD:
                    now = (*before, number)
                    order = self._order
                    if order[number] < order[before[-1]]:
                        now = tuple(sorted(now, key=order.__getitem__))
                    members[cell] = now
                    fetch[cell] = itemgetter(*now)
                else:
                    self._open(cell)[number] = None

    def finish(self) -> None:
        """Apply the changes of crowded cells."""
        if self._pending:
            for cell, members in self._pending.items():
                numbers = self._numbers[cell] = tuple(sorted(members, key=self._order.__getitem__))
                self.fetch[cell] = _fetcher(numbers)
            self._pending.clear()

    def _open(self, cell: int) -> dict[int, None]:
        """Return the members of a crowded cell, to be changed until `finish`."""
        members = self._pending.get(cell)
        if members is None:
            members = self._pending[cell] = dict.fromkeys(self._numbers[cell])
        return members
