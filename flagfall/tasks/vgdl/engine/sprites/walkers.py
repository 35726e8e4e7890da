"""Behaviour of sprites that only continuous physics has: they walk on the ground, and jump."""

from __future__ import annotations

__all__ = ["jump"]

from collections.abc import Sequence
from typing import Final

from flagfall.tasks.vgdl.engine.physics.motion import move
from flagfall.tasks.vgdl.engine.physics.movement import active, passive
from flagfall.tasks.vgdl.engine.sprites.behaviour import UPDATES
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom
from flagfall.tasks.vgdl.engine.state.play import Play, Update
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind

_JUMP_PIXELS: Final = 5
_SIDES: Final = (-1, 1)


def _undrawn_random(play: Play, sprite: Sprite) -> float:
    """Return a pseudo-random number in [0, 1) that takes no draw.

    The original takes it from a generator without a seed; here it depends on the play, the sprite and the
    tick, so that a play can be repeated.

    Args:
        play: in a cycle.
        sprite: for which it is drawn.
    """
    return JavaRandom(play.random.state ^ (sprite.id << 20) ^ play.tick).next_double()


def jump(play: Play, sprite: Sprite) -> None:
    """Apply an upward force, and move a few pixels up immediately.

    Args:
        play: in a cycle.
        sprite: stands on the ground.
    """
    sprite.oy = 0
    active(play, sprite, 0, -sprite.kind.parameters["jump_strength"], sprite.speed)
    sprite.moved_at = play.tick - sprite.cooldown
    move(play, sprite, 0, -1, _JUMP_PIXELS)


@UPDATES.maker("walker")
def _make_walker(kind: SpriteKind) -> Update:
    """`Walker`: always at full speed; where it is stuck it goes on in its orientation, or draws a side."""
    steers: bool = kind.parameters["airsteering"]
    pace: float = kind.parameters["max_speed"]

    def walk(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            if steers or sprite.x == sprite.last_x:
                way = (sprite.ox > 0) - (sprite.ox < 0) or _SIDES[play.random.next_int(2)]
                sprite.ox, sprite.oy = way, 0
                active(play, sprite, way, 0, pace)
            sprite.speed = pace
            sprite.grounded = False

    return walk


@UPDATES.maker("jumper")
def _make_jumper(kind: SpriteKind) -> Update:
    """`WalkerJumper`: walks, and jumps with a probability."""
    chance = kind.parameters["probability"]

    def walk_and_jump(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            if sprite.grounded and chance > _undrawn_random(play, sprite):
                jump(play, sprite)
            else:
                active(play, sprite, sprite.ox, sprite.oy, sprite.speed)
            sprite.grounded = False

    return walk_and_jump
