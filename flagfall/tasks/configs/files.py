"""Configurations in files: JSON and TOML, and those that come with flagfall, by name."""

from __future__ import annotations

__all__ = ["SHIPPED", "change_config", "config_of", "load_config", "parse_config", "read_text", "read_toml"]

import json
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from flagfall.configfile.problems import Mistakes
from flagfall.errors import UsageError, suggest
from flagfall.tasks.commai.vocabulary import Words, load_words, read_words
from flagfall.tasks.configs.config import Config
from flagfall.tasks.configs.parser import read_ours, read_round1

SHIPPED: Final[Mapping[str, Path]] = MappingProxyType(
    {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
)
"""The configurations that come with flagfall, by name."""

MAX_CHARS: Final = 8 * 2**20
"""Characters of a configuration; a vocabulary of half a million words takes five million."""

MAX_DEPTH: Final = 16
"""Tables and lists in each other; configurations of round 1 have five."""

MAX_NOTICES: Final = 10
"""Duplicate keys that are reported; looking for the lines of each takes a pass over the text."""

_TOML_PLACE: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


def load_config(source: str | Path) -> Config:
    """The configuration in a file.

    Args:
        source: a path that ends in `.json` or `.toml`, or a name out of `SHIPPED`.

    Raises:
        UsageError: there is none, or something is wrong with it; the message has all that is.
    """
    path = Path(source)
    if str(source) in SHIPPED:
        path = SHIPPED[str(source)]
    elif path.suffix not in _READERS:
        raise UsageError(
            f"unknown configuration {str(source)!r}{suggest(str(source), SHIPPED)}; or name a file that ends"
            f" in {' or '.join(_READERS)}"
        )
    return parse_config(read_text(path, "configuration"), path.suffix, name=str(path), folder=path.parent)


def read_text(path: Path, what: str) -> str:
    """The text in a file.

    Args:
        path: the file.
        what: it is, for messages.

    Raises:
        UsageError: it cannot be read, or is no UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(4 * MAX_CHARS + 1)
    except OSError as error:
        raise UsageError(f"{what} {path}: {error.strerror or error}") from error
    if len(data) > 4 * MAX_CHARS:
        raise UsageError(f"{what} {path}: more than {4 * MAX_CHARS} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise UsageError(f"{path}: line {line}: this is no text in UTF-8") from error


def parse_config(
    text: str, form: str = ".json", *, name: str = "configuration", folder: Path | None = Path()
) -> Config:
    """The configuration in a text.

    Args:
        text: the whole file.
        form: `.json` or `.toml`. A JSON object whose scheduler has a `type` is one of round 1; any other
            has the same tables as our TOML.
        name: what to call it in messages.
        folder: where relative paths in it begin; `None` where it may name no files, as in a journal.

    Raises:
        UsageError: something is wrong with it; the message has all that is.
    """
    if len(text) > MAX_CHARS:
        raise UsageError(f"{name}: {len(text)} characters; {MAX_CHARS} are the most")
    mistakes = Mistakes(name)
    data = _READERS[form](text, mistakes)
    mistakes.raise_any()
    _refuse_depth(data, name)
    scheduler = data.get("scheduler")
    if form == ".json" and (not isinstance(scheduler, dict) or "policy" not in scheduler):
        return read_round1(data, mistakes)
    return read_ours(data, mistakes, lambda said: _resolve_words(said, folder))


def config_of(
    schedule: Sequence[str], policy: str, options: Mapping[str, Any], *, name: str = "options"
) -> Config:
    """A configuration without a file.

    Args:
        schedule: ids of tasks.
        policy: a text for `parse_policy`.
        options: what else stands at the top of a file, such as `bit_mode`; the path in `words` begins here.
        name: what to call it in messages.

    Raises:
        UsageError: something is wrong with it; the message has all that is.
    """
    return _from_tables({**options, "scheduler": {"policy": policy, "tasks": list(schedule)}}, name)


def change_config(config: Config, options: Mapping[str, Any], *, name: str = "options") -> Config:
    """The same configuration with some options of its top replaced; see `config_of`."""
    return _from_tables({**config.as_data(), **options}, name)


def _from_tables(data: Mapping[str, Any], name: str) -> Config:
    return read_ours(data, Mistakes(name), lambda said: _resolve_words(said, Path()))


def _refuse_depth(data: Any, name: str) -> None:
    """Refuse tables and lists in each other that are too deep to walk.

    Raises:
        UsageError: they are.
    """
    level = [data]
    for _ in range(MAX_DEPTH):
        parts = (part.values() if isinstance(part, dict) else part for part in level)
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]
    if level:
        raise UsageError(f"{name}: tables and lists stand more than {MAX_DEPTH} deep in each other")


def _resolve_words(said: Any, folder: Path | None) -> Words:
    """Words from a file, or a list of them, which journals have."""
    if isinstance(said, str) and folder is None:
        raise UsageError("a path: write the list of words itself, as journals have it")
    if isinstance(said, str):
        assert folder is not None
        return load_words(folder / said)
    if isinstance(said, list) and all(isinstance(word, str) for word in said):
        return read_words(said, "in the list")
    raise UsageError(f"{said!r} is neither the path of a file nor a list of words")


def _read_json(text: str, mistakes: Mistakes) -> dict[str, Any]:
    duplicates: list[tuple[str, int]] = []

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)  # as in round 1, the last of several equal keys counts
        if len(made) < len(pairs):
            duplicates.extend((key, n) for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        return made

    try:
        data = json.loads(text, object_pairs_hook=table)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{mistakes.source}: line {error.lineno}, column {error.colno}: no JSON: {error.msg}"
        ) from error
    except (RecursionError, ValueError) as error:  # lists in lists in lists; a number of a million digits
        raise UsageError(f"{mistakes.source}: no configuration: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{mistakes.source}: a configuration is an object, not {type(data).__name__}")
    for key, count in duplicates[:MAX_NOTICES]:
        warnings.warn(_duplicate_key(mistakes.source, text, key, count), stacklevel=2)
    return data


def _duplicate_key(source: str, text: str, key: str, count: int) -> str:
    """Return a notice of a key that an object has several times; its lines only where they are certain."""
    written = re.compile(re.escape(json.dumps(key)) + r"\s*:")
    lines = [text.count("\n", 0, found.start()) + 1 for found in written.finditer(text)]
    where = f" (lines {', '.join(map(str, lines))})" if len(lines) == count else ""
    return f"{source}: the key {key!r} stands {count} times in one object{where}; the last one counts"


def read_toml(text: str, mistakes: Mistakes) -> dict[str, Any]:
    """The tables in a text in TOML.

    Raises:
        UsageError: it is none; with line and column.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_PLACE.fullmatch(str(error))
        what, line, column = found.groups() if found is not None else (str(error), None, None)
        if line is None:  # the end of the text
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
        raise UsageError(f"{mistakes.source}: line {line}, column {column}: no TOML: {what}") from error
    except (RecursionError, ValueError) as error:
        raise UsageError(f"{mistakes.source}: no configuration: {error}") from error


_READERS: Final = {".json": _read_json, ".toml": read_toml}
