"""Behaviour of sprites that move by themselves: at random, towards others, away from them.

They all move passively first, and then actively; both share one cooldown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from flagfall.tasks.vgdl.definition import DIRECTIONS
from flagfall.tasks.vgdl.engine.behaviour import UPDATES
from flagfall.tasks.vgdl.engine.physics import active, passive, stride
from flagfall.tasks.vgdl.engine.state.game import LARGE_GROUP
from flagfall.tasks.vgdl.engine.state.play import Play, Update
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind

Direction: TypeAlias = tuple[float, float]

_STEPS: Final = tuple([(int(dx), int(dy)) for dx, dy in DIRECTIONS])
"""The base directions in whole numbers, which are faster where positions are computed."""


def random_step(play: Play, sprite: Sprite, repeat: int) -> Direction:
    """Return the last random direction, for `repeat` times; then a new one, by one draw."""
    if sprite.repeats < repeat:
        sprite.repeats += 1
        return sprite.last_direction_x, sprite.last_direction_y
    sprite.repeats = 0
    direction = DIRECTIONS[play.random.next_int(4)]
    sprite.last_direction_x, sprite.last_direction_y = direction
    return direction


@UPDATES.maker("wanderer")
def _make_wanderer(kind: SpriteKind) -> Update:
    """`RandomNPC`: random steps."""
    repeat = kind.parameters["cons"]
    moves_unrested = _can_move_unrested(kind)

    if repeat == 0 and _strides(kind):
        return _wander_freely

    def wander(play: Play, sprites: Sequence[Sprite]) -> None:
        tick = play.tick
        for sprite in sprites:
            if kind.drifts:
                passive(play, sprite)
            if sprite.repeats < repeat:  # as `random_step`, without a call
                sprite.repeats += 1
            else:
                sprite.repeats = 0
                sprite.last_direction_x, sprite.last_direction_y = DIRECTIONS[play.random.next_int(4)]
            if moves_unrested or sprite.cooldown <= tick - sprite.moved_at:
                active(play, sprite, sprite.last_direction_x, sprite.last_direction_y, sprite.speed)

    return wander


def _can_move_unrested(kind: SpriteKind) -> bool:
    """Return whether an active movement can have an effect on a sprite that has not rested enough."""
    return kind.turns_first or kind.continuous


def _wander_freely(play: Play, sprites: Sequence[Sprite]) -> None:
    """Let sprites take random steps by grid physics, with a draw in every tick that is used in few."""
    take = play.random.take
    rested = play.tick - sprites[0].cooldown
    skipped = 0
    for sprite in sprites:
        if sprite.moved_at > rested:
            skipped += 1  # nothing will read its direction
        else:
            way = take(skipped + 1) >> 46
            skipped = 0
            sprite.last_direction_x, sprite.last_direction_y = DIRECTIONS[way]
            dx, dy = _STEPS[way]
            stride(play, sprite, dx, dy)
    if skipped:
        take(skipped)


def _strides(kind: SpriteKind) -> bool:
    """Return whether `stride` is all that a movement of these sprites comes to."""
    return not (kind.drifts or kind.stationary or _can_move_unrested(kind))


def _distance(sprite: Sprite, x: float, y: float, other: Sprite) -> float:
    """Return a distance between corners in pixels: along the axes, or straight by continuous physics."""
    dx = x - other.x
    dy = y - other.y
    if sprite.kind.continuous:
        length: float = (dx * dx + dy * dy) ** 0.5
        return length
    return abs(dx) + abs(dy)


def targets_of(play: Play, wanted: int) -> Sequence[Sprite]:
    """Return the sprites of a type, or of its subtypes if it has none itself."""
    groups = play.groups
    return groups[wanted] or [
        other for subtype in play.game.kinds[wanted].subtypes for other in groups[subtype]
    ]


def nearest(play: Play, sprite: Sprite, candidates: Sequence[Sprite]) -> list[Sprite]:
    """Return the candidates at the smallest distance, in order."""
    if len(candidates) == 1:
        return [*candidates]
    if len(candidates) > LARGE_GROUP:
        play.work.charge(len(candidates))
    best = float("inf")
    chosen: list[Sprite] = []
    for other in candidates:
        far = _distance(sprite, sprite.x, sprite.y, other)
        if far < best:
            best = far
            chosen = [other]
        elif far == best:
            chosen.append(other)
    return chosen


def _nearest_in_sight(play: Play, sprite: Sprite, candidates: Sequence[Sprite]) -> list[Sprite]:
    """Return the nearest of the candidates that are straight ahead, in order."""
    return nearest(play, sprite, [other for other in candidates if _in_sight(sprite, other)])


def _in_sight(sprite: Sprite, other: Sprite) -> bool:
    """Return whether a sprite is straight ahead in the last random direction; none is if there was none."""
    ahead_x, ahead_y = sprite.last_direction_x, sprite.last_direction_y
    if ahead_y:
        return other.x == sprite.x and (other.y - sprite.y) * ahead_y >= 0
    if ahead_x:
        return other.y == sprite.y and (other.x - sprite.x) * ahead_x >= 0
    return False


def _steps_towards(sprite: Sprite, target: Sprite, *, away: bool = False) -> Sequence[Direction]:
    """Return the directions in which one pixel brings a sprite nearer to its target."""
    x, y = sprite.x, sprite.y
    if not sprite.kind.continuous:
        dx = target.x - x
        dy = target.y - y
        return (_AWAY if away else _TOWARDS)[(dx > 0) - (dx < 0)][(dy > 0) - (dy < 0)]
    here = _distance(sprite, x, y, target)
    if away:
        return [way for way in DIRECTIONS if _distance(sprite, x + way[0], y + way[1], target) > here]
    return [way for way in DIRECTIONS if _distance(sprite, x + way[0], y + way[1], target) < here]


def _steps_by_signs(*, away: bool) -> list[list[tuple[Direction, ...]]]:
    """Return `steps_towards` by the signs of the distance along x and y (index -1 is the last entry)."""
    return [
        [
            tuple([(x, y) for x, y in DIRECTIONS if (dx * x + dy * y <= 0 if away else dx * x + dy * y > 0)])
            for dy in (0, 1, -1)
        ]
        for dx in (0, 1, -1)
    ]


_TOWARDS: Final = _steps_by_signs(away=False)
_AWAY: Final = _steps_by_signs(away=True)

_TOWARDS_BY_BIT: Final = [
    [tuple([(int(x), int(y)) for x, y in steps or ((0.0, 0.0),)]) * 2 for steps in row] for row in _TOWARDS
]
"""As `_TOWARDS`, where the highest bit of a draw chooses: twice the one step, or both steps twice."""


@UPDATES.maker("chaser")
def _make_all_seeing_chaser(kind: SpriteKind) -> Update:
    """`Chaser` and `Fleeing`: a step that leads nearer or away, by one draw; or else a random one."""
    return _make_chaser(kind, nearest)


@UPDATES.maker("sighted_chaser")
def _make_sighted_chaser(kind: SpriteKind) -> Update:
    """`LOSChaser`: a chaser that sees only what is straight ahead in its last random direction."""
    return _make_chaser(kind, _nearest_in_sight)


def _make_chaser(kind: SpriteKind, find: Callable[[Play, Sprite, Sequence[Sprite]], list[Sprite]]) -> Update:
    """Return the update of a chaser."""
    wanted = kind.parameters["stype"]
    farthest = kind.parameters["maxDistance"]
    away = kind.parameters["fleeing"]
    repeat = kind.parameters["cons"]
    moves_unrested = _can_move_unrested(kind)
    sees_all = find is nearest and farthest == -1
    approaches = sees_all and not away and _strides(kind)

    def steps_of(play: Play, sprite: Sprite, candidates: Sequence[Sprite]) -> Sequence[Direction]:
        targets = find(play, sprite, candidates)
        if farthest != -1:
            x, y = sprite.x, sprite.y
            targets = [target for target in targets if _distance(sprite, x, y, target) <= farthest]
        return [way for target in targets for way in _steps_towards(sprite, target, away=away)]

    def chase(play: Play, sprites: Sequence[Sprite]) -> None:
        candidates = targets_of(play, wanted)  # constant: no sprite is born or removed while chasers move
        if approaches and len(candidates) == 1:
            _approach(play, sprites, candidates[0], repeat)
            return
        tick = play.tick
        draw = play.random.next_int
        only = candidates[0] if sees_all and len(candidates) == 1 else None
        for sprite in sprites:
            if kind.drifts:
                passive(play, sprite)
            if only is not None:
                steps = _steps_towards(sprite, only, away=away)
            else:
                steps = steps_of(play, sprite, candidates)
            if steps:
                dx, dy = steps[draw(len(steps))]
            else:
                dx, dy = random_step(play, sprite, repeat)
            if moves_unrested or sprite.cooldown <= tick - sprite.moved_at:
                active(play, sprite, dx, dy, sprite.speed)

    return chase


def _approach(play: Play, sprites: Sequence[Sprite], target: Sprite, repeat: int) -> None:
    """Let chasers by grid physics come nearer to the only target; most of them rest, and only draw.

    Args:
        target: not one of them, unless it is alone.
    """
    take = play.random.take
    target_x, target_y = target.x, target.y
    rested = play.tick - sprites[0].cooldown
    skipped = 0
    for sprite in sprites:
        if sprite.moved_at > rested and sprite.x != target_x:
            skipped += 1
            continue
        x = sprite.x
        y = sprite.y
        if x == target_x and y == target_y:
            if skipped:
                take(skipped)
                skipped = 0
            dx, dy = random_step(play, sprite, repeat)
            if sprite.moved_at <= rested:
                active(play, sprite, dx, dy, sprite.speed)
        elif sprite.moved_at > rested:
            skipped += 1
        else:
            ways = _TOWARDS_BY_BIT[(target_x > x) - (target_x < x)][(target_y > y) - (target_y < y)]
            across, down = ways[take(skipped + 1) >> 47]
            skipped = 0
            stride(play, sprite, across, down)
    if skipped:
        take(skipped)


def candidates_twice(play: Play, wanted: Sequence[int]) -> list[Sprite]:
    """Return the candidates of the `AlternateChaser` family: each sprite twice, as the original counts types.

    The original picks one of several types by a generator without a seed; here the first type that has
    sprites is taken, so that a play can be repeated.
    """
    groups = play.groups
    for type_id in wanted:
        subtypes = play.game.kinds[type_id].subtypes
        candidates = groups[type_id] + [other for subtype in subtypes for other in groups[subtype]]
        if candidates:
            return candidates
    return []


@UPDATES.maker("alternate_chaser")
def _make_alternate_chaser(kind: SpriteKind) -> Update:
    """`AlternateChaser`: in the original it is meant to flee too, and never does."""
    wanted: tuple[int, ...] = kind.parameters["stype1"]

    def chase(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            passive(play, sprite)
            targets = nearest(play, sprite, candidates_twice(play, wanted))
            ways = [way for target in targets for way in _steps_towards(sprite, target)] or DIRECTIONS
            dx, dy = ways[play.random.next_int(len(ways))]
            active(play, sprite, dx, dy, sprite.speed)

    return chase


@UPDATES.maker("random_alternate_chaser")
def _make_random_alternate_chaser(kind: SpriteKind) -> Update:
    """`RandomAltChaser`: an `AlternateChaser` with random steps in between."""
    return make_epsilon_random(kind, _make_alternate_chaser(kind))


def make_epsilon_random(kind: SpriteKind, otherwise: Update) -> Update:
    """Return an update that makes a random step with probability `epsilon`."""
    epsilon = kind.parameters["epsilon"]

    def step(play: Play, sprites: Sequence[Sprite]) -> None:
        for sprite in sprites:
            if play.random.next_double() < epsilon:
                passive(play, sprite)
                dx, dy = DIRECTIONS[play.random.next_int(4)]
                active(play, sprite, dx, dy, sprite.speed)
            else:
                otherwise(play, (sprite,))

    return step


def _first_step(play: Play, sprite: Sprite, x: int, y: int) -> tuple[float, float] | None:
    """Return the first direction of a shortest path; `None` if there is none, or the sprite is there.

    Args:
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
