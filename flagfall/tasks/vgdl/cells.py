"""The grid of cells: which sprites stand where, so that a collision asks its neighbours and nobody else.

A sprite is entered in all cells that its rectangle touches. It may stay entered in a cell that it has left,
until it touches one that it is not entered in: one that falls and is pushed back each tick costs nothing
here. So a cell tells who *may* be there; rectangles decide.

Cells go on beyond the screen. A cell's value is a tuple, so a copy of the grid shares it.
"""

from __future__ import annotations

__all__ = ["Cells", "enter", "leave"]

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.sprites import Sprite

Cells: TypeAlias = "dict[int, tuple[Sprite, ...]]"

_STRIDE: Final = 1 << 32
"""Cells of a row have numbers side by side; rows are further apart than any sprite can be from another."""


def enter(cells: Cells, sprite: Sprite, block: int) -> None:
    """Enter a sprite where it is now, and nowhere else."""
    if sprite.cells:
        leave(cells, sprite)
    x, y, w, h = sprite.x, sprite.y, sprite.w, sprite.h
    column = x // block
    row = y // block
    last_column = (x + w - 1) // block
    last_row = (y + h - 1) // block
    sprite.left = column * block
    sprite.top = row * block
    sprite.right = (last_column + 1) * block - w
    sprite.bottom = (last_row + 1) * block - h
    first = row * _STRIDE + column
    if column == last_column and row == last_row:
        sprite.cells = (first,)
    else:
        sprite.cells = tuple(
            [
                first + down * _STRIDE + along
                for down in range(last_row - row + 1)
                for along in range(last_column - column + 1)
            ]
        )
    for cell in sprite.cells:
        there = cells.get(cell)
        cells[cell] = (sprite,) if there is None else (*there, sprite)


def leave(cells: Cells, sprite: Sprite) -> None:
    """Take a sprite out of the grid."""
    for cell in sprite.cells:
        there = cells[cell]
        if len(there) == 1:
            del cells[cell]
        else:
            cells[cell] = tuple([other for other in there if other is not sprite])
    sprite.cells = ()
