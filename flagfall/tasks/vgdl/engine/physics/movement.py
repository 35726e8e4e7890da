"""Passive and active movement, by grid physics or by continuous physics as the sprite's type says."""

from __future__ import annotations

__all__ = ["active", "passive"]

from flagfall.tasks.vgdl.engine.physics import continuous
from flagfall.tasks.vgdl.engine.physics.motion import MOVED, STILL, TURNED, move
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite


def passive(play: Play, sprite: Sprite) -> None:
    """Move a sprite along its orientation, except the first time, and if its type moves passively.

    Args:
        play: has the sprite.
        sprite: to be moved.
    """
    if not sprite.kind.passive:
        return
    if sprite.kind.continuous:
        continuous.move_on(play, sprite)
    elif sprite.fresh:
        sprite.fresh = False
    elif sprite.speed and sprite.oriented:
        speed = 1 if sprite.speed == -1 else sprite.speed
        move(play, sprite, sprite.ox, sprite.oy, int(speed * play.block_size))


def active(play: Play, sprite: Sprite, dx: float, dy: float, speed: float) -> int:
    """Move or turn a sprite in a direction of its own choice.

    Args:
        play: has the sprite.
        sprite: to be moved.
        dx: direction to the right.
        dy: direction down.
        speed: cells; 0 for its own speed, or one cell if that is not positive.

    Returns:
        `MOVED`, `TURNED` or `STILL`.
    """
    kind = sprite.kind
    if kind.continuous:
        return continuous.accelerate(sprite, dx, dy, speed)
    if kind.stationary or not (dx or dy):
        return STILL
    if kind.turns_first and sprite.oriented and (dx != sprite.ox or dy != sprite.oy):
        sprite.ox = dx
        sprite.oy = dy
        return TURNED
    if speed == 0:
        speed = sprite.speed if sprite.speed > 0 else 1
    return MOVED if move(play, sprite, dx, dy, int(speed * play.block_size)) else STILL
