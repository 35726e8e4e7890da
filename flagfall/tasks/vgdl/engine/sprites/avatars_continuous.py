"""Avatars that drive, fly, aim and jump by continuous physics."""

from __future__ import annotations

__all__ = ["CONTINUOUS_ACTS"]

from collections.abc import Callable, Mapping, Sequence
from math import atan2, cos, pi, sin
from typing import TYPE_CHECKING, Final

from flagfall.tasks.vgdl.actions import DOWN, LEFT, RIGHT, UP, USE, VECTORS
from flagfall.tasks.vgdl.engine.physics.movement import active, passive
from flagfall.tasks.vgdl.engine.sprites.avatars import shooting, walk_and_look
from flagfall.tasks.vgdl.engine.sprites.walkers import jump

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Act, Kind, Sprite

_CAR_SPEED: Final = 5
_BLOCK_PAUSE: Final = 5
"""Ticks that a wizard rests between two blocks."""

_BLOCK_DISTANCE: Final = 1.2
_UPRIGHT: Final = 0.5


def drift(play: Play, avatar: Sprite) -> None:
    """Passive movement, if there is any by its physics."""
    if avatar.kind.continuous:
        passive(play, avatar)


def aim(avatar: Sprite, action: str) -> None:
    """Turn to the left or right."""
    step: float = avatar.kind.parameters["angle_diff"]
    if action == LEFT:
        avatar.rotation -= step
    elif action == RIGHT:
        avatar.rotation += step


def thrust(play: Play, avatar: Sprite, angle: float, speed: float) -> None:
    """Accelerate in a direction."""
    active(play, avatar, cos(angle), sin(angle), speed)


def go_to_and_fro(play: Play, avatar: Sprite, action: str) -> None:
    """Accelerate forwards or backwards."""
    if action == UP:
        thrust(play, avatar, avatar.rotation, avatar.speed)
    elif action == DOWN:
        thrust(play, avatar, avatar.rotation + pi, avatar.speed)


def land(play: Play, avatar: Sprite, action: str) -> None:
    """`LanderAvatar`: turns, and fires its engine upwards."""
    drift(play, avatar)
    aim(avatar, action)
    if action == UP:
        thrust(play, avatar, avatar.rotation, avatar.speed)


def drive(play: Play, avatar: Sprite, action: str) -> None:
    """`CarAvatar`: always accelerates, forwards or, since it was last asked to, backwards."""
    drift(play, avatar)
    aim(avatar, action)
    if action in {UP, DOWN}:
        avatar.made = int(action == DOWN)
    thrust(play, avatar, avatar.rotation + avatar.made * pi, _CAR_SPEED)


def fly_in_space(kind: Kind) -> Act:
    """`SpaceshipAvatar`: shoots where it is turned to; the original tries each shot twice."""
    weapons: Sequence[int] = kind.parameters["stype"]
    ammo: Sequence[int] = kind.parameters["ammo"]

    def act(play: Play, avatar: Sprite, action: str) -> None:
        drift(play, avatar)
        if action == USE:
            shoot(play, avatar)
            shoot(play, avatar)
        aim(avatar, action)
        go_to_and_fro(play, avatar, action)

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

    return act


def aim_and_shoot(kind: Kind) -> Act:
    """`AimedAvatar`: up and down turn it; the original tries each shot twice."""
    shoot = shooting(kind)
    step: float = kind.parameters["angle_diff"]

    def act(play: Play, avatar: Sprite, action: str) -> None:
        drift(play, avatar)
        if action == USE:
            shoot(play, avatar)
            shoot(play, avatar)
        angle = {UP: -step, DOWN: step}.get(action, 0.0)
        ox, oy = avatar.ox, avatar.oy
        avatar.ox = ox * cos(angle) - oy * sin(angle)
        avatar.oy = ox * sin(angle) + oy * cos(angle)
        avatar.rotation = atan2(avatar.oy, avatar.ox)
        go_to_and_fro(play, avatar, action)

    return act


def flap(play: Play, avatar: Sprite, action: str) -> None:
    """`BirdAvatar`: goes to the right by itself, and up when it is asked to."""
    walk_and_look(play, avatar, action)
    push = 1 if abs(avatar.ox) < _UPRIGHT else 0
    if action == USE:
        avatar.oy = 0
        active(play, avatar, 0, -avatar.kind.parameters["jump_strength"], avatar.speed)
    active(play, avatar, push, 0, avatar.speed)
    avatar.rotation = atan2(avatar.oy, avatar.ox)


def run_and_jump(play: Play, avatar: Sprite, action: str) -> None:
    """`PlatformerAvatar`: runs on the ground, steers a little in the air, jumps from the ground."""
    parameters = avatar.kind.parameters
    drift(play, avatar)
    if action in VECTORS:
        dx, dy = VECTORS[action]
        if avatar.grounded:
            force = dx * parameters["ground_speedup_factor"]
        else:
            force = dx / parameters["air_slowdown_factor"]
        active(play, avatar, force, dy, avatar.speed)
    if action == USE and avatar.grounded:
        jump(play, avatar)


def platform(play: Play, avatar: Sprite, action: str) -> None:
    """`PlatformerAvatar`, to the end of its turn: whether it stands is found out anew in each tick."""
    run_and_jump(play, avatar, action)
    avatar.grounded = False


def conjure(play: Play, avatar: Sprite, action: str) -> None:
    """`WizardAvatar`: runs and jumps, and puts blocks before itself."""
    run_and_jump(play, avatar, action)
    if action == UP and avatar.made + _BLOCK_PAUSE <= play.tick:
        active(play, avatar, 0, 1, -1)
        for block in avatar.kind.parameters["stype"]:
            play.add(block, avatar.x + (avatar.aim_x or 1) * avatar.w * _BLOCK_DISTANCE, avatar.y)
        avatar.made = play.tick
    if action in {LEFT, RIGHT}:
        avatar.aim_x = VECTORS[action][0]
    avatar.grounded = False


CONTINUOUS_ACTS: Final[Mapping[str, Callable[[Kind], Act]]] = {
    "AimedAvatar": aim_and_shoot,
    "PlatformerAvatar": lambda _: platform,
    "WizardAvatar": lambda _: conjure,
    "BirdAvatar": lambda _: flap,
    "SpaceshipAvatar": fly_in_space,
    "CarAvatar": lambda _: drive,
    "LanderAvatar": lambda _: land,
}
"""By class: makes what the avatars of a type do."""
