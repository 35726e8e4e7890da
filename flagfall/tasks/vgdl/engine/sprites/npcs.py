"""Sprites that walk by themselves: at random, after others, away from them.

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

from typing import TYPE_CHECKING, Final, TypeAlias

from flagfall.tasks.vgdl.engine.physics.movement import active, passive
from flagfall.tasks.vgdl.engine.sprites.passive import DIRECTIONS
from flagfall.tasks.vgdl.engine.state.work_limit import CROWDED, spend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Kind, Sprite, Update

Direction: TypeAlias = tuple[float, float]


def random_step(play: Play, sprite: Sprite, repeat: int) -> Direction:
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
    hasty = is_hasty(kind)

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        tick = play.tick
        for sprite in sprites:
            if kind.drifts:
                passive(play, sprite)
            if sprite.repeats < repeat:
                sprite.repeats += 1
            else:
                sprite.repeats = 0
                sprite.aim_x, sprite.aim_y = DIRECTIONS[play.random.next_int(4)]
            if hasty or sprite.cooldown <= tick - sprite.moved_at:
                active(play, sprite, sprite.aim_x, sprite.aim_y, sprite.speed)

    return update


def is_hasty(kind: Kind) -> bool:
    """Whether an active movement may do something though the sprite has not rested enough."""
    return kind.turns_first or kind.continuous


def distance(sprite: Sprite, x: int, y: int, other: Sprite) -> float:
    """From a corner (x, y) to another sprite's, in pixels: along the axes; straight in continuous physics."""
    dx = x - other.x
    dy = y - other.y
    if sprite.kind.continuous:
        length: float = (dx * dx + dy * dy) ** 0.5
        return length
    return abs(dx) + abs(dy)


def nearest_in_sight(play: Play, sprite: Sprite, candidates: Sequence[Sprite]) -> list[Sprite]:
    """Those straight ahead that share the smallest distance, in order."""
    return nearest(play, sprite, [other for other in candidates if in_sight(sprite, other)])


def targets_of(play: Play, wanted: int) -> Sequence[Sprite]:
    """The sprites of a type, or of its subtypes where it has none itself."""
    groups = play.groups
    return groups[wanted] or [
        other for subtype in play.game.kinds[wanted].subtypes for other in groups[subtype]
    ]


def in_sight(sprite: Sprite, other: Sprite) -> bool:
    """Whether another is straight ahead in the last random direction; nothing is where there was none."""
    aim_x, aim_y = sprite.aim_x, sprite.aim_y
    if aim_y:
        return other.x == sprite.x and (other.y - sprite.y) * aim_y >= 0
    if aim_x:
        return other.y == sprite.y and (other.x - sprite.x) * aim_x >= 0
    return False


def nearest(play: Play, sprite: Sprite, candidates: Sequence[Sprite]) -> list[Sprite]:
    """Those that share the smallest distance, in order."""
    if len(candidates) == 1:
        return [*candidates]
    if len(candidates) > CROWDED:
        spend(play, len(candidates))
    best = float("inf")
    chosen: list[Sprite] = []
    for other in candidates:
        far = distance(sprite, sprite.x, sprite.y, other)
        if far < best:
            best = far
            chosen = [other]
        elif far == best:
            chosen.append(other)
    return chosen


def steps_towards(sprite: Sprite, target: Sprite, *, away: bool = False) -> Sequence[Direction]:
    """The directions in which one pixel brings it nearer to the target (or farther away)."""
    x, y = sprite.x, sprite.y
    if not sprite.kind.continuous:
        dx = target.x - x
        dy = target.y - y
        return (_AWAY if away else _TOWARDS)[(dx > 0) - (dx < 0)][(dy > 0) - (dy < 0)]
    here = distance(sprite, x, y, target)
    if away:
        return [way for way in DIRECTIONS if distance(sprite, x + way[0], y + way[1], target) > here]
    return [way for way in DIRECTIONS if distance(sprite, x + way[0], y + way[1], target) < here]


def _steps_by_signs(*, away: bool) -> list[list[tuple[Direction, ...]]]:
    """By the signs of the way to the target, along x and then y (a negative index counts from the end)."""
    return [
        [
            tuple([(x, y) for x, y in DIRECTIONS if (dx * x + dy * y <= 0 if away else dx * x + dy * y > 0)])
            for dy in (0, 1, -1)
        ]
        for dx in (0, 1, -1)
    ]


_TOWARDS: Final = _steps_by_signs(away=False)
_AWAY: Final = _steps_by_signs(away=True)


def chase(kind: Kind) -> Update:
    """`Chaser` and `Fleeing`: one of the steps that lead nearer or away (one draw), else a random one."""
    return chasing(kind, nearest)


def chase_in_sight(kind: Kind) -> Update:
    """`LOSChaser`: a chaser that sees only what is straight ahead in its last random direction."""
    return chasing(kind, nearest_in_sight)


def chasing(kind: Kind, find: Callable[[Play, Sprite, Sequence[Sprite]], list[Sprite]]) -> Update:
    """What chasers do, given how they find whom they are after among those who are of the right type."""
    wanted = kind.parameters["stype"]
    farthest = kind.parameters["maxDistance"]
    away = kind.parameters["fleeing"]
    repeat = kind.parameters["cons"]
    hasty = is_hasty(kind)
    sees_all = find is nearest and farthest == -1

    def steps_of(play: Play, sprite: Sprite, candidates: Sequence[Sprite]) -> Sequence[Direction]:
        targets = find(play, sprite, candidates)
        if farthest != -1:
            x, y = sprite.x, sprite.y
            targets = [target for target in targets if distance(sprite, x, y, target) <= farthest]
        return [way for target in targets for way in steps_towards(sprite, target, away=away)]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        tick = play.tick
        draw = play.random.next_int
        candidates = targets_of(play, wanted)  # nobody is born or buried while chasers move
        only = candidates[0] if sees_all and len(candidates) == 1 else None
        for sprite in sprites:
            if kind.drifts:
                passive(play, sprite)
            if only is not None:
                steps = steps_towards(sprite, only, away=away)
            else:
                steps = steps_of(play, sprite, candidates)
            if steps:
                dx, dy = steps[draw(len(steps))]
            else:
                dx, dy = random_step(play, sprite, repeat)
            if hasty or sprite.cooldown <= tick - sprite.moved_at:
                active(play, sprite, dx, dy, sprite.speed)

    return update


def doubled(play: Play, wanted: Sequence[int]) -> list[Sprite]:
    """What the `AlternateChaser` family may be after: each sprite twice, as the original walks types.

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
    """`AlternateChaser`: meant to flee too, and never does."""
    wanted: tuple[int, ...] = kind.parameters["stype1"]

    def update(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            targets = nearest(play, sprite, doubled(play, wanted))
            ways = [way for target in targets for way in steps_towards(sprite, target)] or DIRECTIONS
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
