"""What a mistake in a game or a level raises, and how mistakes that do not stop the reading are gathered."""

from __future__ import annotations

__all__ = ["MAX_NOTICES", "CutShortWarning", "GameError", "Notices", "UnknownNameError"]

from collections.abc import Iterable
from typing import Final

from flagfall.errors import UsageError, suggest
from flagfall.tasks.vgdl.definition import Notice, Place

MAX_NOTICES: Final = 1000
"""A file with more mistakes than this is no game; the original ends a play at 26 messages."""

_LONGEST_HINT: Final = 300
_LONGEST_NAME: Final = 50
_MOST_NAMES: Final = 500


class GameError(UsageError):
    """A game or level that cannot be played; says where, which word, and the nearest right ones.

    Attributes:
        place: file, line and column of the word.
        text: the message without the place.
    """

    def __init__(self, place: Place, text: str) -> None:
        super().__init__(f"{place}: {text}")
        self.place = place
        self.text = text

    @classmethod
    def unknown(cls, place: Place, what: str, word: str, known: Iterable[str]) -> GameError:
        """A word that means nothing here."""
        return cls(place, f"unknown {what} {word!r}{_hint(word, list(known))}")


class UnknownNameError(GameError):
    """The name of no sprite or of no effect; the original reads nothing after one among the interactions."""


class CutShortWarning(UserWarning):
    """A game of which the original reads only the beginning, and plays that."""


def _hint(word: str, known: list[str]) -> str:
    """What the word may have meant; nothing where that would take long to find or to read."""
    if len(known) > _MOST_NAMES or len(word) > _LONGEST_NAME:
        return ""
    hint = suggest(word, [name for name in known if len(name) <= _LONGEST_NAME])
    return hint if len(hint) <= _LONGEST_HINT else ""


class Notices:
    """The mistakes of one file that are told and played on with, in the order in which they are found."""

    def __init__(self) -> None:
        self._found: dict[Notice, None] = {}

    def add(self, place: Place, text: str, *, logged: bool = True) -> None:
        """Note one; the same one again (a parent's parameter, seen from each child) is no second one.

        Args:
            place: where it stands.
            text: what it is.
            logged: the original logs it while it reads, too.

        Raises:
            GameError: there are too many.
        """
        self._found[Notice(place, text, logged)] = None
        if len(self._found) > MAX_NOTICES:
            raise GameError(place, f"more than {MAX_NOTICES} mistakes")

    def all(self) -> tuple[Notice, ...]:
        """All so far."""
        return tuple(self._found)
