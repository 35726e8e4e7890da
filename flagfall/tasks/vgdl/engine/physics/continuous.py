"""Continuous physics: speeds, masses and gravity; positions stay whole pixels.

A sprite's velocity is its orientation times its speed, in pixels a tick.
"""

from __future__ import annotations

__all__ = ["active", "feel_ground", "passive", "single"]

from math import sqrt
from struct import pack, unpack
from typing import TYPE_CHECKING, Final

from flagfall.tasks.vgdl.engine.physics import movement

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite

GROUND_REACH: Final = 3
"""A sprite stands on what is within so many pixels below it."""

FASTEST: Final = 1e9
"""Pixels a tick; a sprite that is faster ends the play, before its speed is no number any more."""


def single(value: float) -> float:
    """A number cut to 32 bits, as the original stores a mass before it divides by it."""
    number: float = unpack("f", pack("f", value))[0]
    return number


def passive(play: Play, sprite: Sprite) -> None:
    """Fly on, fall, and slow down; not in the first tick."""
    if sprite.fresh:
        sprite.fresh = False
        return
    if sprite.speed == 0:
        return
    parameters = sprite.kind.parameters
    movement.move(play, sprite, sprite.ox, sprite.oy, int(sprite.speed))
    mass: float = parameters["mass"]
    if sprite.gravity > 0 and mass > 0 and not sprite.grounded:
        active(sprite, 0, sprite.gravity * mass, 0)
    sprite.speed *= 1 - parameters["friction"]
    if not abs(sprite.speed) < FASTEST:
        raise OverflowError("a sprite is faster than anything")


def active(sprite: Sprite, dx: float, dy: float, speed: float) -> int:
    """Accelerate: add a force by mass to the velocity. It takes effect with the next passive movement."""
    parameters = sprite.kind.parameters
    if speed in {0, -1}:
        speed = sprite.speed
    mass = single(parameters["mass"])
    vx = dx / mass + sprite.ox * speed
    vy = dy / mass + sprite.oy * speed
    length = sqrt(vx * vx + vy * vy)
    if not length < FASTEST:
        raise OverflowError("a sprite is faster than anything")
    sprite.ox, sprite.oy = (vx / length, vy / length) if length else (vx, vy)
    most: float = parameters["max_speed"]
    sprite.speed = length if most == -1 else min(length, most)
    return movement.MOVED if dx or dy else movement.STILL


def feel_ground(sprite: Sprite, other: Sprite) -> None:
    """Note whether a falling sprite stands on another, if it does not stand already."""
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
