"""Where in a text in TOML something stands: `tomllib` reads values, and does not tell where they were.

A statement is the fewest lines, from where the last one ended, that `tomllib` reads on their own: a header of
a table, or a key with its value, over several lines where it has quotes or brackets that are open.
"""

from __future__ import annotations

__all__ = ["Places"]

import tomllib
from typing import Any, Final

from flagfall.configfile.problems import Path

_ENDS: Final = ("]", '"""', "'''")
"""With one of these ends a statement that is not over with its first line."""


class Places:
    """The lines of a text.

    Args:
        text: TOML that `tomllib` reads.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        self._lengths: dict[Path, int] = {}
        self._table: Path = ()
        begun, pending = 1, ""
        for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
            goes_on = bool(pending)
            begun, pending = (begun, f"{pending}\n{line}") if goes_on else (number, line)
            if goes_on and not any(end in line for end in _ENDS):
                continue
            try:
                said = tomllib.loads(pending)
            except tomllib.TOMLDecodeError:
                continue  # it goes on in the next line
            self._take(pending, said, begun)
            pending = ""

    def line(self, path: Path) -> int | None:
        """The line where this stands, or what it is in; `None` for the whole text."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)

    def _take(self, statement: str, said: dict[str, Any], line: int) -> None:
        if not statement.lstrip().startswith("["):
            self._note(self._table, said, line)
            return
        self._table = ()
        value: Any = said
        while value:
            key, value = next(iter(value.items()))
            self._table += (key,)
            if isinstance(value, list):  # the header of another table in an array
                self._lengths[self._table] = self._lengths.get(self._table, 0) + 1
                value = value[0]
            if self._table in self._lengths:
                self._table += (self._lengths[self._table] - 1,)
        self._lines.setdefault(self._table, line)

    def _note(self, path: Path, said: dict[str, Any], line: int) -> None:
        for key, value in said.items():
            self._lines.setdefault((*path, key), line)
            if isinstance(value, dict):
                self._note((*path, key), value, line)
