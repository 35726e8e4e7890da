"""The rules of LangRoom: words, places, rewards and options.

LangRoom is by Lin et al., "Learning to Model the World with Language" (2023). Coordinates are (x, y), x to
the right, y down; a *place* is the number `9 * y + x`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.errors import UsageError, suggest

if TYPE_CHECKING:
    from numpy.random import Generator


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
    """Return the number of a place."""
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


_REWARDS: Final[Mapping[str, Callable[[int, int], float]]] = {
    "answer-only": _answer_only,
    "answer-and-echo": _answer_and_echo,
    "echo": _echo,
}


_REWARD_TEXTS: Final[Mapping[str, str]] = {
    "answer-only": "1 for the right color, -0.1 for any other word in that step, -0.01 for a word in another"
    " step, and 0 for silence",
    "answer-and-echo": "10 for the right color; in all other steps 0.1 for the word that the room says in the"
    " same step, which may be silence; otherwise 0",
    "echo": "1 for the word that the room says in the same step, which may be silence; otherwise 0",
}

_INSTRUCTIONS: Final = (
    "You walk through a room of 7 x 7 cells with walls around it, and talk. In the corners are a ball (upper "
    "left), a rug (upper right), a table (lower left) and a vase (lower right). Each has another color: red, "
    "green, blue or yellow. You begin in the middle and see {view} cells to each side, so you have to walk "
    "to an object to see its color. Objects and walls are in your way.\n\n"
    "In each step the room says a word or nothing, and you both move (stay, down, up, right, left) and say a "
    'word or nothing. The room asks, word by word, "what color is the ... ?", is silent for ten steps, and '
    'gives the answer: "it is ...". Then the objects get other colors, and another question follows.\n\n'
    "Your word is compared with the one that the room says next. The right time to answer is the step after "
    'the room has said "is": say the color before you have heard it. The reward of a step is {reward}.\n\n'
    "An episode has {length} steps. The words are: {words}."
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

    @property
    def instructions(self) -> str:
        """The goal and the rules as text."""
        words = ", ".join(WORDS[1:])
        reward = _REWARD_TEXTS[self.task]
        return _INSTRUCTIONS.format(view=self.view, reward=reward, length=self.length, words=words)

    def rewards(self) -> list[list[float]]:
        """Return the rewards by the current word and the word said; unknown words share an entry."""
        reward = _REWARDS[self.task]
        return [[reward(word, talk) for talk in range(len(WORDS) + 1)] for word in range(len(WORDS))]


# The sentences of LangRoom and their random draws.
#
# The order and the kind of the draws are part of the rules: with them a seed gives the same room as in the
# public package `langroom` 0.1.2.

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
    """Draw a colour for each object, all different, as indices of `COLORS`."""
    drawn: list[int] = rng.permutation(len(COLORS)).tolist()
    return drawn


def draw_script(rng: Generator, colors: Sequence[int]) -> list[int]:
    """Draw one question and its answer: `silence, what color is the OBJECT ?, silence, it is COLOR, silence`.

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


_START_PLACE: Final = place_of(*START)
_LAST_COLOR_WORD: Final = len(COLORS)
_UNKNOWN: Final = len(WORDS)


class Room:
    """A player, four coloured objects, and a voice that asks for a colour and later names it.

    Args:
        rng: the source of everything random; it continues from episode to episode.

    Attributes:
        rng: the source of everything random; may be replaced between episodes.
        colors: the colour of each object, as indices of `COLORS`.
        word: the current word, as an index of `WORDS`.
        questions: number of answers that were due in this episode.
        answered: number of those that the agent gave in the same step as the room.
    """

    def __init__(self, rules: LangRoomRules, rng: Generator) -> None:
        self.rng: Generator = rng
        self._length = rules.length
        self._vocab_size = rules.vocab_size
        self._rewards = rules.rewards()
        self.steps: int = rules.length

    @property
    def player(self) -> tuple[int, int]:
        """The position of the player, as (x, y)."""
        y, x = divmod(self.place, SIZE)
        return x, y

    @property
    def over(self) -> bool:
        """True if the episode has used all its steps; true before the first episode, too."""
        return self.steps >= self._length

    @property
    def words_ahead(self) -> list[int]:
        """The words that are left of the script, as indices of `WORDS`."""
        return self._script[self._cursor :]

    def begin(self) -> None:
        """Start an episode: the player in the middle, new colours, a new question."""
        self.place: int = _START_PLACE
        self.steps = 0
        self.questions: int = 0
        self.answered: int = 0
        self._draw()
        self._listen()

    def step(self, move: int, talk: int) -> float:
        """Play a step: move, advance to the next word, and return the reward of both.

        Raises:
            UsageError: there is no such move or word, or no episode is running; nothing was changed.
        """
        if self.steps >= self._length:
            raise UsageError("no episode is going on: reset begins one")
        if not (0 <= move < len(MOVES) and 0 <= talk < self._vocab_size):
            raise UsageError(
                f"move={move} talk={talk}: a move is a whole number from 0 to {len(MOVES) - 1}, a word is"
                f" one from 0 to {self._vocab_size - 1}"
            )
        self.place = NEXT_PLACE[self.place][move]
        self.steps += 1
        self._listen()
        word = self.word
        if 0 < word <= _LAST_COLOR_WORD:
            self.questions += 1
            self.answered += talk == word
        return self._rewards[word][min(talk, _UNKNOWN)]

    def _draw(self) -> None:
        self.colors: list[int] = draw_colors(self.rng)
        self._script = draw_script(self.rng, self.colors)
        self._cursor = 0

    def _listen(self) -> None:
        """Advance to the next word; after the last one of a script, draw new colours and a new script."""
        self.word: int = self._script[self._cursor]
        self._cursor += 1
        if self._cursor == len(self._script):
            self._draw()
