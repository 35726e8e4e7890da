"""Reading of TOML and JSON files into plain tables, with bounds on their size and depth."""

from __future__ import annotations

__all__ = ["MAX_CHARS", "Document", "read_json", "read_text", "read_toml"]

import json
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

from flagfall.configfile.json_positions import JsonPositions
from flagfall.configfile.problems import KeyPath, Problems
from flagfall.configfile.toml_positions import TomlPositions
from flagfall.errors import UsageError

MAX_CHARS: Final = 8 * 2**20
"""Longest text of a file; a vocabulary of half a million words takes five million characters."""

MAX_DEPTH: Final = 16
"""Deepest nesting of tables and lists; configurations of round 1 have five levels."""

MAX_NOTICES: Final = 10
"""Most duplicate keys that are reported; finding the lines of each takes a pass over the text."""

_MAX_UTF8_BYTES: Final = 4

Positions: TypeAlias = TomlPositions | JsonPositions

_TOML_ERROR: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class Document:
    """The tables of a file, and a collector of its problems that knows their lines.

    Attributes:
        data: the tables.
        problems: takes what is wrong with them.
    """

    def __init__(
        self, data: dict[str, Any], source: str, text: str, positions: Callable[[str], Positions]
    ) -> None:
        self.data = data
        self.problems: Problems = Problems(source, self._line)
        self._text = text
        self._make_positions = positions

    @cached_property
    def _positions(self) -> Positions:
        # Made with the first problem only: a valid file does not pay for a second pass over its text.
        return self._make_positions(self._text)

    def _line(self, path: KeyPath) -> int | None:
        return self._positions.line(path)


def read_text(path: Path, kind: str) -> str:
    """Return the text of a file.

    Args:
        path: the file.
        kind: what the file is, for messages, such as `plan`.

    Raises:
        UsageError: the file cannot be read, is too large, or is not UTF-8.
    """
    limit = _MAX_UTF8_BYTES * MAX_CHARS
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UsageError(f"{kind} {path}: {error.strerror or error}") from error
    if len(data) > limit:
        raise UsageError(f"{kind} {path}: more than {limit} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise UsageError(f"{kind} {path}: line {line}: not UTF-8 text; save the file as UTF-8") from error


def read_toml(text: str, source: str) -> Document:
    """Parse a TOML text.

    Args:
        text: the whole file.
        source: the name of the file in messages.

    Raises:
        UsageError: the text is not TOML (with line and column), too long or nested too deeply.
    """
    _check_length(text, source)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_ERROR.fullmatch(str(error))
        problem, line, column = found.groups() if found is not None else (str(error), None, None)
        if line is None:  # the end of the text
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
        raise UsageError(f"{source}: line {line}, column {column}: invalid TOML: {problem}") from error
    except (RecursionError, ValueError) as error:  # nested lists without end; a number of a million digits
        raise UsageError(f"{source}: invalid TOML: {error}") from error
    _check_depth(data, source)
    return Document(data, source, text, TomlPositions)


def read_json(text: str, source: str) -> Document:
    """Parse a JSON text whose top is an object.

    A key that an object has several times is warned of; its last value counts, as in round 1.

    Args:
        text: the whole file.
        source: the name of the file in messages.

    Raises:
        UsageError: the text is not JSON (with line and column), not an object, too long or nested too deeply.
    """
    _check_length(text, source)
    duplicates: list[tuple[str, int]] = []

    def to_table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            duplicates.extend((key, n) for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        return table

    try:
        data = json.loads(text, object_pairs_hook=to_table)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{source}: line {error.lineno}, column {error.colno}: invalid JSON: {error.msg}"
        ) from error
    except (RecursionError, ValueError) as error:  # nested lists without end; a number of a million digits
        raise UsageError(f"{source}: invalid JSON: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{source}: expected an object at the top, got {type(data).__name__}")
    for key, count in duplicates[:MAX_NOTICES]:
        warnings.warn(_duplicate_key(source, text, key, count), stacklevel=2)
    _check_depth(data, source)
    return Document(data, source, text, JsonPositions)


def _check_length(text: str, source: str) -> None:
    if len(text) > MAX_CHARS:
        raise UsageError(f"{source}: {len(text)} characters; the limit is {MAX_CHARS}")


def _check_depth(data: Any, source: str) -> None:
    """Refuse tables and lists that are nested too deeply for code that walks them recursively.

    Raises:
        UsageError: they are.
    """
    level = [data]
    for _ in range(MAX_DEPTH):
        parts = (part.values() if isinstance(part, dict) else part for part in level)
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]
    if level:
        raise UsageError(f"{source}: tables and lists are nested more than {MAX_DEPTH} levels deep")


def _duplicate_key(source: str, text: str, key: str, count: int) -> str:
    """Return the warning for a duplicate key; with its lines only if they are certain."""
    written = re.compile(re.escape(json.dumps(key)) + r"\s*:")
    lines = [text.count("\n", 0, found.start()) + 1 for found in written.finditer(text)]
    where = f" (lines {', '.join(map(str, lines))})" if len(lines) == count else ""
    return f"{source}: the key {key!r} stands {count} times in one object{where}; the last one counts"
