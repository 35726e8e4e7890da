"""A play as a picture: every sprite's tile at its place in pixels, in the game's drawing order.

Hidden sprites are drawn and invisible ones are not, as in the original: the one keeps a thing out of
observations, the other out of pictures.
"""

from __future__ import annotations

__all__ = ["Painter"]

from typing import TYPE_CHECKING

import numpy as np

from flagfall.tasks.vgdl.tiles import BACKDROP, TileSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flagfall.tasks.vgdl.play import Play
    from flagfall.tasks.vgdl.sprites import Sprite

Mark = tuple[int, int, int, int, tuple[int, int]]


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
        self._canvas = np.empty((play.height * self._block, play.width * self._block, 3), np.uint8)
        self._canvas[:] = BACKDROP
        # The first types in the drawing order, what they looked like, and the picture of them.
        self._bottom: list[list[Mark]] = []
        self._bottom_canvas = self._canvas.copy()

    def paint(self) -> NDArray[np.uint8]:
        """The picture of this moment: `[height, width, 3]`, red, green, blue; the caller's own."""
        groups = self._play.groups
        layers = [[self._mark(sprite) for sprite in groups[type_id]] for type_id in self._order]
        same = 0
        for one, other in zip(layers, self._bottom, strict=False):
            if one != other:
                break
            same += 1
        if same < len(self._bottom) or not self._bottom:
            # What has changed now is likely to change again: keep the picture of what lies below it.
            self._bottom_canvas[:] = BACKDROP
            self._bottom = layers[:same] if self._bottom else layers
            self._lay(self._bottom, self._bottom_canvas)
        canvas = self._bottom_canvas.copy()
        self._lay(layers[len(self._bottom) :], canvas)
        return canvas

    def _lay(self, layers: list[list[Mark]], canvas: NDArray[np.uint8]) -> None:
        play_block, block = self._play.block_size, self._block
        for type_id, layer in zip(self._order, layers, strict=False):
            for x, y, width, height, facing in layer:
                left, top = x * block // play_block, y * block // play_block
                wide = max(1, (x + width) * block // play_block - left)
                high = max(1, (y + height) * block // play_block - top)
                self._tiles.tile(type_id, wide, high, facing).lay(canvas, left, top)

    @staticmethod
    def _mark(sprite: Sprite) -> Mark:
        """All that its looks depend on."""
        ox, oy = sprite.ox, sprite.oy
        facing = (-1 if ox < 0 else 1, 0) if abs(ox) >= abs(oy) else (0, -1 if oy < 0 else 1)
        return (sprite.x, sprite.y, sprite.w, sprite.h, facing)
