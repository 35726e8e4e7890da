"""Icons of sprites: the groups of the picture `icons.svg`, drawn at any size, in any colour and direction.

Coordinates run from -1 to 1, x to the right and y down. A shape is filled where a signed distance is
negative, with a soft edge of one pixel. `currentColor` is the colour of the sprite. What SVG does not have:

- `data-words` of a group: words in the names of the sprites that it shows, in their singular.
- `data-role` of a group: the role of the sprite classes that it shows where no word is known.
- `turns` among the classes of a group: its right side points in the direction of movement.
- `looks` among them: it has eyes. `data-gaze` is how far a circle moves in the direction of movement; shapes
  of the class `back` are drawn in place of those of the class `front` if it moves up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias
from xml.etree import ElementTree as ET

import attrs
import numpy as np
from numpy.typing import NDArray

Colour: TypeAlias = tuple[int, int, int]

_MIX: Final = re.compile(r"color-mix\(in srgb, (.+), (\S+) (\d+)%\)")
_SVG: Final = "{http://www.w3.org/2000/svg}"


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """Return a colour between two colours.

    Args:
        one: result for share 0.
        other: result for share 1.
        share: from 0 to 1.
    """
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


@attrs.frozen(eq=False)
class Icon:
    """A drawing; see the top of this module.

    Attributes:
        role: the role of a sprite class; empty for none.
        colour: the colour of sprites to which their game gives none.
        turns: it is turned to the direction of movement; all others stay upright.
    """

    name: str
    words: tuple[str, ...]
    role: str
    colour: Colour
    turns: bool
    looks: bool
    _shapes: Sequence[ET.Element] = attrs.field(repr=False)

    def draw(
        self, width: int, height: int, colour: Colour, facing: tuple[int, int] = (1, 0)
    ) -> NDArray[np.uint8]:
        """Return a picture: red, green, blue, opacity; `[height, width, 4]`.

        Args:
            width: in pixels, at least 1.
            height: in pixels, at least 1.
            facing: unit vector of the direction in which it looks or flies.
        """
        right_x, right_y = facing if self.turns else (1, 0)
        looks = (1, 0) if self.turns else facing
        plane_x, plane_y = np.meshgrid(*((np.arange(size) + 0.5) * 2 / size - 1 for size in (width, height)))
        x = plane_x * right_x + plane_y * right_y
        # Facing left is mirrored, not turned, so that no shape is upside down.
        y = (plane_y * right_x - plane_x * right_y) * (-1 if right_x < 0 else 1)
        rgb, cover = np.zeros((height, width, 3)), np.zeros((height, width, 1))
        for shape in self._shapes:
            if shape.get("class") == ("front" if looks[1] < 0 else "back"):
                continue
            inside = np.clip(0.5 - _distance(shape, x, y, looks) * (min(width, height) / 2), 0, 1)
            share = (inside * float(shape.get("opacity", 1)))[..., None]
            paint = _colour(shape.get("stroke") or shape.attrib["fill"], colour)
            rgb = rgb * (1 - share) + share * np.array(paint, dtype=float)
            cover = cover * (1 - share) + share
        rgb = np.divide(rgb, cover, out=np.zeros_like(rgb), where=cover > 0)
        return np.concatenate([rgb, cover * 255], axis=2).round().astype(np.uint8)


@cache
def load_icons() -> dict[str, Icon]:
    """Return all icons by their names; the first with a word or a role is the one for it."""
    picture = ET.fromstring(files(__package__).joinpath("icons.svg").read_bytes())  # noqa: S314
    return {
        group.attrib["id"]: Icon(
            group.attrib["id"],
            tuple(group.get("data-words", "").split()),
            group.get("data-role", ""),
            _colour(group.attrib["color"], (0, 0, 0)),
            "turns" in group.get("class", ""),
            "looks" in group.get("class", ""),
            tuple(group),
        )
        for group in picture.iter(f"{_SVG}g")
    }


def _colour(text: str, current: Colour) -> Colour:
    if text == "currentColor":
        return current
    mix = _MIX.fullmatch(text)
    if mix:
        return mixed(_colour(mix[1], current), _colour(mix[2], current), int(mix[3]) / 100)
    red, green, blue = bytes.fromhex(text.removeprefix("#"))
    return red, green, blue


def _distance(shape: ET.Element, x: NDArray[Any], y: NDArray[Any], looks: tuple[int, int]) -> Any:
    """Return the signed distance of points from the edge of a shape: negative inside."""
    of = {name: float(value) for name, value in shape.items() if re.fullmatch(r"-?[\d.]+", value)}
    half = of.get("stroke-width", 0.0) / 2
    match shape.tag.removeprefix(_SVG):
        case "circle":
            right, down = map(float, shape.get("data-gaze", "0 0").split())
            distance = np.hypot(x - (of["cx"] + right * looks[0]), y - (of["cy"] + down * looks[1])) - of["r"]
            return np.abs(distance) - half if half else distance
        case "ellipse":
            scaled = np.hypot((x - of["cx"]) / of["rx"], (y - of["cy"]) / of["ry"])
            return (scaled - 1) * min(of["rx"], of["ry"])
        case "line":
            dx, dy = of["x2"] - of["x1"], of["y2"] - of["y1"]
            along = ((x - of["x1"]) * dx + (y - of["y1"]) * dy) / (dx * dx + dy * dy)
            along = np.clip(along, 0, 1)
            return np.hypot(x - of["x1"] - along * dx, y - of["y1"] - along * dy) - half
        case "polygon":  # convex, clockwise
            points = [tuple(map(float, point.split(","))) for point in shape.attrib["points"].split()]
            distance = np.full_like(x, -np.inf)
            for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True):
                length = np.hypot(x1 - x0, y1 - y0)
                out_x, out_y = (y1 - y0) / length, -(x1 - x0) / length
                distance = np.maximum(distance, (x - x0) * out_x + (y - y0) * out_y)
            return distance
    wide, high, corner = of["width"] / 2, of["height"] / 2, of.get("rx", 0.0)
    if wide == high == 1:  # the whole icon: its edge is not soft
        return np.full_like(x, -np.inf)
    over_x = np.abs(x - of["x"]) - (wide - corner)  # x and y are the centre: see the style of the picture
    over_y = np.abs(y - of["y"]) - (high - corner)
    outside = np.hypot(np.maximum(over_x, 0), np.maximum(over_y, 0))
    return outside + np.minimum(np.maximum(over_x, over_y), 0) - corner
