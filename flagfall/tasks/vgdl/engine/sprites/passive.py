"""Behaviour of sprites that decide nothing: they stand, fly on, burn out, spread.

Each update takes all sprites of one type, in the order of their birth, and reads no other types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flagfall.tasks.vgdl.definition import DIRECTIONS
from flagfall.tasks.vgdl.engine.behaviour import UPDATES
from flagfall.tasks.vgdl.engine.physics import active, move, passive
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom
from flagfall.tasks.vgdl.engine.state.play import Play, Update
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind

_SPREADS_AT: Final = 2


def age(play: Play, sprite: Sprite) -> None:
    """Move a sprite passively, and kill it when its time to live is over."""
    passive(play, sprite)
    if sprite.ttl >= 0:
        if sprite.ttl > 0:
            sprite.ttl -= 1
        else:
            play.kill(sprite)


def age_and_move(play: Play, sprites: Sequence[Sprite]) -> None:
    """Update sprites without a behaviour of their own."""
    for sprite in sprites:
        age(play, sprite)


def fly_on(play: Play, sprites: Sequence[Sprite]) -> None:
    """Do as `age_and_move`, faster, for sprites that live forever and move passively by grid physics."""
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


_JUMP_PIXELS: Final = 5
_SIDES: Final = (-1.0, 1.0)


def _undrawn_random(play: Play, sprite: Sprite) -> float:
    """Return a pseudo-random number in [0, 1) that takes no draw.

    The original takes it from a generator without a seed; here it depends on the play, the sprite and the
    tick, so that a play can be repeated.
    """
    return JavaRandom(play.random.state ^ (sprite.id << 20) ^ play.tick).next_double()


def jump(play: Play, sprite: Sprite) -> None:
    """Apply an upward force, and move a few pixels up immediately."""
    sprite.oy = 0.0
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
                way = float((sprite.ox > 0) - (sprite.ox < 0)) or _SIDES[play.random.next_int(2)]
                sprite.ox, sprite.oy = way, 0.0
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


class Spawner:
    """Common part of all producers.

    Attributes:
        total: number of sprites after which a producer is gone; 0 for no limit.
        orientation: of what it spawns; (0, 0) for none.
        ages: a producer moves passively or burns out.
    """

    __slots__ = ("ages", "chance", "orientation", "total")

    def __init__(self, kind: SpriteKind) -> None:
        parameters = kind.parameters
        self.chance: float = parameters["prob"]
        self.total: int = parameters["total"]
        self.orientation: tuple[float, float] = parameters["spawnorientation"]
        self.ages = kind.drifts or parameters["timeToLive"] >= 0

    def update(self, play: Play, sprite: Sprite, children: Sequence[int]) -> None:
        """Spawn with probability `prob`, by one draw; then age."""
        if sprite.start < 0:
            sprite.start = play.tick
        if play.random.next_float() < self.chance:
            self.spawn(play, sprite, children)
        if self.ages:
            age(play, sprite)
        if sprite.spawned >= self.total > 0:
            play.kill(sprite)

    def spawn(self, play: Play, sprite: Sprite, children: Sequence[int]) -> None:
        """Make children when it is time, oriented by `spawnorientation`, by themselves, or like it."""
        if (sprite.start + play.tick) % sprite.cooldown:
            return
        for child in children:
            born = play.add(child, sprite.x, sprite.y)
            if born is not None:
                sprite.spawned += 1
                if any(self.orientation):
                    born.ox, born.oy = self.orientation
                elif not (born.ox or born.oy):
                    born.ox = sprite.ox
                    born.oy = sprite.oy


@UPDATES.maker("spawner")
def _make_spawner(kind: SpriteKind) -> Update:
    """`SpawnPoint`, `Bomber`, and `SpawnPointMultiSprite`, which makes one of each type at a time."""
    spawner = Spawner(kind)
    chance = spawner.chance

    def spawn(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in list(sprites):
            spawner.update(play, sprite, sprite.products)

    def spawn_only(play: Play, sprites: Sequence[Sprite]) -> None:
        draw = play.random.next_float
        for sprite in list(sprites):
            if sprite.start < 0:
                sprite.start = play.tick
            if draw() < chance:
                spawner.spawn(play, sprite, sprite.products)

    return spawn if spawner.ages or spawner.total > 0 else spawn_only


@UPDATES.maker("wandering_spawner")
def _make_wandering_spawner(kind: SpriteKind) -> Update:
    """`RandomBomber`: a random step first."""
    spawner = Spawner(kind)

    def wander_and_spawn(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in list(sprites):
            dx, dy = DIRECTIONS[play.random.next_int(4)]
            active(play, sprite, dx, dy, sprite.speed)
            spawner.update(play, sprite, sprite.products)

    return wander_and_spawn


@UPDATES.maker("choosing_spawner")
def _make_choosing_spawner(kind: SpriteKind) -> Update:
    """`BomberRandomMissile`: draw the product first, even if nothing is spawned."""
    spawner = Spawner(kind)

    def choose_and_spawn(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in list(sprites):
            chosen = sprite.products[play.random.next_int(len(sprite.products))]
            spawner.update(play, sprite, (chosen,))

    return choose_and_spawn
