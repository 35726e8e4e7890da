"""Sprites that make sprites."""

from __future__ import annotations

__all__ = ["produce", "produce_chosen", "produce_wandering", "products_of"]

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from flagfall.tasks.vgdl.engine.physics.movement import active
from flagfall.tasks.vgdl.engine.sprites.passive import DIRECTIONS, live

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Kind, Sprite, Update

_LISTS: Final[Mapping[str, str]] = {"BomberRandomMissile": "stypeMissile", "SpawnPointMultiSprite": "stypes"}
"""Classes that make several types, and the parameter that lists them."""


class Spawner:
    """The common part of all producers, read from their parameters."""

    __slots__ = ("chance", "rests", "total", "turn")

    def __init__(self, kind: Kind) -> None:
        parameters = kind.parameters
        self.chance: float = parameters["prob"]
        self.total: int = parameters["total"]
        self.turn: tuple[float, float] = parameters["spawnorientation"]
        self.rests = not kind.drifts and parameters["timeToLive"] < 0

    def update(self, play: Play, sprite: Sprite, children: Sequence[int]) -> None:
        """One draw, whatever comes; then perhaps children; then the life of any sprite."""
        if sprite.start < 0:
            sprite.start = play.tick
        if play.random.next_float() < self.chance and (sprite.start + play.tick) % sprite.cooldown == 0:
            for child in children:
                self._spawn(play, sprite, child)
        if not self.rests:
            live(play, sprite)
        if sprite.made >= self.total > 0:
            play.kill(sprite)

    def _spawn(self, play: Play, sprite: Sprite, child: int) -> None:
        """Make one child here, that looks where it is told to or, without an own way, where this looks."""
        born = play.add(child, sprite.x, sprite.y)
        if born is not None:
            sprite.made += 1
            if any(self.turn):
                born.ox, born.oy = self.turn
            elif not (born.ox or born.oy):
                born.ox = sprite.ox
                born.oy = sprite.oy


def produce(kind: Kind) -> Update:
    """`SpawnPoint`, `Bomber`, and `SpawnPointMultiSprite`, which makes one of each type at a time."""
    spawner = Spawner(kind)

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in list(sprites):
            spawner.update(play, sprite, sprite.products)

    return update


def produce_wandering(kind: Kind) -> Update:
    """`RandomBomber`: a random step first."""
    spawner = Spawner(kind)

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in list(sprites):
            dx, dy = DIRECTIONS[play.random.next_int(4)]
            active(play, sprite, dx, dy, sprite.speed)
            spawner.update(play, sprite, sprite.products)

    return update


def produce_chosen(kind: Kind) -> Update:
    """`BomberRandomMissile`: draws what it will drop, whether it drops anything or not."""
    spawner = Spawner(kind)

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in list(sprites):
            chosen = sprite.products[play.random.next_int(len(sprite.products))]
            spawner.update(play, sprite, (chosen,))

    return update


def products_of(name: str, parameters: Mapping[str, Any]) -> tuple[int, ...]:
    """The types that the sprites of a class make, as its parameters say."""
    listed: tuple[int, ...] = parameters.get(_LISTS.get(name, ""), ())
    one = parameters.get("stype")
    return listed or ((one,) if isinstance(one, int) else ())
