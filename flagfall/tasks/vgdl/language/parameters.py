"""Words `key=value` to values, by a table of what is known."""

from __future__ import annotations

__all__ = ["Names", "by_key", "demand", "read_parameters"]

from collections.abc import Collection, Iterable, Mapping

import attrs

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.language.errors import GameError, Notices, UnknownNameError
from flagfall.tasks.vgdl.language.line_tree import Word
from flagfall.tasks.vgdl.language.schema import Parameter, Parameters
from flagfall.tasks.vgdl.language.values import NO_SCORE, ValueKind, fit


def by_key(words: Iterable[Word]) -> dict[str, Word]:
    """The parameters among some words; the last of a key counts."""
    return {word.split()[0]: word for word in words if word.is_parameter}


@attrs.frozen
class Names:
    """Who the sprites are.

    Attributes:
        ids: the type id of every name.
        classless: types of which no sprite can be made.
    """

    ids: Mapping[str, int] = attrs.field(factory=dict)
    classless: Collection[int] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.ids

    def id(self, name: str, word: Word, *, makes: bool = False) -> int:
        """The type id of a name.

        Args:
            name: the name.
            word: where it stands.
            makes: sprites of it will be made.

        Raises:
            UnknownNameError: no type has it.
            GameError: its type has no class.
        """
        if name not in self.ids:
            raise UnknownNameError.unknown(word.place, "sprite", name, self.ids)
        if makes and self.ids[name] in self.classless:
            raise GameError(word.place, f"{name!r} has no class, so no sprite can be made of it")
        return self.ids[name]

    def ids_of(self, text: str, word: Word, *, makes: bool = False) -> tuple[int, ...]:
        """The type ids of names with commas between; raises as `id` does."""
        return tuple(self.id(name, word, makes=makes) for name in text.split(",") if name)


def read_parameters(
    known: Parameters, given: Mapping[str, Word], names: Names, notices: Notices
) -> dict[str, Value]:
    """The value of every known parameter: given, converted and fitting, or its default.

    What does not fit is told. Given keys that are not known are the caller's to tell.

    Args:
        known: by key.
        given: by key, the words as written.
        names: the sprites.
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
                notices.add(
                    word.place, f"{word.text!r} is not {known[key].kind.value}; it {kept}", logged=False
                )
            else:
                values[key] = value
                if value == NO_SCORE and known[key].kind is ValueKind.SCORE:
                    wanted = ValueKind.SCORE.value
                    text = f"{word.text!r} is not {wanted}; it adds nothing but a message, each time"
                    notices.add(word.place, text, logged=False)
    return values


def _value(parameter: Parameter, key: str, word: Word, names: Names) -> Value:
    written = word.split()[1]
    try:
        value = fit(parameter.kind, key, written)
    except ValueError as bad:
        raise GameError(word.place, str(bad)) from None
    if parameter.kind is ValueKind.SPRITE and isinstance(value, str):
        return names.id(value, word, makes=parameter.makes)
    if parameter.kind is ValueKind.SPRITES and isinstance(value, str):
        return names.ids_of(value, word, makes=parameter.makes)
    return value


def demand(what: Word, known: Parameters, given: Mapping[str, Word], values: Mapping[str, Value]) -> None:
    """See that nothing is missing.

    Raises:
        GameError: a required parameter is not there, or did not fit.
    """
    for key, parameter in known.items():
        if parameter.required and values[key] in (None, ()):
            place = given[key].place if key in given else what.place
            raise GameError(place, f"{what.text} needs {key}=, {parameter.kind.value}")
