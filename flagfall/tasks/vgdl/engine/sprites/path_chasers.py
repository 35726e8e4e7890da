"""NPCs that know their way: they follow shortest paths."""

from __future__ import annotations

__all__ = ["chase_by_path", "follow_by_path"]

from typing import TYPE_CHECKING

from flagfall.tasks.vgdl.engine.physics.movement import active, passive
from flagfall.tasks.vgdl.engine.sprites.npcs import doubled, nearest, random_step, targets_of
from flagfall.tasks.vgdl.engine.sprites.passive import DIRECTIONS
from flagfall.tasks.vgdl.engine.state.work_limit import spend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Kind, Sprite, Update


def first_step(play: Play, sprite: Sprite, x: int, y: int) -> tuple[float, float] | None:
    """The first direction on the way from a sprite to a place; `None` where there is none, or no need."""
    if play.paths is None:
        return None
    spend(play, play.paths.effort)
    block = play.block_size
    here = (int(sprite.x / block), int(sprite.y / block))
    return play.paths.first_step(here, (int(x / block), int(y / block)))


def chase_by_path(kind: Kind) -> Update:
    """`PathChaser`: after the first of the nearest targets; no draw unless there is none."""
    wanted = kind.parameters["stype"]
    repeat = kind.parameters["cons"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            targets = nearest(play, sprite, targets_of(play, wanted))
            if targets:
                dx, dy = first_step(play, sprite, targets[0].x, targets[0].y) or (0, 0)
                sprite.repeats = repeat
            else:
                dx, dy = random_step(play, sprite, repeat)
            active(play, sprite, dx, dy, sprite.speed)

    return update


def follow_by_path(kind: Kind) -> Update:
    """`PathAltChaser`: keeps after one target, even a dead one, until it covers it; then chooses another."""
    wanted: tuple[int, ...] = kind.parameters["stype1"]
    at_random: bool = kind.parameters["randomTarget"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            dx: float
            dy: float
            quarry = sprite.quarry
            if quarry is None or covers(sprite, quarry):
                quarry = choose(play, sprite)
            if quarry is None:
                dx, dy = DIRECTIONS[play.random.next_int(4)]
            else:
                sprite.quarry = quarry
                dx, dy = way_to_quarry(play, sprite, quarry)
            active(play, sprite, dx, dy, sprite.speed)

    def choose(play: Play, sprite: Sprite) -> Sprite | None:
        candidates = doubled(play, wanted)
        if not candidates:
            return None
        if at_random:
            return candidates[play.random.next_int(len(candidates))]
        return nearest(play, sprite, candidates)[0]

    return update


def covers(sprite: Sprite, other: Sprite) -> bool:
    """Whether another's rectangle lies inside this one's."""
    return (
        sprite.x <= other.x
        and sprite.y <= other.y
        and other.x + other.w <= sprite.x + sprite.w
        and other.y + other.h <= sprite.y + sprite.h
    )


def way_to_quarry(play: Play, sprite: Sprite, quarry: Sprite) -> tuple[float, float]:
    """The first step to where the quarry is; without a way, to where it was when there last was one."""
    step = first_step(play, sprite, quarry.x, quarry.y)
    if step is None and sprite.quarry_x is not None and sprite.quarry_y is not None:
        return first_step(play, sprite, sprite.quarry_x, sprite.quarry_y) or (0, 0)
    sprite.quarry_x = quarry.x
    sprite.quarry_y = quarry.y
    return step or (0, 0)
