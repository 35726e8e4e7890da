"""Behaviour of avatars on the grid: the player's action in a tick."""

from __future__ import annotations

__all__ = ["make_weapons", "walk_and_turn"]

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Final

from flagfall.tasks.vgdl.actions import USE, VECTORS
from flagfall.tasks.vgdl.engine.physics.motion import MOVED, STILL, unit_of_last_move
from flagfall.tasks.vgdl.engine.physics.movement import active, passive
from flagfall.tasks.vgdl.engine.sprites.behaviour import ACTS
from flagfall.tasks.vgdl.engine.state.play import Act, Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, SpriteKind, overlaps

_NO_WAY: Final = (0, 0)


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


def make_weapons(kind: SpriteKind) -> Callable[[Play, Sprite], None]:
    """Return the effect of `USE` for the `ShootAvatar` family: fire the first weapon that has ammunition.

    Args:
        kind: the kind of avatars that have weapons.
    """
    weapons: Sequence[int] = kind.parameters["stype"]
    ammo: Sequence[int] = kind.parameters["ammo"]

    def shoot(play: Play, avatar: Sprite) -> None:
        for at, weapon in enumerate(weapons):
            needed = ammo[at] if at < len(ammo) else None
            if needed is None or avatar.resource(needed) > 0:
                shot = _fire(play, avatar, weapon)
                if shot is not None and needed is not None:
                    avatar.gain(needed, -1)
                return

    return shoot


def _fire(play: Play, avatar: Sprite, weapon: int) -> Sprite | None:
    """Make a shot one sprite's length ahead, in the orientation of the avatar."""
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
    return shot


@ACTS.maker("walk_and_shoot")
def _make_walk_and_shoot(kind: SpriteKind) -> Act:
    """`ShootAvatar`: fires on `USE` if it stands still."""
    shoot = make_weapons(kind)

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        outcome = walk_and_turn(play, avatar, action)
        if outcome == STILL and action == USE:
            shoot(play, avatar)

    return take_action


@ACTS.maker("keep_going_and_shoot")
def _make_keep_going_and_shoot(kind: SpriteKind) -> Act:
    """`OngoingShootAvatar`: an `OngoingAvatar` that fires on `USE`."""
    shoot = make_weapons(kind)

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
    weapons: Sequence[int] = kind.parameters["stype"]
    ammo: Sequence[int] = kind.parameters["ammo"]

    def take_action(play: Play, avatar: Sprite, action: str) -> None:
        at = kind.actions.index(action) if action in kind.actions else len(weapons)
        if at >= len(weapons):
            return
        needed = ammo[at] if at < len(ammo) else None
        if needed is not None and avatar.resource(needed) <= 0:
            return
        if _fire(play, avatar, weapons[at]) is not None and needed is not None:
            avatar.gain(needed, -1)

    return take_action
