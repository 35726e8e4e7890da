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
"""Difference of the cell numbers of two rows: larger than any distance within a row."""

_FARTHEST: Final = 1 << 31
"""Positions are 32-bit integers in the original."""


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
    """

    __slots__ = ("block_size", "cells", "entered", "height", "near_edge", "size", "watched", "width", "work")

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
        block = self.block_size
        x, y, w, h = sprite.x, sprite.y, sprite.w, sprite.h
        column = x // block
        row = y // block
        end_column = (x + w - 1) // block + 1
        end_row = (y + h - 1) // block + 1
        on_screen = column >= 0 and row >= 0 and end_column <= self.width and end_row <= self.height
        if not on_screen:
            _check_range(sprite)
            if self.watched[sprite.type]:
                self.near_edge.add(sprite)
        if self.entered[sprite.type]:
            number = row * _STRIDE + column
            if end_column == column + 1 and end_row == row + 1:
                cells: tuple[int, ...] = (number,)
                for old in sprite.cells:  # it may stay in one beside the new one, and will if it is pushed back
                    step = old - number
                    if step == 1:
                        end_column += 1
                    elif step == -1:
                        column -= 1
                    elif step == _STRIDE:
                        end_row += 1
                    elif step == -_STRIDE:
                        row -= 1
                    else:
                        continue
                    cells = (number, old)
                    break
            else:
                cells = tuple(
                    [
                        number + down * _STRIDE + along
                        for down in range(end_row - row)
                        for along in range(end_column - column)
                    ]
                )
            self._put(sprite, cells)
        elif on_screen:
            column = row = 0
            end_column = self.width
            end_row = self.height
        sprite.left = column * block
        sprite.top = row * block
        sprite.right = end_column * block - w
        sprite.bottom = end_row * block - h

    def _put(self, sprite: Sprite, new: tuple[int, ...]) -> None:
        """Enter a sprite in some cells, and remove it from all others."""
        cells = self.cells
        old = sprite.cells
        if len(new) > LARGE_GROUP:
            self.work.charge(len(new))
        if len(old) + len(new) > LARGE_GROUP:
            self.leave(sprite)
            old = ()
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
        sprite.cells = new

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


def _check_range(sprite: Sprite) -> None:
    """Keep a sprite within 32 bits.

    Args:
        sprite: off the screen.

    Raises:
        OverflowError: its position exceeds them; it is moved to the farthest valid one.
    """
    if not (-_FARTHEST < sprite.x < _FARTHEST and -_FARTHEST < sprite.y < _FARTHEST):
        sprite.x = max(1 - _FARTHEST, min(sprite.x, _FARTHEST - 1))
        sprite.y = max(1 - _FARTHEST, min(sprite.y, _FARTHEST - 1))
        raise OverflowError("the position of a sprite exceeds 32 bits")
