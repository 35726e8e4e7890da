"""Rows of the language's tables: parameters and traits of sprites and effects, and the parser of `key=value`.

Keys are the language's own (`stype`, `spawnorientation`). The tables are in `tables.py`; this module defines
the form of a row, and inheritance between sprite classes.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.language.line_tree import Word
from flagfall.tasks.vgdl.language.values import (
    DIRECTIONS,
    NO_SCORE,
    GameError,
    Notices,
    UnknownNameError,
    ValueKind,
    fit,
)


@attrs.frozen
class Parameter:
    """One parameter.

    Attributes:
        default: its value if the file gives none, or one that does not fit.
        required: it must be given, and name a defined sprite.
        makes: sprites of the type that it names are made, so that type needs a class.
        makes_subtypes: sprites of the subtypes of the type that it names are made.
    """

    kind: ValueKind
    default: Value
    required: bool = False
    makes: bool = False
    makes_subtypes: bool = False


Parameters: TypeAlias = Mapping[str, Parameter]
Overrides: TypeAlias = Mapping[str, Value | Parameter]
"""Differences of a class from its base: a `Parameter` is new, any other value is a new default."""


@attrs.frozen
class Schema:
    """A termination, or the common part of an effect.

    Attributes:
        parameters: by key, the common ones included.
    """

    name: str
    parameters: Parameters


class Needs(enum.Enum):
    """Sprites without which an effect logs a message and does nothing."""

    NOTHING = "no sprite"
    FIRST = "the first sprite"
    BOTH = "both sprites"


class Changes(enum.Flag):
    """Sprites that an effect changes, apart from killing them; others can be shared between forked plays."""

    NOTHING = 0
    FIRST = enum.auto()
    """Sprites of the first type."""
    SECOND = enum.auto()
    """Sprites of the second types."""
    STYPE = enum.auto()
    """Sprites of the type that the parameter `stype` names."""
    STYPE_SPEED = enum.auto()
    """Their speed, so that resting sprites of that type may begin to move."""
    STYPE_ORIENTATION = enum.auto()
    """The orientation of new sprites of that type, which may have none otherwise."""


@attrs.frozen
class EffectSchema(Schema):
    """An effect; its behaviour is a function of the engine, `flagfall.tasks.vgdl.engine.effects`.

    Attributes:
        needs: sprites that it needs.
        changes: sprites that it changes.
        quiet: it moves no sprite but the first, and makes none; others are searched around after it.
        batch: it takes all second sprites that a first one touches at once, unless `inBatch` says otherwise.
        counts_itself: it adds to the game's counters; for others the engine does.
    """

    needs: Needs
    changes: Changes
    quiet: bool = False
    batch: bool = False
    counts_itself: bool = False


@attrs.frozen
class SpriteClass:
    """A sprite class; its behaviour is a function of the engine, `flagfall.tasks.vgdl.engine.sprites`.

    Attributes:
        behaviour: name under which the engine registers the behaviour of its sprites.
        parameters: by key, inherited ones included.
        path: from the outermost class to this one; a `RandomMissile` is also a `Missile`.
        is_avatar: the player can control sprites of this class.
        actions: legal actions of such an avatar, in the order in which agents see them.
        continuous: it is made for continuous physics.
        senses_ground: its sprites detect whether they stand on something.
        products: parameter that names the types which its sprites make; empty if they make none.
        role: drawing of types whose names match no other; inherited, empty for the default.
    """

    name: str
    behaviour: str
    parameters: Parameters
    path: tuple[str, ...]
    is_avatar: bool = False
    actions: tuple[str, ...] = ()
    continuous: bool = False
    senses_ground: bool = False
    products: str = ""
    role: str = ""


def whole(default: int) -> Parameter:
    """Return an integer parameter."""
    return Parameter(ValueKind.INT, default)


def number(default: float) -> Parameter:
    """Return a floating-point parameter."""
    return Parameter(ValueKind.FLOAT, default)


def switch(*, on: bool = False) -> Parameter:
    """Return a parameter that is true or false."""
    return Parameter(ValueKind.BOOL, on)


def text(default: str = "") -> Parameter:
    """Return a text parameter."""
    return Parameter(ValueKind.TEXT, default)


FLAG: Final = Parameter(ValueKind.FLAG, False)
"""A text that means true or false."""

SCORE: Final = Parameter(ValueKind.SCORE, 0)
"""A change of the score."""

COUNTS: Final = Parameter(ValueKind.COUNTS, ())
"""Numbers that are added to the game's counters."""

COLOUR: Final = Parameter(ValueKind.COLOUR, None)
"""A colour; by default the renderer chooses."""


def direction(name: str = "NONE") -> Parameter:
    """Return a direction parameter."""
    return Parameter(ValueKind.DIRECTION, DIRECTIONS[name])


def sprite(*, required: bool = False, makes: bool = False, makes_subtypes: bool = False) -> Parameter:
    """Return a parameter that names a sprite type."""
    return Parameter(ValueKind.SPRITE, None, required, makes, makes_subtypes)


def sprites(*, required: bool = False, makes: bool = False) -> Parameter:
    """Return a parameter that names sprite types, with commas between."""
    return Parameter(ValueKind.SPRITES, (), required, makes)


def inherit(base: Parameters, overrides: Overrides) -> Parameters:
    """Return the parameters of a class below another.

    Raises:
        KeyError: a new default for a parameter that the base does not have.
    """
    own = dict(base)
    for key, change in overrides.items():
        own[key] = change if isinstance(change, Parameter) else attrs.evolve(own[key], default=change)
    return own


def by_key(words: Iterable[Word]) -> dict[str, Word]:
    """Return the parameters among some words; the last one of a key counts."""
    return {word.split()[0]: word for word in words if word.is_parameter}


@attrs.frozen
class Names:
    """Names of the sprites.

    Attributes:
        classless: types without a class, of which no sprite can be made.
    """

    ids: Mapping[str, int] = attrs.field(factory=dict)
    classless: Collection[int] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.ids

    def id(self, name: str, word: Word, *, makes: bool = False) -> int:
        """Return the type of a name.

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

        Raises:
            UnknownNameError: no type has one of these names.
            GameError: its type has no class.
        """
        return tuple(self.id(name, word, makes=makes) for name in text.split(",") if name)


def read_parameters(
    known: Parameters, given: Mapping[str, Word], names: Names, notices: Notices
) -> dict[str, Any]:
    """Return the value of every parameter of a row: the converted one of the file if it fits, or the default.

    Args:
        given: words of the file, by key; the caller reports keys that are not in the row.
        notices: receives values that do not fit.

    Raises:
        GameError: an undefined sprite, or a number out of range.
    """
    values: dict[str, Any] = {key: parameter.default for key, parameter in known.items()}
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

    Raises:
        GameError: a required parameter is missing, or does not fit.
    """
    for key, parameter in known.items():
        if parameter.required and values[key] in (None, ()):
            place = given[key].place if key in given else what.place
            raise GameError(place, f"{what.text} needs {key}=, {parameter.kind.value}")
