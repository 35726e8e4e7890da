"""Shortest paths between cells, with the original's choice among paths of equal length.

The original keeps its open cells in a `java.util.PriorityQueue`; the order of cells at one distance depends
on that heap, so it is reimplemented here.
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
    """

    def __init__(self, width: int, height: int, blocked: Collection[Cell], *, sideways: bool = False) -> None:
        self._free = {(x, y) for x in range(width) for y in range(height)} - set(blocked)
        self._moves = _SIDEWAYS if sideways else _ALL_STEPS
        self._cached = 0
        self._parents: dict[Cell, dict[Cell, Cell]] = {}
        self._steps: dict[tuple[Cell, Cell], Cell | None] = {}

    @property
    def work(self) -> int:
        """Units of work for one path, whether it is cached or not."""
        return len(self._free) // _CELLS_A_STEP

    def first_step(self, start: Cell, goal: Cell) -> Cell | None:
        """Return the direction of the first step; `None` for the same cell, and if there is no path.

        Args:
            start: a cell.
            goal: a cell.
        """
        if (start, goal) not in self._steps:
            if len(self._steps) == MAX_CACHED_STEPS:
                self._steps.clear()
            self._steps[start, goal] = self._find(start, goal)
        return self._steps[start, goal]

    def _find(self, start: Cell, goal: Cell) -> Cell | None:
        if start == goal or start not in self._free:
            return None
        if start not in self._parents:
            parents = self._search(start)
            self._cached += len(parents) + 1
            if self._cached > MAX_CACHED_CELLS:
                self._cached = len(parents) + 1
                self._parents.clear()
            self._parents[start] = parents
        parents = self._parents[start]
        if goal not in parents:
            return None
        cell = goal
        while parents[cell] != start:
            cell = parents[cell]
        return cell[0] - start[0], cell[1] - start[1]

    def _search(self, start: Cell) -> dict[Cell, Cell]:
        """Return for each reachable cell the cell from which it was reached first."""
        parents: dict[Cell, Cell] = {}
        distances = {start: 0}
        heap: list[tuple[int, Cell]] = []
        push(heap, (0, start))
        while heap:
            distance, (x, y) = pop(heap)
            for dx, dy in self._moves:
                cell = (x + dx, y + dy)
                if cell in self._free and cell not in distances:
                    distances[cell] = distance + 1
                    parents[cell] = (x, y)
                    push(heap, (distance + 1, cell))
        return parents


def push(heap: list[tuple[int, Cell]], entry: tuple[int, Cell]) -> None:
    """Insert as Java's `siftUp`: move up while strictly smaller than the parent.

    Args:
        heap: the heap of distances and cells.
        entry: new.
    """
    at = len(heap)
    heap.append(entry)
    while at:
        parent = (at - 1) // 2
        if entry[0] >= heap[parent][0]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = entry


def pop(heap: list[tuple[int, Cell]]) -> tuple[int, Cell]:
    """Remove the first entry as Java's `poll`: the last leaf sinks from the root.

    Args:
        heap: the heap of distances and cells; not empty.
    """
    first = heap[0]
    entry = heap.pop()
    if heap:
        sink(heap, entry)
    return first


def sink(heap: list[tuple[int, Cell]], entry: tuple[int, Cell]) -> None:
    """Insert as Java's `siftDown` from the root, to the right only if that is strictly smaller.

    Args:
        heap: its root is free.
        entry: takes a place from there on down.
    """
    at, size = 0, len(heap)
    while at < size // 2:
        child = 2 * at + 1
        if child + 1 < size and heap[child][0] > heap[child + 1][0]:
            child += 1
        if entry[0] <= heap[child][0]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = entry
