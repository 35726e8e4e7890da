"""Sprites that only continuous physics has: they walk on the ground, and jump."""

from __future__ import annotations

__all__ = ["jump", "walk", "walk_and_jump"]

from typing import TYPE_CHECKING, Final

from flagfall.tasks.vgdl.engine.physics.movement import active, move, passive
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Kind, Sprite, Update

_JUMP_PIXELS: Final = 5
_SIDES: Final = (-1, 1)


def whim(play: Play, sprite: Sprite) -> float:
    """A number in [0, 1) that costs no draw.

    The original rolls it from a generator without a seed; here it depends on the play, the sprite and the
    tick, so that a play can be repeated.
    """
    return JavaRandom(play.random.state ^ (sprite.id << 20) ^ play.tick).next_double()


def jump(play: Play, sprite: Sprite) -> None:
    """Take off: an upward force, and at once a few pixels."""
    sprite.oy = 0
    active(play, sprite, 0, -sprite.kind.parameters["jump_strength"], sprite.speed)
    sprite.moved_at = play.tick - sprite.cooldown
    move(play, sprite, 0, -1, _JUMP_PIXELS)


def walk(kind: Kind) -> Update:
    """`Walker`: always at full speed; where it is stuck it goes on where it looks, or draws a side."""
    steers: bool = kind.parameters["airsteering"]
    pace: float = kind.parameters["max_speed"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            if steers or sprite.x == sprite.last_x:
                way = (sprite.ox > 0) - (sprite.ox < 0) or _SIDES[play.random.next_int(2)]
                sprite.ox, sprite.oy = way, 0
                active(play, sprite, way, 0, pace)
            sprite.speed = pace
            sprite.grounded = False

    return update


def walk_and_jump(kind: Kind) -> Update:
    """`WalkerJumper`: jumps now and then."""
    chance = kind.parameters["probability"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            if sprite.grounded and chance > whim(play, sprite):
                jump(play, sprite)
            else:
                active(play, sprite, sprite.ox, sprite.oy, sprite.speed)
            sprite.grounded = False

    return update
