"""The dynamics of one LangRoom, without its images."""

from __future__ import annotations

__all__ = ["Room"]

from typing import TYPE_CHECKING, Final

from flagfall.errors import UsageError
from flagfall.tasks.langroom.rules import (
    COLORS,
    MOVES,
    NEXT_PLACE,
    SIZE,
    START,
    WORDS,
    LangRoomRules,
    place_of,
)
from flagfall.tasks.langroom.script import draw_colors, draw_script

if TYPE_CHECKING:
    from numpy.random import Generator

_START_PLACE: Final = place_of(*START)
_LAST_COLOR_WORD: Final = len(COLORS)
_UNKNOWN: Final = len(WORDS)


class Room:
    """A player, four coloured objects, and a voice that asks for a colour and later names it.

    Args:
        rules: the rules of the room.
        rng: the source of everything random; it continues from episode to episode.

    Attributes:
        rng: the source of everything random; may be replaced between episodes.
        place: the place of the player, see `place_of`.
        colors: the colour of each object, as indices of `COLORS`.
        word: the current word, as an index of `WORDS`.
        steps: steps taken in this episode.
        questions: number of answers that were due in this episode.
        answered: number of those that the agent gave in the same step as the room.
    """

    __slots__ = (
        "_cursor",
        "_length",
        "_rewards",
        "_script",
        "_vocab_size",
        "answered",
        "colors",
        "place",
        "questions",
        "rng",
        "steps",
        "word",
    )

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

        Args:
            move: an index of `MOVES`.
            talk: an index of the vocabulary.

        Returns:
            the reward.

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
