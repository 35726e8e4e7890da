"""Words `key=value` to values, by a table of what is known."""

from __future__ import annotations

__all__ = ["by_key", "read_parameters", "sprite_named"]

from collections.abc import Iterable, Mapping

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.lines import Word
from flagfall.tasks.vgdl.mistakes import GameError, Notices
from flagfall.tasks.vgdl.schema import Parameter, Parameters
from flagfall.tasks.vgdl.values import Kind, fit


def by_key(words: Iterable[Word]) -> dict[str, Word]:
    """The parameters among some words; the last of a key counts."""
    return {word.split()[0]: word for word in words if word.is_parameter}


def sprite_named(name: str, word: Word, names: Mapping[str, int]) -> int:
    """The type id of a name.

    Raises:
        GameError: no sprite has it.
    """
    if name not in names:
        raise GameError.unknown(word.place, "sprite", name, names)
    return names[name]


def read_parameters(
    known: Parameters, given: Mapping[str, Word], names: Mapping[str, int], notices: Notices
) -> dict[str, Value]:
    """The value of every known parameter: given, converted and fitting, or its default.

    What does not fit is told. Given keys that are not known are the caller's to tell.

    Args:
        known: by key.
        given: by key, the words as written.
        names: the type id of every sprite's name.
        notices: gets what did not fit.

    Raises:
        GameError: an undefined sprite, or a number that no rule means.
    """
    values = {key: parameter.default for key, parameter in known.items()}
    for key, word in given.items():
        if key in known:
            value = _value(known[key], key, word, names)
            if value is None:
                kept = "is ignored" if values[key] is None else f"is ignored, it stays {values[key]!r}"
                notices.add(word.place, f"{word.text!r} is not {known[key].kind.value}; it {kept}", logged=False)
            else:
                values[key] = value
    return values


def _value(parameter: Parameter, key: str, word: Word, names: Mapping[str, int]) -> Value:
    written = word.split()[1]
    try:
        value = fit(parameter.kind, key, written)
    except ValueError as bad:
        raise GameError(word.place, str(bad)) from None
    if parameter.kind is Kind.SPRITE and isinstance(value, str):
        return sprite_named(value, word, names)
    if parameter.kind is Kind.SPRITES and isinstance(value, str):
        return tuple(sprite_named(name, word, names) for name in value.split(",") if name)
    return value
