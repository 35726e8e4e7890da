"""What VGDL knows: the parameters of every sprite class, effect and termination, their kinds and defaults.

Keys are the language's own (`stype`, `spawnorientation`). The tables stand in `schema_sprites.py` and
`schema_effects.py`; here is what a row is, and how rows inherit.
"""

from __future__ import annotations

__all__ = [
    "Changes",
    "Parameter",
    "Parameters",
    "Schema",
    "SpriteClass",
    "colour",
    "counts",
    "direction",
    "flag",
    "inherit",
    "number",
    "score",
    "sprite",
    "sprites",
    "switch",
    "text",
    "whole",
]

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.language.values import DIRECTIONS, Kind


@attrs.frozen
class Parameter:
    """One parameter.

    Attributes:
        kind: what it takes.
        default: its value where the file gives none, or one that does not fit.
        required: it must be given, and name a sprite that there is.
        makes: sprites of the type that it names are made, so that type needs a class.
    """

    kind: Kind
    default: Value
    required: bool = False
    makes: bool = False


Parameters: TypeAlias = Mapping[str, Parameter]
Changes: TypeAlias = Mapping[str, Value | Parameter]
"""What a class has other than the one above it: a `Parameter` is new, any other value a new default."""


@attrs.frozen
class Schema:
    """An effect or a termination.

    Attributes:
        name: as in the file.
        parameters: by key, the common ones included.
    """

    name: str
    parameters: Parameters


@attrs.frozen
class SpriteClass:
    """A sprite class.

    Attributes:
        name: as in the file.
        parameters: by key, inherited ones included.
        path: from the outermost class to this one; what a `Missile` is, a `RandomMissile` is too.
        is_avatar: sprites of this class are played.
        actions: what such an avatar can do, in the order in which agents see it.
        continuous: it only makes sense with continuous physics.
    """

    name: str
    parameters: Parameters
    path: tuple[str, ...]
    is_avatar: bool = False
    actions: tuple[str, ...] = ()
    continuous: bool = False


def whole(default: int) -> Parameter:
    """An integer."""
    return Parameter(Kind.INT, default)


def number(default: float) -> Parameter:
    """A floating number."""
    return Parameter(Kind.FLOAT, default)


def switch(*, on: bool = False) -> Parameter:
    """True or false."""
    return Parameter(Kind.BOOL, on)


def text(default: str = "") -> Parameter:
    """Any text."""
    return Parameter(Kind.TEXT, default)


def flag() -> Parameter:
    """A text that means true or false."""
    return Parameter(Kind.FLAG, False)


def score() -> Parameter:
    """A change of the score."""
    return Parameter(Kind.SCORE, 0)


def counts() -> Parameter:
    """Numbers for the game's counters."""
    return Parameter(Kind.COUNTS, ())


def direction(name: str = "NONE") -> Parameter:
    """A direction."""
    return Parameter(Kind.DIRECTION, DIRECTIONS[name])


def colour() -> Parameter:
    """A colour; `None` leaves the choice to who draws."""
    return Parameter(Kind.COLOUR, None)


def sprite(*, required: bool = False, makes: bool = False) -> Parameter:
    """A sprite's name."""
    return Parameter(Kind.SPRITE, None, required, makes)


def sprites(*, required: bool = False, makes: bool = False) -> Parameter:
    """Sprites' names, with commas between."""
    return Parameter(Kind.SPRITES, (), required, makes)


def inherit(base: Parameters, changes: Changes) -> Parameters:
    """The parameters of a class below another.

    Raises:
        KeyError: a new default for a parameter that the base has not.
    """
    own = dict(base)
    for key, change in changes.items():
        own[key] = change if isinstance(change, Parameter) else attrs.evolve(own[key], default=change)
    return own
