"""Spatial grid: the sprites in each cell, so that collision detection examines neighbours only.

A sprite is entered in every cell that its rectangle touches. It may stay entered in a cell that it has left
until it touches one in which it is not entered, so a sprite that falls and is pushed back in each tick costs
nothing here. A cell therefore lists candidates; rectangles decide.

Each type has a layer of cells. Sprites that gather in few cells without touching their own kind have a layer
of their own, so that a search for others does not examine the whole gathering for each of its sprites.

A row of cells counts as a cell too: sprites that fly along rows are entered there, as they change it seldom,
and the few that search for them are entered in both.

Cells continue beyond the screen; a sprite entered in one of those is noted as possibly outside. The value of
a cell is a tuple, so a copy of the grid can share it.
"""

from __future__ import annotations

__all__ = ["Cells", "Grid"]

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from flagfall.tasks.vgdl.engine.state.sprite import Sprite, overlaps
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
"""Cells of a sprite, and the bounds within which they stay the same: left, right, top, bottom."""

_MAX_SPOTS: Final = 10_000
"""Spots kept; a type that moves by whole cells needs one for each cell that it reaches."""


class Grid:
    """The grid of one play.

    Args:
        width: the width of the level, in cells.
        height: the height of the level, in cells.
        block_size: pixels a cell.
        layer_of: by type, the layer in which its sprites are entered.
        in_cells: by type, whether its sprites are entered in cells.
        in_rows: by type, whether its sprites are entered in rows.
        watched: by type, whether leaving the screen has an effect on its sprites.
        work: charged for large sprites.

    Attributes:
        width, height, block_size, layer_of, in_cells, in_rows, watched, work: see the arguments.
        size: the size of the screen, in pixels.
        layers: by layer, the sprites in each cell that has any.
        near_edge: watched sprites that may be partly outside of the screen.
        spots: by x, y and type, the cells of sprites on the screen; one table for all copies of a grid.
    """

    __slots__ = (
        "block_size",
        "height",
        "in_cells",
        "in_rows",
        "layer_of",
        "layers",
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
        layer_of: Sequence[int],
        in_cells: Sequence[bool],
        in_rows: Sequence[bool],
        watched: Sequence[bool],
        work: WorkLimit,
    ) -> None:
        self.width: int = width
        self.height: int = height
        self.size: tuple[int, int] = (width * block_size, height * block_size)
        self.layer_of: Sequence[int] = layer_of
        self.in_cells: Sequence[bool] = in_cells
        self.in_rows: Sequence[bool] = in_rows
        self.watched: Sequence[bool] = watched
        self.work: WorkLimit = work
        self.block_size: int = block_size
        self.spots: dict[tuple[int, int, int], _Spot] = {}
        self.clear()

    def clear(self) -> None:
        """Remove all sprites."""
        self.layers: list[Cells] = [{} for _ in range(max(self.layer_of, default=0) + 1)]
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
        new.layer_of = self.layer_of
        new.in_cells = self.in_cells
        new.in_rows = self.in_rows
        new.watched = self.watched
        new.work = work
        new.block_size = self.block_size
        new.spots = self.spots
        get = copies.get
        new.layers = [cells.copy() for cells in self.layers]
        for layer, cell in {(self.layer_of[sprite.type], cell) for sprite in copies for cell in sprite.cells}:
            cells = new.layers[layer]
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
        x, y = sprite.x, sprite.y
        spot = self.spots.get((x, y, sprite.type)) or self._locate(sprite, x, y)
        new, sprite.left, sprite.right, sprite.top, sprite.bottom = spot
        old = sprite.cells
        if len(new) > LARGE_GROUP:
            self.work.charge(len(new))
            self.leave(sprite)
            old = ()
        sprite.cells = new
        cells = self.layers[self.layer_of[sprite.type]]
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

    def is_barred(self, sprite: Sprite, x: int, y: int, barriers: frozenset[int]) -> bool:
        """Return whether a sprite that has not moved in this cycle would meet one of some types.

        `False` means that one may be there all the same: beyond the screen, or in a crowded cell.

        Args:
            sprite: entered in cells.
            x: its new left, in pixels.
            y: its new top, in pixels.
            barriers: types of sprites that never move.
        """
        w, h = sprite.w, sprite.h
        width, height = self.size
        if x < 0 or y < 0 or x + w > width or y + h > height:
            return False
        spot = self.spots.get((x, y, sprite.type)) or self._locate(sprite, x, y)
        cells = self.layers[0]  # where everything is that never moves
        for cell in spot[0]:
            there = cells.get(cell, ())
            if len(there) > LARGE_GROUP:
                return False
            for other in there:
                if other.type in barriers and overlaps(other, x, y, w, h):
                    return sprite.x == sprite.last_x and sprite.y == sprite.last_y
        return False

    def _locate(self, sprite: Sprite, x: int, y: int) -> _Spot:
        """Return the cells and bounds of a sprite at a position; note a watched one beyond the screen."""
        block = self.block_size
        w, h = sprite.w, sprite.h
        if not (-_FARTHEST < x < _FARTHEST and -_FARTHEST < y < _FARTHEST):
            sprite.x = max(1 - _FARTHEST, min(x, _FARTHEST - 1))
            sprite.y = max(1 - _FARTHEST, min(y, _FARTHEST - 1))
            raise OverflowError("the position of a sprite exceeds 32 bits")
        columns = range(x // block, (x + w - 1) // block + 1)
        rows = range(y // block, (y + h - 1) // block + 1)
        on_screen = (
            columns.start >= 0 and rows.start >= 0 and columns.stop <= self.width and rows.stop <= self.height
        )
        cells: list[int] = []
        if self.in_cells[sprite.type]:
            cells += [self._cell(column, row) for row in rows for column in columns]
        elif on_screen:
            columns = range(self.width)
        if self.in_rows[sprite.type]:
            cells += [self._row(row) for row in rows]
        elif on_screen and not cells:
            rows = range(self.height)
        left, right = columns.start * block, columns.stop * block - w
        spot = tuple(cells), left, right, rows.start * block, rows.stop * block - h
        if not on_screen:
            if self.watched[sprite.type]:
                self.near_edge.add(sprite)
        elif sprite.cells:  # it moves, so others of its type will come here too
            if len(self.spots) == _MAX_SPOTS:
                self.spots.clear()
            self.spots[x, y, sprite.type] = spot
        return spot

    def _cell(self, column: int, row: int) -> int:
        """Return the number of a cell: a small one on the screen."""
        if 0 <= column < self.width and 0 <= row < self.height:
            return row * self.width + column
        return _BEYOND + row * _STRIDE + column

    def _row(self, row: int) -> int:
        """Return the number of a row: negative, unlike those of cells."""
        return -1 - row if row >= 0 else row - _STRIDE

    def enter_first(self, sprite: Sprite) -> None:
        """Enter a new sprite, unless neither its cells nor the screen's edge matter to its type.

        Args:
            sprite: not entered yet.
        """
        if self.in_cells[sprite.type] or self.in_rows[sprite.type] or self.watched[sprite.type]:
            self.enter(sprite)
        else:
            sprite.left = sprite.top = -_FARTHEST
            sprite.right = sprite.bottom = _FARTHEST

    def leave(self, sprite: Sprite) -> None:
        """Remove a sprite from its cells; `sprite.cells` stays as it is, because a fork may still need it.

        Args:
            sprite: entered in this grid.
        """
        cells = self.layers[self.layer_of[sprite.type]]
        for cell in sprite.cells:
            there = cells[cell]
            if len(there) == 1:
                del cells[cell]
            else:
                cells[cell] = tuple([other for other in there if other is not sprite])
