"""Behaviour of sprites that decide nothing: they stand, fly on, burn out, spread.

Each update takes all sprites of one type, in the order of their birth, and reads no other types.
"""

from __future__ import annotations

__all__ = ["age", "age_and_move", "fly_on"]

from collections.abc import Sequence
from typing import Final

from flagfall.tasks.vgdl.actions import DIRECTIONS
from flagfall.tasks.vgdl.engine.physics.movement import passive
from flagfall.tasks.vgdl.engine.sprites.behaviour import UPDATES
from flagfall.tasks.vgdl.engine.state.play import Play, Update
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind

_SPREADS_AT: Final = 2


def age(play: Play, sprite: Sprite) -> None:
    """Move a sprite passively, and kill it when its time to live is over.

    Args:
        play: in a cycle.
        sprite: a sprite of any class.
    """
    passive(play, sprite)
    if sprite.ttl >= 0:
        if sprite.ttl > 0:
            sprite.ttl -= 1
        else:
            play.kill(sprite)


def age_and_move(play: Play, sprites: Sequence[Sprite]) -> None:
    """Update sprites without a behaviour of their own.

    Args:
        play: in a cycle.
        sprites: the sprites of one type.
    """
    for sprite in sprites:
        age(play, sprite)


def fly_on(play: Play, sprites: Sequence[Sprite]) -> None:
    """Do as `age_and_move`, faster, for sprites that live forever and move passively by grid physics.

    Args:
        play: in a cycle.
        sprites: the sprites of one type.
    """
    tick = play.tick
    block = play.block_size
    rested = tick - sprites[0].cooldown
    all_fly = True
    speed = ox = oy = None
    dx = dy = 0
    try:
        for sprite in sprites:
            if sprite.fresh:
                sprite.fresh = all_fly = False
            elif sprite.moved_at > rested or not sprite.oriented:
                all_fly = False
            else:
                if sprite.speed is not speed or sprite.ox is not ox or sprite.oy is not oy:
                    speed, ox, oy = sprite.speed, sprite.ox, sprite.oy
                    pixels = int((1 if speed == -1 else speed) * block) or int(speed)
                    dx = int(ox * pixels)
                    dy = int(oy * pixels)
                    if pixels == 0 or not (ox or oy):
                        speed = None
                        all_fly = False
                        continue
                sprite.moved_at = tick
                sprite.x = x = sprite.x + dx
                if dy:
                    sprite.y = y = sprite.y + dy
                    if not (sprite.left <= x <= sprite.right and sprite.top <= y <= sprite.bottom):
                        play.grid.enter(sprite)
                elif not sprite.left <= x <= sprite.right:
                    play.grid.enter(sprite)
    finally:  # the position of one may exceed 32 bits
        flown = sprites if all_fly else [sprite for sprite in sprites if sprite.moved_at == tick]
        play.moved.update(flown)
        if play.game.broad_phase_seekers[sprites[0].type] is not None:
            play.touched.update(flown)


@UPDATES.plain("random_missile")
def _fly_in_random_direction(play: Play, sprites: Sequence[Sprite]) -> None:
    """`RandomMissile`: draw a direction once, and live forever regardless of `timeToLive`."""
    for sprite in sprites:
        if sprite.ox == -1 and sprite.oy == -1:
            sprite.ox, sprite.oy = DIRECTIONS[play.random.next_int(4)]
        passive(play, sprite)


@UPDATES.maker("flicker")
def _make_flicker(kind: SpriteKind) -> Update:
    """`Flicker`: gone in its update number `limit` + 2."""
    limit = kind.parameters["limit"]

    def burn(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            age(play, sprite)
            if sprite.age > limit:
                play.kill(sprite)
            sprite.age += 1

    return burn


@UPDATES.maker("spreader")
def _make_spreader(kind: SpriteKind) -> Update:
    """`Spreader`: a flicker that spawns around it in its second update; four draws in any case."""
    burn = _make_flicker(kind)
    chance = kind.parameters["spreadprob"]
    child = kind.id if kind.parameters["stype"] is None else kind.parameters["stype"]

    def spread(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in list(sprites):
            burn(play, (sprite,))
            if sprite.age == _SPREADS_AT:
                for dx, dy in DIRECTIONS:
                    if play.random.next_double() < chance:
                        play.add(child, sprite.last_x + dx * sprite.w, sprite.last_y + dy * sprite.h)

    return spread
