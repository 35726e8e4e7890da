"""The sprite classes: the original's, with their defaults (its `loadDefaults` and field initialisers).

A colour's default is what the original draws without an image; most classes have none (it rolls one).
"""

from __future__ import annotations

__all__ = ["SPRITE_CLASSES"]

from collections.abc import Mapping
from typing import Final

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.language.schema import (
    Changes,
    Parameter,
    SpriteClass,
    colour,
    direction,
    flag,
    inherit,
    number,
    sprite,
    sprites,
    switch,
    text,
    whole,
)
from flagfall.tasks.vgdl.language.values import COLOURS, DIRECTIONS

_COMMON: Final[Mapping[str, Parameter]] = {
    "speed": number(0.0),
    "cooldown": whole(1),
    "orientation": direction(),
    "is_oriented": switch(),
    "is_static": switch(),
    "only_active": switch(),
    "stationary": switch(),
    "is_npc": switch(),
    "is_resource": switch(),
    "portal": switch(),
    "is_stochastic": switch(),
    "rotateInPlace": switch(),
    "hidden": flag(),
    "invisible": flag(),
    "healthPoints": whole(0),
    "maxHealthPoints": whole(0),
    "limitHealthPoints": whole(1000),
    "timeToLive": whole(-1),
    "mass": number(1.0),
    "gravity": number(0.0),
    "friction": number(0.0),
    "max_speed": number(-1.0),
    "jump_strength": number(0.0),
    "physicstype": whole(0),
    "solid": switch(),
    "wMult": number(1.0),
    "hMult": number(1.0),
    "singleton": switch(),
    "img": text(),
    "orientedImg": text(),
    "color": colour(),
    "shrinkfactor": number(1.0),
    "autotiling": switch(),
    "randomtiling": number(-1.0),
    "frameRate": number(-1.0),
    "draw_arrow": switch(),
}

_NOTHING: Final[Changes] = {}
_STILL: Final[Changes] = {"is_static": True}
_MAKES: Final = sprite(required=True, makes=True)
_MAKE: Final = sprites(required=True, makes=True)
_RIGHT: Final[Changes] = {"is_oriented": True, "orientation": DIRECTIONS["RIGHT"]}


def _rgb(name: str) -> Mapping[str, Value]:
    return {"color": COLOURS[name]}


SPRITE_CLASSES: Final[dict[str, SpriteClass]] = {}
"""By name."""


def _add(
    name: str,
    base: str = "",
    changes: Changes = _NOTHING,
    actions: tuple[str, ...] = (),
    *,
    continuous: bool = False,
) -> None:
    """A row: a class, the class above it, and what is other than there; an avatar has actions."""
    above = SPRITE_CLASSES.get(base)
    SPRITE_CLASSES[name] = SpriteClass(
        name=name,
        parameters=inherit(above.parameters if above else _COMMON, changes),
        path=(*(above.path if above else ()), name),
        is_avatar=bool(actions),
        actions=actions,
        continuous=continuous,
    )


_add("Immovable", "", {**_STILL, **_rgb("GRAY")})
_add("Door", "Immovable", {"portal": True})
_add("Passive", "", _rgb("RED"))
_add("Conveyor", "", {**_STILL, **_rgb("BLUE"), "is_oriented": True, "jump_strength": 1.0})
_add("Resource", "Passive", {"value": whole(1), "limit": whole(2), "is_resource": True, **_rgb("YELLOW")})
_add("ResourcePack", "Resource", _STILL)
_add("Missile", "", {"speed": 1.0, "is_oriented": True})
_add("ErraticMissile", "Missile", {"prob": number(0.1)})
_add("RandomMissile", "Missile", {"orientation": DIRECTIONS["NIL"]})
_add("Flicker", "", {"limit": whole(1), **_rgb("RED")})
_add("OrientedFlicker", "Flicker", {"is_oriented": True})
_add("Spreader", "Flicker", {"spreadprob": number(1.0), "stype": sprite(makes=True)})

_SPAWN: Final = {"prob": number(1.0), "total": whole(0), "spawnorientation": direction()}
_add("SpriteProducer")
_add("Portal", "SpriteProducer", {**_STILL, **_rgb("BLUE"), "portal": True, "stype": sprite()})
_add("SpawnPoint", "SpriteProducer", {**_STILL, **_rgb("BLACK"), **_SPAWN, "stype": _MAKES})
_add("Bomber", "SpawnPoint", {**_RIGHT, **_rgb("ORANGE"), "is_static": False, "is_npc": True})
_add("RandomBomber", "Bomber", {"speed": 1.0})
_add("BomberRandomMissile", "Bomber", {"stypeMissile": _MAKE, "stype": sprite()})
_add("SpawnPointMultiSprite", "SpawnPoint", {**_RIGHT, "stypes": _MAKE, "stype": sprite(), "is_npc": True})

_GOAL: Final = {"stype": sprite(required=True), "maxDistance": number(-1.0), "fleeing": switch()}
_GOALS: Final = {"stype1": sprites(required=True), "stype2": sprites(required=True)}
_add("RandomNPC", "", {"speed": 1.0, "cons": whole(0), "is_npc": True})
_add("Chaser", "RandomNPC", _GOAL)
_add("Fleeing", "Chaser", {"fleeing": True})
_add("LOSChaser", "Chaser")
_add("PathChaser", "RandomNPC", _GOAL)
_add("AlternateChaser", "RandomNPC", _GOALS)
_add("RandomAltChaser", "AlternateChaser", {"epsilon": number(0.0)})
_add("PathAltChaser", "AlternateChaser", {"randomTarget": switch()})
_add("RandomPathAltChaser", "PathAltChaser", {"epsilon": number(0.0)})
_add("RandomInertial", "RandomNPC", {"physicstype": 1}, continuous=True)
_add("Walker", "Missile", {"airsteering": switch(), "speed": 5.0, "max_speed": 5.0}, continuous=True)
_add("WalkerJumper", "Walker", {"probability": number(0.1), "jump_strength": 10.0}, continuous=True)

_CROSS: Final = ("LEFT", "RIGHT", "DOWN", "UP")
_SHOOT: Final = ("USE", "LEFT", "RIGHT", "DOWN", "UP")
_FLAK: Final = {"stype": _MAKES, "ammo": sprite(), "minAmmo": whole(-1), "ammoCost": whole(1)}
_GUNS: Final = {"stype": _MAKE, "ammo": sprites()}
_add("MovingAvatar", "", {"speed": 1.0, **_rgb("WHITE")}, _CROSS)
_add("HorizontalAvatar", "MovingAvatar", {}, ("LEFT", "RIGHT"))
_add("VerticalAvatar", "MovingAvatar", {}, ("UP", "DOWN"))
_add("NullAvatar", "HorizontalAvatar", {}, ("NIL",))
_add("FlakAvatar", "HorizontalAvatar", {**_FLAK, **_rgb("GREEN")}, ("USE", "LEFT", "RIGHT"))
_add("OrientedAvatar", "MovingAvatar", {**_RIGHT, "rotateInPlace": True, "draw_arrow": True}, _CROSS)
_add("MissileAvatar", "OrientedAvatar", {}, _CROSS)
_add("OngoingAvatar", "OrientedAvatar", {}, _CROSS)
_add("OngoingTurningAvatar", "OrientedAvatar", {"spawnBehind": sprite(makes=True)}, _CROSS)
_add("ShootAvatar", "OrientedAvatar", _GUNS, _SHOOT)
_add("OngoingShootAvatar", "ShootAvatar", {}, _SHOOT)
_add("ShootOnlyAvatar", "ShootAvatar", {}, ("LEFT", "UP", "RIGHT", "DOWN", "USE"))

_AIM: Final[Changes] = {"angle_diff": number(0.15), "speed": 0.0}
_FLY: Final[Changes] = {"angle_diff": number(0.3), "speed": 5.0, "orientation": DIRECTIONS["NONE"]}
_JUMP: Final[Changes] = {"air_slowdown_factor": number(2.0)}
_RUN: Final[Changes] = {
    **_JUMP,
    "ground_speedup_factor": number(1.0),
    "jump_strength": 10.0,
    "max_speed": 30.0,
}
_CAST: Final[Changes] = {**_JUMP, "ground_speedup_factor": number(1.0), "jump_strength": 15.0, "speed": 0.0}
_add("AimedAvatar", "ShootAvatar", {**_AIM, "stationary": True}, ("USE", "DOWN", "UP"), continuous=True)
_add("PlatformerAvatar", "MovingAvatar", _RUN, ("LEFT", "RIGHT", "USE"), continuous=True)
_add(
    "WizardAvatar", "MovingAvatar", {**_CAST, "stype": _MAKE}, ("LEFT", "RIGHT", "USE", "UP"), continuous=True
)
_add("BirdAvatar", "OrientedAvatar", {"jump_strength": 10.0}, ("USE",), continuous=True)
_add("SpaceshipAvatar", "ShootAvatar", _FLY, _SHOOT, continuous=True)
_add("CarAvatar", "OrientedAvatar", {**_AIM, "facing": number(0.0)}, _CROSS, continuous=True)
_add("LanderAvatar", "OrientedAvatar", _FLY, _CROSS, continuous=True)
