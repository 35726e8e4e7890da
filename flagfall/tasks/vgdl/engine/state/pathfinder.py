"""Shortest ways between cells, with the original's choice among ways that are equally short.

The original keeps its open cells in a `java.util.PriorityQueue`; which of several cells at one distance comes
first depends on that heap, so it is rebuilt here.
"""

from __future__ import annotations

__all__ = ["Cell", "PathFinder"]

from collections.abc import Collection
from typing import Final, TypeAlias

Cell: TypeAlias = tuple[int, int]

MAX_KEPT: Final = 1_000_000
"""So many steps are kept, of all searches together; the public games with ways have at most 1,000 cells."""

_CELLS_A_STEP: Final = 2

MAX_KEPT_STEPS: Final = 100_000

_ALL_WAYS: Final = ((0, -1), (0, 1), (-1, 0), (1, 0))
_SIDEWAYS: Final = ((-1, 0), (1, 0))


class PathFinder:
    """The ways of one level; each is worked out when it is first asked for.

    Args:
        width, height: in cells.
        blocked: cells that cannot be entered.
        sideways: only moves to the left and right count.
    """

    def __init__(self, width: int, height: int, blocked: Collection[Cell], *, sideways: bool = False) -> None:
        self._free = {(x, y) for x in range(width) for y in range(height)} - set(blocked)
        self._ways = _SIDEWAYS if sideways else _ALL_WAYS
        self._kept = 0
        self._parents: dict[Cell, dict[Cell, Cell]] = {}
        self._steps: dict[tuple[Cell, Cell], Cell | None] = {}

    @property
    def effort(self) -> int:
        """What a way may cost; the same whether it is known already or not."""
        return len(self._free) // _CELLS_A_STEP

    def first_step(self, start: Cell, goal: Cell) -> Cell | None:
        """The direction of the first step; `None` for the same cell, and where there is no way."""
        if (start, goal) not in self._steps:
            if len(self._steps) == MAX_KEPT_STEPS:
                self._steps.clear()
            self._steps[start, goal] = self._find(start, goal)
        return self._steps[start, goal]

    def _find(self, start: Cell, goal: Cell) -> Cell | None:
        if start == goal or start not in self._free:
            return None
        if start not in self._parents:
            parents = self._search(start)
            self._kept += len(parents) + 1
            if self._kept > MAX_KEPT:
                self._kept = len(parents) + 1
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
        """For each cell that can be reached, the cell that reached it first."""
        parents: dict[Cell, Cell] = {}
        distances = {start: 0}
        heap: list[tuple[int, Cell]] = []
        push(heap, (0, start))
        while heap:
            distance, (x, y) = pop(heap)
            for dx, dy in self._ways:
                cell = (x + dx, y + dy)
                if cell in self._free and cell not in distances:
                    distances[cell] = distance + 1
                    parents[cell] = (x, y)
                    push(heap, (distance + 1, cell))
        return parents


def push(heap: list[tuple[int, Cell]], entry: tuple[int, Cell]) -> None:
    """Java's `siftUp`: up while strictly smaller than the parent."""
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
    """Java's `poll`: the last leaf sinks from the root, to the right only where that is strictly smaller."""
    first = heap[0]
    entry = heap.pop()
    if heap:
        sink(heap, entry)
    return first


def sink(heap: list[tuple[int, Cell]], entry: tuple[int, Cell]) -> None:
    """Java's `siftDown` from the root."""
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
