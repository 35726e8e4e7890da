"""A play as a picture: every sprite's tile at its place in pixels, in the game's drawing order.

Hidden sprites are drawn and invisible ones are not, as in the original: the one keeps a thing out of
observations, the other out of pictures. Dead avatars are not drawn.

A cell is painted when something in it has changed, and what it looks like is kept for the next cell with the
same things at the same places.
"""

from __future__ import annotations

__all__ = ["Painter"]

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.rendering.tile_set import BACKDROP, TileSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite

MAX_KEPT: Final = 10_000
"""So many looks of cells are kept (3 MB of them with 10 pixels a cell), and so many places."""

MAX_PIXELS: Final = 64_000_000
"""The largest public level has 172,500 with 10 pixels a cell."""

Mark: TypeAlias = tuple[int, int, int, int, int, int, int, tuple[int, int]]
"""All that a sprite's looks depend on: the rank of its type in the drawing order, its number, its type, x and
y, width and height in the play's pixels, its main direction. Marks sort as they are drawn."""

Looks: TypeAlias = tuple[tuple[int, int, int, int, int, tuple[int, int]], ...]
"""All that a cell's looks depend on: types, x and y from its corner, width, height, directions; as drawn."""

Place: TypeAlias = tuple[tuple[int, int], ...]
"""Cells of the screen, as (column, row)."""


class Painter:
    """Paints one play, tick after tick.

    It is quick where it is asked after every tick; after several, it paints everything anew.

    Args:
        play: begun; a painter for each play.
        block: pixels a cell in the picture; by default the play's own.
        tiles: a tile set of the game to share with other painters.

    Raises:
        UsageError: the picture would be too large.
    """

    def __init__(self, play: Play, block: int | None = None, tiles: TileSet | None = None) -> None:
        definition = play.game.definition
        self._play = play
        self._block = block or play.block_size
        pixels = play.width * play.height * self._block**2
        if pixels > MAX_PIXELS:
            raise UsageError(
                f"{pixels} pixels: {MAX_PIXELS} are the most; with fewer pixels a cell it will do (:pixels=)"
            )
        self._tiles = tiles or TileSet(definition)
        self._ranks = {
            type_id: rank
            for rank, type_id in enumerate(definition.order)
            if not definition.types[type_id].parameters.get("invisible")
        }
        self._restless = [kind.id for kind in play.game.kinds if kind.id in self._ranks and not kind.fixed]
        self._looks: dict[Looks, NDArray[np.uint8]] = {}
        self._tick: int | None = None
        self._clear()

    def _clear(self) -> None:
        height, width = self._play.height, self._play.width
        self._canvas = np.empty((height * self._block, width * self._block, 3), np.uint8)
        self._canvas[:] = BACKDROP
        self._marks: dict[int, tuple[Mark, Place]] = {}
        self._places: dict[tuple[int, int, int, int], Place] = {}
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
        for sprite in sprites:
            number = sprite.id
            rank = self._ranks.get(sprite.type)
            known = self._marks.get(number)
            if rank is None or sprite.disabled:
                self._take_out(number)
                continue
            ox, oy, x, y = sprite.ox, sprite.oy, sprite.x, sprite.y
            facing = (-1 if ox < 0 else 1, 0) if abs(ox) >= abs(oy) else (0, -1 if oy < 0 else 1)
            mark = (rank, number, sprite.type, x, y, sprite.w, sprite.h, facing)
            if known is not None and known[0] == mark:
                continue
            place = self._place(x, y, sprite.w, sprite.h)
            if known is not None and known[1] != place:
                self._take_out(number)
            self._marks[number] = (mark, place)
            for cell in place:
                self._cells.setdefault(cell, {})[number] = mark
            self._stale.update(place)

    def _take_out(self, number: int) -> None:
        known = self._marks.pop(number, None)
        if known is not None:
            for cell in known[1]:
                del self._cells[cell][number]
            self._stale.update(known[1])

    def _place(self, x: int, y: int, wide: int, high: int) -> Place:
        """The cells of the screen that a rectangle touches."""
        known = self._places.get((x, y, wide, high))
        if known is not None:
            return known
        play = self._play
        block = play.block_size
        columns = range(max(0, x // block), min(play.width, (x + wide - 1) // block + 1))
        rows = range(max(0, y // block), min(play.height, (y + high - 1) // block + 1))
        if len(self._places) >= MAX_KEPT:
            self._places.clear()
        place = tuple([(column, row) for column in columns for row in rows])
        self._places[x, y, wide, high] = place
        return place

    def _paint_cell(self, cell: tuple[int, int]) -> None:
        column, row = cell
        left, top = column * self._play.block_size, row * self._play.block_size
        looks = tuple(
            [
                (type_id, x - left, y - top, width, height, facing)
                for _, _, type_id, x, y, width, height, facing in sorted(self._cells[cell].values())
            ]
        )
        painted = self._looks.get(looks)
        if painted is None:
            if len(self._looks) >= MAX_KEPT:
                self._looks.clear()
            painted = self._looks[looks] = self._draw(looks)
        block = self._block
        self._canvas[row * block : (row + 1) * block, column * block : (column + 1) * block] = painted

    def _draw(self, looks: Looks) -> NDArray[np.uint8]:
        """What a cell looks like."""
        play_block, block = self._play.block_size, self._block
        picture = np.empty((block, block, 3), np.uint8)
        picture[:] = BACKDROP
        for type_id, x, y, width, height, facing in looks:
            left, top = x * block // play_block, y * block // play_block
            wide = max(1, (x + width) * block // play_block - left)
            high = max(1, (y + height) * block // play_block - top)
            self._tiles.tile(type_id, wide, high, facing).lay(picture, left, top)
        return picture
