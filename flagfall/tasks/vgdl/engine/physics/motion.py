"""Changes of position: everything that moves a sprite calls `place` or `move`.

Rule 1: a rectangle changes only through `place` and `stride` here, and `fly_on` of
    `flagfall.tasks.vgdl.engine.sprites.passive`. They record it in `Play.moved` for views,
    and inform collision detection and the grid.
Rule 2: a move needs a rested sprite: as many ticks since its last move as its cooldown.
Rule 3: speeds are truncated to whole pixels before the direction is applied, and again after it.
"""

from __future__ import annotations

__all__ = ["MOVED", "STILL", "TURNED", "move", "place", "stride", "unit_of_last_move"]

from math import sqrt
from typing import Final

from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite

STILL: Final = 0
TURNED: Final = 1
MOVED: Final = 2


def place(play: Play, sprite: Sprite, x: int, y: int) -> None:
    """Set the position of a sprite; nothing clips it.

    Args:
        play: has the sprite.
        sprite: to be moved.
        x: new left, in pixels.
        y: new top, in pixels.
    """
    sprite.x = x
    sprite.y = y
    play.moved.add(sprite)
    play.touched.add(sprite)
    if not (sprite.left <= x <= sprite.right and sprite.top <= y <= sprite.bottom):
        play.grid.enter(sprite)


def move(play: Play, sprite: Sprite, dx: float, dy: float, pixels: int) -> bool:
    """Move a sprite in a direction if it is rested; return whether it was.

    Args:
        play: has the sprite.
        sprite: to be moved.
        dx: direction to the right.
        dy: direction down.
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
        play: has the sprite.
        sprite: to be moved; neither its type nor its cooldown prevents it.
        dx: direction to the right, not 0 unless `dy` is not.
        dy: direction down.
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
    """Return the direction of its movement in this cycle, of length 1; (0, 0) for none.

    Args:
        sprite: any.
    """
    dx = sprite.x - sprite.last_x
    dy = sprite.y - sprite.last_y
    if dx == 0:
        return 0, (dy > 0) - (dy < 0)
    if dy == 0:
        return (dx > 0) - (dx < 0), 0
    length = sqrt(dx * dx + dy * dy)
    return dx / length, dy / length
