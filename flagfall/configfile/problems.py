"""Mistakes in a configuration, each with its place; all of them are told at once."""

from __future__ import annotations

__all__ = ["Mistakes", "Path", "place"]

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from flagfall.errors import UsageError, suggest

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices, from the top."""

_LONGEST_HINT: Final = 300
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def place(path: Path) -> str:
    """A path as text: `tasks."micro5.1".type`, `scheduler.tasks[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _BARE.fullmatch(part) else f'"{part}"')
    return text


class Mistakes:
    """What is wrong with a configuration, so far.

    Args:
        source: what the configuration is called in messages.
        line_of: the line of the text where something stands, where that is known.
    """

    def __init__(self, source: str, line_of: Callable[[Path], int | None] = lambda _: None) -> None:
        self.source = source
        self._line_of = line_of
        self._found: list[tuple[int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, path: Path, text: str) -> None:
        """Note a mistake."""
        line = self._line_of(path)
        told = f"{place(path)}: {text}" if path else text
        self._found.append((0, told) if line is None else (line, f"line {line}: {told}"))

    def unknown(self, path: Path, what: str, word: Any, known: Iterable[str]) -> None:
        """Note a word that means nothing here."""
        hint = suggest(word, known) if isinstance(word, str) else "; it should be a text"
        if len(hint) > _LONGEST_HINT:  # nothing is near, and all that there is would hide the other mistakes
            hint = ""
        self.add(path, f"unknown {what} {word!r}{hint}")

    def raise_any(self) -> None:
        """Tell them, in the order of their lines.

        Raises:
            UsageError: there are some.
        """
        if len(self._found) == 1:
            raise UsageError(f"{self.source}: {self._found[0][1]}")
        if self._found:
            self._found.sort(key=lambda found: found[0])
            lines = "".join(f"\n  {text}" for _, text in self._found)
            raise UsageError(f"{self.source}: {len(self._found)} mistakes:{lines}")

    # What is expected at a place.

    def table(self, data: Mapping[str, Any], key: str, path: Path, *, needed: bool = False) -> dict[str, Any]:
        """The table under a key; an empty one where there is none."""
        if key not in data:
            if needed:
                self.add(path, f"{key} is missing")
            return {}
        value = data[key]
        if not isinstance(value, dict):
            self.add((*path, key), f"{value!r} should be a table of names and values")
            return {}
        return value

    def names(self, data: Mapping[str, Any], known: Iterable[str], path: Path) -> None:
        """Note the names in a table that mean nothing."""
        for name in data:
            if name not in known:
                self.unknown((*path, name), "name", name, known)

    def flag(self, data: Mapping[str, Any], key: str) -> bool:
        """The truth value under a key; false where there is none."""
        value = data.get(key, False)
        if type(value) is not bool:
            self.add((key,), f"{value!r} is neither true nor false")
        return value is True
