"""A play as a picture: every sprite's tile at its place in pixels, in the game's drawing order.

Hidden sprites are drawn and invisible ones are not, as in the original: the one keeps a thing out of
observations, the other out of pictures.
"""

from __future__ import annotations

__all__ = ["Painter"]

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from flagfall.tasks.vgdl.tiles import BACKDROP, TileSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flagfall.tasks.vgdl.play import Play
    from flagfall.tasks.vgdl.sprites import Sprite

Mark: TypeAlias = tuple[int, int, int, int, tuple[int, int]]
Layer: TypeAlias = tuple[int, list[Mark]]


class Painter:
    """Paints one play, tick after tick.

    The types at the bottom of the drawing order hardly ever change, so the picture of them is kept.

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
        drawn = [type_id for type_id in definition.order if definition.types[type_id].kind is not None]
        self._order = [t for t in drawn if not definition.types[t].parameters.get("invisible")]
        # The first types in the drawing order, what they looked like, and the picture of them.
        self._bottom: list[Layer] | None = None
        self._bottom_canvas = np.empty((play.height * self._block, play.width * self._block, 3), np.uint8)

    def paint(self) -> NDArray[np.uint8]:
        """The picture of this moment: `[height, width, 3]`, red, green, blue; the caller's own."""
        groups = self._play.groups
        layers = [(type_id, [_mark(sprite) for sprite in groups[type_id]]) for type_id in self._order]
        same = len(layers) if self._bottom is None else _equal_at_first(layers, self._bottom)
        if self._bottom is None or same < len(self._bottom):
            # What has changed now is likely to change again: keep the picture of what lies below it.
            self._bottom = layers[:same]
            self._bottom_canvas[:] = BACKDROP
            self._lay(self._bottom, self._bottom_canvas)
        canvas = self._bottom_canvas.copy()
        self._lay(layers[len(self._bottom) :], canvas)
        return canvas

    def _lay(self, layers: list[Layer], canvas: NDArray[np.uint8]) -> None:
        """Lay the tiles of some types on a canvas, one type after another."""
        play_block, block = self._play.block_size, self._block
        for type_id, marks in layers:
            for x, y, width, height, facing in marks:
                left, top = x * block // play_block, y * block // play_block
                wide = max(1, (x + width) * block // play_block - left)
                high = max(1, (y + height) * block // play_block - top)
                self._tiles.tile(type_id, wide, high, facing).lay(canvas, left, top)


def _equal_at_first(one: list[Layer], other: list[Layer]) -> int:
    """How many layers are equal, from the first on."""
    same = 0
    for layer, old in zip(one, other, strict=False):
        if layer != old:
            break
        same += 1
    return same


def _mark(sprite: Sprite) -> Mark:
    """All that a sprite's looks depend on."""
    ox, oy = sprite.ox, sprite.oy
    facing = (-1 if ox < 0 else 1, 0) if abs(ox) >= abs(oy) else (0, -1 if oy < 0 else 1)
    return (sprite.x, sprite.y, sprite.w, sprite.h, facing)
