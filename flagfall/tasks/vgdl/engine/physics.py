"""Physics: how the rectangle of a sprite moves, on the grid and continuously.

Rule 1: a rectangle changes only through `place` and `stride` here, and `fly_on` of
    `flagfall.tasks.vgdl.engine.sprites.passive`. They record it in `Play.moved` for views,
    and inform collision detection and the grid.
Rule 2: a move needs a rested sprite: as many ticks since its last move as its cooldown.
Rule 3: speeds are truncated to whole pixels before the direction is applied, and again after it.
"""

from __future__ import annotations

from math import sqrt
from struct import pack, unpack
from typing import Final

from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite

STILL: Final = 0
TURNED: Final = 1
MOVED: Final = 2


def place(play: Play, sprite: Sprite, x: int, y: int) -> None:
    """Set the position of a sprite, in pixels; nothing clips it."""
    sprite.x = x
    sprite.y = y
    play.moved.add(sprite)
    play.touched.add(sprite)
    if not (sprite.left <= x <= sprite.right and sprite.top <= y <= sprite.bottom):
        play.grid.enter(sprite)


def move(play: Play, sprite: Sprite, dx: float, dy: float, pixels: int) -> bool:
    """Move a sprite in a direction if it is rested; return whether it was.

    Args:
        pixels: distance; 0 for its speed, in pixels.
    """
    if pixels == 0:
        pixels = int(sprite.speed)
        if pixels == 0:
            return False
    if sprite.cooldown > play.tick - sprite.moved_at or not (dx or dy):
        return False
    place(play, sprite, sprite.x + int(dx * pixels), sprite.y + int(dy * pixels))
    sprite.moved_at = play.tick
    return True


def stride(play: Play, sprite: Sprite, dx: int, dy: int) -> None:
    """Move a rested sprite by its own speed, by grid physics; it stays where a barrier would step it back.

    Args:
        sprite: to be moved; neither its type nor its cooldown prevents it.
        dx: direction to the right, not 0 unless `dy` is not.
    """
    speed = sprite.speed
    pixels = int((speed or 1) * play.block_size) or int(speed)
    if pixels == 0:
        return
    x = sprite.x + dx * pixels
    y = sprite.y + dy * pixels
    if sprite.left <= x <= sprite.right and sprite.top <= y <= sprite.bottom:
        sprite.x = x
        sprite.y = y
        play.moved.add(sprite)
        play.touched.add(sprite)
    else:
        barriers = play.game.barriers[sprite.type]
        if not (barriers and play.grid.is_barred(sprite, x, y, barriers)):
            place(play, sprite, x, y)
    sprite.moved_at = play.tick


def unit_of_last_move(sprite: Sprite) -> tuple[float, float]:
    """Return the direction of its movement in this cycle, of length 1; (0, 0) for none."""
    dx = sprite.x - sprite.last_x
    dy = sprite.y - sprite.last_y
    if dx == 0:
        return 0.0, float((dy > 0) - (dy < 0))
    if dy == 0:
        return float((dx > 0) - (dx < 0)), 0.0
    length = sqrt(dx * dx + dy * dy)
    return dx / length, dy / length


# Continuous physics: speeds, masses and gravity; positions stay whole pixels.
#
# The velocity of a sprite is its orientation times its speed, in pixels a tick.

GROUND_REACH: Final = 3
"""A sprite stands on what is at most this many pixels below it."""

MAX_SPEED: Final = 1e9
"""Pixels a tick. A faster sprite ends the play, before its speed becomes infinite."""


def as_single(value: float) -> float:
    """Return a number rounded to 32 bits, as the original stores a mass before it divides by it."""
    number: float = unpack("f", pack("f", value))[0]
    return number


def move_on(play: Play, sprite: Sprite) -> None:
    """Move by the velocity, apply gravity and friction; not in the first tick.

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
    """Set `grounded` of a falling sprite that stands on another one."""
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


def passive(play: Play, sprite: Sprite) -> None:
    """Move a sprite along its orientation, except the first time, and if its type moves passively."""
    if not sprite.kind.passive:
        return
    if sprite.kind.continuous:
        move_on(play, sprite)
    elif sprite.fresh:
        sprite.fresh = False
    elif sprite.speed and sprite.oriented:
        speed = 1 if sprite.speed == -1 else sprite.speed
        move(play, sprite, sprite.ox, sprite.oy, int(speed * play.block_size))


def active(play: Play, sprite: Sprite, dx: float, dy: float, speed: float) -> int:
    """Move or turn a sprite in a direction of its own choice.

    Args:
        speed: cells; 0 for its own speed, or one cell if that is not positive.

    Returns:
        `MOVED`, `TURNED` or `STILL`.
    """
    kind = sprite.kind
    if kind.continuous:
        return accelerate(sprite, dx, dy, speed)
    if kind.stationary or not (dx or dy):
        return STILL
    if kind.turns_first and sprite.oriented and (dx != sprite.ox or dy != sprite.oy):
        sprite.ox = dx
        sprite.oy = dy
        return TURNED
    if speed == 0:
        speed = sprite.speed if sprite.speed > 0 else 1
    return MOVED if move(play, sprite, dx, dy, int(speed * play.block_size)) else STILL
