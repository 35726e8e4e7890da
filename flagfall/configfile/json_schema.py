"""JSON Schema of the tables that `flagfall.configfile.converter` reads, for editors that complete files.

A schema accepts whatever the converter accepts, and refuses wrong keys and types. Values with a text form of
their own (durations, time controls) are texts there, whose form only the converter checks.
"""

from __future__ import annotations

__all__ = ["DIALECT", "table_schema"]

import inspect
import types
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import attrs

from flagfall.configfile.converter import Bounds, Parsed, Texts

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_TEXTS: Final = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
    ]
}
_PLAIN: Final[dict[Any, dict[str, Any]]] = {
    str: {"type": "string", "minLength": 1},
    Path: {"type": "string", "minLength": 1},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}


def table_schema(kind: type[Any], tables: Mapping[str, Any] = _NONE) -> dict[str, Any]:
    """Return the schema of a table.

    Args:
        kind: the attrs class whose fields are the keys of the table.
        tables: schemas of further keys, which the class does not have, by key.
    """
    hints = get_type_hints(kind, include_extras=True)
    fields = attrs.fields(kind)
    properties = {field.name: _with_default(_schema(hints[field.name]), field) for field in fields}
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


def _with_default(schema: dict[str, Any], field: attrs.Attribute[Any]) -> dict[str, Any]:
    value = field.default
    return {**schema, "default": value} if isinstance(value, bool | int | float | str) else schema


def _schema(kind: Any) -> dict[str, Any]:
    """Return the schema of values of a type, as the converter reads them."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind == Texts:
        return _TEXTS
    if origin is Annotated:
        return _annotated(parts[0], parts[1:])
    if origin in {Union, types.UnionType}:
        kinds = [part for part in parts if part is not type(None)]
        return _schema(kinds[0]) if len(kinds) == 1 else {"anyOf": [_schema(part) for part in kinds]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is tuple:
        return {"type": "array", "items": _schema(parts[0])}
    return dict(_PLAIN[kind])


def _annotated(plain: Any, metadata: tuple[Any, ...]) -> dict[str, Any]:
    for item in metadata:
        if isinstance(item, Parsed):
            return {"type": "string", "minLength": 1}
        if isinstance(item, Bounds):
            limits = {"minimum": item.least, "maximum": item.most}
            schema = _schema(plain)
            return {**schema, **{key: limit for key, limit in limits.items() if limit is not None}}
    return _schema(plain)
