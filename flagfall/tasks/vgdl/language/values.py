"""A parameter's text to its value, as the original converts.

What a text is does not depend on what is wanted. In this order it is: a constant's name (a direction, a
colour, `GRID`, `CONT`), an integer of 32 bits, a floating number (neither for the two scores, which stay
text), `true` or `false` in any case (not for `win`, `hidden`, `invisible`), a text. Only then it is seen
whether the parameter takes that: a value of another kind is left out and the default stays (`limit=1.5`,
`stype=3`, `singleton=1`). Integers do for floating numbers. The caller tells what was left out.

Numbers that are infinite, no numbers, or beyond 32 bits are refused: no rule means them.
"""

from __future__ import annotations

__all__ = ["COLOURS", "DIRECTIONS", "NO_SCORE", "NO_SCORE_MESSAGE", "ValueKind", "fit", "integer"]

import enum
import math
import re
from collections.abc import Mapping
from typing import Final

from flagfall.tasks.vgdl.definition import Value


class ValueKind(enum.Enum):
    """What a parameter takes; the value says it in words."""

    INT = "an integer"
    FLOAT = "a number"
    BOOL = "True or False"
    TEXT = "a text"
    FLAG = "the text True or False"
    SCORE = "an integer of 32 bits"
    COUNTS = "a list of integers with a comma"
    DIRECTION = "a direction"
    COLOUR = "a colour"
    SPRITE = "a sprite's name"
    SPRITES = "sprites' names with commas between"


Direction = tuple[float, float]

_BASE: Final[Mapping[str, Direction]] = {
    "UP": (0.0, -1.0),
    "DOWN": (0.0, 1.0),
    "LEFT": (-1.0, 0.0),
    "RIGHT": (1.0, 0.0),
    "NONE": (0.0, 0.0),
    "NIL": (-1.0, -1.0),
}
DIRECTIONS: Final[Mapping[str, Direction]] = {
    **_BASE,
    **{f"D{name}": way for name, way in _BASE.items()},
}
"""Direction names; y goes down."""

COLOURS: Final[Mapping[str, tuple[int, int, int]]] = {
    "GREEN": (0, 200, 0),
    "BLUE": (0, 0, 200),
    "RED": (200, 0, 0),
    "GRAY": (90, 90, 90),
    "WHITE": (250, 250, 250),
    "BROWN": (140, 120, 100),
    "BLACK": (0, 0, 0),
    "ORANGE": (250, 160, 0),
    "YELLOW": (250, 250, 0),
    "PINK": (250, 200, 200),
    "GOLD": (250, 212, 0),
    "LIGHTRED": (250, 50, 50),
    "LIGHTORANGE": (250, 200, 100),
    "LIGHTBLUE": (50, 100, 250),
    "LIGHTGREEN": (50, 250, 50),
    "DARKGREEN": (35, 117, 29),
    "LIGHTYELLOW": (255, 250, 128),
    "LIGHTGRAY": (238, 238, 238),
    "DARKGRAY": (30, 30, 30),
    "DARKBLUE": (20, 20, 100),
}
"""Colour names, red, green, blue from 0 to 255. The original's `RANDOM` is none here: it says nothing."""

NO_SCORE: Final = 1 << 40
"""Value of a score that is not an integer: it adds nothing, and the original logs a message each time."""

NO_SCORE_MESSAGE: Final = "a scoreChange is no integer"
"""The message."""

_CONSTANTS: Final[Mapping[str, tuple[ValueKind, Value]]] = {
    **{name: (ValueKind.DIRECTION, way) for name, way in DIRECTIONS.items()},
    **{name: (ValueKind.COLOUR, rgb) for name, rgb in COLOURS.items()},
    "GRID": (ValueKind.INT, 0),
    "CONT": (ValueKind.INT, 1),
}
_SCORES: Final = {"scorechange", "scorechangeifkilled"}
_TEXTS: Final = {"win", "hidden", "invisible"}
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_FLOAT: Final = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[fFdD]?")
_INT_LIMIT: Final = 2**31

_TAKES: Final[Mapping[ValueKind, frozenset[ValueKind]]] = {
    ValueKind.INT: frozenset({ValueKind.INT}),
    ValueKind.FLOAT: frozenset({ValueKind.INT, ValueKind.FLOAT}),
    ValueKind.BOOL: frozenset({ValueKind.BOOL}),
    ValueKind.DIRECTION: frozenset({ValueKind.DIRECTION}),
    ValueKind.COLOUR: frozenset({ValueKind.COLOUR}),
}
_TEXT_ONLY: Final = frozenset({ValueKind.TEXT})


def integer(text: str) -> int | None:
    """The integer of 32 bits that a text writes, or `None`."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT_LIMIT <= number < _INT_LIMIT else None


def _literal(key: str, text: str) -> tuple[ValueKind, Value]:
    """What a text is, whatever is wanted.

    Raises:
        ValueError: a number that nothing means.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if key.lower() in _SCORES:
        return ValueKind.TEXT, text
    whole = integer(text)
    if whole is not None:
        return ValueKind.INT, whole
    if _FLOAT.fullmatch(text):
        number = float(text.rstrip("fFdD").replace("Infinity", "inf"))
        if not math.isfinite(number) or abs(number) > _INT_LIMIT:
            raise ValueError(f"{text!r} is too large a number, or none")
        return ValueKind.FLOAT, number
    if text.lower() in {"true", "false"} and key.lower() not in _TEXTS:
        return ValueKind.BOOL, text.lower() == "true"
    return ValueKind.TEXT, text


def fit(kind: ValueKind, key: str, text: str) -> Value:
    """The value that a parameter gets, or `None` where the text does not fit and its default stays.

    Sprite names stay text here: the caller knows who they are. A comma list for several players counts by
    its first entry.

    Raises:
        ValueError: a number that no rule means.
    """
    found, value = _literal(key, text)
    if found not in _TAKES.get(kind, _TEXT_ONLY):
        return None
    if kind is ValueKind.FLOAT:
        assert isinstance(value, int | float)
        return float(value)
    if kind is ValueKind.FLAG:
        return text.partition(",")[0].lower() == "true"
    if kind is ValueKind.SCORE:
        number = integer(text.partition(",")[0])
        return NO_SCORE if number is None else number
    if kind is ValueKind.COUNTS:
        counts = tuple(integer(part) for part in text.split(","))
        return None if None in counts else tuple(count for count in counts if count is not None)
    return value
