"""Behaviour of sprites that make sprites."""

from __future__ import annotations

__all__: list[str] = []

from collections.abc import Sequence

from flagfall.tasks.vgdl.actions import DIRECTIONS
from flagfall.tasks.vgdl.engine.physics.movement import active
from flagfall.tasks.vgdl.engine.sprites.behaviour import UPDATES
from flagfall.tasks.vgdl.engine.sprites.passive import age
from flagfall.tasks.vgdl.engine.state.play import Play, Update
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind


class Spawner:
    """Common part of all producers.

    Args:
        kind: has their parameters.

    Attributes:
        chance: probability to spawn in a tick.
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
        """Spawn with probability `prob`, by one draw; then age.

        Args:
            play: in a cycle.
            sprite: a producer.
            children: types to spawn.
        """
        if sprite.start < 0:
            sprite.start = play.tick
        if play.random.next_float() < self.chance:
            self.spawn(play, sprite, children)
        if self.ages:
            age(play, sprite)
        if sprite.spawned >= self.total > 0:
            play.kill(sprite)

    def spawn(self, play: Play, sprite: Sprite, children: Sequence[int]) -> None:
        """Make children if it is the time, oriented as `spawnorientation` says, or by themselves, or like it.

        Args:
            play: in a cycle.
            sprite: a producer.
            children: types to spawn.
        """
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
