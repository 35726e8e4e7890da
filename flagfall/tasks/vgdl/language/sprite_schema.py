"""Sprite classes: the original's, with their defaults (its `loadDefaults` and field initialisers) and traits.

A new class is one row here, and a function that is registered under the name of its behaviour in
`flagfall.tasks.vgdl.engine.sprites`; a row without such a function fails at import. The behaviour `passive`
is the engine's own: passive movement.

A colour's default is what the original draws without an image; most classes have none (it rolls one).
"""

from __future__ import annotations

__all__ = ["PASSIVE", "SPRITE_CLASSES"]

from collections.abc import Mapping
from typing import Final

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.language.schema import (
    Overrides,
    Parameters,
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

_COMMON: Final[Parameters] = {
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

PASSIVE: Final = "passive"
"""Behaviour of sprites that only move passively, and live as long as `timeToLive` says."""

_NO_OVERRIDES: Final[Overrides] = {}
_STILL: Final[Overrides] = {"is_static": True}
_MAKES: Final = sprite(required=True, makes=True)
_MAKE: Final = sprites(required=True, makes=True)
_RIGHT: Final[Overrides] = {"is_oriented": True, "orientation": DIRECTIONS["RIGHT"]}


def _rgb(name: str) -> Mapping[str, Value]:
    return {"color": COLOURS[name]}


SPRITE_CLASSES: Final[dict[str, SpriteClass]] = {}
"""By name."""


def _add(
    name: str,
    base: str,
    behaviour: str,
    overrides: Overrides = _NO_OVERRIDES,
    actions: tuple[str, ...] = (),
    *,
    continuous: bool = False,
    senses_ground: bool = False,
    products: str = "",
    role: str = "",
) -> None:
    """Add a row: a class, its base, its behaviour and its differences from the base; an avatar has actions.

    Products and role are inherited; see `SpriteClass` for all traits.
    """
    above = SPRITE_CLASSES.get(base)
    SPRITE_CLASSES[name] = SpriteClass(
        name=name,
        behaviour=behaviour,
        parameters=inherit(above.parameters if above else _COMMON, overrides),
        path=(*(above.path if above else ()), name),
        is_avatar=bool(actions),
        actions=actions,
        continuous=continuous,
        senses_ground=senses_ground,
        products=products or (above.products if above else ""),
        role=role or (above.role if above else ""),
    )


_add("Immovable", "", PASSIVE, {**_STILL, **_rgb("GRAY")})
_add("Door", "Immovable", PASSIVE, {"portal": True}, role="portal")
_add("Passive", "", PASSIVE, _rgb("RED"), role="passive")
_add("Conveyor", "", PASSIVE, {**_STILL, **_rgb("BLUE"), "is_oriented": True, "jump_strength": 1.0})

_RESOURCE: Final[Overrides] = {"value": whole(1), "limit": whole(2), "is_resource": True}
_add("Resource", "Passive", PASSIVE, {**_RESOURCE, **_rgb("YELLOW")}, role="resource")
_add("ResourcePack", "Resource", PASSIVE, _STILL)

_add("Missile", "", PASSIVE, {"speed": 1.0, "is_oriented": True}, role="missile")
_add("ErraticMissile", "Missile", PASSIVE, {"prob": number(0.1)})
_add("RandomMissile", "Missile", "random_missile", {"orientation": DIRECTIONS["NIL"]})
_add("Flicker", "", "flicker", {"limit": whole(1), **_rgb("RED")}, role="flicker")
_add("OrientedFlicker", "Flicker", "flicker", {"is_oriented": True})
_add("Spreader", "Flicker", "spreader", {"spreadprob": number(1.0), "stype": sprite(makes=True)})

_SPAWN: Final[Overrides] = {"prob": number(1.0), "total": whole(0), "spawnorientation": direction()}
_SPAWNER: Final[Overrides] = {**_STILL, **_rgb("BLACK"), **_SPAWN, "stype": _MAKES}
_BOMBER: Final[Overrides] = {**_RIGHT, **_rgb("ORANGE"), "is_static": False, "is_npc": True}
_PORTAL: Final[Overrides] = {**_STILL, **_rgb("BLUE"), "portal": True, "stype": sprite()}
_ONE_OF: Final[Overrides] = {"stypeMissile": _MAKE, "stype": sprite()}
_SEVERAL: Final[Overrides] = {**_RIGHT, "stypes": _MAKE, "stype": sprite(), "is_npc": True}
_add("SpriteProducer", "", PASSIVE)
_add("Portal", "SpriteProducer", PASSIVE, _PORTAL, role="portal")
_add("SpawnPoint", "SpriteProducer", "spawner", _SPAWNER, products="stype", role="producer")
_add("Bomber", "SpawnPoint", "spawner", _BOMBER, role="npc")
_add("RandomBomber", "Bomber", "wandering_spawner", {"speed": 1.0})
_add("BomberRandomMissile", "Bomber", "choosing_spawner", _ONE_OF, products="stypeMissile")
_add("SpawnPointMultiSprite", "SpawnPoint", "spawner", _SEVERAL, products="stypes")

_GOAL: Final[Overrides] = {"stype": sprite(required=True), "maxDistance": number(-1.0), "fleeing": switch()}
_GOALS: Final[Overrides] = {"stype1": sprites(required=True), "stype2": sprites(required=True)}
_PACE: Final[Overrides] = {"airsteering": switch(), "speed": 5.0, "max_speed": 5.0}
_LEAP: Final[Overrides] = {"probability": number(0.1), "jump_strength": 10.0}
_add("RandomNPC", "", "wanderer", {"speed": 1.0, "cons": whole(0), "is_npc": True}, role="npc")
_add("Chaser", "RandomNPC", "chaser", _GOAL)
_add("Fleeing", "Chaser", "chaser", {"fleeing": True})
_add("LOSChaser", "Chaser", "sighted_chaser")
_add("PathChaser", "RandomNPC", "path_chaser", _GOAL)
_add("AlternateChaser", "RandomNPC", "alternate_chaser", _GOALS)
_add("RandomAltChaser", "AlternateChaser", "random_alternate_chaser", {"epsilon": number(0.0)})
_add("PathAltChaser", "AlternateChaser", "path_follower", {"randomTarget": switch()})
_add("RandomPathAltChaser", "PathAltChaser", "random_path_follower", {"epsilon": number(0.0)})
_add("RandomInertial", "RandomNPC", "wanderer", {"physicstype": 1}, continuous=True)
_add("Walker", "Missile", "walker", _PACE, continuous=True, senses_ground=True)
_add("WalkerJumper", "Walker", "jumper", _LEAP, continuous=True, senses_ground=True)

_CROSS: Final = ("LEFT", "RIGHT", "DOWN", "UP")
_SHOOT: Final = ("USE", "LEFT", "RIGHT", "DOWN", "UP")
_EVERY_WAY: Final = ("LEFT", "UP", "RIGHT", "DOWN", "USE")
_FLAK: Final[Overrides] = {"stype": _MAKES, "ammo": sprite(), "minAmmo": whole(-1), "ammoCost": whole(1)}
_GUNS: Final[Overrides] = {"stype": _MAKE, "ammo": sprites()}
_TURNS: Final[Overrides] = {**_RIGHT, "rotateInPlace": True, "draw_arrow": True}
_add("MovingAvatar", "", "walk", {"speed": 1.0, **_rgb("WHITE")}, _CROSS)
_add("HorizontalAvatar", "MovingAvatar", "walk", {}, ("LEFT", "RIGHT"))
_add("VerticalAvatar", "MovingAvatar", "walk", {}, ("UP", "DOWN"))
_add("NullAvatar", "HorizontalAvatar", "walk", {}, ("NIL",))
_add("FlakAvatar", "HorizontalAvatar", "walk_and_drop", {**_FLAK, **_rgb("GREEN")}, ("USE", "LEFT", "RIGHT"))
_add("OrientedAvatar", "MovingAvatar", "walk_and_turn", _TURNS, _CROSS)
_add("MissileAvatar", "OrientedAvatar", "fly", {}, _CROSS)
_add("OngoingAvatar", "OrientedAvatar", "keep_going", {}, _CROSS)
_add(
    "OngoingTurningAvatar",
    "OrientedAvatar",
    "keep_going_and_wall",
    {"spawnBehind": sprite(makes=True)},
    _CROSS,
)
_add("ShootAvatar", "OrientedAvatar", "walk_and_shoot", _GUNS, _SHOOT)
_add("OngoingShootAvatar", "ShootAvatar", "keep_going_and_shoot", {}, _SHOOT)
_add("ShootOnlyAvatar", "ShootAvatar", "shoot_every_way", {}, _EVERY_WAY)

_AIM: Final[Overrides] = {"angle_diff": number(0.15), "speed": 0.0}
_STEADY_AIM: Final[Overrides] = {**_AIM, "stationary": True}
_FLY: Final[Overrides] = {"angle_diff": number(0.3), "speed": 5.0, "orientation": DIRECTIONS["NONE"]}
_JUMP: Final[Overrides] = {"air_slowdown_factor": number(2.0), "ground_speedup_factor": number(1.0)}
_RUN: Final[Overrides] = {**_JUMP, "jump_strength": 10.0, "max_speed": 30.0}
_CAST: Final[Overrides] = {**_JUMP, "jump_strength": 15.0, "speed": 0.0, "stype": _MAKE}
_RUNNING: Final = ("LEFT", "RIGHT", "USE")
_CASTING: Final = ("LEFT", "RIGHT", "USE", "UP")
_add("AimedAvatar", "ShootAvatar", "aim_and_shoot", _STEADY_AIM, ("USE", "DOWN", "UP"), continuous=True)
_add("PlatformerAvatar", "MovingAvatar", "platform", _RUN, _RUNNING, continuous=True, senses_ground=True)
_add("WizardAvatar", "MovingAvatar", "conjure", _CAST, _CASTING, continuous=True, senses_ground=True)
_add("BirdAvatar", "OrientedAvatar", "flap", {"jump_strength": 10.0}, ("USE",), continuous=True)
_add("SpaceshipAvatar", "ShootAvatar", "fly_and_shoot", _FLY, _SHOOT, continuous=True)
_add("CarAvatar", "OrientedAvatar", "drive", {**_AIM, "facing": number(0.0)}, _CROSS, continuous=True)
_add("LanderAvatar", "OrientedAvatar", "land", _FLY, _CROSS, continuous=True)
