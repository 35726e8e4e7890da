"""Images of a folder instead of drawings: the file that a type's `img=` or `orientedImg=` names.

Names and files are untrusted. A name cannot leave the folder, and only small PNG files are decoded.
"""

from __future__ import annotations

__all__ = ["MissingSpriteWarning", "SpriteFolder", "SpriteTiles"]

import stat
import struct
import warnings
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.rendering.tile_set import Tile, TileSet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flagfall.tasks.vgdl.definition import GameDefinition, SpriteType

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

    Args:
        folder: its path.

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

    Args:
        definition: the definition of the game.
        folder: with the images.

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
        """Return whether the tiles of a type depend on the direction; they may if some are images.

        Args:
            type_id: the type.
        """
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
