"""The picture of a turn is what a match does."""

from __future__ import annotations

from tests.documents.turn_picture import PICTURE, draw_turn


def test_the_picture_of_a_turn_is_drawn_from_a_match() -> None:
    assert draw_turn() == PICTURE.read_text(encoding="utf-8"), (
        "python -m tests.documents.turn_picture draws it"
    )
