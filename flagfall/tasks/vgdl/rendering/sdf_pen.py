"""A pen that draws smooth shapes on a rectangle of any size, filled where a signed distance is negative.

Coordinates run from -1 to 1, x to the right and y down. A pen that turns draws a shape that faces right in
another direction; one that does not turn only provides the direction.
"""

from __future__ import annotations

__all__ = ["Colour", "Pen", "darker", "lighter", "mixed"]

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Colour: TypeAlias = tuple[int, int, int]
Distances: TypeAlias = NDArray[np.float64]


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """Return a colour between two colours.

    Args:
        one: result for share 0.
        other: result for share 1.
        share: from 0 to 1.
    """
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def darker(colour: Colour, share: float = 0.35) -> Colour:
    """Return a darker colour.

    Args:
        colour: to be darkened.
        share: the share of black, from 0 to 1.
    """
    return mixed(colour, (0, 0, 0), share)


def lighter(colour: Colour, share: float = 0.35) -> Colour:
    """Return a lighter colour.

    Args:
        colour: to be lightened.
        share: the share of white, from 0 to 1.
    """
    return mixed(colour, (255, 255, 255), share)


class Pen:
    """A picture that is being drawn.

    Args:
        width, height: in pixels.
        facing: unit vector of the direction in which the thing looks.
        turns: shapes are turned so that their right side points in this direction.

    Attributes:
        looks: direction in which the thing looks, in the pen's coordinates.
    """

    def __init__(
        self, width: int, height: int, facing: tuple[int, int] = (1, 0), *, turns: bool = True
    ) -> None:
        self.looks: tuple[int, int] = (1, 0) if turns else facing
        across = (np.arange(width) + 0.5) * 2 / width - 1
        down = (np.arange(height) + 0.5) * 2 / height - 1
        plane_x, plane_y = np.meshgrid(across, down)
        right_x, right_y = facing if turns else (1, 0)
        self._x: Distances = plane_x * right_x + plane_y * right_y
        # Facing left is mirrored, not turned, so that no shape is upside down.
        upright = -1 if right_x < 0 else 1
        self._y: Distances = (plane_y * right_x - plane_x * right_y) * upright
        self._sharpness = min(width, height) / 2
        self._rgb = np.zeros((height, width, 3))
        self._cover = np.zeros((height, width))

    def picture(self) -> NDArray[np.uint8]:
        """Return the picture: red, green, blue, opacity; `[height, width, 4]`."""
        cover = self._cover[..., None]
        rgb = np.divide(self._rgb, cover, out=np.zeros_like(self._rgb), where=cover > 0)
        return np.concatenate([rgb, cover * 255], axis=2).round().astype(np.uint8)

    def fill(self, colour: Colour, strength: float = 1.0) -> None:
        """Fill the whole rectangle.

        Args:
            colour: the colour of the fill.
            strength: opacity, from 0 to 1.
        """
        self._lay(np.full_like(self._x, -np.inf), colour, strength)

    def disc(self, x: float, y: float, radius: float, colour: Colour, strength: float = 1.0) -> None:
        """Draw a filled circle.

        Args:
            x: the x coordinate of its centre.
            y: the y coordinate of its centre.
            radius: the radius of the circle.
            colour: the colour of the fill.
            strength: opacity, from 0 to 1.
        """
        self._lay(np.hypot(self._x - x, self._y - y) - radius, colour, strength)

    def ring(self, x: float, y: float, radius: float, width: float, colour: Colour) -> None:
        """Draw a circle line.

        Args:
            x: the x coordinate of its centre.
            y: the y coordinate of its centre.
            radius: the radius of the circle.
            width: the width of the line.
            colour: the colour of the line.
        """
        self._lay(np.abs(np.hypot(self._x - x, self._y - y) - radius) - width / 2, colour)

    def oval(self, x: float, y: float, wide: float, high: float, colour: Colour) -> None:
        """Draw a filled ellipse.

        Args:
            x: the x coordinate of its centre.
            y: the y coordinate of its centre.
            wide: its horizontal radius.
            high: its vertical radius.
            colour: the colour of the fill.
        """
        scaled = np.hypot((self._x - x) / wide, (self._y - y) / high)
        self._lay((scaled - 1) * min(wide, high), colour)

    def box(self, x: float, y: float, wide: float, high: float, colour: Colour, corner: float = 0.0) -> None:
        """Draw a filled rectangle with round corners.

        Args:
            x: the x coordinate of its centre.
            y: the y coordinate of its centre.
            wide: half its width.
            high: half its height.
            colour: the colour of the fill.
            corner: radius of the corners.
        """
        over_x = np.abs(self._x - x) - (wide - corner)
        over_y = np.abs(self._y - y) - (high - corner)
        outside = np.hypot(np.maximum(over_x, 0), np.maximum(over_y, 0))
        self._lay(outside + np.minimum(np.maximum(over_x, over_y), 0) - corner, colour)

    def polygon(self, points: Sequence[tuple[float, float]], colour: Colour) -> None:
        """Draw a filled convex polygon.

        Args:
            points: its corners, clockwise on the screen.
            colour: the colour of the fill.
        """
        distance: Any = -np.inf
        for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True):
            length = np.hypot(x1 - x0, y1 - y0)
            out_x, out_y = (y1 - y0) / length, -(x1 - x0) / length
            distance = np.maximum(distance, (self._x - x0) * out_x + (self._y - y0) * out_y)
        self._lay(distance, colour)

    def line(
        self, start: tuple[float, float], end: tuple[float, float], width: float, colour: Colour
    ) -> None:
        """Draw a straight line with round ends.

        Args:
            start: one end.
            end: the other end.
            width: the width of the line.
            colour: the colour of the line.
        """
        (x0, y0), (x1, y1) = start, end
        dx, dy = x1 - x0, y1 - y0
        along = ((self._x - x0) * dx + (self._y - y0) * dy) / (dx * dx + dy * dy)
        along = np.clip(along, 0, 1)
        self._lay(np.hypot(self._x - x0 - along * dx, self._y - y0 - along * dy) - width / 2, colour)

    def _lay(self, distance: Distances, colour: Colour, strength: float = 1.0) -> None:
        """Blend a colour over the picture, with a soft edge of one pixel."""
        cover = np.clip(0.5 - distance * self._sharpness, 0, 1) * strength
        kept = 1 - cover
        self._rgb = self._rgb * kept[..., None] + cover[..., None] * np.array(colour, dtype=float)
        self._cover = self._cover * kept + cover
