"""Effects that continuous physics is made for: stopping at walls, bouncing off, speeds."""

from __future__ import annotations

__all__ = ["BATCH_EFFECTS", "CONTINUOUS_EFFECTS"]

from collections.abc import Callable, Mapping, Sequence
from math import copysign, cos, fmod, inf, pi, radians, sin, sqrt
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from flagfall.tasks.vgdl.engine.effects.position import put_flush
from flagfall.tasks.vgdl.engine.physics.movement import place

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.effects.registry import Maker
    from flagfall.tasks.vgdl.engine.game import Game
    from flagfall.tasks.vgdl.engine.rules.collisions import Effect
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite

Box: TypeAlias = tuple[int, int, int, int]
"""x, y, width, height."""

_STEEPEST_DEGREES: Final = 60
_UPRIGHT: Final = (4.4, 5.0)
"""Between these angles a lander stands upright."""

_WATER_GRAVITY: Final = 0.2


def box_of(sprite: Sprite) -> Box:
    """A sprite's rectangle."""
    return sprite.x, sprite.y, sprite.w, sprite.h


def centre(box: Box) -> tuple[float, float]:
    """The middle of a rectangle."""
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def ratio(distance: float, speed: float) -> float:
    """How long it takes; as the original divides: by zero it takes for ever, and 0 by 0 is no number."""
    if speed == 0:
        return inf if distance else float("nan")
    return abs(distance / speed)


def slow_down(sprite: Sprite, x: float, y: float) -> None:
    """Keep only a part (x, y) of the orientation, and of the speed as much; gravity is left at least."""
    length = sqrt(x * x + y * y)
    sprite.ox, sprite.oy = (x / length, y / length) if length else (x, y)
    sprite.speed = max(length * sprite.speed, sprite.gravity)


def wall_stop(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first stops flush with the second, and slides along it."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        put_flush(play, first, second)
        (x, y), (other_x, other_y) = centre(box_of(first)), centre(box_of(second))
        if abs(x - other_x) > abs(y - other_y):
            slow_down(first, 0, first.oy)
        else:
            slow_down(first, first.ox, 0)
        return score

    return run


def obstacle_of(first: Sprite, seconds: Sequence[Sprite]) -> tuple[int, Box]:
    """How many sprites are run into, and where: two in a line are one wall; of others it is the nearest."""
    if len(seconds) == 2:  # noqa: PLR2004 - see above
        (x, y, w, h), (other_x, other_y, other_w, other_h) = map(box_of, seconds)
        if x + w / 2 == other_x + other_w / 2:
            return 2, (x, min(y, other_y), w, h * 2)
        if y + h / 2 == other_y + other_h / 2:
            return 2, (min(x, other_x), y, w * 2, h)
    from_x, from_y = centre((first.last_x, first.last_y, first.w, first.h))

    def distance(second: Sprite) -> float:
        other_x, other_y = centre((second.last_x, second.last_y, second.w, second.h))
        return sqrt((from_x - other_x) ** 2 + (from_y - other_y) ** 2)

    return 1, box_of(min(seconds, key=distance))


def sides_of(first: Sprite, box: Box) -> tuple[bool, bool]:
    """Whether a sprite runs into a rectangle's left or right, and into its top or bottom."""
    x, y, w, h = box
    inner_width = min(first.x + first.w, x + w) - max(first.x, x)
    inner_height = min(first.y + first.h, y + h) - max(first.y, y)
    sideways = first.h == inner_height
    upright = first.w == inner_width
    if sideways or upright:
        return sideways, upright
    vx, vy = first.ox * first.speed, first.oy * first.speed
    far_x = (
        abs(first.last_x - x) if vx == 0 else (first.last_x + first.w - x if vx > 0 else x + w - first.last_x)
    )
    far_y = (
        abs(first.last_y - y) if vy == 0 else (first.last_y + first.h - y if vy > 0 else first.last_y - y - h)
    )
    time_x, time_y = ratio(far_x, vx), ratio(far_y, vy)
    return time_x < time_y, time_y < time_x


def step_all_back(play: Play, first: Sprite, seconds: Sequence[Sprite]) -> None:
    """All to where they were when the cycle began."""
    for sprite in (first, *seconds):
        place(play, sprite, sprite.last_x, sprite.last_y)


def wall_bounce(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first bounces off all that it touches, once."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, seconds: Sequence[Sprite]) -> int:
        counted, box = obstacle_of(first, seconds)
        sideways, upright = sides_of(first, box)
        if upright or not sideways:
            first.oy = -first.oy
        if not upright:
            first.ox = -first.ox
        step_all_back(play, first, seconds)
        return score * counted

    return run


def wall_reverse(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first walks back from what it touches, or on along it."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, seconds: Sequence[Sprite]) -> int:
        counted, box = obstacle_of(first, seconds)
        upright = sides_of(first, box)[1]
        slow_down(first, first.ox if upright else -first.ox, 0)
        step_all_back(play, first, seconds)
        return score * counted

    return run


def bounce_direction(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first bounces off a racket: the farther from its middle, the steeper."""
    del game
    score: int = parameters["scoreChange"]
    steepest = radians(parameters.get("maxBounceAngleDeg", _STEEPEST_DEGREES))

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        del play
        x, y, w, h = box_of(second)
        far_x = min(abs(first.last_x - (x + w)), abs(first.last_x + first.w - x))
        far_y = min(abs(first.last_y - (y + h)), abs(first.last_y + first.h - y))
        time_x, time_y = ratio(far_x, first.ox * first.speed), ratio(far_y, first.oy * first.speed)
        (here_x, here_y), (there_x, there_y) = centre(box_of(first)), centre((x, y, w, h))
        if time_y < time_x:
            angle = steepest * within_one((here_x - there_x) / (0.5 * w))
            first.ox = sin(angle)
            first.oy = -cos(angle) * (1 if here_y < there_y else -1)
        elif time_x < time_y:
            angle = steepest * within_one((there_y - here_y) / (0.5 * h))
            first.ox = cos(angle) * (1 if here_x > there_x else -1)
            first.oy = -sin(angle)
        else:
            first.ox = -first.ox
            return score
        length = sqrt(first.ox * first.ox + first.oy * first.oy)
        first.ox /= length
        first.oy /= length
        return score

    return run


def within_one(value: float) -> float:
    """A number cut to [-1, 1]."""
    return copysign(min(abs(value), 1), value)


def half_speed(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first slows down to half."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del play, second
        first.speed *= 0.5
        return score

    return run


def water_physics(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first weighs less from now on."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del play, second
        first.gravity = _WATER_GRAVITY
        return score

    return run


def relative_speed(first: Sprite, second: Sprite) -> float:
    """The speed of the one that can move; for two that can, the original compares orientations."""
    if first.kind.parameters["is_static"]:
        return second.speed
    if second.kind.parameters["is_static"]:
        return first.speed
    return sqrt((first.ox - second.ox) ** 2 + (first.oy - second.oy) ** 2)


def kill_by_speed(deadly: Callable[[float, float], bool]) -> Maker:
    """The first dies of being too fast or too slow."""

    def make(parameters: Mapping[str, Any], game: Game) -> Effect:
        del game
        score: int = parameters["scoreChange"]
        limit: float = parameters["limspeed"]

        def run(play: Play, first: Sprite, second: Sprite) -> int:
            if deadly(relative_speed(first, second), limit):
                play.kill(first)
            return score

        return run

    return make


def kill_if_not_upright(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first dies unless it is turned upwards."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        least, most = _UPRIGHT
        if not least < fmod(first.rotation + 2 * pi, 2 * pi) < most:
            play.kill(first)
        return score

    return run


BATCH_EFFECTS: Final = {"wallBounce", "wallReverse"}
"""They take all second sprites at once, a sequence."""

CONTINUOUS_EFFECTS: Final[Mapping[str, Maker]] = {
    "wallStop": wall_stop,
    "wallBounce": wall_bounce,
    "wallReverse": wall_reverse,
    "bounceDirection": bounce_direction,
    "halfSpeed": half_speed,
    "waterPhysics": water_physics,
    "killIfSlow": kill_by_speed(lambda speed, limit: speed < limit),
    "killIfFast": kill_by_speed(lambda speed, limit: speed > limit),
    "killIfNotUpright": kill_if_not_upright,
}
