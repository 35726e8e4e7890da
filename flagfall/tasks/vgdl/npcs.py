"""Sprites that walk by themselves: at random, after others, away from them (spec 5.4).

They all move passively first, and then on purpose; both share one cooldown.
"""

from __future__ import annotations

__all__ = [
    "alternate",
    "chase",
    "chase_in_sight",
    "doubled",
    "nearest",
    "random_step",
    "sometimes_random",
    "targets_of",
    "wander",
]

from typing import TYPE_CHECKING

from flagfall.tasks.vgdl.movement import active, passive
from flagfall.tasks.vgdl.updates import DIRECTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.tasks.vgdl.play import Play
    from flagfall.tasks.vgdl.sprites import Kind, Sprite, Update


def random_step(play: Play, sprite: Sprite, repeat: int) -> tuple[float, float]:
    """The last random direction again, `repeat` times over; then a new one (one draw)."""
    if sprite.repeats < repeat:
        sprite.repeats += 1
        return sprite.aim_x, sprite.aim_y
    sprite.repeats = 0
    sprite.aim_x, sprite.aim_y = aim = DIRECTIONS[play.random.next_int(4)]
    return aim


def wander(kind: Kind) -> Update:
    """`RandomNPC`."""
    repeat = kind.parameters["cons"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            dx, dy = random_step(play, sprite, repeat)
            active(play, sprite, dx, dy, sprite.speed)

    return update


def distance(play: Play, sprite: Sprite, x: int, y: int, other: Sprite) -> float:
    """From a corner (x, y) to another sprite's, in pixels: along the axes, or straight in continuous physics."""
    dx = x - other.x
    dy = y - other.y
    if sprite.kind.continuous:
        length: float = (dx * dx + dy * dy) ** 0.5
        return length
    return abs(dx) + abs(dy)


def targets_of(play: Play, sprite: Sprite, wanted: int) -> list[Sprite]:
    """The nearest sprites of a type, or of its subtypes where it has none itself; all that are equally near."""
    groups = play.groups
    candidates: Sequence[Sprite] = groups[wanted]
    if not candidates:
        candidates = [other for subtype in play.game.kinds[wanted].subtypes for other in groups[subtype]]
    return nearest(play, sprite, candidates)


def nearest(play: Play, sprite: Sprite, candidates: Sequence[Sprite]) -> list[Sprite]:
    """Those that share the smallest distance, in order."""
    best = float("inf")
    chosen: list[Sprite] = []
    for other in candidates:
        far = distance(play, sprite, sprite.x, sprite.y, other)
        if far < best:
            best = far
            chosen = [other]
        elif far == best:
            chosen.append(other)
    return chosen


def steps_towards(
    play: Play, sprite: Sprite, target: Sprite, *, away: bool = False
) -> list[tuple[float, float]]:
    """The directions in which one pixel brings it nearer to the target (or farther away)."""
    x, y = sprite.x, sprite.y
    here = distance(play, sprite, x, y, target)
    if away:
        return [way for way in DIRECTIONS if distance(play, sprite, x + way[0], y + way[1], target) > here]
    return [way for way in DIRECTIONS if distance(play, sprite, x + way[0], y + way[1], target) < here]


def chase(kind: Kind) -> Update:
    """`Chaser` and `Fleeing`: one of the steps that lead nearer or away (one draw), else a random one."""
    wanted = kind.parameters["stype"]
    farthest = kind.parameters["maxDistance"]
    away = kind.parameters["fleeing"]
    repeat = kind.parameters["cons"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            steps: list[tuple[float, float]] = []
            for target in targets_of(play, sprite, wanted):
                if farthest == -1 or distance(play, sprite, sprite.x, sprite.y, target) <= farthest:
                    steps += steps_towards(play, sprite, target, away=away)
            if steps:
                dx, dy = steps[play.random.next_int(len(steps))]
            else:
                dx, dy = random_step(play, sprite, repeat)
            active(play, sprite, dx, dy, sprite.speed)

    return update


def in_sight(sprite: Sprite, other: Sprite) -> bool:
    """Whether another is straight ahead in the last random direction."""
    aim_x, aim_y = sprite.aim_x, sprite.aim_y
    if aim_y:
        return other.x == sprite.x and (other.y - sprite.y) * aim_y >= 0
    if aim_x:
        return other.y == sprite.y and (other.x - sprite.x) * aim_x >= 0
    return False


def chase_in_sight(kind: Kind) -> Update:
    """`LOSChaser`: a chaser that sees only straight ahead, and gives up at the first target it does not see."""
    wanted = kind.parameters["stype"]
    farthest = kind.parameters["maxDistance"]
    away = kind.parameters["fleeing"]
    repeat = kind.parameters["cons"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            steps: list[tuple[float, float]] = []
            for target in targets_of(play, sprite, wanted):
                if farthest != -1 and distance(play, sprite, sprite.x, sprite.y, target) > farthest:
                    continue
                if not in_sight(sprite, target):
                    break
                steps += steps_towards(play, sprite, target, away=away)
            if steps:
                dx, dy = steps[play.random.next_int(len(steps))]
            else:
                dx, dy = random_step(play, sprite, repeat)
            active(play, sprite, dx, dy, sprite.speed)

    return update


def doubled(play: Play, wanted: Sequence[int]) -> list[Sprite]:
    """What the `AlternateChaser` family may be after: each sprite twice, as in the original's walk over types.

    The original picks one of several types by an unseeded generator; the first that has sprites stands for
    it here, so that a play stays repeatable.
    """
    groups = play.groups
    for type_id in wanted:
        subtypes = play.game.kinds[type_id].subtypes
        candidates = groups[type_id] + [other for subtype in subtypes for other in groups[subtype]]
        if candidates:
            return candidates
    return []


def alternate(kind: Kind) -> Update:
    """`AlternateChaser`: meant to flee too, and never does (spec 5.4)."""
    wanted: tuple[int, ...] = kind.parameters["stype1"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            steps: list[tuple[float, float]] = []
            for target in nearest(play, sprite, doubled(play, wanted)):
                steps += steps_towards(play, sprite, target)
            ways = steps or DIRECTIONS
            dx, dy = ways[play.random.next_int(len(ways))]
            active(play, sprite, dx, dy, sprite.speed)

    return update


def sometimes_random(kind: Kind, otherwise: Update) -> Update:
    """`RandomAltChaser`, `RandomPathAltChaser`: with chance `epsilon` a random step, else as their base."""
    epsilon = kind.parameters["epsilon"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            if play.random.next_double() < epsilon:
                passive(play, sprite)
                dx, dy = DIRECTIONS[play.random.next_int(4)]
                active(play, sprite, dx, dy, sprite.speed)
            else:
                otherwise(play, (sprite,))

    return update
