"""The spatial grid: the sprites in each cell, and shortest paths between cells.

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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from flagfall.tasks.vgdl.engine.state.game import LARGE_GROUP, WorkLimit
from flagfall.tasks.vgdl.engine.state.sprite import Constant, Sprite, overlaps

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


@dataclass(eq=False, repr=False, slots=True)
class Grid:
    """The grid of one play.

    Attributes:
        width, height: of the level, in cells.
        block_size: pixels a cell.
        layer_of: by type, the layer in which its sprites are entered.
        in_cells: by type, whether its sprites are entered in cells.
        in_rows: by type, whether its sprites are entered in rows.
        watched: by type, whether leaving the screen has an effect on its sprites.
        work: charged for large sprites.
        spots: by x, y and type, the cells of sprites on the screen; one table for all copies of a grid.
        size: the size of the screen, in pixels.
        layers: by layer, the sprites in each cell that has any.
        near_edge: watched sprites that may be partly outside of the screen.
    """

    width: int
    height: int
    block_size: int
    layer_of: Sequence[int]
    in_cells: Sequence[bool]
    in_rows: Sequence[bool]
    watched: Sequence[bool]
    work: WorkLimit
    spots: dict[tuple[int, int, int], _Spot] = field(default_factory=dict)
    size: tuple[int, int] = field(init=False)
    layers: list[Cells] = field(init=False)
    near_edge: set[Sprite] = field(init=False)

    def __post_init__(self) -> None:
        self.size = (self.width * self.block_size, self.height * self.block_size)
        self.clear()

    def clear(self) -> None:
        """Remove all sprites."""
        self.layers = [{} for _ in range(max(self.layer_of, default=0) + 1)]
        self.near_edge = set()

    def copy(self, copies: Mapping[Sprite, Sprite], work: WorkLimit) -> Grid:
        """Return a grid for a copy of the play.

        Args:
            copies: by sprite, the one that takes its place; sprites that both plays share are left out.
        """
        new = Grid.__new__(Grid)  # without the initializer, as copies are made in large numbers
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
        """Enter a new sprite, unless neither its cells nor the screen's edge matter to its type."""
        if self.in_cells[sprite.type] or self.in_rows[sprite.type] or self.watched[sprite.type]:
            self.enter(sprite)
        else:
            sprite.left = sprite.top = -_FARTHEST
            sprite.right = sprite.bottom = _FARTHEST

    def leave(self, sprite: Sprite) -> None:
        """Remove a sprite from its cells; `sprite.cells` stays as it is, because a fork may still need it."""
        cells = self.layers[self.layer_of[sprite.type]]
        for cell in sprite.cells:
            there = cells[cell]
            if len(there) == 1:
                del cells[cell]
            else:
                cells[cell] = tuple([other for other in there if other is not sprite])


# Shortest paths between cells, with the original's choice among paths of equal length.
#
# The original keeps its open cells in a `java.util.PriorityQueue`; the order of cells at one distance
# depends on that heap, so it is reimplemented here. A search goes on only until it has reached the goal, and
# from there for another goal.

Cell: TypeAlias = tuple[int, int]

MAX_CACHED_CELLS: Final = 1_000_000
"""Cached cells of all searches together; the public games with path finders have at most 1,000 cells."""

_CELLS_A_STEP: Final = 2

MAX_CACHED_STEPS: Final = 100_000
"""Cached first steps."""

_ALL_STEPS: Final = ((0, -1), (0, 1), (-1, 0), (1, 0))
_SIDEWAYS: Final = ((-1, 0), (1, 0))


class PathFinder(Constant):
    """Path finder of one level; each path is computed on first use.

    Args:
        width, height: of the level, in cells.
        blocked: cells that cannot be entered.
        sideways: moves lead to the left and right only.

    Attributes:
        cached_cells: cells that the cached searches have reached, all together.
    """

    def __init__(self, width: int, height: int, blocked: Collection[Cell], *, sideways: bool = False) -> None:
        self._width = width
        self._height = height
        self._steps = _SIDEWAYS if sideways else _ALL_STEPS
        # Row by row, with a blocked cell after each row, and a blocked row above and below.
        self._stride = width + 1
        row = bytes([1] * width + [0])
        self._free = bytearray(self._stride) + bytearray(row * height) + bytearray(self._stride)
        for x, y in blocked:
            if self._contains(x, y):
                self._free[self._index(x, y)] = 0
        self._free_cells = sum(self._free)
        self.cached_cells: int = 0
        self._searches: dict[int, _Search] = {}
        self._first_steps: dict[tuple[Cell, Cell], Cell | None] = {}

    @property
    def work(self) -> int:
        """Units of work for one path, whether it is cached or not."""
        return self._free_cells // _CELLS_A_STEP

    def first_step(self, start: Cell, goal: Cell) -> Cell | None:
        """Return the direction of the first step; `None` for the same cell, and if there is no path."""
        if (start, goal) not in self._first_steps:
            if len(self._first_steps) == MAX_CACHED_STEPS:
                self._first_steps.clear()
            self._first_steps[start, goal] = self._find(start, goal)
        return self._first_steps[start, goal]

    def _contains(self, x: int, y: int) -> bool:
        return 0 <= x < self._width and 0 <= y < self._height

    def _index(self, x: int, y: int) -> int:
        return (y + 1) * self._stride + x

    def _find(self, start: Cell, goal: Cell) -> Cell | None:
        if start == goal or not (self._contains(*start) and self._contains(*goal)):
            return None
        here, there = self._index(*start), self._index(*goal)
        if not (self._free[here] and self._free[there]):
            return None
        search = self._searches.get(here)
        if search is None:
            offsets = [dy * self._stride + dx for dx, dy in self._steps]
            search = self._searches[here] = _Search(self._free, here, offsets)
        known = len(search.ways)
        way = search.way_to(there)
        self.cached_cells += len(search.ways) - known
        if self.cached_cells > MAX_CACHED_CELLS:
            self.cached_cells = 0
            self._searches.clear()
        return None if way is None else self._steps[way]


class _Search:
    """A search from one cell, in the order of Java's heap, that can be continued.

    All open cells are at one of two distances: that of the last cell taken out, and the next. So a new one
    never moves up in the heap, and one that is put at the root sinks only along cells that are nearer.

    Args:
        free: by index, 1 for a cell that can be entered; cells at the border are not.
        offsets: differences of the indices of a cell and the next ones.

    Attributes:
        ways: by cell that was reached, the number of the first step of the path to it.
    """

    def __init__(self, free: bytearray, start: int, offsets: list[int]) -> None:
        self._free = free
        self._offsets = offsets
        self._size = len(free)
        neighbours = [(way, start + offset) for way, offset in enumerate(offsets) if free[start + offset]]
        self.ways = {start: -1} | {cell: way for way, cell in neighbours}
        # Entries of the heap are distance * size + cell. Those at the larger distance are at least `_next`.
        self._heap = [self._size + cell for _, cell in neighbours]
        self._next = self._size

    def way_to(self, goal: int) -> int | None:
        """Return the number of the first step to a cell; `None` if there is no path.

        Args:
            goal: another cell than the start.
        """
        if goal not in self.ways:
            self._expand(goal)
        return self.ways.get(goal)

    def _expand(self, goal: int) -> None:
        """Go on until a cell is reached, or all that can be."""
        free, ways, heap, offsets = self._free, self.ways, self._heap, self._offsets
        following = self._next
        while heap and goal not in ways:
            entry = heap[0]
            if entry >= following:
                following += self._size
            last = heap.pop()
            if heap:
                sink(heap, last, following)
            cell = entry - following + self._size
            way = ways[cell]
            for offset in offsets:
                other = cell + offset
                if free[other] and other not in ways:
                    ways[other] = way
                    heap.append(following + other)
        self._next = following


def sink(heap: list[int], entry: int, following: int) -> None:
    """Insert as Java's `siftDown` from the root, to the right only if that is strictly smaller.

    Args:
        heap: its root is free.
        entry: takes a place from there on down.
        following: the smallest entry at the larger of the two distances.
    """
    at, size = 0, len(heap)
    if entry >= following:
        half = size // 2
        while at < half:
            child = 2 * at + 1
            if heap[child] >= following:
                child += 1
                if child == size or heap[child] >= following:
                    break
            heap[at] = heap[child]
            at = child
    heap[at] = entry
