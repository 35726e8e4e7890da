"""Behaviour of sprites that pursue others along shortest paths."""

from __future__ import annotations

__all__: list[str] = []

from collections.abc import Sequence

from flagfall.tasks.vgdl.actions import DIRECTIONS
from flagfall.tasks.vgdl.engine.physics.movement import active, passive
from flagfall.tasks.vgdl.engine.sprites.behaviour import UPDATES
from flagfall.tasks.vgdl.engine.sprites.npcs import (
    candidates_twice,
    make_epsilon_random,
    nearest,
    random_step,
    targets_of,
)
from flagfall.tasks.vgdl.engine.state.play import Play, Update
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind


def _first_step(play: Play, sprite: Sprite, x: int, y: int) -> tuple[float, float] | None:
    """Return the first direction of a shortest path; `None` if there is none, or the sprite is there.

    Args:
        play: in a cycle.
        sprite: at the start of the path.
        x: its end, in pixels.
        y: its end, in pixels.
    """
    if play.paths is None:
        return None
    play.work.charge(play.paths.work)
    block = play.block_size
    here = (int(sprite.x / block), int(sprite.y / block))
    return play.paths.first_step(here, (int(x / block), int(y / block)))


@UPDATES.maker("path_chaser")
def _make_path_chaser(kind: SpriteKind) -> Update:
    """`PathChaser`: pursues the first of the nearest targets; a draw only if there is none."""
    wanted = kind.parameters["stype"]
    repeat = kind.parameters["cons"]

    def chase(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            targets = nearest(play, sprite, targets_of(play, wanted))
            if targets:
                dx, dy = _first_step(play, sprite, targets[0].x, targets[0].y) or (0, 0)
                sprite.repeats = repeat
            else:
                dx, dy = random_step(play, sprite, repeat)
            active(play, sprite, dx, dy, sprite.speed)

    return chase


@UPDATES.maker("path_follower")
def _make_path_follower(kind: SpriteKind) -> Update:
    """`PathAltChaser`: pursues one target, even a dead one, until it covers it; then chooses another."""
    wanted: tuple[int, ...] = kind.parameters["stype1"]
    at_random: bool = kind.parameters["randomTarget"]

    def follow(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            dx: float
            dy: float
            target = sprite.target
            if target is None or _covers(sprite, target):
                target = choose(play, sprite)
            if target is None:
                dx, dy = DIRECTIONS[play.random.next_int(4)]
            else:
                sprite.target = target
                dx, dy = _step_to_target(play, sprite, target)
            active(play, sprite, dx, dy, sprite.speed)

    def choose(play: Play, sprite: Sprite) -> Sprite | None:
        candidates = candidates_twice(play, wanted)
        if not candidates:
            return None
        if at_random:
            return candidates[play.random.next_int(len(candidates))]
        return nearest(play, sprite, candidates)[0]

    return follow


@UPDATES.maker("random_path_follower")
def _make_random_path_follower(kind: SpriteKind) -> Update:
    """`RandomPathAltChaser`: a `PathAltChaser` with random steps in between."""
    return make_epsilon_random(kind, _make_path_follower(kind))


def _covers(sprite: Sprite, other: Sprite) -> bool:
    """Return whether another sprite's rectangle lies inside this one's."""
    return (
        sprite.x <= other.x
        and sprite.y <= other.y
        and other.x + other.w <= sprite.x + sprite.w
        and other.y + other.h <= sprite.y + sprite.h
    )


def _step_to_target(play: Play, sprite: Sprite, target: Sprite) -> tuple[float, float]:
    """Return the first step to the target; without a path, to where it was when there last was one."""
    step = _first_step(play, sprite, target.x, target.y)
    if step is None and sprite.target_x is not None and sprite.target_y is not None:
        return _first_step(play, sprite, sprite.target_x, sprite.target_y) or (0, 0)
    sprite.target_x = target.x
    sprite.target_y = target.y
    return step or (0, 0)
