"""Shortest paths between cells, with the original's choice among paths of equal length.

The original keeps its open cells in a `java.util.PriorityQueue`; the order of cells at one distance depends
on that heap, so it is reimplemented here. A search goes on only until it has reached the goal, and from there
for another goal.
"""

from __future__ import annotations

__all__ = ["Cell", "PathFinder"]

from collections.abc import Collection
from typing import Final, TypeAlias

Cell: TypeAlias = tuple[int, int]

MAX_CACHED_CELLS: Final = 1_000_000
"""Cached cells of all searches together; the public games with path finders have at most 1,000 cells."""

_CELLS_A_STEP: Final = 2

MAX_CACHED_STEPS: Final = 100_000
"""Cached first steps."""

_ALL_STEPS: Final = ((0, -1), (0, 1), (-1, 0), (1, 0))
_SIDEWAYS: Final = ((-1, 0), (1, 0))


class PathFinder:
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
        """Return the direction of the first step; `None` for the same cell, and if there is no path.

        Args:
            start: a cell.
            goal: a cell.
        """
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
        start: where it begins.
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
