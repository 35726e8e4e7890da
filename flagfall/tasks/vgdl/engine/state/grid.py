"""The grid of cells: which sprites stand where, so that a collision asks its neighbours and nobody else.

A sprite is entered in all cells that its rectangle touches. It may stay entered in a cell that it has left,
until it touches one that it is not entered in: one that falls and is pushed back each tick costs nothing
here. So a cell tells who *may* be there; rectangles decide.

Cells go on beyond the screen; a sprite entered in one of those is noted as perhaps outside. A cell's value is
a tuple, so a copy of the grid shares it.
"""

from __future__ import annotations

__all__ = ["Cells", "enter", "enter_first", "leave"]

from typing import TYPE_CHECKING, Final, TypeAlias

from flagfall.tasks.vgdl.engine.state.work_limit import CROWDED, spend

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite

Cells: TypeAlias = "dict[int, tuple[Sprite, ...]]"

_STRIDE: Final = 1 << 32
"""Cells of a row have numbers side by side; rows are further apart than any sprite can be from another."""

_FARTHEST: Final = 1 << 31
"""Positions are whole numbers of 32 bits in the original."""


def enter(play: Play, sprite: Sprite) -> None:
    """Enter a sprite where it is now, and nowhere else; note where it may go without being entered again.

    Raises:
        TooMuchEffortError: it is too large to be entered once more in this cycle.
        OverflowError: it is farther away than positions can say; it is left as far away as they can.
    """
    if not (-_FARTHEST < sprite.x < _FARTHEST and -_FARTHEST < sprite.y < _FARTHEST):
        sprite.x = max(1 - _FARTHEST, min(sprite.x, _FARTHEST - 1))
        sprite.y = max(1 - _FARTHEST, min(sprite.y, _FARTHEST - 1))
        raise OverflowError("a sprite has gone out of all bounds")
    if sprite.cells:
        leave(play.cells, sprite)
    block = play.block_size
    x, y, w, h = sprite.x, sprite.y, sprite.w, sprite.h
    column = x // block
    row = y // block
    end_column = (x + w - 1) // block + 1
    end_row = (y + h - 1) // block + 1
    sprite.left = column * block
    sprite.top = row * block
    sprite.right = end_column * block - w
    sprite.bottom = end_row * block - h
    game = play.game
    on_screen = column >= 0 and row >= 0 and end_column <= play.width and end_row <= play.height
    if not on_screen and game.watched_edges[sprite.type]:
        play.near_edge.add(sprite)
    if not game.entered[sprite.type]:
        if on_screen:
            sprite.left = sprite.top = 0
            sprite.right = play.screen[0] - w
            sprite.bottom = play.screen[1] - h
        return
    first = row * _STRIDE + column
    if end_column == column + 1 and end_row == row + 1:
        sprite.cells = (first,)
    else:
        sprite.cells = tuple(
            [
                first + down * _STRIDE + along
                for down in range(end_row - row)
                for along in range(end_column - column)
            ]
        )
    cells = play.cells
    if len(sprite.cells) > CROWDED:
        spend(play, len(sprite.cells))
    for cell in sprite.cells:
        if cell in cells:
            cells[cell] += (sprite,)
        else:
            cells[cell] = (sprite,)


def enter_first(play: Play, sprite: Sprite) -> None:
    """Enter a new sprite, if it matters to anything where it stands."""
    game = play.game
    if game.entered[sprite.type] or game.watched_edges[sprite.type]:
        enter(play, sprite)
    else:
        sprite.left = sprite.top = -_FARTHEST
        sprite.right = sprite.bottom = _FARTHEST


def leave(cells: Cells, sprite: Sprite) -> None:
    """Take a sprite out of the grid; it keeps its own note of its cells, which a fork may still need."""
    for cell in sprite.cells:
        there = cells[cell]
        if len(there) == 1:
            del cells[cell]
        else:
            cells[cell] = tuple([other for other in there if other is not sprite])
