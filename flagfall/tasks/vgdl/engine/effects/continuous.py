"""Effects for continuous physics: stopping at walls, bouncing off, speeds."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, cos, fmod, inf, pi, radians, sin, sqrt
from typing import Final, TypeAlias

from flagfall.tasks.vgdl.engine.behaviour import effect
from flagfall.tasks.vgdl.engine.effects.killing import put_flush
from flagfall.tasks.vgdl.engine.physics import place
from flagfall.tasks.vgdl.engine.state.game import EffectLine
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite

Box: TypeAlias = tuple[int, int, int, int]
"""x, y, width, height."""

_STEEPEST_DEGREES: Final = 60
_UPRIGHT: Final = (4.4, 5.0)
"""A lander is upright between these angles, in radians."""

_WATER_GRAVITY: Final = 0.2


def _box_of(sprite: Sprite) -> Box:
    """Return the rectangle of a sprite."""
    return sprite.x, sprite.y, sprite.w, sprite.h


def _centre(box: Box) -> tuple[float, float]:
    """Return the centre of a rectangle."""
    return box[0] + box[2] / 2, box[1] + box[3] / 2


def _ratio(distance: float, speed: float) -> float:
    """Return the time for a distance, as the original divides: infinite at speed 0, and NaN for 0 by 0."""
    if speed == 0:
        return inf if distance else float("nan")
    return abs(distance / speed)


def _slow_down(sprite: Sprite, x: float, y: float) -> None:
    """Keep only a part (x, y) of the velocity; its length is the gravity at the least."""
    length = sqrt(x * x + y * y)
    sprite.ox, sprite.oy = (x / length, y / length) if length else (x, y)
    sprite.speed = max(length * sprite.speed, sprite.gravity)


@effect("wallStop")
def _wall_stop(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Stop the first sprite flush with the second, and let it slide along."""
    put_flush(play, first, second)
    (x, y), (other_x, other_y) = _centre(_box_of(first)), _centre(_box_of(second))
    if abs(x - other_x) > abs(y - other_y):
        _slow_down(first, 0, first.oy)
    else:
        _slow_down(first, first.ox, 0)
    return line.score


def _obstacle_of(first: Sprite, seconds: Sequence[Sprite]) -> tuple[int, Box]:
    """Return the number of obstacles and a rectangle: two in a line are one wall; of others, the nearest."""
    if len(seconds) == 2:  # noqa: PLR2004 - see above
        (x, y, w, h), (other_x, other_y, other_w, other_h) = map(_box_of, seconds)
        if x + w / 2 == other_x + other_w / 2:
            return 2, (x, min(y, other_y), w, h * 2)
        if y + h / 2 == other_y + other_h / 2:
            return 2, (min(x, other_x), y, w * 2, h)
    from_x, from_y = _centre((first.last_x, first.last_y, first.w, first.h))

    def distance(second: Sprite) -> float:
        other_x, other_y = _centre((second.last_x, second.last_y, second.w, second.h))
        return sqrt((from_x - other_x) ** 2 + (from_y - other_y) ** 2)

    return 1, _box_of(min(seconds, key=distance))


def _sides_of(first: Sprite, box: Box) -> tuple[bool, bool]:
    """Return whether a sprite hits a rectangle's left or right, and whether it hits its top or bottom."""
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
    time_x, time_y = _ratio(far_x, vx), _ratio(far_y, vy)
    return time_x < time_y, time_y < time_x


def _step_all_back(play: Play, first: Sprite, seconds: Sequence[Sprite]) -> None:
    """Move all sprites back to their positions at the start of the cycle."""
    for sprite in (first, *seconds):
        place(play, sprite, sprite.last_x, sprite.last_y)


@effect("wallBounce")
def _wall_bounce(line: EffectLine, play: Play, first: Sprite, seconds: Sequence[Sprite]) -> int:
    """Bounce the first sprite off all that it touches, once."""
    counted, box = _obstacle_of(first, seconds)
    sideways, upright = _sides_of(first, box)
    if upright or not sideways:
        first.oy = -first.oy
    if not upright:
        first.ox = -first.ox
    _step_all_back(play, first, seconds)
    return line.score * counted


@effect("wallReverse")
def _wall_reverse(line: EffectLine, play: Play, first: Sprite, seconds: Sequence[Sprite]) -> int:
    """Let the first sprite walk back from what it touches, or on along it."""
    counted, box = _obstacle_of(first, seconds)
    upright = _sides_of(first, box)[1]
    _slow_down(first, first.ox if upright else -first.ox, 0)
    _step_all_back(play, first, seconds)
    return line.score * counted


@effect("bounceDirection")
def _bounce_direction(line: EffectLine, _play: Play, first: Sprite, second: Sprite) -> int:
    """Bounce the first sprite off a racket: the farther from its centre, the steeper."""
    steepest = radians(line.parameters.get("maxBounceAngleDeg", _STEEPEST_DEGREES))
    x, y, w, h = _box_of(second)
    far_x = min(abs(first.last_x - (x + w)), abs(first.last_x + first.w - x))
    far_y = min(abs(first.last_y - (y + h)), abs(first.last_y + first.h - y))
    time_x, time_y = _ratio(far_x, first.ox * first.speed), _ratio(far_y, first.oy * first.speed)
    (here_x, here_y), (there_x, there_y) = _centre(_box_of(first)), _centre((x, y, w, h))
    if time_y < time_x:
        angle = steepest * _clamp((here_x - there_x) / (0.5 * w))
        first.ox = sin(angle)
        first.oy = -cos(angle) * (1 if here_y < there_y else -1)
    elif time_x < time_y:
        angle = steepest * _clamp((there_y - here_y) / (0.5 * h))
        first.ox = cos(angle) * (1 if here_x > there_x else -1)
        first.oy = -sin(angle)
    else:
        first.ox = -first.ox
        return line.score
    length = sqrt(first.ox * first.ox + first.oy * first.oy)
    first.ox /= length
    first.oy /= length
    return line.score


def _clamp(value: float) -> float:
    """Return a number limited to [-1, 1]."""
    return copysign(min(abs(value), 1), value)


@effect("halfSpeed")
def _half_speed(line: EffectLine, _play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Halve the speed of the first sprite."""
    first.speed *= 0.5
    return line.score


@effect("waterPhysics")
def _water_physics(line: EffectLine, _play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Reduce the gravity of the first sprite for good."""
    first.gravity = _WATER_GRAVITY
    return line.score


def _relative_speed(first: Sprite, second: Sprite) -> float:
    """Return the speed of the sprite that can move; for two that can, the original compares orientations."""
    if first.kind.parameters["is_static"]:
        return second.speed
    if second.kind.parameters["is_static"]:
        return first.speed
    return sqrt((first.ox - second.ox) ** 2 + (first.oy - second.oy) ** 2)


@effect("killIfSlow")
def _kill_if_slow(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Kill the first sprite if the speed is below `limspeed`; the score is added in any case."""
    if _relative_speed(first, second) < line.parameters["limspeed"]:
        play.kill(first)
    return line.score


@effect("killIfFast")
def _kill_if_fast(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Kill the first sprite if the speed is above `limspeed`; the score is added in any case."""
    if _relative_speed(first, second) > line.parameters["limspeed"]:
        play.kill(first)
    return line.score


@effect("killIfNotUpright")
def _kill_if_not_upright(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Kill the first sprite unless it points upwards."""
    least, most = _UPRIGHT
    if not least < fmod(first.rotation + 2 * pi, 2 * pi) < most:
        play.kill(first)
    return line.score
