"""Tile set: for each type of a game, a small picture of any size, drawn by this package.

The drawing of a type follows from the words of its name, then from those of its image's name, and else from
its class. Its colour is the game's, if the game gives one.
"""

from __future__ import annotations

__all__ = ["Drawing", "TileSet", "choose_drawing"]

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from flagfall.tasks.vgdl.language.sprite_schema import SPRITE_CLASSES
from flagfall.tasks.vgdl.rendering.icons import Colour, Icon, load_icons, mixed

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from flagfall.tasks.vgdl.definition import GameDefinition, SpriteType

BACKDROP: Final[Colour] = (30, 32, 42)
"""Colour of empty cells."""

_GREY: Final[Colour] = (128, 128, 128)
_SOFTENED: Final = 0.2
# Games give pure colours, such as (0, 0, 255): mixed with this share of grey, they can be shaded.

_CREATURES: Final[tuple[Colour, ...]] = (
    (222, 70, 62),
    (150, 200, 90),
    (236, 160, 60),
    (170, 110, 214),
    (80, 180, 190),
)
# Colours of creatures without a colour of their own, by type.

_LEAST_LETTERS: Final = 3
_OPAQUE: Final = 255


@attrs.frozen
class Drawing:
    """Appearance of the sprites of a type."""

    icon: Icon
    colour: Colour


def choose_drawing(sprite_type: SpriteType) -> Drawing:
    """Return the drawing of a type.

    Args:
        sprite_type: a sprite type of a game.
    """
    role = _role(sprite_type)
    given = _given_colour(sprite_type)
    by_word, by_role = _icons_by_word(), {icon.role: icon for icon in load_icons().values()}
    if role == "avatar":
        return Drawing(by_role[role], given or by_role[role].colour)
    called = [by_word[word] for text in _texts(sprite_type) for word in _words(text) if word in by_word]
    special = [icon for icon in called if icon is not by_role["npc"]]
    if special or (called and role != "npc"):
        icon = (special or called)[0]
        return Drawing(icon, given or icon.colour)
    creature = _CREATURES[sprite_type.id % len(_CREATURES)]
    return Drawing(by_role["npc" if called else role], given or creature)


@cache
def _icons_by_word() -> dict[str, Icon]:
    return {word: icon for icon in load_icons().values() for word in icon.words}


def _texts(sprite_type: SpriteType) -> tuple[str, str]:
    return sprite_type.name, str(sprite_type.parameters.get("img") or "").rpartition("/")[2]


def _role(sprite_type: SpriteType) -> str:
    known = SPRITE_CLASSES.get(sprite_type.kind or "")
    if known is None:
        return "static"
    if known.is_avatar:
        return "avatar"
    return known.role or "static"


def _given_colour(sprite_type: SpriteType) -> Colour | None:
    """Return the colour that the game gives; `None` if it is only the default of the class."""
    colour = sprite_type.parameters.get("color")
    known = SPRITE_CLASSES.get(sprite_type.kind or "")
    if not isinstance(colour, tuple) or (known and known.parameters["color"].default == colour):
        return None
    red, green, blue = (int(part) for part in colour)
    return mixed((red, green, blue), _GREY, _SOFTENED)


def _words(text: str) -> list[str]:
    """Return the words of `bigRedDoor2_1`, also in the singular, and known ones inside, as in `stonewall`.

    Of those, the one that ends last comes first: a stone wall is a wall.
    """
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text)]
    words += [word.removesuffix("s") for word in words]
    whole = text.lower()
    inside = [word for word in _icons_by_word() if len(word) > _LEAST_LETTERS and word in whole]
    return words + sorted(inside, key=lambda word: (whole.rindex(word) + len(word), len(word)), reverse=True)


class TileSet:
    """Tiles of one game, drawn on first use.

    Args:
        definition: the definition of the game.

    Attributes:
        cell_pictures: pictures of cells with these tiles, which painters share; by sizes.
    """

    def __init__(self, definition: GameDefinition) -> None:
        self.cell_pictures: dict[Hashable, Any] = {}
        self._types = definition.types
        self._drawings: dict[int, Drawing] = {}
        self._tiles: dict[tuple[int, int, int, tuple[int, int]], Tile] = {}

    def tile(self, type_id: int, width: int, height: int, facing: tuple[int, int] = (1, 0)) -> Tile:
        """Return the tile of a type.

        Args:
            type_id: the type.
            width: in pixels, at least 1.
            height: in pixels, at least 1.
            facing: unit vector of the direction in which it looks or flies.
        """
        name = (type_id, width, height, facing)
        tile = self._tiles.get(name)
        if tile is None:
            tile = self._tiles[name] = self._draw(type_id, width, height, facing)
        return tile

    def shows_facing(self, type_id: int) -> bool:
        """Return whether the tiles of a type depend on the direction.

        Args:
            type_id: the type.
        """
        icon = self._drawing(type_id).icon
        return icon.turns or icon.looks

    def _drawing(self, type_id: int) -> Drawing:
        drawing = self._drawings.get(type_id)
        if drawing is None:
            drawing = self._drawings[type_id] = choose_drawing(self._types[type_id])
        return drawing

    def _draw(self, type_id: int, width: int, height: int, facing: tuple[int, int]) -> Tile:
        drawing = self._drawing(type_id)
        return Tile.of(drawing.icon.draw(width, height, drawing.colour, facing))


@attrs.frozen(eq=False)
class Tile:
    """A picture that can be blended over others.

    Attributes:
        ink: colours times opacity over 255; `[height, width, 3]`.
        window: 255 minus the opacity, `[height, width, 1]`; `None` if it is opaque.
    """

    ink: NDArray[np.uint8]
    window: NDArray[np.uint16] | None

    @classmethod
    def of(cls, picture: NDArray[np.uint8]) -> Tile:
        """Return the tile of a picture.

        Args:
            picture: red, green, blue and opacity; `[height, width, 4]`.
        """
        opacity = picture[..., 3:].astype(np.uint16)
        ink = (picture[..., :3] * opacity + _OPAQUE // 2) // _OPAQUE
        solid = bool((opacity == _OPAQUE).all())
        return cls(ink.astype(np.uint8), None if solid else _OPAQUE - opacity)

    def lay(self, canvas: NDArray[np.uint8], left: int, top: int) -> None:
        """Blend it over a canvas; parts outside of the canvas are clipped.

        Args:
            canvas: `[height, width, 3]`; is changed.
            left: the x coordinate of its upper left corner.
            top: the y coordinate of its upper left corner.
        """
        height, width = self.ink.shape[:2]
        skip_x, skip_y = max(0, -left), max(0, -top)
        under = canvas[max(0, top) : max(0, top + height), max(0, left) : max(0, left + width)]
        rows, columns = under.shape[:2]
        part = (slice(skip_y, skip_y + rows), slice(skip_x, skip_x + columns))
        if self.window is None:
            under[:] = self.ink[part]
        elif under.size:
            under[:] = self.ink[part] + (under * self.window[part] // _OPAQUE).astype(np.uint8)
