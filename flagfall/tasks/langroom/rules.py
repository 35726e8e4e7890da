"""The rules of LangRoom: words, places, rewards and options.

LangRoom is by Lin et al., "Learning to Model the World with Language" (2023). Coordinates are (x, y), x to
the right, y down; a *place* is the number `9 * y + x`.
"""

from __future__ import annotations

__all__ = [
    "COLORS",
    "CORNERS",
    "MOST_WORDS",
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

from flagfall.errors import UsageError, suggest

COLORS: Final = ("red", "green", "blue", "yellow")
OBJECTS: Final = ("ball", "rug", "table", "vase")
WORDS: Final = ("", *COLORS, *OBJECTS, "what", "color", "is", "the", "?", "it")
"""The words by index; 0 is silence. Greater indices are words without a meaning, see `word_at`."""

MOVES: Final = ("stay", "down", "up", "right", "left")
"""The moves by index."""

SIZE: Final = 9
"""Width and height of the room in cells, with its walls."""

START: Final = (4, 4)
CORNERS: Final = ((1, 1), (7, 1), (1, 7), (7, 7))
"""Positions of the objects, in the order of `OBJECTS`."""

_DELTAS: Final = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))

TASKS: Final = ("answer-only", "answer-and-echo", "echo")
"""The three kinds of reward."""

MOST_WORDS: Final = 2**31 - 1
"""Greatest number of words, steps and pixels: learners hold them in 32 bits."""

_WIDEST_VIEW: Final = SIZE - 1
"""A wider view would show nothing but more wall."""


def place_of(x: int, y: int) -> int:
    """Return the number of a place.

    Args:
        x: column, from 0.
        y: row, from 0.
    """
    return SIZE * y + x


def word_at(number: int) -> str:
    """Return the word of an index; silence is the empty text.

    Args:
        number: any index from 0.
    """
    return WORDS[number] if number < len(WORDS) else f"<{number}>"


def read_action(action: Any) -> tuple[int, int]:
    """Return the move and the word of an action.

    Args:
        action: such as `{"move": 1, "talk": 0}`; other keys are ignored.

    Raises:
        UsageError: the action does not have these whole numbers. Their range is not checked.
    """
    try:
        return index(action["move"]), index(action["talk"])
    except (TypeError, LookupError):
        raise UsageError(f"{action!r} is not an action: it has `move` and `talk`, whole numbers") from None


def _next_place(place: int, move: int) -> int:
    y, x = divmod(place, SIZE)
    dx, dy = _DELTAS[move]
    x, y = x + dx, y + dy
    inside = 0 < x < SIZE - 1 and 0 < y < SIZE - 1
    return place_of(x, y) if inside and (x, y) not in CORNERS else place


NEXT_PLACE: Final[Sequence[Sequence[int]]] = tuple(
    tuple(_next_place(place, move) for move in range(len(MOVES))) for place in range(SIZE * SIZE)
)
"""The place after a move, by place and move; walls and objects block."""


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
    """Return a field for a whole number within limits; numpy's numbers become Python's."""

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
    """The options of a LangRoom; all arguments are checked.

    Attributes:
        task: the kind of reward, one of `TASKS`.
        view: number of cells that the agent sees on each side of its own; 1 to 8.
        length: number of steps of an episode; at least 1.
        resolution: width and height of the image in pixels. The pixels left over by its `2 * view + 1` cells
            are a black border of the same width on all sides, so their number must be even.
        vocab_size: number of words that the agent can say; at least the 15 known ones.

    Raises:
        UsageError: an option is invalid; the message says which values are valid.
    """

    task: str = "answer-only"
    view: int = _whole_number("view", 2, least=1, most=_WIDEST_VIEW)
    length: int = _whole_number("length", 200, least=1, most=MOST_WORDS)
    resolution: int = _whole_number("resolution", 64, least=1, most=MOST_WORDS)
    vocab_size: int = _whole_number("vocab_size", len(WORDS), least=len(WORDS), most=MOST_WORDS)

    def __attrs_post_init__(self) -> None:
        if self.task not in TASKS:
            raise UsageError(f"task={self.task!r}: LangRoom has no such task{suggest(str(self.task), TASKS)}")
        if self.resolution < self.cells:
            raise UsageError(
                f"resolution={self.resolution}: with view={self.view} the image has {self.cells} cells in a"
                f" row: take at least {self.cells}"
            )
        if self.resolution % self.cells % 2:
            raise UsageError(
                f"resolution={self.resolution}: {self.cells} cells of {self.cell} pixels (view={self.view})"
                f" and the same border on both sides do not make it: take {self.resolution - 1} or"
                f" {self.resolution + 1}"
            )

    @classmethod
    def parse(cls, text: str) -> LangRoomRules:
        """Parse the text form of rules.

        Args:
            text: such as `langroom`, `langroom:echo` or `langroom:echo:view=3:length=50`.

        Raises:
            UsageError: the text or an option in it is invalid.
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
        """Make rules from options by name; unlike the class itself, it reports unknown options.

        Args:
            task: one of `TASKS`.
            options: the other attributes.

        Raises:
            UsageError: an option is unknown or invalid.
        """
        known = [field.name for field in attrs.fields(cls)]
        for name, value in options.items():
            if name not in known:
                raise UsageError(f"{name}={value!r}: LangRoom has no such option{suggest(name, known)}")
        return cls(task, **options)

    def __str__(self) -> str:
        """Return the shortest text for `parse`, which is the id of the task."""
        parts = ["langroom"]
        for field in attrs.fields(type(self)):
            value = getattr(self, field.name)
            if value != field.default:
                parts.append(value if field.name == "task" else f"{field.name}={value}")
        return ":".join(parts)

    @property
    def cells(self) -> int:
        """Number of cells in a row of the image."""
        return 2 * self.view + 1

    @property
    def cell(self) -> int:
        """Width and height of a cell in pixels."""
        return self.resolution // self.cells

    def rewards(self) -> list[list[float]]:
        """Return the rewards by the current word and the word said; unknown words share an entry."""
        reward = _REWARDS[self.task]
        return [[reward(word, talk) for talk in range(len(WORDS) + 1)] for word in range(len(WORDS))]
