"""Problems of a configuration file, collected so that all of them are reported at once."""

from __future__ import annotations

__all__ = ["KeyPath", "Problems", "path_text"]

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from flagfall.errors import UsageError, suggest
from flagfall.kernel.safe_values import safe_repr

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the top of the file to a value."""

_MAX_HINT_CHARS: Final = 300
_MAX_HINTS: Final = 20
"""Problems that may have a hint: finding the nearest of some thousand words takes 10 ms."""

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def path_text(path: KeyPath) -> str:
    """Return a path as TOML would write it.

    Args:
        path: keys and indices, such as `("tasks", "micro5.1", "type")` or `("scheduler", "tasks", 2)`.

    Returns:
        text such as `tasks."micro5.1".type` or `scheduler.tasks[2]`.
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _BARE_KEY.fullmatch(part) else f'"{part}"')
    return text


class Problems:
    """Collector of the problems of one file.

    Args:
        source: the name of the file in messages.
        line_of: returns the line of a path in the file, or `None` where it is unknown.
    """

    def __init__(self, source: str, line_of: Callable[[KeyPath], int | None] = lambda _: None) -> None:
        self.source = source
        self._line_of = line_of
        self._found: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, path: KeyPath, text: str) -> None:
        """Note a problem; the same problem at the same place is kept once.

        Args:
            path: the place; empty for the file as a whole.
            text: the problem, and what to write instead.
        """
        line = self._line_of(path)
        placed = f"{path_text(path)}: {text}" if path else text
        self._found[placed if line is None else f"line {line}: {placed}"] = line or 0

    def unknown(self, path: KeyPath, kind: str, word: Any, known: Iterable[str]) -> None:
        """Note a word that has no meaning at its place; the first ones with the nearest known words.

        Args:
            path: the place of the word.
            kind: what the word should name, such as `task`.
            word: the value found in the file, of any type.
            known: all words that have a meaning there.
        """
        hint = "" if isinstance(word, str) else "; it should be a text"
        if not hint and len(self._found) < _MAX_HINTS:
            hint = suggest(word, known)
        if len(hint) > _MAX_HINT_CHARS:  # no word is near; the whole list would bury the other problems
            hint = ""
        shown = repr(word) if isinstance(word, str) else safe_repr(word)
        self.add(path, f"unknown {kind} {shown}{hint}")

    def raise_if_any(self) -> None:
        """Raise one error with all problems, ordered by line.

        Raises:
            UsageError: at least one problem was noted.
        """
        found = sorted(self._found, key=self._found.__getitem__)
        if len(found) == 1:
            raise UsageError(f"{self.source}: {found[0]}")
        if found:
            lines = "".join(f"\n  {text}" for text in found)
            raise UsageError(f"{self.source}: {len(found)} problems:{lines}")

    def table(
        self, data: Mapping[str, Any], key: str, path: KeyPath, *, needed: bool = False
    ) -> dict[str, Any]:
        """Return the table under a key.

        Args:
            data: the table that holds the key.
            key: the name of the inner table.
            path: the place of `data`.
            needed: a missing table is a problem.

        Returns:
            the table; an empty one if it is missing or if the value is not a table, which is noted.
        """
        if key not in data:
            if needed:
                self.add((*path, key), "required, but missing")
            return {}
        value = data[key]
        if not isinstance(value, dict):
            self.add((*path, key), f"expected a table of names and values, got {safe_repr(value)}")
            return {}
        return value

    def names(self, data: Mapping[str, Any], known: Iterable[str], path: KeyPath) -> None:
        """Note the names in a table that have no meaning there.

        Args:
            data: the table.
            known: names with a meaning.
            path: the place of the table.
        """
        for name in data:
            if name not in known:
                self.unknown((*path, name), "name", name, known)
