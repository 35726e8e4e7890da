"""Drawings of the tile set: functions of a pen and a colour. `icon_words` assigns them to sprite types."""

from __future__ import annotations

__all__ = ["Icon"]

from collections.abc import Callable
from typing import Final, TypeAlias

from flagfall.tasks.vgdl.rendering.sdf_pen import Colour, Pen, darker, lighter, mixed

Icon: TypeAlias = Callable[[Pen, Colour], None]

_INK: Final[Colour] = (28, 28, 36)
_WHITE: Final[Colour] = (245, 245, 240)
_SKIN: Final[Colour] = (240, 200, 165)
_STEEL: Final[Colour] = (200, 208, 218)
_WOOD: Final[Colour] = (150, 100, 60)


def _eyes(pen: Pen, x: float, y: float, gap: float, size: float) -> None:
    look_x, look_y = pen.looks
    for side in (-1, 1):
        pen.disc(x + side * gap, y, size, _WHITE)
        pen.disc(x + side * gap + size * 0.4 * look_x, y + size * 0.4 * look_y, size * 0.55, _INK)


# Creatures and vehicles.


def person(pen: Pen, colour: Colour) -> None:
    """Draw a person, such as the avatar."""
    pen.box(0, 0.52, 0.5, 0.42, darker(colour), corner=0.2)
    pen.box(0, 0.48, 0.44, 0.36, colour, corner=0.18)
    pen.disc(0, -0.32, 0.52, darker(_SKIN, 0.45))
    pen.disc(0, -0.32, 0.45, _SKIN)
    look_x, look_y = pen.looks
    if look_y < 0:  # seen from behind
        pen.disc(0, -0.36, 0.42, darker(colour, 0.2))
    else:
        for side in (-1, 1):
            pen.disc(side * 0.17 + look_x * 0.13, -0.34 + look_y * 0.06, 0.1, _INK)
        pen.box(0, -0.72, 0.42, 0.13, darker(colour, 0.2), corner=0.1)


def creature(pen: Pen, colour: Colour) -> None:
    """Draw a creature with legs and eyes."""
    for side in (-1, 0, 1):
        pen.box(side * 0.42, 0.6, 0.13, 0.26, darker(colour), corner=0.1)
    pen.oval(0, 0.05, 0.78, 0.64, darker(colour))
    pen.oval(0, 0.02, 0.7, 0.56, colour)
    _eyes(pen, 0, -0.12, 0.3, 0.23)


def ghost(pen: Pen, colour: Colour) -> None:
    """Draw a ghost: a sheet with eyes."""
    pen.disc(0, -0.15, 0.68, colour)
    pen.box(0, 0.25, 0.68, 0.4, colour)
    for x in (-0.46, 0.0, 0.46):
        pen.disc(x, 0.65, 0.22, colour)
    _eyes(pen, 0, -0.15, 0.3, 0.23)


def flyer(pen: Pen, colour: Colour) -> None:
    """Draw a creature with wings on both sides."""
    for side in (-1, 1):
        pen.oval(side * 0.55, -0.18, 0.4, 0.42, darker(colour, 0.2))
        pen.oval(side * 0.48, 0.3, 0.3, 0.3, lighter(colour, 0.2))
    pen.oval(0, 0.05, 0.17, 0.6, darker(colour, 0.55))
    _eyes(pen, 0, -0.4, 0.13, 0.13)


def crawler(pen: Pen, colour: Colour) -> None:
    """Draw a creature with eight legs."""
    for y in (-0.5, -0.16, 0.16, 0.5):
        pen.line((-0.85, y * 1.5), (0.0, y * 0.4), 0.14, darker(colour))
        pen.line((0.85, y * 1.5), (0.0, y * 0.4), 0.14, darker(colour))
    pen.oval(-0.1, 0.05, 0.5, 0.46, colour)
    pen.disc(0.42, 0.0, 0.28, darker(colour, 0.15))
    _eyes(pen, 0.46, -0.06, 0.13, 0.11)


def fish(pen: Pen, colour: Colour) -> None:
    """Draw a fish that swims to the right."""
    pen.polygon([(-0.95, -0.5), (-0.35, 0.0), (-0.95, 0.5)], darker(colour, 0.2))
    pen.oval(0.1, 0, 0.7, 0.46, colour)
    pen.disc(0.45, -0.1, 0.14, _WHITE)
    pen.disc(0.48, -0.1, 0.08, _INK)


def ship(pen: Pen, colour: Colour) -> None:
    """Draw a spaceship from above."""
    pen.polygon([(-0.75, -0.85), (0.2, -0.2), (0.2, 0.2), (-0.75, 0.85)], darker(colour))
    pen.polygon([(-0.6, -0.3), (0.3, -0.3), (0.95, 0.0), (0.3, 0.3), (-0.6, 0.3)], colour)
    pen.disc(0.2, 0, 0.17, (90, 190, 240))
    pen.box(-0.78, 0, 0.14, 0.18, (255, 170, 60), corner=0.06)


def vehicle(pen: Pen, colour: Colour) -> None:
    """Draw a car from above."""
    for x in (-0.5, 0.5):
        pen.box(x, 0, 0.2, 0.62, _INK, corner=0.06)
    pen.box(0, 0, 0.92, 0.5, darker(colour, 0.2), corner=0.2)
    pen.box(0, 0, 0.84, 0.43, colour, corner=0.18)
    pen.box(-0.08, 0, 0.4, 0.34, darker(colour, 0.45), corner=0.1)
    pen.box(0.26, 0, 0.12, 0.32, (150, 205, 235), corner=0.05)


# Projectiles and weapons.


def dart(pen: Pen, colour: Colour) -> None:
    """Draw a missile."""
    pen.box(-0.15, 0, 0.55, 0.2, darker(colour), corner=0.1)
    pen.box(-0.15, -0.04, 0.5, 0.12, lighter(colour, 0.1), corner=0.08)
    pen.polygon([(0.3, -0.42), (0.95, 0.0), (0.3, 0.42)], colour)
    pen.polygon([(-0.9, -0.45), (-0.45, 0.0), (-0.9, 0.45)], darker(colour, 0.2))


def shot(pen: Pen, colour: Colour) -> None:
    """Draw a glowing ball."""
    pen.disc(0, 0, 0.62, colour, 0.35)
    pen.disc(0, 0, 0.42, colour)
    pen.disc(-0.08, -0.08, 0.2, lighter(colour, 0.75))


def beam(pen: Pen, colour: Colour) -> None:
    """Draw a beam of light."""
    pen.box(0, 0, 1, 0.34, mixed(colour, _INK, 0.35), corner=0.2)
    pen.box(0, 0, 1, 0.2, colour, corner=0.15)
    pen.box(0, 0, 1, 0.07, lighter(colour, 0.8), corner=0.05)


def blade(pen: Pen, colour: Colour) -> None:
    """Draw a sword."""
    del colour
    pen.polygon([(-0.3, -0.15), (0.65, -0.15), (0.95, 0.0), (0.65, 0.15), (-0.3, 0.15)], _STEEL)
    pen.line((-0.3, 0.0), (0.8, 0.0), 0.06, darker(_STEEL))
    pen.box(-0.36, 0, 0.09, 0.42, (225, 180, 70), corner=0.06)
    pen.box(-0.64, 0, 0.26, 0.11, _WOOD, corner=0.08)


def spark(pen: Pen, colour: Colour) -> None:
    """Draw a burst of sparks."""
    for dx, dy, reach in ((1, 0, 0.9), (0, 1, 0.9), (0.7, 0.7, 0.8), (0.7, -0.7, 0.8)):
        pen.line((-dx * reach, -dy * reach), (dx * reach, dy * reach), 0.16, colour)
    pen.disc(0, 0, 0.36, lighter(colour, 0.7))


def fire(pen: Pen, colour: Colour) -> None:
    """Draw a flame."""
    pen.disc(0, 0.28, 0.6, darker(colour, 0.15))
    pen.polygon([(-0.05, -0.95), (0.58, 0.2), (-0.58, 0.2)], darker(colour, 0.15))
    pen.polygon([(0.5, -0.5), (0.6, 0.3), (0.1, 0.1)], darker(colour, 0.15))
    pen.disc(0, 0.4, 0.38, (255, 205, 70))
    pen.polygon([(0.0, -0.35), (0.34, 0.3), (-0.34, 0.3)], (255, 205, 70))


def bomb(pen: Pen, colour: Colour) -> None:
    """Draw a bomb with a fuse."""
    body = mixed(colour, _INK, 0.65)
    pen.disc(-0.05, 0.15, 0.68, body)
    pen.disc(-0.28, -0.08, 0.16, lighter(body, 0.45))
    pen.line((0.35, -0.4), (0.62, -0.75), 0.13, _WOOD)
    pen.disc(0.66, -0.78, 0.18, (255, 190, 60))


# Objects.


def gem(pen: Pen, colour: Colour) -> None:
    """Draw a cut gem."""
    pen.polygon([(-0.45, -0.65), (0.45, -0.65), (0.88, -0.15), (0.0, 0.85), (-0.88, -0.15)], darker(colour))
    pen.polygon([(-0.38, -0.52), (0.38, -0.52), (0.68, -0.15), (0.0, 0.66), (-0.68, -0.15)], colour)
    pen.polygon([(-0.38, -0.52), (0.1, -0.52), (-0.15, -0.12), (-0.66, -0.15)], lighter(colour, 0.5))
    pen.line((-0.7, -0.15), (0.7, -0.15), 0.06, darker(colour, 0.2))


def coin(pen: Pen, colour: Colour) -> None:
    """Draw a coin."""
    pen.disc(0, 0, 0.72, darker(colour))
    pen.disc(0, 0, 0.62, colour)
    pen.ring(0, 0, 0.44, 0.1, darker(colour, 0.25))
    pen.box(0, 0, 0.08, 0.24, darker(colour, 0.25), corner=0.05)


def key(pen: Pen, colour: Colour) -> None:
    """Draw a key."""
    edge = darker(colour, 0.5)
    pen.ring(-0.42, 0, 0.3, 0.34, edge)
    pen.line((-0.1, 0), (0.82, 0), 0.34, edge)
    pen.ring(-0.42, 0, 0.3, 0.2, colour)
    pen.line((-0.1, 0), (0.8, 0), 0.2, colour)
    pen.line((0.45, 0), (0.45, 0.34), 0.18, colour)
    pen.line((0.76, 0), (0.76, 0.4), 0.18, colour)


def heart(pen: Pen, colour: Colour) -> None:
    """Draw a heart."""
    for side in (-1, 1):
        pen.disc(side * 0.34, -0.25, 0.42, colour)
    pen.polygon([(-0.72, -0.08), (0.72, -0.08), (0.0, 0.82)], colour)
    pen.disc(-0.36, -0.32, 0.13, lighter(colour, 0.6))


def flask(pen: Pen, colour: Colour) -> None:
    """Draw a flask with a potion."""
    pen.box(0, -0.55, 0.17, 0.34, _STEEL, corner=0.05)
    pen.disc(0, 0.24, 0.6, _STEEL)
    pen.disc(0, 0.28, 0.48, colour)
    pen.disc(-0.18, 0.1, 0.12, lighter(colour, 0.7))


def fruit(pen: Pen, colour: Colour) -> None:
    """Draw a fruit."""
    pen.disc(0, 0.15, 0.62, darker(colour, 0.2))
    pen.disc(0, 0.12, 0.54, colour)
    pen.disc(-0.2, -0.08, 0.14, lighter(colour, 0.6))
    pen.line((0.02, -0.4), (0.1, -0.78), 0.12, _WOOD)
    pen.oval(0.34, -0.66, 0.24, 0.13, (110, 190, 80))


def token(pen: Pen, colour: Colour) -> None:
    """Draw a generic resource."""
    pen.polygon([(0.0, -0.75), (0.75, 0.0), (0.0, 0.75), (-0.75, 0.0)], darker(colour))
    pen.polygon([(0.0, -0.58), (0.58, 0.0), (0.0, 0.58), (-0.58, 0.0)], colour)
    pen.disc(-0.12, -0.15, 0.14, lighter(colour, 0.6))


def crate(pen: Pen, colour: Colour) -> None:
    """Draw a box."""
    pen.box(0, 0, 0.9, 0.9, darker(colour, 0.45), corner=0.1)
    pen.box(0, 0, 0.78, 0.78, colour, corner=0.06)
    pen.line((-0.6, -0.6), (0.6, 0.6), 0.2, darker(colour, 0.25))
    pen.line((-0.6, 0.6), (0.6, -0.6), 0.2, darker(colour, 0.25))
    pen.box(0, -0.7, 0.78, 0.1, lighter(colour, 0.2))
    pen.box(0, 0.7, 0.78, 0.1, darker(colour, 0.2))


def boulder(pen: Pen, colour: Colour) -> None:
    """Draw a round stone."""
    pen.disc(0, 0.04, 0.84, darker(colour, 0.45))
    pen.disc(-0.03, 0, 0.74, colour)
    pen.disc(-0.25, -0.28, 0.26, lighter(colour, 0.35))
    pen.line((0.15, 0.25), (0.45, 0.4), 0.09, darker(colour, 0.3))


def barrel(pen: Pen, colour: Colour) -> None:
    """Draw a barrel with staves and hoops."""
    pen.box(0, 0, 0.6, 0.85, colour, corner=0.28)
    for y in (-0.45, 0.45):
        pen.box(0, y, 0.62, 0.1, darker(colour, 0.5))
    for x in (-0.2, 0.2):
        pen.line((x, -0.75), (x, 0.75), 0.05, darker(colour, 0.25))


# Terrain and buildings.


def bricks(pen: Pen, colour: Colour) -> None:
    """Draw a brick wall."""
    pen.fill(darker(colour, 0.45))
    for row, y in enumerate((-0.68, 0.0, 0.68)):
        shift = -0.5 if row % 2 else 0.0
        for x in (-1.0, 0.0, 1.0, 2.0):
            pen.box(x + shift, y, 0.44, 0.27, colour, corner=0.04)
            pen.box(x + shift, y - 0.2, 0.42, 0.06, lighter(colour, 0.2))


def slab(pen: Pen, colour: Colour) -> None:
    """Draw a generic immovable object."""
    pen.box(0, 0, 0.94, 0.94, darker(colour), corner=0.14)
    pen.box(0, -0.04, 0.82, 0.8, colour, corner=0.1)
    pen.box(0, -0.62, 0.66, 0.09, lighter(colour, 0.3), corner=0.06)


def ground(pen: Pen, colour: Colour) -> None:
    """Draw a floor, barely visible."""
    pen.fill(colour)
    pen.box(0, 0, 0.94, 0.94, lighter(colour, 0.05))
    for x, y in ((-0.45, -0.3), (0.4, 0.35), (0.1, -0.6)):
        pen.disc(x, y, 0.09, darker(colour, 0.15))


def grass(pen: Pen, colour: Colour) -> None:
    """Draw a meadow."""
    pen.fill(colour)
    for x, y in ((-0.5, -0.4), (0.35, -0.1), (-0.15, 0.55), (0.65, 0.65)):
        pen.line((x, y), (x - 0.1, y - 0.28), 0.1, lighter(colour, 0.22))
        pen.line((x, y), (x + 0.14, y - 0.24), 0.1, darker(colour, 0.2))


def water(pen: Pen, colour: Colour) -> None:
    """Draw waves."""
    pen.fill(colour)
    for x, y in ((-0.45, -0.55), (0.45, -0.1), (-0.35, 0.45)):
        pen.line((x - 0.35, y), (x, y + 0.12), 0.1, lighter(colour, 0.4))
        pen.line((x, y + 0.12), (x + 0.35, y), 0.1, lighter(colour, 0.4))


def road(pen: Pen, colour: Colour) -> None:
    """Draw a road with a line of paint."""
    pen.fill(colour)
    pen.box(0, 0, 0.45, 0.06, lighter(colour, 0.45))


def soil(pen: Pen, colour: Colour) -> None:
    """Draw loose earth."""
    pen.fill(colour)
    for x, y, size in ((-0.5, -0.5, 0.16), (0.4, -0.3, 0.12), (-0.2, 0.3, 0.14), (0.6, 0.6, 0.17)):
        pen.disc(x, y, size, darker(colour, 0.25))
    pen.disc(0.1, -0.75, 0.1, lighter(colour, 0.15))


def tree(pen: Pen, colour: Colour) -> None:
    """Draw a tree with a trunk and a crown."""
    pen.box(0, 0.6, 0.16, 0.38, _WOOD, corner=0.06)
    pen.disc(0, -0.15, 0.68, darker(colour, 0.35))
    pen.disc(-0.06, -0.22, 0.56, colour)
    pen.disc(-0.25, -0.4, 0.2, lighter(colour, 0.25))


def door(pen: Pen, colour: Colour) -> None:
    """Draw a door."""
    frame = darker(colour, 0.55)
    pen.disc(0, -0.25, 0.72, frame)
    pen.box(0, 0.36, 0.72, 0.62, frame)
    pen.disc(0, -0.22, 0.55, colour)
    pen.box(0, 0.38, 0.55, 0.6, colour)
    pen.line((0, -0.7), (0, 0.95), 0.06, darker(colour, 0.3))
    pen.disc(0.3, 0.25, 0.12, (255, 215, 90))


def portal(pen: Pen, colour: Colour) -> None:
    """Draw a portal."""
    pen.disc(0, 0, 0.88, darker(colour, 0.6))
    pen.ring(0, 0, 0.72, 0.2, colour)
    pen.ring(0.04, 0.04, 0.4, 0.16, lighter(colour, 0.35))
    pen.disc(0.06, 0.06, 0.15, _WHITE)


def hole(pen: Pen, colour: Colour) -> None:
    """Draw a pit."""
    pen.disc(0, 0, 0.86, lighter(colour, 0.25))
    pen.disc(0, 0.03, 0.74, darker(colour, 0.45))
    pen.disc(0, 0.14, 0.56, darker(colour, 0.75))


def flag(pen: Pen, colour: Colour) -> None:
    """Draw a flag."""
    pen.line((-0.5, -0.8), (-0.5, 0.85), 0.16, _STEEL)
    pen.polygon([(-0.42, -0.78), (0.8, -0.38), (-0.42, 0.05)], colour)
    pen.box(-0.5, 0.85, 0.3, 0.1, darker(_STEEL), corner=0.06)


def spikes(pen: Pen, colour: Colour) -> None:
    """Draw spikes that point upwards."""
    for x in (-0.6, 0.0, 0.6):
        pen.polygon([(x, -0.7), (x + 0.32, 0.8), (x - 0.32, 0.8)], colour)
        pen.polygon([(x, -0.7), (x + 0.32, 0.8), (x + 0.05, 0.8)], darker(colour))


def nest(pen: Pen, colour: Colour) -> None:
    """Draw a nest."""
    pen.box(0, 0, 0.86, 0.86, darker(colour, 0.55), corner=0.3)
    pen.ring(0, 0, 0.5, 0.2, colour)
    pen.disc(0, 0, 0.18, lighter(colour, 0.4))


def log(pen: Pen, colour: Colour) -> None:
    """Draw a floating log."""
    pen.box(0, 0, 1, 0.62, darker(colour, 0.3), corner=0.1)
    pen.box(0, -0.1, 1, 0.42, colour, corner=0.1)
    for x, y in ((-0.5, -0.2), (0.3, 0.1)):
        pen.line((x - 0.25, y), (x + 0.25, y), 0.08, darker(colour, 0.3))
