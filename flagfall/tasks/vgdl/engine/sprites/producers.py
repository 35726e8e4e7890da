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
    """

    __slots__ = ("chance", "orientation", "rests", "total")

    def __init__(self, kind: SpriteKind) -> None:
        parameters = kind.parameters
        self.chance: float = parameters["prob"]
        self.total: int = parameters["total"]
        self.orientation: tuple[float, float] = parameters["spawnorientation"]
        self.rests = not kind.drifts and parameters["timeToLive"] < 0

    def update(self, play: Play, sprite: Sprite, children: Sequence[int]) -> None:
        """Spawn with probability `prob`, by one draw; then age.

        Args:
            play: in a cycle.
            sprite: a producer.
            children: types to spawn.
        """
        self.update_with(play, sprite, children, play.random.next_float())

    def update_with(self, play: Play, sprite: Sprite, children: Sequence[int], drawn: float) -> None:
        """Do as `update` after its draw.

        Args:
            play: in a cycle.
            sprite: a producer.
            children: types to spawn.
            drawn: number in [0, 1).
        """
        if sprite.start < 0:
            sprite.start = play.tick
        if drawn < self.chance and (sprite.start + play.tick) % sprite.cooldown == 0:
            for child in children:
                self._spawn(play, sprite, child)
        if not self.rests:
            age(play, sprite)
        if sprite.spawned >= self.total > 0:
            play.kill(sprite)

    def _spawn(self, play: Play, sprite: Sprite, child: int) -> None:
        """Make one child, oriented as `spawnorientation` says, or by itself, or like its producer."""
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
    eventful = spawner.total > 0 or not spawner.rests  # something may happen without a child

    def spawn(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite, drawn in zip(list(sprites), play.random.next_floats(len(sprites)), strict=True):
            if drawn < chance or eventful or sprite.start < 0:
                spawner.update_with(play, sprite, sprite.products, drawn)

    return spawn


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
