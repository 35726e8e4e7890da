"""Pictures of cells, by what is in them: drawn once, and shared by all painters of a tile set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flagfall.tasks.vgdl.rendering.tile_set import BACKDROP, Tile

MAX_BYTES: Final = 8_000_000
"""Limit of the pictures that are kept from one painted tick to the next; 26,000 cells of 10 x 10 pixels."""

MAX_LOOKS: Final = 100_000
"""Limit of the keys by which pictures are found; each has a few numbers."""

MAX_PLACED: Final = 1_000_000
"""Limit of the cells of all kept positions of sprites together, 8 MB."""

_FIRST_PICTURES: Final = 64

Facing: TypeAlias = tuple[int, int]

Place: TypeAlias = tuple[int, tuple[int, ...]]
"""A sprite at one position: the code of its look there, and the cells of the screen that it touches."""

_Key: TypeAlias = tuple[int, int, int, Facing]
"""Type, width and height in the play's pixels, direction."""

_Layer: TypeAlias = tuple[int, int, int, int, int, Facing]
"""A sprite in a cell: type, x and y from the cell's corner, width and height, direction."""


class CellPictures:
    """Pictures of the cells of levels of one size.

    A *code* is a whole number for all that the look of a sprite depends on: type, size, direction, and its
    position modulo a *period* of a few cells that is larger than any sprite. So a code and the position of a
    cell modulo the period determine the part of the sprite in that cell.

    Args:
        tile: returns the tile of a type, width, height and direction.
        turning: types whose tiles depend on the direction.
        size: width and height of the levels, in cells.
        play_block: pixels a cell in plays.
        block: pixels a cell in pictures.
        largest: width or height of the largest sprite, in the play's pixels.

    Attributes:
        lines: pictures as lines of pixels, `[picture, row]` of raw bytes; replaced when it grows. NumPy
            copies a line at once, but pixels one by one.
        looks: by cell of the level, the number of its picture by the codes of its sprites in drawing order.
        pictures: the same pictures one by one, which NumPy takes faster from a list.
        places: by cell of the level, the numbers of its lines of pixels in a whole picture.
        generation: changes when codes become invalid.
        full: so much is kept that it should be cleared before the next picture.
    """

    def __init__(
        self,
        tile: Callable[[int, int, int, Facing], Tile],
        turning: Collection[int],
        size: tuple[int, int],
        play_block: int,
        block: int,
        largest: int,
    ) -> None:
        self._tile = tile
        self.turning: frozenset[int] = frozenset(turning)
        self._size = size
        self._play_block = play_block
        self._block = block
        self._cells = -(-largest // play_block) + 1
        self._period = self._cells * play_block
        width, height = size
        tables = [[_Looks(self, column, row) for row in range(self._cells)] for column in range(self._cells)]
        self._tables = [table for line in tables for table in line]
        self.looks: Sequence[dict[tuple[int, ...], int]] = [
            tables[column % self._cells][row % self._cells]
            for column in range(width)
            for row in range(height)
        ]
        columns, rows = np.divmod(np.arange(width * height), height)
        self.places: NDArray[np.intp] = (rows[:, None] * block + np.arange(block)) * width + columns[:, None]
        self._most = MAX_BYTES // (block * block * 3)
        self.generation: int = 0
        self.clear()

    def appearance(self, type_id: int, width: int, height: int, facing: Facing) -> Appearance:
        """Return the places of sprites of one type, size and direction.

        Args:
            width: in the play's pixels.
            height: in the play's pixels.
            facing: unit vector of the direction.
        """
        key = (type_id, width, height, facing)
        found = self._appearances.get(key)
        if found is None:
            found = self._appearances[key] = Appearance(self, key)
        return found

    def clear(self) -> None:
        """Drop everything that is kept; codes from before are then invalid."""
        self.full: bool = False
        self.generation += 1
        self._appearances: dict[_Key, Appearance] = {}
        self._codes: dict[_Layer, int] = {}
        self._layers: list[_Layer] = []
        self._footprints: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._numbers: dict[tuple[_Layer, ...], int] = {}
        self._placed = 0
        self._found = 0
        for table in self._tables:
            table.clear()
        self._keep(np.empty((_FIRST_PICTURES, self._block), f"V{self._block * 3}"))

    def _keep(self, lines: NDArray[Any]) -> None:
        self.lines: NDArray[Any] = lines
        self.pictures: list[NDArray[Any]] = list(lines)

    def place(self, appearance: _Key, x: int, y: int) -> Place:
        """Return a sprite at a position.

        Args:
            appearance: type, width, height and direction.
            x: its left, in the play's pixels.
            y: its top, in the play's pixels.
        """
        type_id, wide, high, facing = appearance
        layer = (type_id, x % self._period, y % self._period, wide, high, facing)
        code = self._codes.get(layer)
        if code is None:
            code = self._codes[layer] = len(self._layers)
            self._layers.append(layer)
        block = self._play_block
        width, height = self._size
        columns = range(max(0, x // block), min(width, (x + wide - 1) // block + 1))
        rows = range(max(0, y // block), min(height, (y + high - 1) // block + 1))
        cells = tuple([column * height + row for column in columns for row in rows])
        self._placed += 1 + len(cells)
        self.full = self.full or self._placed > MAX_PLACED or len(self._layers) > MAX_LOOKS
        return code, self._footprints.setdefault(cells, cells)

    def find(self, column: int, row: int, codes: tuple[int, ...]) -> int:
        """Return the number of the picture of a cell, which is drawn if there is none yet.

        Args:
            column: column of the cell, modulo the period.
            row: row of the cell, modulo the period.
            codes: codes of its sprites, in drawing order.
        """
        self._found += 1
        block, period = self._play_block, self._period
        layers = []
        for code in codes:
            type_id, x, y, width, height, facing = self._layers[code]
            left, top = (x - column * block) % period, (y - row * block) % period
            left -= period * (left >= block)
            top -= period * (top >= block)
            layers.append((type_id, left, top, width, height, facing))
        key = tuple(layers)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            if number == len(self.lines):
                self._keep(np.concatenate((self.lines, np.empty_like(self.lines))))
            self.lines[number] = as_lines(self._draw(key))
        self.full = self.full or number > self._most or self._found > MAX_LOOKS
        return number

    def _draw(self, layers: tuple[_Layer, ...]) -> NDArray[np.uint8]:
        play_block, block = self._play_block, self._block
        picture = np.empty((block, block, 3), np.uint8)
        picture[:] = BACKDROP
        for type_id, x, y, width, height, facing in layers:
            left, top = x * block // play_block, y * block // play_block
            wide = max(1, (x + width) * block // play_block - left)
            high = max(1, (y + height) * block // play_block - top)
            self._tile(type_id, wide, high, facing).lay(picture, left, top)
        return picture


def as_lines(picture: NDArray[np.uint8], width: int | None = None) -> NDArray[Any]:
    """Return a view of a picture as lines of raw bytes, `[row, part of the row]`.

    Args:
        picture: `[height, width, 3]`, contiguous.
        width: pixels a line; by default the whole row, and one dimension less.
    """
    height, columns, colours = picture.shape
    if width is None:
        return picture.reshape(height, columns * colours).view(f"V{columns * colours}")[:, 0]
    return picture.reshape(height, columns * colours).view(f"V{width * colours}")


class Appearance(dict[tuple[int, int], Place]):
    """Places of sprites of one type, size and direction by x and y, computed on first use."""

    def __init__(self, pictures: CellPictures, key: _Key) -> None:
        super().__init__()
        self._pictures = pictures
        self._key = key

    def __missing__(self, position: tuple[int, int]) -> Place:
        place = self[position] = self._pictures.place(self._key, *position)
        return place


class _Looks(dict[tuple[int, ...], int]):
    """Numbers of pictures by codes, for cells at one position modulo the period."""

    def __init__(self, pictures: CellPictures, column: int, row: int) -> None:
        super().__init__()
        self._pictures = pictures
        self._column = column
        self._row = row

    def __missing__(self, codes: tuple[int, ...]) -> int:
        number = self[codes] = self._pictures.find(self._column, self._row, codes)
        return number
