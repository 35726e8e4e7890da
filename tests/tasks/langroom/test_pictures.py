"""What is seen, pixel by pixel."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from flagfall.errors import UsageError
from flagfall.tasks.langroom.images import MAX_CACHE_BYTES, ImageCache, image_cache, order_of
from flagfall.tasks.langroom.rules import CORNERS, NEXT_PLACE, OBJECTS, SIZE, START, LangRoomRules, place_of

ORDERS = list(permutations(range(4)))
INSIDE = [(x, y) for x in range(1, 8) for y in range(1, 8) if (x, y) not in CORNERS]


def cells_of(picture, view):
    """The cells of a picture without its border, (cells, cells, pixels, pixels, 3)."""
    cells = 2 * view + 1
    pixels = len(picture) // cells
    margin = (len(picture) - pixels * cells) // 2
    inner = picture[margin : margin + pixels * cells, margin : margin + pixels * cells]
    return inner.reshape(cells, pixels, cells, pixels, 3).swapaxes(1, 2)


@pytest.mark.parametrize(("view", "resolution"), [(1, 9), (2, 64), (3, 77), (4, 108)])
def test_every_cell_shows_what_is_there(view, resolution):
    made = ImageCache(view, resolution)
    colors = (2, 0, 3, 1)
    corner = cells_of(made.get(place_of(2, 2), colors), view)
    player, floor, wall = corner[view, view], corner[view, view + 1], corner[0, 0] if view > 1 else None
    things: dict[tuple[int, int], np.ndarray] = {}
    for x, y in INSIDE:
        picture = cells_of(made.get(place_of(x, y), colors), view)
        for row in range(2 * view + 1):
            for column in range(2 * view + 1):
                at = x + column - view, y + row - view
                cell = picture[row, column]
                if at == (x, y):
                    assert (cell == player).all()
                elif at in CORNERS:
                    assert (things.setdefault(at, cell) == cell).all()
                elif 0 < at[0] < SIZE - 1 and 0 < at[1] < SIZE - 1:
                    assert (cell == floor).all()
                elif wall is None:
                    wall = cell
                else:
                    assert (cell == wall).all()
    assert set(things) == set(CORNERS)
    for one, other in combinations([player, floor, wall, *things.values()], 2):
        assert (one != other).any()


def test_the_border_is_black_and_as_wide_on_all_sides():
    for resolution, wide in ((64, 2), (67, 1)):
        picture = image_cache(LangRoomRules(resolution=resolution)).get(place_of(*START), (0, 1, 2, 3))
        assert picture.shape == (resolution, resolution, 3)
        assert picture.dtype == np.uint8
        border = np.ones((resolution, resolution), bool)
        border[wide:-wide, wide:-wide] = False
        assert not picture[border].any()
        assert picture[~border].reshape(-1, 3).any(axis=1).all()


def test_objects_are_told_apart_by_shape_and_by_colour():
    made = ImageCache(2, 60)
    looks = {}
    for corner, name in zip(CORNERS, OBJECTS, strict=True):
        x, y = (3 if part == 1 else 5 for part in corner)
        at = (0 if corner[1] == 1 else 4), (0 if corner[0] == 1 else 4)
        for number in range(4):
            order = next(o for o in ORDERS if o[OBJECTS.index(name)] == number)
            looks[name, number] = cells_of(made.get(place_of(x, y), order), 2)[at]
    floor = cells_of(made.get(place_of(*START), ORDERS[0]), 2)[0, 0]
    shapes = {name: (looks[name, 0] != floor).any(axis=2) for name in OBJECTS}
    for one, other in combinations(OBJECTS, 2):
        assert (shapes[one] != shapes[other]).sum() >= 20, f"{one} looks like {other}"
    for name in OBJECTS:
        for color, another in combinations(range(4), 2):
            assert (looks[name, color] != looks[name, another]).any(axis=2).mean() >= 0.2


def test_a_larger_picture_is_the_same_picture():
    small, large = ImageCache(2, 60), ImageCache(2, 180)
    for x, y in ((2, 2), (6, 6)):
        seen = small.get(place_of(x, y), (0, 1, 2, 3))
        assert (seen.repeat(3, axis=0).repeat(3, axis=1) == large.get(place_of(x, y), (0, 1, 2, 3))).all()


@pytest.mark.parametrize("resolution", [5, 35, 65, 115])
def test_other_sizes_have_the_same_mean(resolution):
    usual = ImageCache(2, 60).get(place_of(2, 2), (0, 1, 2, 3))
    other = ImageCache(2, resolution).get(place_of(2, 2), (0, 1, 2, 3))
    means = [cells_of(picture, 2).mean(axis=(2, 3)) for picture in (usual, other)]
    assert np.abs(means[0] - means[1]).max() < 1  # whole numbers are rounded down


def test_there_are_few_pictures():
    assert len(ImageCache(2, 64)) == 157
    assert len(ImageCache(8, 68)) == 49 * 24


def test_many_players_see_what_each_sees():
    made = ImageCache(2, 64)
    rng = np.random.default_rng(0)
    places = rng.choice([place_of(x, y) for x, y in INSIDE], 300)
    orders = rng.integers(0, 24, 300)
    out = np.empty((300, 64, 64, 3), np.uint8)
    made.get_batch(places, orders, out)
    alone = ImageCache(2, 64)
    for picture, place, order in zip(out, places, orders, strict=True):
        colors = next(o for o in ORDERS if order_of(*o) == order)
        assert (picture == alone.get(int(place), colors)).all()


def test_what_is_shared_cannot_be_changed():
    picture = image_cache(LangRoomRules()).get(place_of(*START), (0, 1, 2, 3))
    with pytest.raises(ValueError, match="read-only"):
        picture[0] = 1
    assert image_cache(LangRoomRules("echo", length=7)) is image_cache(LangRoomRules())


def test_what_would_take_too_much_memory_is_refused():
    with pytest.raises(UsageError, match="take at most 1505") as caught:
        image_cache(LangRoomRules(resolution=4000))
    most = int(str(caught.value).split()[-1])
    assert 157 * 3 * most**2 <= MAX_CACHE_BYTES < 157 * 3 * (most + 5) ** 2
    assert image_cache(LangRoomRules(resolution=most)).resolution == most


def test_places_that_are_reached_have_pictures():
    made = ImageCache(1, 9)
    for place in {NEXT_PLACE[place_of(x, y)][move] for x, y in INSIDE for move in range(5)}:
        assert made.get(place, (0, 1, 2, 3)).any()
