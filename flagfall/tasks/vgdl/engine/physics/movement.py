"""How sprites move: in whole pixels, by grid physics.

Rule 1: a rectangle changes by `place` only; it tells the collisions and the grid of cells.
Rule 2: a move needs a rested sprite: as many ticks since its last one as its cooldown says.
Rule 3: speeds are cut to whole pixels before the direction is applied, and again after it.
"""

from __future__ import annotations

__all__ = ["MOVED", "STILL", "TURNED", "active", "move", "passive", "place", "unit_of_last_move"]

from math import sqrt
from typing import TYPE_CHECKING, Final

from flagfall.tasks.vgdl.engine.physics import continuous
from flagfall.tasks.vgdl.engine.state.grid import enter

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite

STILL: Final = 0
TURNED: Final = 1
MOVED: Final = 2


def place(play: Play, sprite: Sprite, x: int, y: int) -> None:
    """Put a sprite somewhere; nothing clips it."""
    sprite.x = x
    sprite.y = y
    play.moved.add(sprite)
    play.touched.add(sprite)
    if not (sprite.left <= x <= sprite.right and sprite.top <= y <= sprite.bottom):
        enter(play, sprite)


def move(play: Play, sprite: Sprite, dx: float, dy: float, pixels: int) -> bool:
    """Move along a direction if it is rested; of zero pixels, its speed counts as pixels."""
    if pixels == 0:
        pixels = int(sprite.speed)
        if pixels == 0:
            return False
    if sprite.cooldown > play.tick - sprite.moved_at or not (dx or dy):
        return False
    place(play, sprite, sprite.x + int(dx * pixels), sprite.y + int(dy * pixels))
    sprite.moved_at = play.tick
    return True


def passive(play: Play, sprite: Sprite) -> None:
    """Move along its orientation, except the first time; unless its kind does not move by itself."""
    if not sprite.kind.passive:
        return
    if sprite.kind.continuous:
        continuous.passive(play, sprite)
    elif sprite.fresh:
        sprite.fresh = False
    elif sprite.speed and sprite.oriented:
        speed = 1 if sprite.speed == -1 else sprite.speed
        move(play, sprite, sprite.ox, sprite.oy, int(speed * play.block_size))


def active(play: Play, sprite: Sprite, dx: float, dy: float, speed: float) -> int:
    """Move or turn on purpose; of speed zero, its own counts, or a whole cell. Tells which it did."""
    kind = sprite.kind
    if kind.continuous:
        return continuous.active(sprite, dx, dy, speed)
    if kind.stationary or not (dx or dy):
        return STILL
    if kind.turns_first and sprite.oriented and (dx != sprite.ox or dy != sprite.oy):
        sprite.ox = dx
        sprite.oy = dy
        return TURNED
    if speed == 0:
        speed = sprite.speed if sprite.speed > 0 else 1
    return MOVED if move(play, sprite, dx, dy, int(speed * play.block_size)) else STILL


def unit_of_last_move(sprite: Sprite) -> tuple[float, float]:
    """The direction in which it has moved in this cycle, of length 1; (0, 0) where it has not."""
    dx = sprite.x - sprite.last_x
    dy = sprite.y - sprite.last_y
    if dx == 0:
        return 0, (dy > 0) - (dy < 0)
    if dy == 0:
        return (dx > 0) - (dx < 0), 0
    length = sqrt(dx * dx + dy * dy)
    return dx / length, dy / length
