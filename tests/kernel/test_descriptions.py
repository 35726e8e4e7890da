"""Texts of values: what a reader sees of arrays, boards and mappings, and the limits of text and time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flagfall.kernel.descriptions import MAX_TEXT_CHARS, describe_board, describe_value, name_of

BOARD = np.zeros((2, 3, 2), np.int8)
BOARD[1, 0, 0] = BOARD[1, 1, 1] = BOARD[0, 2, 0] = BOARD[0, 2, 1] = 1
DRAWN = " .  . AB\n A  B  .\n(A to B: planes 0 to 1)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        ("two\nlines", "two\nlines"),
        (None, "None"),
        (0.123456, "0.1235"),
        (np.float32(0.3), "0.3"),
        ((14, 10, 0), "[14, 10, 0]"),
        (np.array([0.25, np.nan, -np.inf]), "[0.25, nan, -inf]"),
        ([[1, 20], [3, 4]], " 1 20\n 3  4"),
        (np.array([[True, False]]), "1 0"),
        (BOARD, DRAWN),
        (BOARD.transpose(2, 0, 1), DRAWN),
        (BOARD.astype(np.float32), DRAWN),
        (np.full((1, 2, 2), 5), "plane 0:\n  5 5\n  5 5"),
        (np.zeros((64, 48, 3), np.uint8), "picture of 48 x 64 pixels"),
        (np.zeros((100, 100)), "array float64 (100, 100)"),
        (np.zeros((0, 10**9)), "array float64 (0, 1000000000)"),
        ({"a": 1, "b": [[1], [2]], "c": {}}, "a: 1\nb:\n  1\n  2\nc:"),
        ([{"a": 1}, {"b": 2, "c": 3}], "- a: 1\n-\n  b: 2\n  c: 3"),
        ([np.zeros(2), 1], "- [0, 0]\n- 1"),
        (1 << 20_000, "number of 20001 bits"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_written_as_their_readers_see_them(value: Any, text: str):
    assert describe_value(value) == text


def test_a_mask_comes_last_as_the_actions_that_it_allows():
    seen = {"action_mask": np.array([0, 1, 1], np.int8), "observation": BOARD}
    assert describe_value(seen, ["zero", "one", "two"].__getitem__) == f"{DRAWN}\nallowed actions: one; two"
    assert describe_value({"action_mask": np.zeros(3), "seen": 1}) == "seen: 1\nallowed actions: none"
    assert describe_value({"action_mask": ([0, 1], [1, 1])}) == "action_mask:\n  0 1\n  1 1", "of two numbers"


@pytest.mark.parametrize(
    ("action", "name"),
    [
        (3, "up"),
        (np.int64(4), "down"),
        (5, "5"),
        (2, "2"),
        (None, "NIL"),
        ("x", "x"),
        ({"a": 1, "b": 2}, "a: 1, b: 2"),
    ],
)
def test_numbered_actions_have_names_as_far_as_there_are_any(action: Any, name: str):
    assert name_of(action, ["up", "down", ""], 3) == name


def test_a_board_shows_every_piece_of_a_cell():
    assert describe_board([[[1, 0]], [[1, 1]]], "XO") == "XO  O"


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6,
        list(range(10**6)),
        [[]] * 10**6,
        [["y" * 1000] * 10] * 10**5,
        {number: number for number in range(10**5)},
        {"text": "\n" * 10**6},
        {"action_mask": np.ones(2**16)},
        {"action_mask": np.ones(10**6)},
        nested(40),
        nested(2000),
        np.ones((2,) * 11),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_as_much_of_a_value_is_read_as_is_shown(value: Any):
    assert len(describe_value(value)) <= MAX_TEXT_CHARS, "a tree of 40 levels would take for ever"
