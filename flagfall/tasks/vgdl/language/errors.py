"""Errors in games and levels, and the collection of mistakes that do not stop the parser."""

from __future__ import annotations

__all__ = ["MAX_NOTICES", "CutShortWarning", "GameError", "Notices", "UnknownNameError"]

from collections.abc import Iterable
from typing import Final

from flagfall.errors import UsageError, suggest
from flagfall.tasks.vgdl.definition import GameNotice, SourcePosition

MAX_NOTICES: Final = 1000
"""A file with more mistakes than this is rejected; the original ends a play at 26 messages."""

_LONGEST_HINT: Final = 300
_LONGEST_NAME: Final = 50
_MOST_NAMES: Final = 500


class GameError(UsageError):
    """A game or level is invalid; the message has the position, the word and similar valid ones.

    Args:
        place: position of the word.
        text: the message without the position.

    Attributes:
        place, text: see the arguments.
    """

    def __init__(self, place: SourcePosition, text: str) -> None:
        super().__init__(f"{place}: {text}")
        self.place = place
        self.text = text

    @classmethod
    def unknown(cls, place: SourcePosition, what: str, word: str, known: Iterable[str]) -> GameError:
        """Return the error for a word that is not defined.

        Args:
            place: position of the word.
            what: kind of word that is expected.
            word: as written.
            known: valid words.
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
            place: its position.
            text: its description.
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
