"""A play as a picture: every sprite's tile at its position, in the game's drawing order.

Hidden sprites are drawn and invisible ones are not, as in the original: the one excludes a sprite from
observations, the other from pictures. Dead avatars are not drawn.

A cell is painted when something in it has changed, and the result is cached for cells with the same sprites
at the same positions.
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

MAX_CACHED: Final = 10_000
"""Limit of cached pictures of cells (3 MB with 10 pixels a cell), and of cached rectangles."""

MAX_PIXELS: Final = 64_000_000
"""Limit of pixels of a picture. The largest public level has 172,500 with 10 pixels a cell."""

SpriteLook: TypeAlias = tuple[int, int, int, int, int, int, int, tuple[int, int]]
"""All that the picture of a sprite depends on: rank of its type in the drawing order, number, type, x, y,
width and height in the play's pixels, main direction. They sort in drawing order."""

CellLook: TypeAlias = tuple[tuple[int, int, int, int, int, tuple[int, int]], ...]
"""All that the picture of a cell depends on: types, x and y from its corner, width, height, directions."""

ScreenCells: TypeAlias = tuple[tuple[int, int], ...]
"""Cells of the screen, as (column, row)."""


class Painter:
    """Paints one play, tick after tick.

    It is fast if it is called after every tick; after several, it paints everything again.

    Args:
        play: at any tick; each play needs a painter of its own.
        block: pixels a cell in the picture; by default the play's own.
        tiles: tile set of the game, which painters can share.

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
                f"a picture of {pixels} pixels: the limit is {MAX_PIXELS}; use fewer pixels a cell (:pixels=)"
            )
        self._tiles = tiles or TileSet(definition)
        self._ranks = {
            type_id: rank
            for rank, type_id in enumerate(definition.order)
            if not definition.types[type_id].parameters.get("invisible")
        }
        self._changing = [kind.id for kind in play.game.kinds if kind.id in self._ranks and not kind.fixed]
        self._looks: dict[CellLook, NDArray[np.uint8]] = {}
        self._tick: int | None = None
        self._clear()

    def _clear(self) -> None:
        height, width = self._play.height, self._play.width
        self._canvas = np.empty((height * self._block, width * self._block, 3), np.uint8)
        self._canvas[:] = BACKDROP
        self._sprite_looks: dict[int, tuple[SpriteLook, ScreenCells]] = {}
        self._places: dict[tuple[int, int, int, int], ScreenCells] = {}
        self._cells: dict[tuple[int, int], dict[int, SpriteLook]] = {}
        self._stale: set[tuple[int, int]] = set()

    def paint(self) -> NDArray[np.uint8]:
        """Return the picture of the current tick, as a new array: `[height, width, 3]`, red, green, blue."""
        play = self._play
        if self._tick is None or play.tick not in (self._tick, self._tick + 1):
            self._clear()
            self._examine(sprite for group in play.groups for sprite in group)
        elif play.tick != self._tick:
            for sprite in play.died:
                self._remove(sprite.id)
            self._examine(play.born)
            for type_id in self._changing:
                self._examine(play.groups[type_id])
        self._tick = play.tick
        for cell in self._stale:
            self._paint_cell(cell)
        self._stale.clear()
        return self._canvas.copy()

    def _examine(self, sprites: Iterable[Sprite]) -> None:
        """Record the current appearance of sprites."""
        for sprite in sprites:
            number = sprite.id
            rank = self._ranks.get(sprite.type)
            known = self._sprite_looks.get(number)
            if rank is None or sprite.disabled:
                self._remove(number)
                continue
            ox, oy, x, y = sprite.ox, sprite.oy, sprite.x, sprite.y
            facing = (-1 if ox < 0 else 1, 0) if abs(ox) >= abs(oy) else (0, -1 if oy < 0 else 1)
            look = (rank, number, sprite.type, x, y, sprite.w, sprite.h, facing)
            if known is not None and known[0] == look:
                continue
            place = self._place(x, y, sprite.w, sprite.h)
            if known is not None and known[1] != place:
                self._remove(number)
            self._sprite_looks[number] = (look, place)
            for cell in place:
                self._cells.setdefault(cell, {})[number] = look
            self._stale.update(place)

    def _remove(self, number: int) -> None:
        known = self._sprite_looks.pop(number, None)
        if known is not None:
            for cell in known[1]:
                del self._cells[cell][number]
            self._stale.update(known[1])

    def _place(self, x: int, y: int, wide: int, high: int) -> ScreenCells:
        """Return the cells of the screen that a rectangle touches."""
        known = self._places.get((x, y, wide, high))
        if known is not None:
            return known
        play = self._play
        block = play.block_size
        columns = range(max(0, x // block), min(play.width, (x + wide - 1) // block + 1))
        rows = range(max(0, y // block), min(play.height, (y + high - 1) // block + 1))
        if len(self._places) >= MAX_CACHED:
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
            if len(self._looks) >= MAX_CACHED:
                self._looks.clear()
            painted = self._looks[looks] = self._draw(looks)
        block = self._block
        self._canvas[row * block : (row + 1) * block, column * block : (column + 1) * block] = painted

    def _draw(self, looks: CellLook) -> NDArray[np.uint8]:
        """Return the picture of a cell."""
        play_block, block = self._play.block_size, self._block
        picture = np.empty((block, block, 3), np.uint8)
        picture[:] = BACKDROP
        for type_id, x, y, width, height, facing in looks:
            left, top = x * block // play_block, y * block // play_block
            wide = max(1, (x + width) * block // play_block - left)
            high = max(1, (y + height) * block // play_block - top)
            self._tiles.tile(type_id, wide, high, facing).lay(picture, left, top)
        return picture
