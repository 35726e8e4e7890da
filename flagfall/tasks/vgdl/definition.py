"""What a VGDL game is once it has been read: frozen records, every name resolved and every value converted.

The language (`language.py`, `levels.py`) makes these records, the engine plays them. Nothing here knows
text, and nothing here knows a tick. Sprite types are numbers from here on; `GameDefinition.types[number]`
tells the rest.
"""

from __future__ import annotations

__all__ = [
    "AVATAR",
    "WALL",
    "EffectContext",
    "EffectRule",
    "GameDefinition",
    "GameNotice",
    "LevelDefinition",
    "SourcePosition",
    "SpriteType",
    "TerminationRule",
    "Value",
]

import enum
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

WALL: Final = 0
"""The type `wall`, which every game has."""

AVATAR: Final = 1
"""The type `avatar`, which every game has."""

Value = bool | int | float | str | tuple[float, float] | tuple[int, ...] | tuple[str, ...] | None
"""A parameter's value: a direction is `(x, y)` with y down, a colour `(r, g, b)`, a sprite name its type id,
a list of names their ids, `None` a sprite that was not given."""


@attrs.frozen
class SourcePosition:
    """Where something stands in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@attrs.frozen
class GameNotice:
    """Something that the original engine would play on with: told, never skipped in silence.

    Attributes:
        place: where it stands.
        text: what it is.
        logged: the original logs a message here while it reads (26 messages end a play);
            otherwise it says nothing at all, or not before the play.
    """

    place: SourcePosition
    text: str
    logged: bool = True

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@attrs.frozen
class SpriteType:
    """One name of the SpriteSet.

    Attributes:
        id: its number: wall 0, avatar 1, then in the order of first mention.
        name: as written.
        kind: its effective class (a class that a parent handed down overrides its own); `None` where
            neither gives one, so that no sprite of this type can be made.
        parameters: every parameter of that class, converted; defaults filled in.
        path: from the outermost ancestor to this type itself.
        subtypes: the types whose sprites count as this one, in the order in which they are walked.
        singleton: at most one sprite may live in this type's subtypes.
        place: where it is defined; `None` for what is built in.
        unknown: the words `key=value`, its ancestors' too, that its class does not know. The original
            logs each when it makes the first sprite of this type in a level.
    """

    id: int
    name: str
    kind: str | None
    parameters: Mapping[str, Value]
    path: tuple[int, ...]
    subtypes: tuple[int, ...]
    singleton: bool = False
    place: SourcePosition | None = None
    unknown: tuple[str, ...] = ()


class EffectContext(enum.Enum):
    """When an effect runs."""

    PAIR = "pair"
    EDGE = "EOS"
    TIME = "TIME"


@attrs.frozen
class EffectRule:
    """One line of the InteractionSet, in file order.

    Attributes:
        effect: its name, `killSprite`.
        context: on a collision, at the edge of the screen, or by the clock.
        first: the type acted on.
        seconds: the other types, one pair each; empty at the edge and by the clock.
        parameters: the common ones and the effect's own, converted, defaults filled in.
        written: the keys that stand on the line itself (a few rules ask whether a key was given).
        inner: for `addTimer`, the effect that its `ftype` names, built from the same line.
    """

    effect: str
    context: EffectContext
    first: int
    seconds: tuple[int, ...]
    parameters: Mapping[str, Value]
    written: frozenset[str]
    place: SourcePosition
    inner: EffectRule | None = None


@attrs.frozen
class TerminationRule:
    """One line of the TerminationSet: its class and converted parameters."""

    kind: str
    parameters: Mapping[str, Value]
    place: SourcePosition


@attrs.frozen
class GameDefinition:
    """A game, read and checked.

    Attributes:
        name: the file's stem.
        types: by type id.
        order: the leaf types in draw order; updates go the other way round.
        limits: by type id, how many of this resource a sprite can hold (0 for what is no resource).
        mapping: level character to the types that stand there.
        unmapped: level characters whose line names an undefined sprite, and that name: a level that has one
            cannot be built.
        rules: the InteractionSet in file order.
        terminations: in file order.
        square_size: pixels a cell; `None` lets the level's size decide.
        counters: how many counters the effects have.
        obstacles: leaf types that the path finder goes around; `None` where the game needs no path finder.
        notices: what the original would have logged while reading, in order.
    """

    name: str
    types: Sequence[SpriteType]
    order: tuple[int, ...]
    limits: tuple[int, ...]
    mapping: Mapping[str, tuple[int, ...]]
    rules: tuple[EffectRule, ...]
    terminations: tuple[TerminationRule, ...]
    square_size: int | None = None
    counters: int = 0
    obstacles: tuple[int, ...] | None = None
    unmapped: Mapping[str, str] = attrs.field(factory=dict)
    notices: tuple[GameNotice, ...] = ()

    def type_named(self, name: str) -> SpriteType:
        """The type of that name; raises `KeyError` where there is none."""
        for sprite_type in self.types:
            if sprite_type.name == name:
                return sprite_type
        raise KeyError(name)


@attrs.frozen
class LevelDefinition:
    """A level: what stands where at the start.

    Attributes:
        name: the file's stem.
        width, height: in cells.
        sprites: (column, row, type id), in the order in which they are made: row by row, left to right. Of
            the avatars among them, only the first stays.
        notices: characters that the game does not map, second avatars.
    """

    name: str
    width: int
    height: int
    sprites: tuple[tuple[int, int, int], ...]
    notices: tuple[GameNotice, ...] = attrs.field(default=())
