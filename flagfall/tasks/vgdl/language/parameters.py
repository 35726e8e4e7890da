"""Parser of parameters: from words `key=value` to values, by the rows of the tables."""

from __future__ import annotations

__all__ = ["Names", "by_key", "read_parameters", "require"]

from collections.abc import Collection, Iterable, Mapping

import attrs

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.language.errors import GameError, Notices, UnknownNameError
from flagfall.tasks.vgdl.language.line_tree import Word
from flagfall.tasks.vgdl.language.schema import Parameter, Parameters
from flagfall.tasks.vgdl.language.values import NO_SCORE, ValueKind, fit


def by_key(words: Iterable[Word]) -> dict[str, Word]:
    """Return the parameters among some words; the last one of a key counts.

    Args:
        words: the words of a line.
    """
    return {word.split()[0]: word for word in words if word.is_parameter}


@attrs.frozen
class Names:
    """Names of the sprites.

    Attributes:
        ids: types by name.
        classless: types without a class, of which no sprite can be made.
    """

    ids: Mapping[str, int] = attrs.field(factory=dict)
    classless: Collection[int] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.ids

    def id(self, name: str, word: Word, *, makes: bool = False) -> int:
        """Return the type of a name.

        Args:
            name: as written.
            word: contains the name.
            makes: sprites of the type will be made.

        Raises:
            UnknownNameError: no type has this name.
            GameError: its type has no class.
        """
        if name not in self.ids:
            raise UnknownNameError.unknown(word.place, "sprite", name, self.ids)
        if makes and self.ids[name] in self.classless:
            raise GameError(word.place, f"{name!r} has no class, so no sprite can be made of it")
        return self.ids[name]

    def ids_of(self, text: str, word: Word, *, makes: bool = False) -> tuple[int, ...]:
        """Return the types of names with commas between.

        Args:
            text: names as written.
            word: contains them.
            makes: sprites of the types will be made.

        Raises:
            UnknownNameError: no type has one of these names.
            GameError: its type has no class.
        """
        return tuple(self.id(name, word, makes=makes) for name in text.split(",") if name)


def read_parameters(
    known: Parameters, given: Mapping[str, Word], names: Names, notices: Notices
) -> dict[str, Value]:
    """Return the value of every parameter of a row: the converted one of the file if it fits, or the default.

    Args:
        known: parameters of the row.
        given: words of the file, by key; the caller reports keys that are not in the row.
        names: the names of the sprites.
        notices: receives values that do not fit.

    Raises:
        GameError: an undefined sprite, or a number out of range.
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


def require(what: Word, known: Parameters, given: Mapping[str, Word], values: Mapping[str, Value]) -> None:
    """Check that no required parameter is missing.

    Args:
        what: word that needs them.
        known: parameters of its row.
        given: words of the file, by key.
        values: result of `read_parameters`.

    Raises:
        GameError: a required parameter is missing, or does not fit.
    """
    for key, parameter in known.items():
        if parameter.required and values[key] in (None, ()):
            place = given[key].place if key in given else what.place
            raise GameError(place, f"{what.text} needs {key}=, {parameter.kind.value}")
