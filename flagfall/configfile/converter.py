"""The strict converter from tables of a file to attrs classes, and JSON Schema of those tables.

The fields of a class are the keys that its table may have; their types are the values that are accepted:

    Rounds = Annotated[int, Bounds(1, 100)]

    @attrs.frozen(kw_only=True)
    class SwissTable:
        rounds: Rounds | None = None

Nothing is guessed: `true` is not a number, `1.0` is not a whole number, and an unknown key is a problem.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs
from cattrs import ClassValidationError, Converter, ForbiddenExtraKeysError

from flagfall.errors import UsageError, suggest
from flagfall.kernel.safe_values import safe_repr

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the top of the file to a value."""

_MAX_HINT_CHARS: Final = 300
_MAX_HINTS: Final = 20
"""Problems that may have a hint: finding the nearest of some thousand words takes 10 ms."""

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def path_text(path: KeyPath) -> str:
    """Return a path as TOML would write it: `tasks."micro5.1".type`, `scheduler.tasks[2]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _BARE_KEY.fullmatch(part) else f'"{part}"')
    return text


@attrs.define(eq=False)
class Problems:
    """Collector of the problems of one file.

    Args:
        source: the name of the file in messages.
        line_of: returns the line of a path in the file, or `None` where it is unknown.
    """

    source: str
    _line_of: Callable[[KeyPath], int | None] = lambda _: None
    _found: dict[str, int] = attrs.field(factory=dict, init=False)

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, path: KeyPath, text: str) -> None:
        """Note a problem, and what to write instead; the same at the same place is kept once."""
        line = self._line_of(path)
        placed = f"{path_text(path)}: {text}" if path else text
        self._found[placed if line is None else f"line {line}: {placed}"] = line or 0

    def unknown(self, path: KeyPath, kind: str, word: Any, known: Iterable[str]) -> None:
        """Note a word that has no meaning at its place, where it should name a kind such as `task`.

        The first such problems have the nearest known words.
        """
        hint = "" if isinstance(word, str) else "; it should be a text"
        if not hint and len(self._found) < _MAX_HINTS:
            hint = suggest(word, known)
        if len(hint) > _MAX_HINT_CHARS:  # no word is near; the whole list would bury the other problems
            hint = ""
        shown = repr(word) if isinstance(word, str) else safe_repr(word)
        self.add(path, f"unknown {kind} {shown}{hint}")

    def raise_if_any(self) -> None:
        """Raise one `UsageError` with all problems, ordered by line, if there are any."""
        found = sorted(self._found, key=self._found.__getitem__)
        if len(found) == 1:
            raise UsageError(f"{self.source}: {found[0]}")
        if found:
            lines = "".join(f"\n  {text}" for text in found)
            raise UsageError(f"{self.source}: {len(found)} problems:{lines}")

    def table(
        self, data: Mapping[str, Any], key: str, path: KeyPath, *, needed: bool = False
    ) -> dict[str, Any]:
        """Return the table under a key, or an empty one, with a problem if it is needed or no table."""
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
        """Note the names in a table that are not among the known ones."""
        for name in data:
            if name not in known:
                self.unknown((*path, name), "name", name, known)


_T = TypeVar("_T")


@attrs.frozen
class Bounds:
    """Range of a number without a limit by default, as metadata: `Annotated[int, Bounds(1)]`.

    Numbers of the type `int | float` keep their type; those of the type `float` become one.
    """

    least: float
    most: float | None = None


@attrs.frozen
class Parsed:
    """Values made from texts, as metadata: `Annotated[TimeControl, Parsed(TimeControl.parse)]`."""

    parse: Callable[[str], Any]


@attrs.frozen
class _OneOrMore:
    """Metadata of `Texts`."""


Count = Annotated[int, Bounds(1)]
"""A whole number of at least 1."""

Texts = Annotated[tuple[str, ...], _OneOrMore()]
"""A text, or a list of texts."""

_UNBOUNDED: Final = Bounds(-math.inf)


def structure(
    table: Any,
    kind: type[_T],
    path: KeyPath,
    problems: Problems,
    also: Iterable[str] = (),
    name_kind: str = "name",
) -> _T | None:
    """Convert a table to a value of an attrs class; `None` if there were problems, which `problems` takes.

    Args:
        table: the value found in the file, of any type.
        kind: the class; its fields are the keys that the table may have.
        also: further keys, read by the caller, to be named in hints; `table` does not hold them.
        name_kind: what a key of the table names, for messages.
    """
    if not isinstance(table, dict):
        problems.add(path, f"expected a table of names and values, got {safe_repr(table)}")
        return None
    try:
        return _CONVERTER.structure(table, kind)
    except ClassValidationError as group:
        fields = attrs.fields(cast("type[attrs.AttrsInstance]", kind))
        _note(group, [*also, *(field.name for field in fields)], path, problems, name_kind)
        return None


def _note(
    group: ClassValidationError, known: list[str], path: KeyPath, problems: Problems, name_kind: str
) -> None:
    of_fields, others = group.group_exceptions()
    for error, note in of_fields:
        if isinstance(error, KeyError):
            problems.add((*path, note.name), "required, but missing")
            continue
        for part in error.exceptions if isinstance(error, ExceptionGroup) else (error,):
            problems.add((*path, note.name), str(part))
    for error in others:
        if isinstance(error, ForbiddenExtraKeysError):
            for name in sorted(error.extra_fields):
                problems.unknown((*path, name), name_kind, name, known)
        else:
            problems.add(path, str(error))


def _text(value: Any, _: Any = None) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"expected a text in quotes, got {safe_repr(value)}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) and t for t in texts):
        raise UsageError(f"expected a text or a list of texts, got {safe_repr(value)}")
    return tuple(texts)


def _flag(value: Any, _: Any) -> bool:
    if type(value) is not bool:
        raise UsageError(f"expected true or false, got {safe_repr(value)}")
    return value


def _choice(value: Any, kind: Any) -> Any:
    known = get_args(kind)
    if not isinstance(value, str) or value not in known:
        hint = suggest(value, known) if isinstance(value, str) else f"; known: {', '.join(known)}"
        raise UsageError(f"unknown value {safe_repr(value)}{hint}")
    return value


def _number(value: Any, kind: Any, bounds: Bounds = _UNBOUNDED) -> Any:
    accepted = {int} if kind is int else {int, float}
    least, most = bounds.least, math.inf if bounds.most is None else bounds.most
    if type(value) in accepted and least <= value <= most and abs(value) != math.inf:
        # The comparisons hold for whole numbers of any size, which `float` refuses, and not for NaN.
        if kind is not float:
            return value
        if abs(value) <= sys.float_info.max:
            return float(value)
    span = f" from {least} to {most}"
    if bounds.most is None:
        span = "" if least == -math.inf else f" of at least {least}"
    raise UsageError(
        f"expected {'a whole number' if kind is int else 'a number'}{span}, got {safe_repr(value)}"
    )


def _annotated(value: Any, kind: Any) -> Any:
    plain, *metadata = get_args(kind)
    for item in metadata:
        if isinstance(item, Bounds):
            return _number(value, plain, item)
        if isinstance(item, Parsed):
            return item.parse(_text(value))
        if isinstance(item, _OneOrMore):
            return _texts(value)
    return _CONVERTER.structure(value, plain)


def _list(value: Any, kind: Any) -> tuple[Any, ...]:
    """Return a list of any length as a tuple; an `ExceptionGroup` has all problems of its items."""
    if not isinstance(value, list):
        raise UsageError(f"expected a list, got {safe_repr(value)}")
    made, wrong = [], []
    for part in value:
        try:
            made.append(_CONVERTER.structure(part, get_args(kind)[0]))
        except UsageError as error:
            wrong.append(error)
    if wrong:
        raise ExceptionGroup("in a list", wrong)
    return tuple(made)


def _is_of(*origins: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) in origins


def _is_any_number(kind: Any) -> bool:
    return get_origin(kind) in {Union, UnionType} and set(get_args(kind)) == {int, float}


_CONVERTER: Final = Converter(forbid_extra_keys=True)
_CONVERTER.register_structure_hook(str, _text)
_CONVERTER.register_structure_hook(bool, _flag)
_CONVERTER.register_structure_hook(int, _number)
_CONVERTER.register_structure_hook(float, _number)
_CONVERTER.register_structure_hook(Path, lambda value, _: Path(_text(value)))
_CONVERTER.register_structure_hook_func(_is_any_number, _number)
_CONVERTER.register_structure_hook_func(_is_of(Literal), _choice)
_CONVERTER.register_structure_hook_func(_is_of(tuple), _list)
_CONVERTER.register_structure_hook_func(_is_of(Annotated), _annotated)

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
_PLAIN: Final[dict[Any, dict[str, Any]]] = {
    str: _TEXT,
    Path: _TEXT,
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}


def table_schema(kind: type[Any], tables: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Return the JSON Schema of a table, for editors that complete files.

    It accepts whatever the converter accepts, and refuses wrong keys and types. Values with a text form of
    their own (durations, time controls) are texts there, whose form only the converter checks.

    Args:
        kind: the attrs class whose fields are the keys of the table.
        tables: schemas of further keys, which the class does not have, by key.
    """
    hints = get_type_hints(kind, include_extras=True)
    fields = attrs.fields(kind)
    properties = {field.name: _schema(hints[field.name]) for field in fields}
    for field in fields:
        if isinstance(field.default, bool | int | float | str):
            properties[field.name] = {**properties[field.name], "default": field.default}
    required = [field.name for field in fields if field.default is attrs.NOTHING]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties | dict(tables),
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    first = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
    return {"description": first, **schema} if first else schema


def _schema(kind: Any) -> dict[str, Any]:
    """Return the schema of values of a type, as the converter reads them."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind == Texts:
        return _TEXTS
    if origin is Annotated:
        return _schema_of_annotated(parts[0], parts[1:])
    if origin in {Union, UnionType}:
        kinds = [part for part in parts if part is not type(None)]
        return _schema(kinds[0]) if len(kinds) == 1 else {"anyOf": [_schema(part) for part in kinds]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is tuple:
        return {"type": "array", "items": _schema(parts[0])}
    return dict(_PLAIN[kind])


def _schema_of_annotated(plain: Any, metadata: tuple[Any, ...]) -> dict[str, Any]:
    for item in metadata:
        if isinstance(item, Parsed):
            return _TEXT
        if isinstance(item, Bounds):
            limits = {"minimum": item.least, "maximum": item.most}
            schema = _schema(plain)
            return {**schema, **{key: limit for key, limit in limits.items() if limit is not None}}
    return _schema(plain)
