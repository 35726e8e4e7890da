"""Shortest ways, with the original's choice among equal ones."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from flagfall.tasks.vgdl.engine.state.pathfinder import Cell, PathFinder

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
