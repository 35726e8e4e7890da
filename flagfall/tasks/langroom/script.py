"""The sentences of LangRoom and their random draws.

The order and the kind of the draws are part of the rules: with them a seed gives the same room as in the
public package `langroom` 0.1.2.
"""

from __future__ import annotations

__all__ = ["LONGEST_SCRIPT", "draw_colors", "draw_script"]

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from flagfall.tasks.langroom.rules import COLORS, OBJECTS, WORDS

if TYPE_CHECKING:
    from numpy.random import Generator

_FEWEST_SILENCES: Final = 5
_MOST_SILENCES: Final = 9

_QUESTION: Final = tuple(WORDS.index(word) for word in ("what", "color", "is", "the"))
_OBJECT_WORDS: Final = tuple(WORDS.index(word) for word in OBJECTS)
_COLOR_WORDS: Final = tuple(WORDS.index(word) for word in COLORS)
_AFTER_OBJECT: Final = (WORDS.index("?"), *[0] * 10, WORDS.index("it"), WORDS.index("is"))
"""The end of the question, the time to look, and the beginning of the answer."""

LONGEST_SCRIPT: Final = 2 * _MOST_SILENCES + len(_QUESTION) + 1 + len(_AFTER_OBJECT) + 1
"""Most words of a script."""


def draw_colors(rng: Generator) -> list[int]:
    """Draw a colour for each object, all different, as indices of `COLORS`.

    Args:
        rng: the room's generator.
    """
    drawn: list[int] = rng.permutation(len(COLORS)).tolist()
    return drawn


def draw_script(rng: Generator, colors: Sequence[int]) -> list[int]:
    """Draw one question and its answer: `silence, what color is the OBJECT ?, silence, it is COLOR, silence`.

    Args:
        rng: the room's generator.
        colors: the colours of the room.

    Returns:
        the words, as indices of `WORDS`.
    """
    asked = int(rng.choice(len(OBJECTS)))
    before = int(rng.integers(_FEWEST_SILENCES, _MOST_SILENCES + 1))
    after = int(rng.integers(_FEWEST_SILENCES, _MOST_SILENCES + 1))
    return [
        *[0] * before,
        *_QUESTION,
        _OBJECT_WORDS[asked],
        *_AFTER_OBJECT,
        _COLOR_WORDS[colors[asked]],
        *[0] * after,
    ]
