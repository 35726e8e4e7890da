"""The rules of LangRoom: words, places, rewards, and what may be chosen.

LangRoom is by Lin et al., "Learning to Model the World with Language" (2023). Coordinates are (x, y), x to
the right, y down; a *place* is the number `9 * y + x`.
"""

from __future__ import annotations

__all__ = [
    "COLORS",
    "CORNERS",
    "MOVES",
    "NEXT_PLACE",
    "OBJECTS",
    "SIZE",
    "START",
    "TASKS",
    "WORDS",
    "LangRoomRules",
    "place_of",
    "read_action",
    "word_at",
]

from collections.abc import Callable, Mapping, Sequence
from operator import index
from types import MappingProxyType
from typing import Any, Final

import attrs

from flagfall.errors import UsageError, nearest

COLORS: Final = ("red", "green", "blue", "yellow")
OBJECTS: Final = ("ball", "rug", "table", "vase")
WORDS: Final = ("", *COLORS, *OBJECTS, "what", "color", "is", "the", "?", "it")
"""The words by their index; 0 is silence. Beyond them are words without a meaning; see `word_at`."""

MOVES: Final = ("stay", "down", "up", "right", "left")
"""The moves by their index."""

SIZE: Final = 9
"""The room is so many cells wide and high, its walls among them."""

START: Final = (4, 4)
CORNERS: Final = ((1, 1), (7, 1), (1, 7), (7, 7))
"""Where the objects stand, in their order."""

_DELTAS: Final = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))

TASKS: Final = ("answer-only", "answer-and-echo", "echo")
"""The three ways to be rewarded."""

_MOST: Final = 2**31 - 1
"""Numbers of words and steps are held in 32 bits by those who learn."""

_WIDEST_VIEW: Final = SIZE - 1
"""From here on a wider view shows nothing but more wall."""


def place_of(x: int, y: int) -> int:
    """The number of a place."""
    return SIZE * y + x


def word_at(number: int) -> str:
    """The word of an index, however large; silence is the empty text."""
    return WORDS[number] if number < len(WORDS) else f"<{number}>"


def read_action(action: Any) -> tuple[int, int]:
    """The move and the word of an action such as `{"move": 1, "talk": 0}`; more in it is left alone.

    Raises:
        UsageError: it has no such whole numbers. Whether there are such a move and word is not looked at.
    """
    try:
        return index(action["move"]), index(action["talk"])
    except (TypeError, LookupError):
        raise UsageError(f"{action!r} is no action: it has `move` and `talk`, whole numbers") from None


def _next_place(place: int, move: int) -> int:
    y, x = divmod(place, SIZE)
    dx, dy = _DELTAS[move]
    x, y = x + dx, y + dy
    inside = 0 < x < SIZE - 1 and 0 < y < SIZE - 1
    return place_of(x, y) if inside and (x, y) not in CORNERS else place


NEXT_PLACE: Final[Sequence[Sequence[int]]] = tuple(
    tuple(_next_place(place, move) for move in range(len(MOVES))) for place in range(SIZE * SIZE)
)
"""Where a move leads, by place and move; walls and objects block it."""


def _answer_only(word: int, talk: int) -> float:
    if talk == 0:
        return 0.0
    if not 1 <= word <= len(COLORS):
        return -0.01
    return 1.0 if talk == word else -0.1


def _answer_and_echo(word: int, talk: int) -> float:
    if talk != word:
        return 0.0
    return 10.0 if 1 <= word <= len(COLORS) else 0.1


def _echo(word: int, talk: int) -> float:
    return float(talk == word)


_REWARDS: Final[Mapping[str, Callable[[int, int], float]]] = MappingProxyType(
    {"answer-only": _answer_only, "answer-and-echo": _answer_and_echo, "echo": _echo}
)


def _whole_number(name: str, default: int, *, least: int, most: int) -> Any:
    """A field that holds a whole number within limits; those of numpy become Python's."""

    def checked(value: Any) -> int:
        try:
            number = -1 if isinstance(value, bool) else index(value)
        except TypeError:
            number = -1
        if not least <= number <= most:
            raise UsageError(f"{name}={value!r}: {name} is a whole number from {least} to {most}")
        return number

    return attrs.field(default=default, converter=checked)


@attrs.frozen(str=False)
class LangRoomRules:
    """What may be chosen. All arguments are checked.

    Attributes:
        task: one of `TASKS`: what is rewarded.
        view: how many cells the agent sees to each side of its own; 1 to 8.
        length: an episode is over so many steps after its reset; at least 1.
        resolution: width and height of the picture, in pixels. What its `2 * view + 1` cells leave over is
            a black border of the same width on all sides, so it must be even.
        vocab_size: how many words the agent can say, at least the 15 that mean something.

    Raises:
        UsageError: one of them cannot be; the message says what can.
    """

    task: str = "answer-only"
    view: int = _whole_number("view", 2, least=1, most=_WIDEST_VIEW)
    length: int = _whole_number("length", 200, least=1, most=_MOST)
    resolution: int = _whole_number("resolution", 64, least=1, most=_MOST)
    vocab_size: int = _whole_number("vocab_size", len(WORDS), least=len(WORDS), most=_MOST)

    def __attrs_post_init__(self) -> None:
        if self.task not in TASKS:
            raise UsageError(f"task={self.task!r}: LangRoom has no such task{nearest(str(self.task), TASKS)}")
        if self.resolution < self.cells:
            raise UsageError(
                f"resolution={self.resolution}: with view={self.view} the picture has {self.cells} cells in a"
                f" row, so take at least {self.cells}"
            )
        if self.resolution % self.cells % 2:
            raise UsageError(
                f"resolution={self.resolution}: {self.cells} cells of {self.cell} pixels (view={self.view})"
                f" and the same border on both sides do not make it: take {self.resolution - 1} or"
                f" {self.resolution + 1}"
            )

    @classmethod
    def parse(cls, text: str) -> LangRoomRules:
        """The rules that a text means: `langroom`, `langroom:echo`, `langroom:echo:view=3:length=50`.

        Raises:
            UsageError: they cannot be, or the text says something else.
        """
        chosen: dict[str, Any] = {}
        for part in text.split(":")[1:]:
            name, _, value = part.partition("=") if "=" in part else ("task", "", part)
            if name in chosen:
                raise UsageError(f"{text}: {name} is given twice")
            chosen[name] = int(value) if value.isdecimal() and value.isascii() else value
        return cls.choose(**chosen)

    @classmethod
    def choose(cls, task: str = "answer-only", **options: Any) -> LangRoomRules:
        """The rules with these options, by name; like the class itself, but knows what to say of others.

        Raises:
            UsageError: there is no such option, or it cannot be what it is.
        """
        known = [field.name for field in attrs.fields(cls)]
        for name, value in options.items():
            if name not in known:
                raise UsageError(f"{name}={value!r}: LangRoom has no such option{nearest(name, known)}")
        return cls(task, **options)

    def __str__(self) -> str:
        """The shortest text that `parse` takes; it is the id of the task."""
        told = ["langroom"]
        for field in attrs.fields(type(self)):
            value = getattr(self, field.name)
            if value != field.default:
                told.append(value if field.name == "task" else f"{field.name}={value}")
        return ":".join(told)

    @property
    def cells(self) -> int:
        """Cells in a row of the picture."""
        return 2 * self.view + 1

    @property
    def cell(self) -> int:
        """Width and height of a cell, in pixels."""
        return self.resolution // self.cells

    def rewards(self) -> list[list[float]]:
        """The rewards by the current word and what was said; all words without a meaning share an entry."""
        reward = _REWARDS[self.task]
        return [[reward(word, talk) for talk in range(len(WORDS) + 1)] for word in range(len(WORDS))]
