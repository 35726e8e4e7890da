"""Configurations in JSON and TOML files, and those shipped with flagfall, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from flagfall.configfile.converter import DIALECT, Problems, table_schema
from flagfall.configfile.files import read_json, read_text, read_toml
from flagfall.errors import UsageError, suggest
from flagfall.kernel.safe_values import safe_repr
from flagfall.tasks.commai.words import Vocabulary, load_vocabulary, parse_vocabulary
from flagfall.tasks.configs.config import TASK_TYPES, WORLDS, Config
from flagfall.tasks.configs.parser import TopTable, parse_tables
from flagfall.tasks.configs.round1 import parse_round1
from flagfall.tasks.schedulers import POLICIES


def config_schema() -> dict[str, Any]:
    """Return the schema of a configuration in flagfall's own form, as TOML or JSON.

    What a task may set depends on its type, which may be its name; so the settings of all types are accepted.
    """
    settings: dict[str, Any] = {}
    for kind in TASK_TYPES.values():
        for name, schema in table_schema(kind.settings)["properties"].items():
            known = settings.setdefault(name, {"anyOf": []})["anyOf"]
            if schema not in known:
                known.append(schema)
    task = {
        "type": "object",
        "properties": {**settings, "type": {"enum": list(TASK_TYPES)}, "world": {"type": "string"}},
        "additionalProperties": False,
    }
    world = {
        "anyOf": [
            {"enum": list(WORLDS)},
            {"type": "object", "properties": {"type": {"type": "string"}}, "additionalProperties": False},
        ]
    }
    scheduler = {
        "type": "object",
        "properties": {
            "policy": {"type": "string", "description": f"one of {', '.join(POLICIES)}, or its text form"},
            "tasks": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        },
        "required": ["policy", "tasks"],
    }
    top = table_schema(
        TopTable,
        {
            "scheduler": scheduler,
            "tasks": {"type": "object", "additionalProperties": task},
            "worlds": {"type": "object", "additionalProperties": world},
            "words": {"type": ["string", "object"]},
        },
    )
    return {"$schema": DIALECT, "title": "A configuration of flagfall", **top, "required": ["scheduler"]}


SHIPPED: Final[Mapping[str, Path]] = {
    path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))
}
"""The configurations shipped with flagfall, by name."""

_READERS: Final = {".json": read_json, ".toml": read_toml}


def load_config(source: str | Path) -> Config:
    """Load a configuration from a file.

    Args:
        source: a path that ends in `.json` or `.toml`, or a name in `SHIPPED`.

    Raises:
        UsageError: there is no such file, or it has problems; the message has all of them.
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


def parse_config(
    text: str, form: str = ".json", *, name: str = "configuration", folder: Path | None = Path()
) -> Config:
    """Parse a configuration from a text.

    Args:
        form: `.json` or `.toml`. A JSON object whose scheduler has no `policy` is in the form of round 1;
            any other has the same tables as TOML.
        folder: folder of relative paths in the text; `None` if it must not name files, as in a journal.

    Raises:
        UsageError: the text has problems; the message has all of them.
    """
    document = _READERS[form](text, name)
    scheduler = document.data.get("scheduler")
    if form == ".json" and (not isinstance(scheduler, dict) or "policy" not in scheduler):
        return parse_round1(document.data, document.problems)
    return parse_tables(document.data, document.problems, lambda value: _resolve_words(value, folder))


def config_of(
    schedule: Sequence[str], policy: str, options: Mapping[str, Any], *, name: str = "options"
) -> Config:
    """Make a configuration without a file.

    Args:
        options: further keys of the top of a file, such as `bit_mode`; a path in `words` is relative to the
            working directory.

    Raises:
        UsageError: there are problems; the message has all of them.
    """
    return _from_tables({**options, "scheduler": {"policy": policy, "tasks": list(schedule)}}, name)


def change_config(config: Config, options: Mapping[str, Any], *, name: str = "options") -> Config:
    """Return a configuration with some keys of its top replaced.

    Args:
        options: the new values, by key, as for `config_of`.

    Raises:
        UsageError: there are problems; the message has all of them.
    """
    return _from_tables({**config.as_data(), **options}, name)


def _from_tables(data: Mapping[str, Any], name: str) -> Config:
    return parse_tables(data, Problems(name), lambda value: _resolve_words(value, Path()))


def _resolve_words(value: Any, folder: Path | None) -> Vocabulary:
    """Return the vocabulary from a file, or from a list of words, as journals have it."""
    if isinstance(value, str) and folder is None:
        raise UsageError("expected the list of words itself, as in journals, not a path")
    if isinstance(value, str):
        assert folder is not None
        return load_vocabulary(folder / value)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return parse_vocabulary(value, "in the list")
    raise UsageError(f"expected the path of a file or a list of words, got {safe_repr(value)}")
