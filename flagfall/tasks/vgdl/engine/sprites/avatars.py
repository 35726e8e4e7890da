"""What avatars do when they are asked for an action."""

from __future__ import annotations

__all__ = ["ACTS"]

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Final

from flagfall.tasks.vgdl.actions import USE, VECTORS
from flagfall.tasks.vgdl.engine.physics.movement import MOVED, STILL, active, passive, unit_of_last_move
from flagfall.tasks.vgdl.engine.rules.collisions import overlaps

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Act, Kind, Sprite

_NO_WAY: Final = (0, 0)


def walk(play: Play, avatar: Sprite, action: str) -> None:
    """`MovingAvatar` and its like: a step where the action says."""
    if avatar.kind.continuous:
        steer(play, avatar, action)
    elif action in VECTORS:
        dx, dy = VECTORS[action]
        active(play, avatar, dx, dy, avatar.speed)


def steer(play: Play, avatar: Sprite, action: str) -> int:
    """The same by continuous physics: it flies on first, and a direction is a force. Tells whether it did."""
    passive(play, avatar)
    dx, dy = VECTORS.get(action, _NO_WAY)
    return active(play, avatar, dx, dy, avatar.speed)


def walk_and_look(play: Play, avatar: Sprite, action: str) -> int:
    """`OrientedAvatar`: turns first, and then looks where it has really gone. Tells which it did."""
    if avatar.kind.continuous:
        return steer(play, avatar, action)
    if action not in VECTORS:
        return STILL
    dx, dy = VECTORS[action]
    outcome = active(play, avatar, dx, dy, avatar.speed)
    if outcome == MOVED:
        avatar.ox, avatar.oy = unit_of_last_move(avatar)
    return outcome


def go_on(play: Play, avatar: Sprite, action: str) -> None:
    """`OngoingAvatar`: an action turns it; it goes by itself."""
    if action in VECTORS and avatar.oriented:
        avatar.ox, avatar.oy = VECTORS[action]
    passive(play, avatar)


def fly(play: Play, avatar: Sprite, action: str) -> None:
    """`MissileAvatar`: nobody steers it."""
    del action
    passive(play, avatar)


def shooting(kind: Kind) -> Callable[[Play, Sprite], None]:
    """What `USE` does for the `ShootAvatar` family: the first weapon that has ammunition is fired."""
    weapons: Sequence[int] = kind.parameters["stype"]
    ammo: Sequence[int] = kind.parameters["ammo"]

    def shoot(play: Play, avatar: Sprite) -> None:
        for at, weapon in enumerate(weapons):
            needed = ammo[at] if at < len(ammo) else None
            if needed is None or avatar.resource(needed) > 0:
                shot = fire(play, avatar, weapon)
                if shot is not None and needed is not None:
                    avatar.gain(needed, -1)
                return

    return shoot


def fire(play: Play, avatar: Sprite, weapon: int) -> Sprite | None:
    """Make a shot one sprite's length ahead, that flies where the avatar looks."""
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


def walk_and_shoot(kind: Kind) -> Act:
    """`ShootAvatar`: fires when asked to and standing still."""
    shoot = shooting(kind)

    def act(play: Play, avatar: Sprite, action: str) -> None:
        outcome = walk_and_look(play, avatar, action)
        if outcome == STILL and action == USE:
            shoot(play, avatar)

    return act


def go_on_and_shoot(kind: Kind) -> Act:
    """`OngoingShootAvatar`: fires when asked to, which leaves no room for a direction."""
    shoot = shooting(kind)

    def act(play: Play, avatar: Sprite, action: str) -> None:
        go_on(play, avatar, action)
        if action == USE:
            shoot(play, avatar)

    return act


def flak(kind: Kind) -> Act:
    """`FlakAvatar`: moves sideways; its shots start where it stands and know their own way."""
    weapon: int | None = kind.parameters["stype"]
    ammo: int | None = kind.parameters["ammo"]
    least: int = kind.parameters["minAmmo"]
    cost: int = kind.parameters["ammoCost"]

    def act(play: Play, avatar: Sprite, action: str) -> None:
        walk(play, avatar, action)
        if action != USE:
            return
        if weapon is not None and (ammo is None or avatar.resource(ammo) > (least if least > -1 else 0)):
            shot = play.add(weapon, avatar.x, avatar.y)
            if shot is not None:
                play.mark_fired(shot)
                if ammo is not None:
                    avatar.gain(ammo, -cost)

    return act


def go_on_and_wall(kind: Kind) -> Act:
    """`OngoingTurningAvatar`: turns at right angles only, and leaves something where it has been."""
    wall: int | None = kind.parameters["spawnBehind"]

    def act(play: Play, avatar: Sprite, action: str) -> None:
        dx, dy = VECTORS.get(action, _NO_WAY)
        if (dx or dy) and avatar.oriented and dx * avatar.ox + dy * avatar.oy == 0:
            avatar.ox = dx
            avatar.oy = dy
        passive(play, avatar)
        x, y = avatar.last_x, avatar.last_y
        if not overlaps(avatar, x, y, avatar.w, avatar.h):
            play.add(wall if wall is not None and avatar.original else 0, x, y)

    return act


def shoot_every_way(kind: Kind) -> Act:
    """`ShootOnlyAvatar`: stands still; its actions fire its weapons, the first the first and so on."""
    weapons: Sequence[int] = kind.parameters["stype"]
    ammo: Sequence[int] = kind.parameters["ammo"]

    def act(play: Play, avatar: Sprite, action: str) -> None:
        at = kind.actions.index(action) if action in kind.actions else len(weapons)
        if at >= len(weapons):
            return
        needed = ammo[at] if at < len(ammo) else None
        if needed is not None and avatar.resource(needed) <= 0:
            return
        if fire(play, avatar, weapons[at]) is not None and needed is not None:
            avatar.gain(needed, -1)

    return act


ACTS: Final[Mapping[str, Callable[[Kind], Act]]] = {
    "MovingAvatar": lambda _: walk,
    "HorizontalAvatar": lambda _: walk,
    "VerticalAvatar": lambda _: walk,
    "NullAvatar": lambda _: walk,
    "OrientedAvatar": lambda _: walk_and_look,
    "OngoingAvatar": lambda _: go_on,
    "OngoingTurningAvatar": go_on_and_wall,
    "MissileAvatar": lambda _: fly,
    "ShootAvatar": walk_and_shoot,
    "OngoingShootAvatar": go_on_and_shoot,
    "ShootOnlyAvatar": shoot_every_way,
    "FlakAvatar": flak,
}
"""By class: makes what the avatars of a type do."""
