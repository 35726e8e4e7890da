"""The sprite classes: the original's, with their defaults (its `loadDefaults` and field initialisers).

A colour's default is what the original draws without an image; most classes have none (it rolls one).
"""

from __future__ import annotations

__all__ = ["SPRITE_CLASSES"]

from collections.abc import Mapping
from typing import Final

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.schema import (
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
from flagfall.tasks.vgdl.values import COLOURS, DIRECTIONS

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

_CROSS: Final = ("LEFT", "RIGHT", "DOWN", "UP")
_SHOOT: Final = ("USE", "LEFT", "RIGHT", "DOWN", "UP")
_STILL: Final[Mapping[str, Value]] = {"is_static": True}
_RIGHT: Final[Mapping[str, Value]] = {"is_oriented": True, "orientation": DIRECTIONS["RIGHT"]}


def _rgb(name: str) -> Mapping[str, Value]:
    return {"color": COLOURS[name]}


SPRITE_CLASSES: Final[dict[str, SpriteClass]] = {}
"""By name."""


def _add(name: str, base: str = "", changes: Mapping[str, Value | Parameter] | None = None) -> None:
    """A row: a class, the class above it, and what is other than there."""
    above = SPRITE_CLASSES.get(base)
    SPRITE_CLASSES[name] = SpriteClass(
        name,
        inherit(above.parameters if above else _COMMON, changes or {}),
        (*(above.path if above else ()), name),
    )


def _avatar(
    name: str,
    base: str,
    actions: tuple[str, ...],
    changes: Mapping[str, Value | Parameter] | None = None,
    *,
    continuous: bool = False,
) -> None:
    """A row: an avatar."""
    above = SPRITE_CLASSES.get(base)
    SPRITE_CLASSES[name] = SpriteClass(
        name,
        inherit(above.parameters if above else _COMMON, changes or {}),
        (*(above.path if above else ()), name),
        is_avatar=True,
        actions=actions,
        continuous=continuous,
    )


_add("Immovable", changes=_STILL | _rgb("GRAY"))
_add("Door", "Immovable", {"portal": True})
_add("Passive", changes=_rgb("RED"))
_add("Conveyor", changes=_STILL | _rgb("BLUE") | {"is_oriented": True, "jump_strength": 1.0})
_add("Resource", "Passive", {"value": whole(1), "limit": whole(2), "is_resource": True} | _rgb("YELLOW"))
_add("ResourcePack", "Resource", _STILL)
_add("Missile", changes={"speed": 1.0, "is_oriented": True})
_add("ErraticMissile", "Missile", {"prob": number(0.1)})
_add("RandomMissile", "Missile", {"orientation": DIRECTIONS["NIL"]})
_add("Flicker", changes={"limit": whole(1)} | _rgb("RED"))
_add("OrientedFlicker", "Flicker", {"is_oriented": True})
_add("Spreader", "Flicker", {"spreadprob": number(1.0), "stype": sprite()})

_add("SpriteProducer")
_add("Portal", "SpriteProducer", _STILL | _rgb("BLUE") | {"portal": True, "stype": sprite()})
_add(
    "SpawnPoint",
    "SpriteProducer",
    _STILL
    | _rgb("BLACK")
    | {"stype": sprite(), "prob": number(1.0), "total": whole(0), "spawnorientation": direction()},
)
_add("Bomber", "SpawnPoint", _RIGHT | _rgb("ORANGE") | {"is_static": False, "is_npc": True})
_add("RandomBomber", "Bomber", {"speed": 1.0})
_add("BomberRandomMissile", "Bomber", {"stypeMissile": sprites()})
_add("SpawnPointMultiSprite", "SpawnPoint", _RIGHT | {"stypes": sprites(), "is_npc": True})

_add("RandomNPC", changes={"speed": 1.0, "cons": whole(0), "is_npc": True})
_add("Chaser", "RandomNPC", {"stype": sprite(), "maxDistance": number(-1.0), "fleeing": switch()})
_add("Fleeing", "Chaser", {"fleeing": True})
_add("LOSChaser", "Chaser")
_add("PathChaser", "RandomNPC", {"stype": sprite(), "maxDistance": number(-1.0), "fleeing": switch()})
_add("AlternateChaser", "RandomNPC", {"stype1": sprites(), "stype2": sprites()})
_add("RandomAltChaser", "AlternateChaser", {"epsilon": number(0.0)})
_add("PathAltChaser", "AlternateChaser", {"randomTarget": switch()})
_add("RandomPathAltChaser", "PathAltChaser", {"epsilon": number(0.0)})
_add("RandomInertial", "RandomNPC", {"physicstype": 1})
_add("Walker", "Missile", {"airsteering": switch(), "max_speed": 5.0})
_add("WalkerJumper", "Walker", {"probability": number(0.1), "jump_strength": 10.0})

_avatar("MovingAvatar", "", _CROSS, {"speed": 1.0} | _rgb("WHITE"))
_avatar("HorizontalAvatar", "MovingAvatar", ("LEFT", "RIGHT"))
_avatar("VerticalAvatar", "MovingAvatar", ("UP", "DOWN"))
_avatar("NullAvatar", "HorizontalAvatar", ("NIL",))
_avatar(
    "FlakAvatar",
    "HorizontalAvatar",
    ("USE", "LEFT", "RIGHT"),
    {"stype": sprite(), "ammo": sprite(), "minAmmo": whole(-1), "ammoCost": whole(1)} | _rgb("GREEN"),
)
_avatar("OrientedAvatar", "MovingAvatar", _CROSS, _RIGHT | {"rotateInPlace": True, "draw_arrow": True})
_avatar("MissileAvatar", "OrientedAvatar", _CROSS)
_avatar("OngoingAvatar", "OrientedAvatar", _CROSS)
_avatar("OngoingTurningAvatar", "OrientedAvatar", _CROSS, {"spawnBehind": sprite()})
_avatar("ShootAvatar", "OrientedAvatar", _SHOOT, {"stype": sprites(), "ammo": sprites()})
_avatar("OngoingShootAvatar", "ShootAvatar", _SHOOT)
_avatar("ShootOnlyAvatar", "ShootAvatar", ("LEFT", "UP", "RIGHT", "DOWN", "USE"))

_AIR: Final = {"ground_speedup_factor": number(1.0), "air_slowdown_factor": number(2.0)}
_TURN: Final = {"angle_diff": number(0.3)}
_avatar(
    "AimedAvatar",
    "ShootAvatar",
    ("USE", "DOWN", "UP"),
    {"angle_diff": number(0.15), "speed": 0.0, "stationary": True},
    continuous=True,
)
_avatar(
    "PlatformerAvatar",
    "MovingAvatar",
    ("LEFT", "RIGHT", "USE"),
    _AIR | {"jump_strength": 10.0, "max_speed": 30.0},
    continuous=True,
)
_avatar(
    "WizardAvatar",
    "MovingAvatar",
    ("LEFT", "RIGHT", "USE", "UP"),
    _AIR | {"stype": sprites(), "speed": 0.0, "jump_strength": 15.0},
    continuous=True,
)
_avatar("BirdAvatar", "OrientedAvatar", ("USE",), {"jump_strength": 10.0}, continuous=True)
_avatar(
    "SpaceshipAvatar",
    "ShootAvatar",
    _SHOOT,
    _TURN | {"speed": 5.0, "orientation": DIRECTIONS["NONE"]},
    continuous=True,
)
_avatar(
    "CarAvatar",
    "OrientedAvatar",
    _CROSS,
    {"angle_diff": number(0.15), "facing": number(0.0), "speed": 0.0},
    continuous=True,
)
_avatar(
    "LanderAvatar",
    "OrientedAvatar",
    _CROSS,
    _TURN | {"speed": 5.0, "orientation": DIRECTIONS["NONE"]},
    continuous=True,
)
