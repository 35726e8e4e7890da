"""Continuous physics: speeds, masses and gravity; positions stay whole pixels.

The velocity of a sprite is its orientation times its speed, in pixels a tick.
"""

from __future__ import annotations

__all__ = ["accelerate", "detect_ground", "move_on"]

from math import sqrt
from struct import pack, unpack
from typing import Final

from flagfall.tasks.vgdl.engine.physics.motion import MOVED, STILL, move
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite

GROUND_REACH: Final = 3
"""A sprite stands on what is at most this many pixels below it."""

MAX_SPEED: Final = 1e9
"""Pixels a tick. A faster sprite ends the play, before its speed becomes infinite."""


def as_single(value: float) -> float:
    """Return a number rounded to 32 bits, as the original stores a mass before it divides by it.

    Args:
        value: a number of 64 bits.
    """
    number: float = unpack("f", pack("f", value))[0]
    return number


def move_on(play: Play, sprite: Sprite) -> None:
    """Move by the velocity, apply gravity and friction; not in the first tick.

    Args:
        play: has the sprite.
        sprite: to be moved.

    Raises:
        OverflowError: it exceeds `MAX_SPEED`.
    """
    if sprite.fresh:
        sprite.fresh = False
        return
    if sprite.speed == 0:
        return
    parameters = sprite.kind.parameters
    move(play, sprite, sprite.ox, sprite.oy, int(sprite.speed))
    mass: float = parameters["mass"]
    if sprite.gravity > 0 and mass > 0 and not sprite.grounded:
        accelerate(sprite, 0, sprite.gravity * mass, 0)
    sprite.speed *= 1 - parameters["friction"]
    if not abs(sprite.speed) < MAX_SPEED:
        raise OverflowError(f"a sprite is faster than {MAX_SPEED:g} pixels a tick")


def accelerate(sprite: Sprite, dx: float, dy: float, speed: float) -> int:
    """Add a force, divided by the mass, to the velocity; it takes effect with the next passive movement.

    Args:
        sprite: to be accelerated.
        dx: force to the right.
        dy: force down.
        speed: speed before, in pixels a tick; 0 or -1 for its own.

    Returns:
        `MOVED`, or `STILL` for no force.

    Raises:
        OverflowError: it exceeds `MAX_SPEED`.
    """
    parameters = sprite.kind.parameters
    if speed in {0, -1}:
        speed = sprite.speed
    mass = as_single(parameters["mass"])
    vx = dx / mass + sprite.ox * speed
    vy = dy / mass + sprite.oy * speed
    length = sqrt(vx * vx + vy * vy)
    if not length < MAX_SPEED:
        raise OverflowError(f"a sprite is faster than {MAX_SPEED:g} pixels a tick")
    sprite.ox, sprite.oy = (vx / length, vy / length) if length else (vx, vy)
    most: float = parameters["max_speed"]
    sprite.speed = length if most == -1 else min(length, most)
    return MOVED if dx or dy else STILL


def detect_ground(sprite: Sprite, other: Sprite) -> None:
    """Set `grounded` of a falling sprite that stands on another one.

    Args:
        sprite: may stand on something.
        other: may be solid.
    """
    if (
        not sprite.grounded
        and other.kind.parameters["solid"]
        and sprite.y > sprite.last_y
        and other.last_y > sprite.last_y + sprite.h // 2
    ):
        sprite.grounded = (
            other.x < sprite.x + sprite.w
            and sprite.x < other.x + other.w
            and other.y < sprite.y + GROUND_REACH + sprite.h
            and sprite.y + GROUND_REACH < other.y + other.h
        )
