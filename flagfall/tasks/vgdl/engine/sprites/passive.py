"""What sprites that think nothing do in a tick: stand, fly on, burn out, spread.

Each function takes all sprites of one type, in the order of their birth, and asks nothing of other types.
"""

from __future__ import annotations

__all__ = ["age_and_move", "burn", "fly", "fly_somewhere", "live", "spread"]

from typing import TYPE_CHECKING, Final

from flagfall.tasks.vgdl.actions import VECTORS
from flagfall.tasks.vgdl.engine.physics.movement import passive
from flagfall.tasks.vgdl.engine.state.grid import enter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Kind, Sprite, Update

_SPREADS_AT: Final = 2

DIRECTIONS: Final = tuple(VECTORS.values())


def live(play: Play, sprite: Sprite) -> None:
    """The default: move passively, and die when the time has come."""
    passive(play, sprite)
    if sprite.ttl >= 0:
        if sprite.ttl > 0:
            sprite.ttl -= 1
        else:
            play.kill(sprite)


def age_and_move(play: Play, sprites: Sequence[Sprite]) -> None:
    """Things in general."""
    for sprite in sprites:
        live(play, sprite)


def fly(play: Play, sprites: Sequence[Sprite]) -> None:
    """What moves passively on the grid and lives for ever: as `age_and_move`, with less ado."""
    tick = play.tick
    block = play.block_size
    moved = play.moved
    speed = ox = oy = None
    dx = dy = 0
    for sprite in sprites:
        if sprite.fresh:
            sprite.fresh = False
        elif sprite.cooldown <= tick - sprite.moved_at and sprite.oriented:
            if sprite.speed is not speed or sprite.ox is not ox or sprite.oy is not oy:
                speed, ox, oy = sprite.speed, sprite.ox, sprite.oy
                pixels = int((1 if speed == -1 else speed) * block) or int(speed)
                dx = int(ox * pixels)
                dy = int(oy * pixels)
                rests = pixels == 0 or not (ox or oy)
            if rests:
                continue
            sprite.moved_at = tick
            moved.add(sprite)
            sprite.x = x = sprite.x + dx
            if dy:
                sprite.y = y = sprite.y + dy
                stays = sprite.left <= x <= sprite.right and sprite.top <= y <= sprite.bottom
            else:
                stays = sprite.left <= x <= sprite.right
            if not stays:
                enter(play, sprite)


def fly_somewhere(play: Play, sprites: Sequence[Sprite]) -> None:
    """`RandomMissile`: chooses a direction once, and lives for ever whatever its `timeToLive` says."""
    for sprite in sprites:
        if sprite.ox == -1 and sprite.oy == -1:
            sprite.ox, sprite.oy = DIRECTIONS[play.random.next_int(4)]
        passive(play, sprite)


def burn(kind: Kind) -> Update:
    """`Flicker`: gone in its update number `limit` + 2."""
    limit = kind.parameters["limit"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            live(play, sprite)
            if sprite.age > limit:
                play.kill(sprite)
            sprite.age += 1

    return update


def spread(kind: Kind) -> Update:
    """`Spreader`: a flicker that in its second update sets fire around it; four draws, whatever comes."""
    burn_one = burn(kind)
    chance = kind.parameters["spreadprob"]
    child = kind.id if kind.parameters["stype"] is None else kind.parameters["stype"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in list(sprites):
            burn_one(play, (sprite,))
            if sprite.age == _SPREADS_AT:
                for dx, dy in DIRECTIONS:
                    if play.random.next_double() < chance:
                        play.add(child, sprite.last_x + dx * sprite.w, sprite.last_y + dy * sprite.h)

    return update
