"""Errors in games and levels, and the conversion of texts to values as in the original.

The kind of a text does not depend on the parameter. In this order it is: the name of a constant (a direction,
a colour, `GRID`, `CONT`), a 32-bit integer, a floating-point number (neither for the two scores, which stay
text), `true` or `false` in any case (not for `win`, `hidden`, `invisible`), a text. A value of another kind
than the parameter's is ignored, and the default stays (`limit=1.5`, `stype=3`, `singleton=1`); integers are
valid floating-point numbers. The caller reports ignored values.

Infinite numbers, NaN and numbers beyond 32 bits are rejected: no rule can use them.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterable, Mapping
from typing import Final

from flagfall.errors import UsageError, suggest
from flagfall.tasks.vgdl.definition import GameNotice, SourcePosition, Value

MAX_NOTICES: Final = 1000
"""A file with more mistakes than this is rejected; the original ends a play at 26 messages."""

_LONGEST_HINT: Final = 300
_LONGEST_NAME: Final = 50
_MOST_NAMES: Final = 500


class GameError(UsageError):
    """A game or level is invalid; the message has the position, the word and similar valid ones.

    Args:
        text: the message without the position.
    """

    def __init__(self, place: SourcePosition, text: str) -> None:
        super().__init__(f"{place}: {text}")
        self.place = place
        self.text = text

    @classmethod
    def unknown(cls, place: SourcePosition, what: str, word: str, known: Iterable[str]) -> GameError:
        """Return the error for a word that is not defined.

        Args:
            what: kind of word that is expected.
        """
        return cls(place, f"unknown {what} {word!r}{_hint(word, list(known))}")


class UnknownNameError(GameError):
    """A sprite or an effect is not defined; among the interactions, the original stops reading there."""


class CutShortWarning(UserWarning):
    """The original reads only the beginning of a game, and plays that."""


def _hint(word: str, known: list[str]) -> str:
    """Return a hint to similar words; empty if it would take long to compute or to read."""
    if len(known) > _MOST_NAMES or len(word) > _LONGEST_NAME:
        return ""
    hint = suggest(word, [name for name in known if len(name) <= _LONGEST_NAME])
    return hint if len(hint) <= _LONGEST_HINT else ""


class Notices:
    """Mistakes of one file that the original ignores, in the order in which they are found."""

    def __init__(self) -> None:
        self._found: dict[GameNotice, None] = {}

    def add(self, place: SourcePosition, text: str, *, logged: bool = True) -> None:
        """Add a mistake, once: a parent's parameter is found again for each child.

        Args:
            logged: the original logs it, too, while it reads.

        Raises:
            GameError: more than `MAX_NOTICES` mistakes.
        """
        self._found[GameNotice(place, text, logged)] = None
        if len(self._found) > MAX_NOTICES:
            raise GameError(place, f"more than {MAX_NOTICES} mistakes")

    def all(self) -> tuple[GameNotice, ...]:
        """Return all mistakes so far."""
        return tuple(self._found)


class ValueKind(enum.Enum):
    """Kind of a parameter's value, with its description for messages."""

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
"""Directions by name; y points down."""

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
"""Colours by name: red, green, blue from 0 to 255. The original's `RANDOM` names no fixed colour."""

NO_SCORE: Final = 1 << 40
"""Value of a score that is not an integer: it adds nothing, and the original logs a message each time."""

NO_SCORE_MESSAGE: Final = "a scoreChange is not an integer"
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

_LITERALS: Final = {ValueKind.INT, ValueKind.FLOAT, ValueKind.BOOL, ValueKind.DIRECTION, ValueKind.COLOUR}


def integer(text: str) -> int | None:
    """Return the 32-bit integer that a text represents; `None` if it represents none."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT_LIMIT <= number < _INT_LIMIT else None


def _literal(key: str, text: str) -> tuple[ValueKind, Value]:
    """Return kind and value of a text.

    Raises:
        ValueError: a number out of range.
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
            raise ValueError(f"{text!r} is out of range")
        return ValueKind.FLOAT, number
    if text.lower() in {"true", "false"} and key.lower() not in _TEXTS:
        return ValueKind.BOOL, text.lower() == "true"
    return ValueKind.TEXT, text


def fit(kind: ValueKind, key: str, text: str) -> Value:
    """Return the value of a parameter; `None` if the text does not fit, so that the default stays.

    Names of sprites stay text; the caller resolves them. Of a list for several players, the first entry
    counts.

    Raises:
        ValueError: a number out of range.
    """
    found, value = _literal(key, text)
    wanted = kind if kind in _LITERALS else ValueKind.TEXT
    if found is not wanted and not (wanted is ValueKind.FLOAT and found is ValueKind.INT):
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
