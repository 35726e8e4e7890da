"""Lines of the keys of a TOML text, which `tomllib` does not report.

The text is cut into statements: a statement is the smallest number of lines, counted from the end of the
previous one, that `tomllib` accepts alone. It is the header of a table, or a key with its value; a value with
open quotes or brackets takes several lines.
"""

from __future__ import annotations

__all__ = ["TomlPositions"]

import tomllib
from typing import Any, Final

from flagfall.configfile.problems import KeyPath

_MAX_REREADS: Final = 50
"""Most characters that are parsed, as a multiple of the text's length. Each line that could end a statement
causes a parse from its start, so without a limit a list of a million brackets in quotes would take hours."""

_SMALL: Final = 10_000
"""Texts of fewer characters count as this many."""

_CLOSERS: Final = ("]", '"""', "'''")
"""A statement of several lines can only end in a line with one of these."""


class TomlPositions:
    """Lines of the keys of a TOML text.

    Args:
        text: TOML that `tomllib` accepts.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        self._lengths: dict[KeyPath, int] = {}  # tables seen so far in each array of tables
        self._table: KeyPath = ()
        begun, pending = 1, ""
        budget = _MAX_REREADS * max(len(text), _SMALL)
        for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
            continues = bool(pending)
            begun, pending = (begun, f"{pending}\n{line}") if continues else (number, line)
            if continues and not any(closer in line for closer in _CLOSERS):
                continue  # saves a parse of everything pending for each line of a long list
            budget -= len(pending)
            if budget < 0:
                return  # the lines of the rest stay unknown
            try:
                parsed = tomllib.loads(pending)
            except tomllib.TOMLDecodeError:
                continue
            self._take(pending, parsed, begun)
            pending = ""

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a value, or of the nearest table or list around it.

        Args:
            path: keys and indices from the top of the text.

        Returns:
            the line, from 1; `None` for the text as a whole.
        """
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)

    def _take(self, statement: str, parsed: dict[str, Any], line: int) -> None:
        if not statement.lstrip().startswith("["):
            self._note(self._table, parsed, line)
            return
        self._table = ()
        value: Any = parsed
        while value:
            key, value = next(iter(value.items()))
            self._table += (key,)
            if isinstance(value, list):  # the header of the next table of an array
                self._lengths[self._table] = self._lengths.get(self._table, 0) + 1
                value = value[0]
            if self._table in self._lengths:
                self._table += (self._lengths[self._table] - 1,)
        self._lines.setdefault(self._table, line)

    def _note(self, path: KeyPath, parsed: dict[str, Any], line: int) -> None:
        for key, value in parsed.items():
            self._lines.setdefault((*path, key), line)
            if isinstance(value, dict):
                self._note((*path, key), value, line)
