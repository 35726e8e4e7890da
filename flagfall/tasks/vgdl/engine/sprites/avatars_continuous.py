"""Behaviour of avatars that drive, fly, aim and jump by continuous physics."""

from __future__ import annotations

__all__: list[str] = []

from collections.abc import Sequence
from math import atan2, cos, pi, sin
from typing import Final

from flagfall.tasks.vgdl.actions import DOWN, LEFT, RIGHT, UP, USE, VECTORS
from flagfall.tasks.vgdl.engine.physics.movement import active, passive
from flagfall.tasks.vgdl.engine.sprites.avatars import make_weapons, walk_and_turn
from flagfall.tasks.vgdl.engine.sprites.behaviour import ACTS
from flagfall.tasks.vgdl.engine.sprites.walkers import jump
from flagfall.tasks.vgdl.engine.state.play import Act, Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind

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
    weapons: Sequence[int] = kind.parameters["stype"]
    ammo: Sequence[int] = kind.parameters["ammo"]

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        _drift(play, avatar)
        if action == USE:
            shoot(play, avatar)
            shoot(play, avatar)
        _aim(avatar, action)
        _thrust_along(play, avatar, action)

    def shoot(play: Play, avatar: Sprite) -> None:
        for at, weapon in enumerate(weapons):
            needed = ammo[at] if at < len(ammo) else None
            if needed is None or avatar.resource(needed) > 0:
                dx, dy = cos(avatar.rotation), sin(avatar.rotation)
                shot = play.add(weapon, avatar.x + dx * avatar.w, avatar.y + dy * avatar.h)
                if shot is not None:
                    if shot.oriented:
                        shot.ox, shot.oy = dx, dy
                    if needed is not None:
                        avatar.gain(needed, -1)
                    play.mark_fired(shot)
                return

    return take_action


@ACTS.maker("aim_and_shoot")
def _make_aim_and_shoot(kind: SpriteKind) -> Act:
    """`AimedAvatar`: `UP` and `DOWN` turn it; like the original, it tries each shot twice."""
    shoot = make_weapons(kind)
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
        avatar.oy = 0
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
