"""Tile set: for each type of a game, a small picture of any size, drawn by this package.

The drawing of a type follows from the words of its name, then from those of its image's name, and else from
its class. Its colour is the game's, if the game gives one.
"""

from __future__ import annotations

import re
import stat
import struct
import warnings
import zlib
from collections.abc import Hashable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.definition import GameDefinition, SpriteType
from flagfall.tasks.vgdl.language.tables import SPRITE_CLASSES
from flagfall.tasks.vgdl.rendering.icons import Colour, Icon, load_icons, mixed

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
    """Return the drawing of a type."""
    role = _role(sprite_type)
    given = _given_colour(sprite_type)
    by_word, by_role = _icons_by_word(), {icon.role: icon for icon in load_icons().values()}
    if role == "avatar":
        return Drawing(by_role[role], given or by_role[role].colour)
    image = str(sprite_type.parameters.get("img") or "").rpartition("/")[2]
    words = _words(sprite_type.name) + _words(image)
    called = [by_word[word] for word in words if word in by_word]
    special = [icon for icon in called if icon is not by_role["npc"]]
    if special or (called and role != "npc"):
        icon = (special or called)[0]
        return Drawing(icon, given or icon.colour)
    creature = _CREATURES[sprite_type.id % len(_CREATURES)]
    return Drawing(by_role["npc" if called else role], given or creature)


@cache
def _icons_by_word() -> dict[str, Icon]:
    return {word: icon for icon in load_icons().values() for word in icon.words}


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

    Attributes:
        cell_pictures: pictures of cells with these tiles, which painters share; by sizes.
    """

    def __init__(self, definition: GameDefinition) -> None:
        self.cell_pictures: dict[Hashable, Any] = {}
        self._types = definition.types
        self._drawings: dict[int, Drawing] = {}
        self._tiles: dict[tuple[int, int, int, tuple[int, int]], Tile] = {}

    def tile(self, type_id: int, width: int, height: int, facing: tuple[int, int] = (1, 0)) -> Tile:
        """Return the tile of a type."""
        name = (type_id, width, height, facing)
        tile = self._tiles.get(name)
        if tile is None:
            tile = self._tiles[name] = self._draw(type_id, width, height, facing)
        return tile

    def shows_facing(self, type_id: int) -> bool:
        """Return whether the tiles of a type depend on the direction."""
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


# Images of a folder instead of drawings: the file that a type's `img=` or `orientedImg=` names.
#
# Names and files are untrusted. A name cannot leave the folder, and only small PNG files are decoded.

MAX_FILE_BYTES: Final = 1024 * 1024
"""Limit of a file. Sprites have some kilobytes; larger files are not read."""

MAX_SIDE_PIXELS: Final = 1024
"""Limit of width and height. A cell has 10 to 100 pixels in a picture; a decoded image takes at most 4 MB."""

MAX_TOTAL_BYTES: Final = 64 * 1024 * 1024
"""Limit of the decoded images of one game; a hundred types with 100 x 100 pixels take 4 MB."""

MAX_NAMED: Final = 5
"""Limit of missing files that the warning names."""

_SUFFIX: Final = ".png"
_FIRST: Final = "_0"
_DIRECTIONS: Final = {(0, -1): "UP", (0, 1): "DOWN", (-1, 0): "LEFT", (1, 0): "RIGHT"}
_DAMAGED: Final = (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, zlib.error)
"""Errors that Pillow raises for files that are not images, or damaged ones."""


class MissingSpriteWarning(UserWarning):
    """The folder lacks images that a game names."""


class SpriteFolder:
    """A folder of PNG files.

    Raises:
        UsageError: the folder does not exist.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"--sprites {folder}: there is no such folder")
        self.folder = folder
        self._root = folder.resolve()

    def image(self, name: str) -> NDArray[np.uint8] | None:
        """Return an image as red, green, blue and opacity, `[height, width, 4]`; `None` if there is none.

        Args:
            name: path below the folder, without `.png`.

        Raises:
            UsageError: the name leaves the folder, or the file is too large, damaged, or not a PNG.
        """
        path = PurePosixPath(name.removesuffix(_SUFFIX) + _SUFFIX)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            raise self._error(name, "is outside of the folder: write a path below it")
        try:
            found = (self._root / path).resolve(strict=True)
            about = found.stat()
        except (OSError, RuntimeError):  # RuntimeError: symbolic links form a cycle
            return None
        if not found.is_relative_to(self._root):
            raise self._error(name, "is a link out of the folder")
        if not stat.S_ISREG(about.st_mode):
            raise self._error(name, "is not a file")
        if about.st_size > MAX_FILE_BYTES:
            raise self._error(name, f"has more than {MAX_FILE_BYTES} bytes")
        return self._decoded(found, name)

    def _decoded(self, path: Path, name: str) -> NDArray[np.uint8]:
        from PIL import Image  # noqa: PLC0415 - rarely needed

        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES)
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                with Image.open(BytesIO(data), formats=("PNG",)) as image:
                    width, height = image.size
                    if max(width, height) > MAX_SIDE_PIXELS:
                        most = f"the limit is {MAX_SIDE_PIXELS} x {MAX_SIDE_PIXELS}"
                        raise self._error(name, f"has {width} x {height} pixels; {most}")
                    return np.asarray(image.convert("RGBA"))
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise self._error(name, "is too large to be decoded") from None
        except _DAMAGED as error:
            raise self._error(name, f"is not a PNG file ({type(error).__name__})") from None

    def _error(self, name: str, why: str) -> UsageError:
        return UsageError(f"--sprites {self.folder}: {name!r} {why}")


class SpriteTiles(TileSet):
    """Tiles of one game, with the images of a folder; types without one keep their drawing.

    An image fills the sprite's rectangle times its `shrinkfactor`, centred and not smoothed. Of several
    images (`autotiling`, `randomtiling`, `frameRate`) the first is used; `orientedImg` has one for each
    direction.

    Raises:
        UsageError: the images are too large together, or one is invalid (see `SpriteFolder.image`).
    """

    def __init__(self, definition: GameDefinition, folder: SpriteFolder) -> None:
        super().__init__(definition)
        self._images: dict[tuple[int, tuple[int, int]], NDArray[np.uint8]] = {}
        images: dict[str, NDArray[np.uint8] | None] = {}
        total = 0
        for sprite_type in definition.types:
            for facing, name in _names(sprite_type):
                if name not in images:
                    images[name] = folder.image(name)
                    total += 0 if (new := images[name]) is None else new.nbytes
                    if total > MAX_TOTAL_BYTES:
                        raise UsageError(
                            f"--sprites {folder.folder}: the images of {definition.name} take more than"
                            f" {MAX_TOTAL_BYTES} bytes: use smaller ones"
                        )
                if (image := images[name]) is not None:
                    self._images[sprite_type.id, facing] = image
        missing = [name for name, image in images.items() if image is None]
        if missing:
            named = ", ".join(map(repr, missing[:MAX_NAMED])) + (", ..." if len(missing) > MAX_NAMED else "")
            warnings.warn(
                f"{definition.name}: {len(missing)} images are not in {folder.folder} ({named});"
                " flagfall's own drawings are used instead",
                MissingSpriteWarning,
                stacklevel=2,
            )

    def shows_facing(self, type_id: int) -> bool:
        """Return whether the tiles of a type depend on the direction; they may if some are images."""
        return super().shows_facing(type_id) or any(known == type_id for known, _ in self._images)

    def _draw(self, type_id: int, width: int, height: int, facing: tuple[int, int]) -> Tile:
        image = self._images.get((type_id, facing))
        if image is None:
            return super()._draw(type_id, width, height, facing)
        from PIL import Image  # noqa: PLC0415 - rarely needed

        factor = self._types[type_id].parameters.get("shrinkfactor")
        factor = float(factor) if isinstance(factor, int | float) and 0 < factor < 1 else 1.0
        wide, high = max(1, int(width * factor)), max(1, int(height * factor))
        scaled = Image.fromarray(image).resize((wide, high), Image.Resampling.NEAREST)
        tile = np.zeros((height, width, 4), np.uint8)
        left, top = (width - wide) // 2, (height - high) // 2
        tile[top : top + high, left : left + wide] = np.asarray(scaled)
        return Tile.of(tile)


def _names(sprite_type: SpriteType) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield each direction and the file of a type, named as in the original."""
    parameters = sprite_type.parameters
    oriented, plain = parameters.get("orientedImg"), parameters.get("img")
    name = oriented or plain
    if not isinstance(name, str) or not name:
        return
    name = name.removesuffix(_SUFFIX)
    several = bool(parameters.get("autotiling")) or any(
        isinstance(value := parameters.get(key), int | float) and value >= 0
        for key in ("randomtiling", "frameRate")
    )
    for facing, direction in _DIRECTIONS.items():
        yield facing, f"{name}{f'_{direction}' if oriented else ''}{_FIRST if several else ''}"
