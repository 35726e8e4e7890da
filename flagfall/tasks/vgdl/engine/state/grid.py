"""Spatial grid: the sprites in each cell, so that collision detection examines neighbours only.

A sprite is entered in every cell that its rectangle touches. It may stay entered in a cell that it has left
until it touches one in which it is not entered, so a sprite that falls and is pushed back in each tick costs
nothing here. A cell therefore lists candidates; rectangles decide.

Cells continue beyond the screen; a sprite entered in one of those is noted as possibly outside. The value of
a cell is a tuple, so a copy of the grid can share it.
"""

from __future__ import annotations

__all__ = ["Cells", "Grid"]

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.engine.state.work_limit import LARGE_GROUP, WorkLimit

Cells: TypeAlias = dict[int, tuple[Sprite, ...]]
"""Sprites by cell number."""

_STRIDE: Final = 1 << 32
"""Difference of the numbers of two cells beyond the screen, one above the other; no row is longer."""

_BEYOND: Final = 1 << 64
"""Cells beyond the screen have higher numbers than any cell on it."""

_FARTHEST: Final = 1 << 31
"""Positions are 32-bit integers in the original."""

_Spot: TypeAlias = tuple[tuple[int, ...], int, int, int, int]
"""Cells of a rectangle, and the bounds within which they stay the same: left, right, top, bottom."""

_MAX_SPOTS: Final = 10_000
"""Kept rectangles; a sprite that moves by whole cells has one for each cell."""


class Grid:
    """The grid of one play.

    Args:
        width: the width of the level, in cells.
        height: the height of the level, in cells.
        block_size: pixels a cell.
        entered: by type, whether its sprites are entered in cells.
        watched: by type, whether leaving the screen has an effect on its sprites.
        work: charged for large sprites.

    Attributes:
        width, height, block_size, entered, watched, work: see the arguments.
        size: the size of the screen, in pixels.
        cells: sprites by cell.
        near_edge: watched sprites that may be partly outside of the screen.
        spots: what rectangles on the screen have been found to cover; one table for all copies of a grid.
    """

    __slots__ = (
        "block_size",
        "cells",
        "entered",
        "height",
        "near_edge",
        "size",
        "spots",
        "watched",
        "width",
        "work",
    )

    def __init__(
        self,
        width: int,
        height: int,
        block_size: int,
        entered: Sequence[bool],
        watched: Sequence[bool],
        work: WorkLimit,
    ) -> None:
        self.width = width
        self.height = height
        self.size = (width * block_size, height * block_size)
        self.entered = entered
        self.watched = watched
        self.work = work
        self.block_size = block_size
        self.spots: dict[tuple[int, int, int, int], _Spot] = {}
        self.clear()

    def clear(self) -> None:
        """Remove all sprites."""
        self.cells: Cells = {}
        self.near_edge: set[Sprite] = set()

    def copy(self, copies: Mapping[Sprite, Sprite], work: WorkLimit) -> Grid:
        """Return a grid for a copy of the play.

        Args:
            copies: by sprite, the one that takes its place; sprites that both plays share are left out.
            work: the work of the new play.
        """
        new = Grid.__new__(Grid)
        new.width = self.width
        new.height = self.height
        new.size = self.size
        new.entered = self.entered
        new.watched = self.watched
        new.work = work
        new.block_size = self.block_size
        new.spots = self.spots
        get = copies.get
        cells = new.cells = self.cells.copy()
        for cell in {cell for sprite in copies for cell in sprite.cells}:
            cells[cell] = tuple([get(sprite, sprite) for sprite in cells[cell]])
        new.near_edge = {get(sprite, sprite) for sprite in self.near_edge}
        return new

    def enter(self, sprite: Sprite) -> None:
        """Enter a sprite at its position, remove it from other cells, and set its bounds of free movement.

        Args:
            sprite: new, or beyond its bounds.

        Raises:
            WorkLimitExceeded: it is too large to be entered again in this cycle.
            OverflowError: its position exceeds 32 bits; it is moved to the farthest valid one.
        """
        spot = self.spots.get((sprite.x, sprite.y, sprite.w, sprite.h)) or self._locate(sprite)
        new, sprite.left, sprite.right, sprite.top, sprite.bottom = spot
        if not self.entered[sprite.type]:
            self._free(sprite)
            return
        old = sprite.cells
        if len(new) > LARGE_GROUP:
            self.work.charge(len(new))
            self.leave(sprite)
            old = ()
        sprite.cells = new
        cells = self.cells
        for cell in old:
            if cell not in new:
                there = cells[cell]
                if len(there) == 1:
                    del cells[cell]
                else:
                    cells[cell] = tuple([other for other in there if other is not sprite])
        for cell in new:
            if cell not in old:
                if cell in cells:
                    cells[cell] += (sprite,)
                else:
                    cells[cell] = (sprite,)

    def _locate(self, sprite: Sprite) -> _Spot:
        """Return the cells and bounds of a sprite, and note a watched one that extends beyond the screen."""
        block = self.block_size
        x, y, w, h = sprite.x, sprite.y, sprite.w, sprite.h
        if not (-_FARTHEST < x < _FARTHEST and -_FARTHEST < y < _FARTHEST):
            sprite.x = max(1 - _FARTHEST, min(x, _FARTHEST - 1))
            sprite.y = max(1 - _FARTHEST, min(y, _FARTHEST - 1))
            raise OverflowError("the position of a sprite exceeds 32 bits")
        columns = range(x // block, (x + w - 1) // block + 1)
        rows = range(y // block, (y + h - 1) // block + 1)
        on_screen = (
            columns.start >= 0 and rows.start >= 0 and columns.stop <= self.width and rows.stop <= self.height
        )
        spot = (
            tuple([self._number(column, row) for row in rows for column in columns])
            if self.entered[sprite.type]
            else (),
            columns.start * block,
            columns.stop * block - w,
            rows.start * block,
            rows.stop * block - h,
        )
        if not on_screen:
            if self.watched[sprite.type]:
                self.near_edge.add(sprite)
        elif sprite.cells and len(self.spots) < _MAX_SPOTS:
            self.spots[x, y, w, h] = spot
        return spot

    def _number(self, column: int, row: int) -> int:
        """Return the number of a cell: a small one on the screen."""
        if 0 <= column < self.width and 0 <= row < self.height:
            return row * self.width + column
        return _BEYOND + row * _STRIDE + column

    def _free(self, sprite: Sprite) -> None:
        """Let the bounds of a sprite that is not entered in cells be those of the screen, if it is there."""
        width, height = self.size
        w, h = sprite.w, sprite.h
        if sprite.left >= 0 and sprite.top >= 0 and sprite.right + w <= width and sprite.bottom + h <= height:
            sprite.left = sprite.top = 0
            sprite.right = width - w
            sprite.bottom = height - h

    def enter_first(self, sprite: Sprite) -> None:
        """Enter a new sprite, unless neither its cells nor the screen's edge matter to its type.

        Args:
            sprite: not entered yet.
        """
        if self.entered[sprite.type] or self.watched[sprite.type]:
            self.enter(sprite)
        else:
            sprite.left = sprite.top = -_FARTHEST
            sprite.right = sprite.bottom = _FARTHEST

    def leave(self, sprite: Sprite) -> None:
        """Remove a sprite from its cells; `sprite.cells` stays as it is, because a fork may still need it.

        Args:
            sprite: entered in this grid.
        """
        cells = self.cells
        for cell in sprite.cells:
            there = cells[cell]
            if len(there) == 1:
                del cells[cell]
            else:
                cells[cell] = tuple([other for other in there if other is not sprite])
