"""The strict converter from tables of a file to attrs classes, used for plans and for configurations.

The fields of a class are the keys that its table may have; their types are the values that are accepted:

    Rounds = Annotated[int, Bounds(1, 100)]

    @attrs.frozen(kw_only=True)
    class SwissTable:
        rounds: Rounds | None = None

Nothing is guessed: `true` is not a number, `1.0` is not a whole number, and an unknown key is a problem.
"""

from __future__ import annotations

__all__ = ["Bounds", "Count", "Parsed", "Texts", "structure"]

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import attrs
from cattrs import ClassValidationError, Converter, ForbiddenExtraKeysError

from flagfall.configfile.problems import KeyPath, Problems
from flagfall.errors import UsageError, suggest
from flagfall.kernel.safe_values import safe_repr

_T = TypeVar("_T")


@attrs.frozen
class Bounds:
    """Range of a number, as metadata: `Annotated[int, Bounds(1)]`.

    Numbers of the type `int | float` keep their type; those of the type `float` become one.

    Attributes:
        least: the smallest accepted value.
        most: the greatest accepted value; `None` for no limit.
    """

    least: float
    most: float | None = None


@attrs.frozen
class Parsed:
    """Values written as text, as metadata: `Annotated[TimeControl, Parsed(TimeControl.parse)]`.

    Attributes:
        parse: makes the value from the text; raises `UsageError`.
    """

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
    """Convert a table to a value of an attrs class.

    Args:
        table: the value found in the file, of any type.
        kind: the class; its fields are the keys that the table may have.
        path: the place of the table in the file.
        problems: takes everything that is wrong with the table.
        also: further keys, read by the caller, to be named in hints; `table` does not hold them.
        name_kind: what a key of the table names, for messages.

    Returns:
        the value; `None` if there were problems.
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


# Values, by the type of their field.


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
    """Return a list of any length as a tuple.

    Raises:
        ExceptionGroup: all problems of its items.
    """
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


def _make_converter() -> Converter:
    converter = Converter(forbid_extra_keys=True)
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(bool, _flag)
    converter.register_structure_hook(int, _number)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(Path, lambda value, _: Path(_text(value)))
    converter.register_structure_hook_func(_is_any_number, _number)
    converter.register_structure_hook_func(_is_of(Literal), _choice)
    converter.register_structure_hook_func(_is_of(tuple), _list)
    converter.register_structure_hook_func(_is_of(Annotated), _annotated)
    return converter


_CONVERTER: Final = _make_converter()
