"""A play as a picture: every sprite's tile at its place in pixels, in the game's drawing order.

Hidden sprites are drawn and invisible ones are not, as in the original: the one keeps a thing out of
observations, the other out of pictures. Dead avatars are not drawn.

A cell is painted when something in it has changed, and what it looks like is kept for the next cell with the
same things at the same places.
"""

from __future__ import annotations

__all__ = ["Painter"]

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from flagfall.tasks.vgdl.tiles import BACKDROP, TileSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from flagfall.tasks.vgdl.play import Play
    from flagfall.tasks.vgdl.sprites import Sprite

MAX_KEPT: Final = 10_000
"""So many looks of cells are kept; 3 MB of them with 10 pixels a cell."""


class Mark(NamedTuple):
    """All that a sprite's looks depend on; marks sort as they are drawn.

    Attributes:
        rank: of its type in the drawing order.
        number: the sprite's.
        type: its type.
        x, y, width, height: its rectangle, in the play's pixels.
        facing: the main direction of its orientation.
    """

    rank: int
    number: int
    type: int
    x: int
    y: int
    width: int
    height: int
    facing: tuple[int, int]


class Painter:
    """Paints one play, tick after tick.

    It is quick where it is asked after every tick; after several, it paints everything anew.

    Args:
        play: begun; a painter for each play.
        block: pixels a cell in the picture; by default the play's own.
        tiles: a tile set of the game to share with other painters.
    """

    def __init__(self, play: Play, block: int | None = None, tiles: TileSet | None = None) -> None:
        definition = play.game.definition
        self._play = play
        self._block = block or play.block_size
        self._tiles = tiles or TileSet(definition)
        self._ranks = {
            type_id: rank
            for rank, type_id in enumerate(definition.order)
            if not definition.types[type_id].parameters.get("invisible")
        }
        self._restless = [kind.id for kind in play.game.kinds if kind.id in self._ranks and not kind.fixed]
        self._looks: dict[tuple[tuple[int, ...], ...], NDArray[np.uint8]] = {}
        self._tick: int | None = None
        self._clear()

    def _clear(self) -> None:
        height, width = self._play.height, self._play.width
        self._canvas = np.empty((height * self._block, width * self._block, 3), np.uint8)
        self._canvas[:] = BACKDROP
        self._marks: dict[int, Mark] = {}
        self._cells: dict[tuple[int, int], dict[int, Mark]] = {}
        self._stale: set[tuple[int, int]] = set()

    def paint(self) -> NDArray[np.uint8]:
        """The picture of this moment: `[height, width, 3]`, red, green, blue; the caller's own."""
        play = self._play
        if self._tick is None or play.tick not in (self._tick, self._tick + 1):
            self._clear()
            self._look_at(sprite for group in play.groups for sprite in group)
        elif play.tick != self._tick:
            for sprite in play.died:
                self._take_out(sprite.id)
            self._look_at(play.born)
            for type_id in self._restless:
                self._look_at(play.groups[type_id])
        self._tick = play.tick
        for cell in self._stale:
            self._paint_cell(cell)
        self._stale.clear()
        return self._canvas.copy()

    def _look_at(self, sprites: Iterable[Sprite]) -> None:
        """Note what sprites look like now."""
        marks = self._marks
        for sprite in sprites:
            rank = self._ranks.get(sprite.type)
            if rank is None or sprite.disabled:
                self._take_out(sprite.id)
                continue
            ox, oy = sprite.ox, sprite.oy
            facing = (-1 if ox < 0 else 1, 0) if abs(ox) >= abs(oy) else (0, -1 if oy < 0 else 1)
            mark = Mark(rank, sprite.id, sprite.type, sprite.x, sprite.y, sprite.w, sprite.h, facing)
            if marks.get(sprite.id) != mark:
                self._take_out(sprite.id)
                self._put_in(mark)

    def _put_in(self, mark: Mark) -> None:
        self._marks[mark.number] = mark
        for cell in self._cells_of(mark):
            self._cells.setdefault(cell, {})[mark.number] = mark
            self._stale.add(cell)

    def _take_out(self, number: int) -> None:
        mark = self._marks.pop(number, None)
        if mark is not None:
            for cell in self._cells_of(mark):
                del self._cells[cell][number]
                self._stale.add(cell)

    def _cells_of(self, mark: Mark) -> list[tuple[int, int]]:
        """The cells of the screen that it touches, as (column, row)."""
        block = self._play.block_size
        columns = range(
            max(0, mark.x // block), min(self._play.width, (mark.x + mark.width - 1) // block + 1)
        )
        rows = range(max(0, mark.y // block), min(self._play.height, (mark.y + mark.height - 1) // block + 1))
        return [(column, row) for column in columns for row in rows]

    def _paint_cell(self, cell: tuple[int, int]) -> None:
        column, row = cell
        left, top = column * self._play.block_size, row * self._play.block_size
        looks = tuple(
            [
                (mark.type, mark.x - left, mark.y - top, mark.width, mark.height, *mark.facing)
                for mark in sorted(self._cells[cell].values())
            ]
        )
        painted = self._looks.get(looks)
        if painted is None:
            if len(self._looks) >= MAX_KEPT:
                self._looks.clear()
            painted = self._looks[looks] = self._draw(looks)
        block = self._block
        self._canvas[row * block : (row + 1) * block, column * block : (column + 1) * block] = painted

    def _draw(self, looks: tuple[tuple[int, ...], ...]) -> NDArray[np.uint8]:
        """What a cell looks like."""
        play_block, block = self._play.block_size, self._block
        picture = np.empty((block, block, 3), np.uint8)
        picture[:] = BACKDROP
        for type_id, x, y, width, height, look_x, look_y in looks:
            left, top = x * block // play_block, y * block // play_block
            wide = max(1, (x + width) * block // play_block - left)
            high = max(1, (y + height) * block // play_block - top)
            self._tiles.tile(type_id, wide, high, (look_x, look_y)).lay(picture, left, top)
        return picture
