"""Reading of TOML and JSON files into plain tables, with the line of every key and value."""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from flagfall.configfile.converter import KeyPath, Problems
from flagfall.errors import UsageError

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|\n|[^\s{}\[\]:,"]+', re.DOTALL)


class Positions:
    """Lines of the values of a text, by their paths."""

    def __init__(self) -> None:
        self._lines: dict[KeyPath, int] = {}

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a value, from 1, or of the nearest table or list around it; else `None`."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)


class JsonPositions(Positions):
    """Lines of the values of a JSON text that `json.loads` accepts; none for a text of a single line."""

    def __init__(self, text: str) -> None:
        super().__init__()
        if "\n" in text.strip():
            self._scan(text)

    def _scan(self, text: str) -> None:
        path: list[str | int] = []  # the last part of each open object or list: its current key or index
        in_list: list[bool] = []
        line = 1
        is_key = False  # whether the next string is a key of an object
        for piece in _TOKEN.findall(text):
            if piece == "\n":
                line += 1
            elif piece in "{[":
                in_list.append(piece == "[")
                path.append(0 if in_list[-1] else "")
                is_key = not in_list[-1]
            elif piece in "}]":
                in_list.pop()
                path.pop()
            elif piece == ",":
                is_key = not in_list[-1]
                if in_list[-1]:
                    path[-1] = int(path[-1]) + 1
            elif is_key and piece != ":":
                path[-1] = json.loads(piece)
                is_key = False
                self._lines[tuple(path)] = line  # of equal keys the last one counts, as in `json.loads`
            elif piece != ":" and path and in_list[-1]:
                self._lines[tuple(path)] = line


_MAX_REREADS: Final = 50
"""Most characters that are parsed, as a multiple of the text's length. Each line that could end a statement
causes a parse from its start, so without a limit a list of a million brackets in quotes would take hours."""

_SMALL: Final = 10_000
"""Texts of fewer characters count as this many."""

_CLOSERS: Final = ("]", '"""', "'''")
"""A statement of several lines can only end in a line with one of these."""


class TomlPositions(Positions):
    """Lines of the keys of a TOML text that `tomllib` accepts, which does not report them.

    The text is cut into statements: a statement is the smallest number of lines, counted from the end of the
    previous one, that `tomllib` accepts alone. It is the header of a table, or a key with its value; a value
    with open quotes or brackets takes several lines.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
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


MAX_CHARS: Final = 8 * 2**20
"""Longest text of a file; a vocabulary of half a million words takes five million characters."""

MAX_DEPTH: Final = 16
"""Deepest nesting of tables and lists; configurations of round 1 have five levels."""

MAX_NOTICES: Final = 10
"""Most duplicate keys that are reported; finding the lines of each takes a pass over the text."""

_MAX_UTF8_BYTES: Final = 4

_TOML_ERROR: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class Document:
    """The tables of a file, and a collector of its problems that knows their lines.

    Args:
        positions: makes the lines with the first problem only: a valid file does not pay for a second pass
            over its text.
    """

    def __init__(self, data: dict[str, Any], source: str, positions: Callable[[], Positions]) -> None:
        made = cache(positions)
        self.data = data
        self.problems: Problems = Problems(source, lambda path: made().line(path))


def read_text(path: Path, kind: str) -> str:
    """Return the text of a file; `kind` names it in messages, such as `plan`.

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
    """Parse a TOML text, with the name of its file in messages.

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
    return Document(data, source, partial(TomlPositions, text))


def read_json(text: str, source: str) -> Document:
    """Parse a JSON text whose top is an object, with the name of its file in messages.

    A key that an object has several times is warned of; its last value counts, as in round 1.

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
    return Document(data, source, partial(JsonPositions, text))


def _check_length(text: str, source: str) -> None:
    if len(text) > MAX_CHARS:
        raise UsageError(f"{source}: {len(text)} characters; the limit is {MAX_CHARS}")


def _check_depth(data: Any, source: str) -> None:
    """Refuse tables and lists that are nested too deeply for code that walks them recursively."""
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
