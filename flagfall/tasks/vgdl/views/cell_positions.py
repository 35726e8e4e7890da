"""Cells of a sprite by its position, for the views that show sprites in cells; see `observer`, rule 2."""

from __future__ import annotations

__all__ = ["CellsAt", "cells_at"]

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

CellsAt: TypeAlias = Mapping[int, Mapping[int, tuple[int, ...]]]
"""Cells by x, then by y, in pixels; none off the screen. Equal cells are the same object."""


class _Nowhere(dict[int, tuple[int, ...]]):
    """Cells of positions left or right of the screen."""

    def __missing__(self, _y: int) -> tuple[int, ...]:
        return ()


class _ByY(dict[int, tuple[int, ...]]):
    """Cells by y, for the positions that extend over the same columns; computed on first use.

    Args:
        columns: number of the first cell of each column.
        height: the height of the grid, in cells.
        block: pixels a cell.
        step: from the number of a cell to that below.
        known: all cells of positions, as themselves.

    Attributes:
        columns: see the arguments.
    """

    def __init__(
        self,
        columns: tuple[int, ...],
        height: int,
        block: int,
        step: int,
        known: dict[tuple[int, ...], tuple[int, ...]],
    ) -> None:
        super().__init__()
        self.columns = columns
        self._height = height
        self._block = block
        self._step = step
        self._known = known

    def __missing__(self, y: int) -> tuple[int, ...]:
        if not -self._block < y < self._height * self._block:
            return ()
        rows = _line(y, self._block, self._height)
        cells = tuple([column + row * self._step for column in self.columns for row in rows])
        cells = self[y] = self._known.setdefault(cells, cells)
        return cells


class _ByX(dict[int, Mapping[int, tuple[int, ...]]]):
    """Cells by x, then by y."""

    def __missing__(self, _x: int) -> Mapping[int, tuple[int, ...]]:
        return _NOWHERE


_NOWHERE = _Nowhere()


@lru_cache(maxsize=32)
def cells_at(width: int, height: int, block: int, *, by_rows: bool = False) -> CellsAt:
    """Return the cells of sprites by their position, shared by all views of levels of the same size.

    Args:
        width: the width of the grid, in cells.
        height: the height of the grid, in cells.
        block: pixels a cell.
        by_rows: cells are numbered row by row; otherwise column by column.
    """
    across, down = (1, width) if by_rows else (height, 1)
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    found = _ByX()
    by_y = _ByY((), height, block, down, known)
    for x in range(1 - block, width * block):
        columns = tuple([column * across for column in _line(x, block, width)])
        if columns != by_y.columns:
            by_y = _ByY(columns, height, block, down, known)
        found[x] = by_y
    return found


def _line(pixel: int, block: int, cells: int) -> tuple[int, ...]:
    """Return the cells along one axis of a sprite that begins at a pixel on the screen."""
    cell = int(pixel / block)
    return (cell, cell + 1) if pixel > 0 and pixel % block and cell + 1 < cells else (cell,)
