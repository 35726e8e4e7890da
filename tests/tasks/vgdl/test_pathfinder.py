"""Shortest ways, with the original's choice among equal ones."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from flagfall.tasks.vgdl.engine.state.grid import Cell, PathFinder

STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))


def test_no_way_is_needed_or_there_is_none():
    paths = PathFinder(3, 1, {(1, 0)})
    assert paths.first_step((0, 0), (0, 0)) is None
    assert paths.first_step((0, 0), (2, 0)) is None
    assert paths.first_step((1, 0), (0, 0)) is None
    assert paths.first_step((0, 0), (9, 9)) is None


def test_of_equal_ways_the_one_that_is_found_first():
    """After the cell above, the heap gives its last leaf, the one to the right, and then the one below."""
    paths = PathFinder(3, 3, ())
    assert paths.first_step((1, 1), (0, 0)) == (0, -1)
    assert paths.first_step((1, 1), (2, 2)) == (1, 0)
    assert paths.first_step((1, 1), (0, 2)) == (0, 1)


def test_who_moves_sideways_only_finds_no_other_ways():
    paths = PathFinder(3, 3, (), sideways=True)
    assert paths.first_step((0, 1), (2, 1)) == (1, 0)
    assert paths.first_step((0, 1), (0, 0)) is None


def distances(width: int, height: int, blocked: set[Cell], goal: Cell) -> dict[Cell, int]:
    found = {goal: 0}
    open_cells = deque([goal])
    while open_cells:
        x, y = open_cells.popleft()
        for dx, dy in STEPS:
            cell = (x + dx, y + dy)
            if 0 <= cell[0] < width and 0 <= cell[1] < height and cell not in blocked and cell not in found:
                found[cell] = found[x, y] + 1
                open_cells.append(cell)
    return found


cells = st.tuples(st.integers(0, 6), st.integers(0, 4))


@given(st.sets(cells), cells, cells)
def test_each_step_leads_nearer(blocked: set[Cell], start: Cell, goal: Cell) -> None:
    blocked -= {start, goal}
    paths = PathFinder(7, 5, blocked)
    far = distances(7, 5, blocked, goal)
    step = paths.first_step(start, goal)
    if start == goal or start not in far:
        assert step is None
    else:
        assert step is not None
        assert far[start[0] + step[0], start[1] + step[1]] == far[start] - 1


class JavaQueue:
    """A `java.util.PriorityQueue` of cells by distance: moves up, and down to the right, only if smaller."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, Cell]] = []

    def add(self, entry: tuple[int, Cell]) -> None:
        at = len(self.heap)
        self.heap.append(entry)
        while at and entry[0] < self.heap[(at - 1) // 2][0]:
            self.heap[at] = self.heap[(at - 1) // 2]
            at = (at - 1) // 2
        self.heap[at] = entry

    def poll(self) -> tuple[int, Cell]:
        first, entry = self.heap[0], self.heap.pop()
        if self.heap:
            at = 0
            while (child := 2 * at + 1) < len(self.heap):
                if child + 1 < len(self.heap) and self.heap[child + 1][0] < self.heap[child][0]:
                    child += 1
                if entry[0] <= self.heap[child][0]:
                    break
                self.heap[at] = self.heap[child]
                at = child
            self.heap[at] = entry
        return first


def parents_by_queue(free: set[Cell], start: Cell) -> dict[Cell, Cell]:
    """The whole search of the original: every cell that can be reached, and from where it was first."""
    parents: dict[Cell, Cell] = {start: start}
    waiting = JavaQueue()
    waiting.add((0, start))
    while waiting.heap:
        distance, (x, y) = waiting.poll()
        for dx, dy in STEPS:
            cell = (x + dx, y + dy)
            if cell in free and cell not in parents:
                parents[cell] = (x, y)
                waiting.add((distance + 1, cell))
    return parents


@given(st.sets(cells), cells, st.lists(cells, min_size=1, max_size=8))
def test_a_search_that_stops_at_its_goals_finds_what_a_whole_one_finds(
    blocked: set[Cell], start: Cell, goals: list[Cell]
) -> None:
    free = {(x, y) for x in range(7) for y in range(5)} - blocked
    paths = PathFinder(7, 5, blocked)
    for goal in goals:
        expected = None
        if start in free and goal != start and goal in (parents := parents_by_queue(free, start)):
            cell = goal
            while parents[cell] != start:
                cell = parents[cell]
            expected = (cell[0] - start[0], cell[1] - start[1])
        assert paths.first_step(start, goal) == expected


def test_a_near_goal_on_a_wide_field_is_found_nearby():
    paths = PathFinder(500, 500, ())
    assert paths.first_step((250, 250), (253, 250)) == (1, 0)
    assert paths.cached_cells < 100
    assert paths.first_step((250, 250), (250, 254)) == (0, 1)
    assert paths.cached_cells < 100
