"""Behaviour of avatars on the grid: the player's action in a tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import atan2, cos, pi, sin, sqrt
from typing import Final

from flagfall.tasks.vgdl.definition import DOWN, LEFT, RIGHT, UP, USE, VECTORS
from flagfall.tasks.vgdl.engine.behaviour import ACTS
from flagfall.tasks.vgdl.engine.physics import MOVED, STILL, active, passive, unit_of_last_move
from flagfall.tasks.vgdl.engine.sprites.passive import jump
from flagfall.tasks.vgdl.engine.state.play import Act, Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind, overlaps

_NO_WAY: Final = (0.0, 0.0)
_NO_WEAPON: Final = (None, None)


@ACTS.plain("walk")
def _walk(play: Play, avatar: Sprite, action: str) -> None:
    """`MovingAvatar` and similar classes: a step in the direction of the action."""
    if avatar.kind.continuous:
        _steer(play, avatar, action)
    elif action in VECTORS:
        dx, dy = VECTORS[action]
        active(play, avatar, dx, dy, avatar.speed)


def _steer(play: Play, avatar: Sprite, action: str) -> int:
    """Move passively by continuous physics, then accelerate in the direction of the action."""
    passive(play, avatar)
    dx, dy = VECTORS.get(action, _NO_WAY)
    return active(play, avatar, dx, dy, avatar.speed)


@ACTS.plain("walk_and_turn")
def walk_and_turn(play: Play, avatar: Sprite, action: str) -> int:
    """`OrientedAvatar`: turns first; a move sets its orientation. Returns `STILL`, `TURNED` or `MOVED`."""
    if avatar.kind.continuous:
        return _steer(play, avatar, action)
    if action not in VECTORS:
        return STILL
    dx, dy = VECTORS[action]
    outcome = active(play, avatar, dx, dy, avatar.speed)
    if outcome == MOVED:
        avatar.ox, avatar.oy = unit_of_last_move(avatar)
    return outcome


@ACTS.plain("keep_going")
def _keep_going(play: Play, avatar: Sprite, action: str) -> None:
    """`OngoingAvatar`: moves by itself; an action turns it."""
    if action in VECTORS and avatar.oriented:
        avatar.ox, avatar.oy = VECTORS[action]
    passive(play, avatar)


@ACTS.plain("fly")
def _fly(play: Play, avatar: Sprite, _action: str) -> None:
    """`MissileAvatar`: moves by itself; actions have no effect."""
    passive(play, avatar)


def _weapons(kind: SpriteKind) -> list[tuple[int, int | None]]:
    """Return each weapon, and the resource that it needs as ammunition, if any."""
    weapons: Sequence[int] = kind.parameters["stype"]
    return list(zip_longest(weapons, kind.parameters["ammo"][: len(weapons)]))


def _make_shoot(kind: SpriteKind, *, by_rotation: bool = False) -> Callable[[Play, Sprite], None]:
    """Return the effect of `USE` for the `ShootAvatar` family: fire the first weapon that has ammunition."""
    weapons = _weapons(kind)

    def shoot(play: Play, avatar: Sprite) -> None:
        for weapon, needed in weapons:
            if needed is None or avatar.resource(needed) > 0:
                _fire(play, avatar, weapon, needed, by_rotation=by_rotation)
                return

    return shoot


def _fire(play: Play, avatar: Sprite, weapon: int, needed: int | None, *, by_rotation: bool = False) -> None:
    """Make a shot one sprite's length ahead, in the orientation of the avatar, for its ammunition."""
    if by_rotation:
        ox, oy = cos(avatar.rotation), sin(avatar.rotation)
    else:
        ox, oy = avatar.ox, avatar.oy
        length = sqrt(ox * ox + oy * oy)
        if length not in {0, 1}:
            ox /= length
            oy /= length
    shot = play.add(weapon, avatar.x + ox * avatar.w, avatar.y + oy * avatar.h)
    if shot is not None:
        if shot.oriented:
            shot.ox = ox
            shot.oy = oy
        play.mark_fired(shot)
        if needed is not None:
            avatar.gain(needed, -1)


@ACTS.maker("walk_and_shoot")
def _make_walk_and_shoot(kind: SpriteKind) -> Act:
    """`ShootAvatar`: fires on `USE` if it stands still."""
    shoot = _make_shoot(kind)

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        outcome = walk_and_turn(play, avatar, action)
        if outcome == STILL and action == USE:
            shoot(play, avatar)

    return take_action


@ACTS.maker("keep_going_and_shoot")
def _make_keep_going_and_shoot(kind: SpriteKind) -> Act:
    """`OngoingShootAvatar`: an `OngoingAvatar` that fires on `USE`."""
    shoot = _make_shoot(kind)

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        _keep_going(play, avatar, action)
        if action == USE:
            shoot(play, avatar)

    return take_action


@ACTS.maker("walk_and_drop")
def _make_walk_and_drop(kind: SpriteKind) -> Act:
    """`FlakAvatar`: moves sideways; its shots start at its own position, in their own orientation."""
    weapon: int | None = kind.parameters["stype"]
    ammo: int | None = kind.parameters["ammo"]
    least: int = kind.parameters["minAmmo"]
    cost: int = kind.parameters["ammoCost"]

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        _walk(play, avatar, action)
        if action != USE:
            return
        if weapon is not None and (ammo is None or avatar.resource(ammo) > (least if least > -1 else 0)):
            shot = play.add(weapon, avatar.x, avatar.y)
            if shot is not None:
                play.mark_fired(shot)
                if ammo is not None:
                    avatar.gain(ammo, -cost)

    return take_action


@ACTS.maker("keep_going_and_wall")
def _make_keep_going_and_wall(kind: SpriteKind) -> Act:
    """`OngoingTurningAvatar`: turns at right angles only, and leaves a sprite at its last position."""
    wall: int | None = kind.parameters["spawnBehind"]

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        dx, dy = VECTORS.get(action, _NO_WAY)
        if (dx or dy) and avatar.oriented and dx * avatar.ox + dy * avatar.oy == 0:
            avatar.ox = dx
            avatar.oy = dy
        passive(play, avatar)
        x, y = avatar.last_x, avatar.last_y
        if not overlaps(avatar, x, y, avatar.w, avatar.h):
            play.add(wall if wall is not None and avatar.is_first else 0, x, y)

    return take_action


@ACTS.maker("shoot_every_way")
def _make_shoot_every_way(kind: SpriteKind) -> Act:
    """`ShootOnlyAvatar`: stands still; each of its actions fires one of its weapons, in order."""
    weapons = dict(zip(kind.actions, _weapons(kind), strict=False))

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        weapon, needed = weapons.get(action, _NO_WEAPON)
        if weapon is not None and (needed is None or avatar.resource(needed) > 0):
            _fire(play, avatar, weapon, needed)

    return take_action


_CAR_SPEED: Final = 5
_BLOCK_PAUSE: Final = 5
"""Ticks between two blocks of a wizard."""

_BLOCK_DISTANCE: Final = 1.2
_UPRIGHT: Final = 0.5


def _drift(play: Play, avatar: Sprite) -> None:
    """Move passively if continuous physics applies."""
    if avatar.kind.continuous:
        passive(play, avatar)


def _aim(avatar: Sprite, action: str) -> None:
    """Turn left or right."""
    step: float = avatar.kind.parameters["angle_diff"]
    if action == LEFT:
        avatar.rotation -= step
    elif action == RIGHT:
        avatar.rotation += step


def _thrust(play: Play, avatar: Sprite, angle: float, speed: float) -> None:
    """Accelerate in a direction."""
    active(play, avatar, cos(angle), sin(angle), speed)


def _thrust_along(play: Play, avatar: Sprite, action: str) -> None:
    """Accelerate forwards or backwards."""
    if action == UP:
        _thrust(play, avatar, avatar.rotation, avatar.speed)
    elif action == DOWN:
        _thrust(play, avatar, avatar.rotation + pi, avatar.speed)


@ACTS.plain("land")
def _land(play: Play, avatar: Sprite, action: str) -> None:
    """`LanderAvatar`: turns; `UP` accelerates it in its direction."""
    _drift(play, avatar)
    _aim(avatar, action)
    if action == UP:
        _thrust(play, avatar, avatar.rotation, avatar.speed)


@ACTS.plain("drive")
def _drive(play: Play, avatar: Sprite, action: str) -> None:
    """`CarAvatar`: always accelerates, forwards after `UP` and backwards after `DOWN`."""
    _drift(play, avatar)
    _aim(avatar, action)
    if action in {UP, DOWN}:
        avatar.spawned = int(action == DOWN)
    _thrust(play, avatar, avatar.rotation + avatar.spawned * pi, _CAR_SPEED)


@ACTS.maker("fly_and_shoot")
def _make_fly_and_shoot(kind: SpriteKind) -> Act:
    """`SpaceshipAvatar`: shoots in its direction; like the original, it tries each shot twice."""
    shoot = _make_shoot(kind, by_rotation=True)

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        _drift(play, avatar)
        if action == USE:
            shoot(play, avatar)
            shoot(play, avatar)
        _aim(avatar, action)
        _thrust_along(play, avatar, action)

    return take_action


@ACTS.maker("aim_and_shoot")
def _make_aim_and_shoot(kind: SpriteKind) -> Act:
    """`AimedAvatar`: `UP` and `DOWN` turn it; like the original, it tries each shot twice."""
    shoot = _make_shoot(kind)
    step: float = kind.parameters["angle_diff"]

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        _drift(play, avatar)
        if action == USE:
            shoot(play, avatar)
            shoot(play, avatar)
        angle = {UP: -step, DOWN: step}.get(action, 0.0)
        ox, oy = avatar.ox, avatar.oy
        avatar.ox = ox * cos(angle) - oy * sin(angle)
        avatar.oy = ox * sin(angle) + oy * cos(angle)
        avatar.rotation = atan2(avatar.oy, avatar.ox)
        _thrust_along(play, avatar, action)

    return take_action


@ACTS.plain("flap")
def _flap(play: Play, avatar: Sprite, action: str) -> None:
    """`BirdAvatar`: moves to the right by itself; `USE` accelerates it upwards."""
    walk_and_turn(play, avatar, action)
    push = 1 if abs(avatar.ox) < _UPRIGHT else 0
    if action == USE:
        avatar.oy = 0.0
        active(play, avatar, 0, -avatar.kind.parameters["jump_strength"], avatar.speed)
    active(play, avatar, push, 0, avatar.speed)
    avatar.rotation = atan2(avatar.oy, avatar.ox)


def _run_and_jump(play: Play, avatar: Sprite, action: str) -> None:
    """Run on the ground, steer weakly in the air, and jump from the ground on `USE`."""
    parameters = avatar.kind.parameters
    _drift(play, avatar)
    if action in VECTORS:
        dx, dy = VECTORS[action]
        if avatar.grounded:
            force = dx * parameters["ground_speedup_factor"]
        else:
            force = dx / parameters["air_slowdown_factor"]
        active(play, avatar, force, dy, avatar.speed)
    if action == USE and avatar.grounded:
        jump(play, avatar)


@ACTS.plain("platform")
def _platform(play: Play, avatar: Sprite, action: str) -> None:
    """`PlatformerAvatar`: runs and jumps; the ground is detected again in each tick."""
    _run_and_jump(play, avatar, action)
    avatar.grounded = False


@ACTS.plain("conjure")
def _conjure(play: Play, avatar: Sprite, action: str) -> None:
    """`WizardAvatar`: runs and jumps; `UP` makes a block in front of it."""
    _run_and_jump(play, avatar, action)
    if action == UP and avatar.spawned + _BLOCK_PAUSE <= play.tick:
        active(play, avatar, 0, 1, -1)
        for block in avatar.kind.parameters["stype"]:
            play.add(block, avatar.x + (avatar.last_direction_x or 1) * avatar.w * _BLOCK_DISTANCE, avatar.y)
        avatar.spawned = play.tick
    if action in {LEFT, RIGHT}:
        avatar.last_direction_x = VECTORS[action][0]
    avatar.grounded = False
