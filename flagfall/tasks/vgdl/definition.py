"""Definitions of games and levels: frozen records with all names resolved and all values converted.

The parsers of `flagfall.tasks.vgdl.language` make these records, the engine plays them. They hold neither
text nor state of a play. Sprite types are numbers: indices of `GameDefinition.types`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

NIL: Final = "NIL"
UP: Final = "UP"
LEFT: Final = "LEFT"
DOWN: Final = "DOWN"
RIGHT: Final = "RIGHT"
USE: Final = "USE"
ESCAPE: Final = "ESCAPE"

ACTIONS: Final = (NIL, UP, LEFT, DOWN, RIGHT, USE, ESCAPE)

VECTORS: Final[Mapping[str, tuple[float, float]]] = {
    UP: (0.0, -1.0),
    LEFT: (-1.0, 0.0),
    DOWN: (0.0, 1.0),
    RIGHT: (1.0, 0.0),
}
"""Direction of each action that moves; y points down."""

DIRECTIONS: Final = tuple(VECTORS.values())
"""The base directions, in the order from which random draws choose."""


WALL: Final = 0
"""Type of `wall`, which every game has."""

AVATAR: Final = 1
"""Type of `avatar`, which every game has."""

Value = bool | int | float | str | tuple[float, float] | tuple[int, ...] | tuple[str, ...] | None
"""Value of a parameter: a direction is `(x, y)` with y down, a colour `(r, g, b)`, the name of a sprite its
type, a list of names their types; `None` stands for a sprite that was not given."""


@attrs.frozen
class SourcePosition:
    """Position in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@attrs.frozen
class GameNotice:
    """A mistake that the original engine ignores: reported, and the game can still be played.

    Attributes:
        logged: the original logs a message while it reads (26 messages end a play); otherwise it logs none,
            or only during the play.
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
        id: type number: wall 0, avatar 1, then in the order of first mention.
        kind: effective class (the class of a parent overrides its own); `None` if neither has one, so that no
            sprite of this type can be made.
        parameters: all parameters of that class, converted; defaults filled in.
        path: from the outermost ancestor to this type itself.
        subtypes: types whose sprites count as this one, in the order in which they are looped over.
        singleton: all subtypes together have at most one sprite.
        place: position of its definition; `None` for built-in types.
        unknown: words `key=value` of the type and its ancestors that its class does not know. The original
            logs each when it makes the first sprite of this type in a level.
    """

    id: int
    name: str
    kind: str | None
    parameters: Mapping[str, Any]
    path: tuple[int, ...]
    subtypes: tuple[int, ...]
    singleton: bool = False
    place: SourcePosition | None = None
    unknown: tuple[str, ...] = ()


class EffectContext(enum.Enum):
    """Occasion on which an effect runs: a collision, the edge of the screen, or a time."""

    PAIR = "pair"
    EDGE = "EOS"
    TIME = "TIME"


@attrs.frozen
class EffectRule:
    """One line of the InteractionSet, in file order.

    Attributes:
        seconds: other types, one pair each; empty unless it runs on collisions.
        parameters: common ones and the effect's own, converted; defaults filled in.
        written: keys on the line itself (some rules depend on whether a key was given).
        inner: for `addTimer`, the effect that its `ftype` names, built from the same line.
    """

    effect: str
    context: EffectContext
    first: int
    seconds: tuple[int, ...]
    parameters: Mapping[str, Any]
    written: frozenset[str]
    place: SourcePosition
    inner: EffectRule | None = None


@attrs.frozen
class TerminationRule:
    """One line of the TerminationSet: its class, its converted parameters, and its position."""

    kind: str
    parameters: Mapping[str, Any]
    place: SourcePosition


@attrs.frozen
class GameDefinition:
    """A game, parsed and checked.

    Attributes:
        order: leaf types in draw order; the update order is the reverse.
        limits: by type, how many of this resource a sprite can hold (0 for types that are not resources).
        mapping: types by level character.
        unmapped: level characters whose line names an undefined sprite, and that name: a level with such a
            character is rejected.
        rules: InteractionSet in file order.
        terminations: in file order.
        square_size: pixels a cell; `None` if the level's size decides.
        obstacles: leaf types that the path finder avoids; `None` if the game uses no path finder.
        notices: mistakes that the original ignores, in order.
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
        """Return the type of a name.

        Raises:
            KeyError: no type has this name.
        """
        for sprite_type in self.types:
            if sprite_type.name == name:
                return sprite_type
        raise KeyError(name)


@attrs.frozen
class LevelDefinition:
    """A level: its size and its sprites at the start.

    Attributes:
        width, height: in cells.
        sprites: (column, row, type), in the order in which they are made: row by row, left to right. Of the
            avatars among them, only the first stays.
        notices: characters that the game does not map, and avatars after the first.
    """

    name: str
    width: int
    height: int
    sprites: tuple[tuple[int, int, int], ...]
    notices: tuple[GameNotice, ...] = attrs.field(default=())
