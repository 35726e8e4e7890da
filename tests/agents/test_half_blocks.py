"""Pictures in a terminal: every pixel is one half of a character."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flagfall.agents.human.key_console import fitted, half_block_runs

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def picture(*rows):
    return np.array(rows, np.uint8)


def test_two_rows_of_pixels_are_one_line_and_equal_neighbours_one_run() -> None:
    two_by_two = picture([RED, RED], [BLUE, BLUE])
    assert list(half_block_runs(two_by_two)) == [[("#ff0000", "#0000ff", 2)]]


def test_an_odd_last_row_stands_over_black() -> None:
    assert list(half_block_runs(picture([RED], [GREEN], [BLUE]))) == [
        [("#ff0000", "#00ff00", 1)],
        [("#0000ff", "#000000", 1)],
    ]


def test_small_pictures_are_enlarged_by_whole_numbers() -> None:
    small = picture([RED, BLUE], [GREEN, GREEN])
    large = fitted(small, columns=7, rows=3)
    assert large.shape == (6, 6, 3)
    assert (large[::3, ::3] == small).all()
    assert (large[2, 2] == RED).all()


def test_large_pictures_are_averaged() -> None:
    stripes = np.zeros((8, 8, 3), np.uint8)
    stripes[:, ::2] = 200
    assert (fitted(stripes, columns=4, rows=2) == 100).all()


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 30), st.integers(1, 15), st.integers(0, 255))
def test_it_fits_and_a_plain_picture_stays_plain(height, width, columns, rows, value) -> None:
    shown = fitted(np.full((height, width, 3), value, np.uint8), columns, rows)
    assert 1 <= shown.shape[0] <= 2 * rows
    assert 1 <= shown.shape[1] <= columns
    assert (shown == value).all()
