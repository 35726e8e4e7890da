"""Cells of a sprite by its position, for the views that show sprites in cells; see `observer`, rule 2."""

from __future__ import annotations

__all__ = ["OFF_SCREEN", "Anchors", "anchors_of"]

from functools import lru_cache
from typing import Final

OFF_SCREEN: Final = 1 << 40
"""More than any anchor on a screen."""


class Anchors:
    """Positions on the grid, by number: a sprite's first cell, and whether it extends into the next ones.

    Args:
        width: the width of the grid, in cells.
        height: the height of the grid, in cells.
        block: pixels a cell.
        by_rows: cells are numbered row by row; otherwise column by column.

    Attributes:
        across, down: summands of the number, by x and y in pixels; `OFF_SCREEN` where it is off the screen.
        cells: cells of an anchor.
    """

    def __init__(self, width: int, height: int, block: int, *, by_rows: bool = False) -> None:
        self.across = _Spans({x: line * 2 * height for x, line in _spans(width, block).items()})
        self.down = _Spans(_spans(height, block))
        self.cells = _Cells(width, height, by_rows=by_rows)


class _Spans(dict[int, int]):
    def __missing__(self, _pixel: int) -> int:
        return OFF_SCREEN


class _Cells(dict[int, tuple[int, ...]]):
    """Cells by anchor, computed on first use; none for anchors off the screen."""

    def __init__(self, width: int, height: int, *, by_rows: bool) -> None:
        super().__init__({OFF_SCREEN: ()})
        self._width = width
        self._height = height
        self._steps = (1, width) if by_rows else (height, 1)

    def __missing__(self, anchor: int) -> tuple[int, ...]:
        if anchor > OFF_SCREEN:
            return ()
        line_across, line_down = divmod(anchor, 2 * self._height)
        columns = _line(line_across, self._width)
        rows = _line(line_down, self._height)
        across, down = self._steps
        cells = self[anchor] = tuple([column * across + row * down for column in columns for row in rows])
        return cells


def _spans(cells: int, block: int) -> dict[int, int]:
    """Return by pixel twice its cell, plus one if a sprite that begins there extends into the next cell."""
    return {
        pixel: 2 * int(pixel / block) + (pixel > 0 and pixel % block > 0)
        for pixel in range(1 - block, cells * block)
    }


def _line(span: int, cells: int) -> tuple[int, ...]:
    """Return the cells along one axis for a value of `_spans`."""
    cell, reaches = divmod(span, 2)
    return (cell, cell + 1) if reaches and cell + 1 < cells else (cell,)


anchors_of = lru_cache(maxsize=32)(Anchors)
"""Shared by all views of levels of the same size."""
