"""Terminals for players who press keys: the next key, and frames of pictures in half blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


SPEEDS: Final = (0, 1, 2, 5, 10, 20, 40)
"""Steps a second; 0 waits for a key before each step."""

DEFAULT_SPEED: Final = 5


@attrs.frozen
class Frame:
    """Contents of the screen.

    Attributes:
        picture: uint8 `[height, width, 3]`, or `None`.
        text: lines below the picture, or instead of one.
        last: the newest reward that was not 0.
    """

    picture: Any = None
    text: str = ""
    steps: int = 0
    reward: float = 0
    last: float = 0


Picture: TypeAlias = "NDArray[np.uint8]"
Run: TypeAlias = tuple[str, str, int]

HALF_BLOCK: Final = "\N{UPPER HALF BLOCK}"
"""Its foreground colour is the upper pixel's, its background colour the lower pixel's."""


def fitted(picture: Picture, columns: int, rows: int) -> Picture:
    """Scale a picture to the largest size that fits into a number of characters, in its proportions.

    It is enlarged by whole numbers only, and made smaller by taking means.

    Args:
        picture: uint8 `[height, width, 3]`.
        rows: lines; each shows two rows of pixels.
    """
    height, width = picture.shape[:2]
    columns, pixel_rows = max(1, columns), max(2, 2 * rows)
    scale = min(columns / width, pixel_rows / height)
    if scale >= 1:
        return picture.repeat(int(scale), axis=0).repeat(int(scale), axis=1)
    high, wide = max(1, int(height * scale)), max(1, int(width * scale))
    return _means(_means(picture.astype(np.float64), high, 0), wide, 1).round().astype(np.uint8)


def _means(values: NDArray[np.float64], parts: int, axis: int) -> NDArray[np.float64]:
    """Average over equal parts of an axis; a value on a border counts for both parts by its share."""
    length = values.shape[axis]
    zero = np.zeros_like(np.take(values, [0], axis))
    sums = np.concatenate([zero, values.cumsum(axis)], axis)
    borders = np.arange(parts + 1) * (length / parts)
    whole = np.minimum(borders.astype(int), length - 1)
    share = (borders - whole).reshape([-1 if a == axis else 1 for a in range(values.ndim)])
    at_border = np.take(sums, whole, axis) + share * np.take(values, whole, axis)
    means: NDArray[Any] = np.diff(at_border, axis=axis) * (parts / length)
    return means


def half_block_runs(picture: Picture) -> Iterator[list[Run]]:
    """Yield the lines of a picture as runs: upper colour, lower colour (`#rrggbb`), number of blocks.

    An odd last row of pixels stands over black.

    Args:
        picture: uint8 `[height, width, 3]`.
    """
    if picture.shape[0] % 2:
        picture = np.concatenate([picture, np.zeros_like(picture[:1])])
    for above, below in zip(picture[::2].tolist(), picture[1::2].tolist(), strict=True):
        line: list[Run] = []
        for up, down in zip(above, below, strict=True):
            upper, lower = "#{:02x}{:02x}{:02x}".format(*up), "#{:02x}{:02x}{:02x}".format(*down)
            if line and line[-1][:2] == (upper, lower):
                line[-1] = (upper, lower, line[-1][2] + 1)
            else:
                line.append((upper, lower, 1))
        yield line
