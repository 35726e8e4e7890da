"""Tables of all sprite classes, effects and terminations, with their parameters and defaults.

A new class is one row here, and a function that is registered under the name of its behaviour in
`flagfall.tasks.vgdl.engine.sprites`; a row without such a function fails at import. The behaviour `passive`
is the engine's own: passive movement.

A colour's default is what the original draws without an image; most classes have none (it rolls one).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flagfall.tasks.vgdl.definition import Value
from flagfall.tasks.vgdl.language.schema import (
    COLOUR,
    COUNTS,
    FLAG,
    SCORE,
    Changes,
    EffectSchema,
    Needs,
    Overrides,
    Parameters,
    Schema,
    SpriteClass,
    direction,
    inherit,
    number,
    sprite,
    sprites,
    switch,
    text,
    whole,
)
from flagfall.tasks.vgdl.language.values import COLOURS, DIRECTIONS

_COMMON_OF_SPRITES: Final[Parameters] = {
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
    "hidden": FLAG,
    "invisible": FLAG,
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
    "color": COLOUR,
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


def _add_sprite(
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
        parameters=inherit(above.parameters if above else _COMMON_OF_SPRITES, overrides),
        path=(*(above.path if above else ()), name),
        is_avatar=bool(actions),
        actions=actions,
        continuous=continuous,
        senses_ground=senses_ground,
        products=products or (above.products if above else ""),
        role=role or (above.role if above else ""),
    )


_add_sprite("Immovable", "", PASSIVE, {**_STILL, **_rgb("GRAY")})
_add_sprite("Door", "Immovable", PASSIVE, {"portal": True}, role="portal")
_add_sprite("Passive", "", PASSIVE, _rgb("RED"), role="passive")
_add_sprite("Conveyor", "", PASSIVE, {**_STILL, **_rgb("BLUE"), "is_oriented": True, "jump_strength": 1.0})

_RESOURCE: Final[Overrides] = {"value": whole(1), "limit": whole(2), "is_resource": True}
_add_sprite("Resource", "Passive", PASSIVE, {**_RESOURCE, **_rgb("YELLOW")}, role="resource")
_add_sprite("ResourcePack", "Resource", PASSIVE, _STILL)

_add_sprite("Missile", "", PASSIVE, {"speed": 1.0, "is_oriented": True}, role="missile")
_add_sprite("ErraticMissile", "Missile", PASSIVE, {"prob": number(0.1)})
_add_sprite("RandomMissile", "Missile", "random_missile", {"orientation": DIRECTIONS["NIL"]})
_add_sprite("Flicker", "", "flicker", {"limit": whole(1), **_rgb("RED")}, role="flicker")
_add_sprite("OrientedFlicker", "Flicker", "flicker", {"is_oriented": True})
_add_sprite("Spreader", "Flicker", "spreader", {"spreadprob": number(1.0), "stype": sprite(makes=True)})

_SPAWN: Final[Overrides] = {"prob": number(1.0), "total": whole(0), "spawnorientation": direction()}
_SPAWNER: Final[Overrides] = {**_STILL, **_rgb("BLACK"), **_SPAWN, "stype": _MAKES}
_BOMBER: Final[Overrides] = {**_RIGHT, **_rgb("ORANGE"), "is_static": False, "is_npc": True}
_PORTAL: Final[Overrides] = {**_STILL, **_rgb("BLUE"), "portal": True, "stype": sprite()}
_ONE_OF: Final[Overrides] = {"stypeMissile": _MAKE, "stype": sprite()}
_SEVERAL: Final[Overrides] = {**_RIGHT, "stypes": _MAKE, "stype": sprite(), "is_npc": True}
_add_sprite("SpriteProducer", "", PASSIVE)
_add_sprite("Portal", "SpriteProducer", PASSIVE, _PORTAL, role="portal")
_add_sprite("SpawnPoint", "SpriteProducer", "spawner", _SPAWNER, products="stype", role="producer")
_add_sprite("Bomber", "SpawnPoint", "spawner", _BOMBER, role="npc")
_add_sprite("RandomBomber", "Bomber", "wandering_spawner", {"speed": 1.0})
_add_sprite("BomberRandomMissile", "Bomber", "choosing_spawner", _ONE_OF, products="stypeMissile")
_add_sprite("SpawnPointMultiSprite", "SpawnPoint", "spawner", _SEVERAL, products="stypes")

_GOAL: Final[Overrides] = {"stype": sprite(required=True), "maxDistance": number(-1.0), "fleeing": switch()}
_GOALS: Final[Overrides] = {"stype1": sprites(required=True), "stype2": sprites(required=True)}
_PACE: Final[Overrides] = {"airsteering": switch(), "speed": 5.0, "max_speed": 5.0}
_LEAP: Final[Overrides] = {"probability": number(0.1), "jump_strength": 10.0}
_add_sprite("RandomNPC", "", "wanderer", {"speed": 1.0, "cons": whole(0), "is_npc": True}, role="npc")
_add_sprite("Chaser", "RandomNPC", "chaser", _GOAL)
_add_sprite("Fleeing", "Chaser", "chaser", {"fleeing": True})
_add_sprite("LOSChaser", "Chaser", "sighted_chaser")
_add_sprite("PathChaser", "RandomNPC", "path_chaser", _GOAL)
_add_sprite("AlternateChaser", "RandomNPC", "alternate_chaser", _GOALS)
_add_sprite("RandomAltChaser", "AlternateChaser", "random_alternate_chaser", {"epsilon": number(0.0)})
_add_sprite("PathAltChaser", "AlternateChaser", "path_follower", {"randomTarget": switch()})
_add_sprite("RandomPathAltChaser", "PathAltChaser", "random_path_follower", {"epsilon": number(0.0)})
_add_sprite("RandomInertial", "RandomNPC", "wanderer", {"physicstype": 1}, continuous=True)
_add_sprite("Walker", "Missile", "walker", _PACE, continuous=True, senses_ground=True)
_add_sprite("WalkerJumper", "Walker", "jumper", _LEAP, continuous=True, senses_ground=True)

_CROSS: Final = ("LEFT", "RIGHT", "DOWN", "UP")
_SHOOT: Final = ("USE", "LEFT", "RIGHT", "DOWN", "UP")
_EVERY_WAY: Final = ("LEFT", "UP", "RIGHT", "DOWN", "USE")
_SHOTS: Final[Overrides] = {"stype": _MAKES, "ammo": sprite(), "minAmmo": whole(-1), "ammoCost": whole(1)}
_FLAK: Final[Overrides] = {**_SHOTS, **_rgb("GREEN")}
_WALLS: Final[Overrides] = {"spawnBehind": sprite(makes=True)}
_GUNS: Final[Overrides] = {"stype": _MAKE, "ammo": sprites()}
_TURNS: Final[Overrides] = {**_RIGHT, "rotateInPlace": True, "draw_arrow": True}
_add_sprite("MovingAvatar", "", "walk", {"speed": 1.0, **_rgb("WHITE")}, _CROSS)
_add_sprite("HorizontalAvatar", "MovingAvatar", "walk", {}, ("LEFT", "RIGHT"))
_add_sprite("VerticalAvatar", "MovingAvatar", "walk", {}, ("UP", "DOWN"))
_add_sprite("NullAvatar", "HorizontalAvatar", "walk", {}, ("NIL",))
_add_sprite("FlakAvatar", "HorizontalAvatar", "walk_and_drop", _FLAK, ("USE", "LEFT", "RIGHT"))
_add_sprite("OrientedAvatar", "MovingAvatar", "walk_and_turn", _TURNS, _CROSS)
_add_sprite("MissileAvatar", "OrientedAvatar", "fly", {}, _CROSS)
_add_sprite("OngoingAvatar", "OrientedAvatar", "keep_going", {}, _CROSS)
_add_sprite("OngoingTurningAvatar", "OrientedAvatar", "keep_going_and_wall", _WALLS, _CROSS)
_add_sprite("ShootAvatar", "OrientedAvatar", "walk_and_shoot", _GUNS, _SHOOT)
_add_sprite("OngoingShootAvatar", "ShootAvatar", "keep_going_and_shoot", {}, _SHOOT)
_add_sprite("ShootOnlyAvatar", "ShootAvatar", "shoot_every_way", {}, _EVERY_WAY)

_AIM: Final[Overrides] = {"angle_diff": number(0.15), "speed": 0.0}
_STEADY_AIM: Final[Overrides] = {**_AIM, "stationary": True}
_FLY: Final[Overrides] = {"angle_diff": number(0.3), "speed": 5.0, "orientation": DIRECTIONS["NONE"]}
_JUMP: Final[Overrides] = {"air_slowdown_factor": number(2.0), "ground_speedup_factor": number(1.0)}
_RUN: Final[Overrides] = {**_JUMP, "jump_strength": 10.0, "max_speed": 30.0}
_CAST: Final[Overrides] = {**_JUMP, "jump_strength": 15.0, "speed": 0.0, "stype": _MAKE}
_RUNNING: Final = ("LEFT", "RIGHT", "USE")
_CASTING: Final = ("LEFT", "RIGHT", "USE", "UP")
_add_sprite(
    "AimedAvatar", "ShootAvatar", "aim_and_shoot", _STEADY_AIM, ("USE", "DOWN", "UP"), continuous=True
)
_add_sprite(
    "PlatformerAvatar", "MovingAvatar", "platform", _RUN, _RUNNING, continuous=True, senses_ground=True
)
_add_sprite("WizardAvatar", "MovingAvatar", "conjure", _CAST, _CASTING, continuous=True, senses_ground=True)
_add_sprite("BirdAvatar", "OrientedAvatar", "flap", {"jump_strength": 10.0}, ("USE",), continuous=True)
_add_sprite("SpaceshipAvatar", "ShootAvatar", "fly_and_shoot", _FLY, _SHOOT, continuous=True)
_add_sprite("CarAvatar", "OrientedAvatar", "drive", {**_AIM, "facing": number(0.0)}, _CROSS, continuous=True)
_add_sprite("LanderAvatar", "OrientedAvatar", "land", _FLY, _CROSS, continuous=True)


# Effects and terminations. A new effect is one row here, and a function under the same name in
# `flagfall.tasks.vgdl.engine.effects`; a row without a function fails at import.

_COMMON_OF_EFFECTS: Final[Parameters] = {
    "scoreChange": SCORE,
    "prob": number(1.0),
    "repeat": whole(1),
    "counter": COUNTS,
    "counterElse": COUNTS,
    "enabled": switch(on=True),
    "inBatch": switch(),
}

TIMED: Final[Parameters] = {"timer": whole(-1), "nextExecution": whole(-1), "repeating": switch()}
"""Parameters of a `TIME` line in addition to those of its effect."""

_MUST: Final = sprite(required=True)
_MADE: Final = sprite(required=True, makes=True)
_OTHER: Final = sprite()
_CHILDREN: Final = sprite(required=True, makes_subtypes=True)
_NO_PARAMETERS: Final[Parameters] = {}
_TO: Final[Parameters] = {"stype": _MADE, "killSecond": switch(), "forceOrientation": switch()}
_ELSE: Final[Parameters] = {"stypeCount": _OTHER, "estype": sprite(makes=True)}
_RANGE: Final[Parameters] = {"geq": whole(0), "leq": whole(10000)}
_PRESENT: Final[Parameters] = {"subTypesNum": whole(-1), "limit": whole(0)}
_SINGLETON: Final[Parameters] = {"stype": _MADE, "stype_other": _MADE, "takeOrientation": switch()}
_IF_HELD: Final[Parameters] = {"killResource": switch(on=True), "heldResource": _OTHER, "value": whole(1)}
_CHANGE: Final[Parameters] = {"resource": _OTHER, "value": whole(1), "killResource": switch()}
_LOSS: Final[Parameters] = {"value": whole(1), "limit": whole(0), "scoreChangeIfKilled": SCORE}
_HEALTH: Final[Parameters] = {"value": whole(1), "killSecond": switch()}
_IF_HAS: Final[Parameters] = {"resource": _MUST, "limit": whole(0)}
_IF_OTHER_HAS: Final[Parameters] = {"resource": _OTHER, "limit": whole(0), "subtract": switch()}
_BESIDE: Final[Parameters] = {"stype": _MADE, "stepBack": switch()}
_WALL: Final[Parameters] = {"friction": number(0.0)}
_SPEED_LIMIT: Final[Parameters] = {"limspeed": number(1.0)}

_ALONE, _FIRST, _BOTH = Needs.NOTHING, Needs.FIRST, Needs.BOTH
_ALL_OF_STYPE: Final = Changes.FIRST | Changes.STYPE | Changes.STYPE_SPEED

EFFECTS: Final[dict[str, EffectSchema]] = {}
"""By name."""


def _add_effect(
    name: str,
    needs: Needs,
    changes: Changes,
    own: Parameters = _NO_PARAMETERS,
    *,
    quiet: bool = False,
    batch: bool = False,
    counts_itself: bool = False,
) -> None:
    """Add a row; see `EffectSchema` for its traits. A trait that is left out costs speed at most."""
    parameters = {**_COMMON_OF_EFFECTS, **own}
    EFFECTS[name] = EffectSchema(name, parameters, needs, changes, quiet, batch, counts_itself)


# Position and direction. What has not moved is changed neither by `stepBack` nor by `undoAll`.
_add_effect("stepBack", _FIRST, Changes.NOTHING, {"pixelPerfect": switch()}, quiet=True)
_add_effect("undoAll", _ALONE, Changes.NOTHING, {"notStype": sprites()})
_add_effect("wrapAround", _FIRST, Changes.FIRST, {"offset": number(0.0)}, quiet=True)
_add_effect("bounceForward", _BOTH, Changes.FIRST, quiet=True)
_add_effect("pullWithIt", _BOTH, Changes.FIRST, {"pixelPerfect": switch()}, quiet=True)
_add_effect("align", _BOTH, Changes.FIRST, {"orient": switch(on=True)}, quiet=True)
_add_effect("attractGaze", _BOTH, Changes.FIRST, {"align": switch()}, quiet=True)
_add_effect("teleportToExit", _BOTH, Changes.FIRST, quiet=True)
_add_effect("turnAround", _FIRST, Changes.FIRST, quiet=True)
_add_effect("reverseDirection", _FIRST, Changes.FIRST, quiet=True)
_add_effect("flipDirection", _FIRST, Changes.FIRST, quiet=True)

# Killing.
_add_effect("killSprite", _FIRST, Changes.NOTHING, quiet=True)
_add_effect("killBoth", _BOTH, Changes.NOTHING, quiet=True)
_add_effect("killAll", _ALONE, Changes.NOTHING, {"stype": _MUST}, quiet=True)
_add_effect("killIfHasMore", _FIRST, Changes.NOTHING, _IF_HAS, quiet=True)
_add_effect("killIfHasLess", _FIRST, Changes.NOTHING, _IF_HAS, quiet=True)
_add_effect("killIfOtherHasMore", _BOTH, Changes.SECOND, _IF_OTHER_HAS, quiet=True)
_add_effect("killIfFromAbove", _BOTH, Changes.NOTHING, quiet=True)
_add_effect("killIfFrontal", _BOTH, Changes.NOTHING, quiet=True)
_add_effect("killIfNotFrontal", _BOTH, Changes.NOTHING, quiet=True)
_add_effect("killIfAlive", _BOTH, Changes.NOTHING, quiet=True)
_add_effect("killIfSlow", _BOTH, Changes.NOTHING, _SPEED_LIMIT, quiet=True)
_add_effect("killIfFast", _BOTH, Changes.NOTHING, _SPEED_LIMIT, quiet=True)
_add_effect("killIfNotUpright", _FIRST, Changes.NOTHING, quiet=True)

# Transforming and spawning.
_add_effect("transformTo", _FIRST, Changes.NOTHING, _TO)
_add_effect("transformIfCount", _BOTH, Changes.NOTHING, {**_TO, **_ELSE, **_RANGE}, counts_itself=True)
_add_effect("transformToAll", _ALONE, Changes.NOTHING, {**_TO, "stype": _MUST, "stypeTo": _MADE})
_add_effect("transformToRandomChild", _FIRST, Changes.NOTHING, {**_TO, "stype": _CHILDREN})
_add_effect("transformToSingleton", _BOTH, Changes.STYPE_ORIENTATION, _SINGLETON)
_add_effect("cloneSprite", _FIRST, Changes.NOTHING)
_add_effect("spawn", _FIRST, Changes.NOTHING, {"stype": _MADE})
_add_effect("spawnIfHasMore", _FIRST, Changes.FIRST, {**_IF_HAS, "stype": _MADE, "spend": whole(0)})
_add_effect("spawnIfHasLess", _FIRST, Changes.NOTHING, {**_IF_HAS, "stype": _MADE})
_add_effect("spawnAbove", _BOTH, Changes.NOTHING, _BESIDE)
_add_effect("spawnBelow", _BOTH, Changes.NOTHING, _BESIDE)
_add_effect("spawnLeft", _BOTH, Changes.NOTHING, _BESIDE)
_add_effect("spawnRight", _BOTH, Changes.NOTHING, _BESIDE)
_add_effect("spawnBehind", _BOTH, Changes.NOTHING, {"stype": _MADE})
_add_effect("spawnIfCounterSubTypes", _FIRST, Changes.NOTHING, {"stype": _MADE, **_ELSE, **_PRESENT})
_add_effect("updateSpawnType", _BOTH, Changes.NOTHING, {"stype": _MADE, "spawnPoint": _MUST}, quiet=True)

# Resources, health, speed, time.
_add_effect("collectResource", _BOTH, Changes.SECOND, {"killResource": switch(on=True)}, quiet=True)
_add_effect("collectResourceIfHeld", _BOTH, Changes.SECOND, _IF_HELD, quiet=True)
_add_effect("changeResource", _BOTH, Changes.FIRST, _CHANGE, quiet=True)
_add_effect("addHealthPoints", _FIRST, Changes.FIRST, _HEALTH, quiet=True)
_add_effect("addHealthPointsToMax", _FIRST, Changes.FIRST, _HEALTH, quiet=True)
_add_effect(
    "subtractHealthPoints", _FIRST, Changes.FIRST | Changes.STYPE, {**_LOSS, "stype": _OTHER}, quiet=True
)
_add_effect("setSpeedForAll", _ALONE, _ALL_OF_STYPE, {"stype": _MUST, "value": number(0.0)}, quiet=True)
_add_effect("increaseSpeedToAll", _ALONE, _ALL_OF_STYPE, {"stype": _MUST, "value": number(0.1)}, quiet=True)
_add_effect("decreaseSpeedToAll", _ALONE, _ALL_OF_STYPE, {"stype": _MUST, "value": number(0.1)}, quiet=True)
_add_effect("shieldFrom", _FIRST, Changes.NOTHING, {"stype": _MUST, "ftype": text()}, quiet=True)
_add_effect("removeScore", _ALONE, Changes.NOTHING, {"stype": _OTHER, "killSecond": switch()}, quiet=True)
_add_effect("addTimer", _FIRST, Changes.FIRST, {"timer": whole(-1), "ftype": text()})

# Continuous physics.
_add_effect("wallStop", _BOTH, Changes.FIRST, _WALL)
_add_effect("wallBounce", _BOTH, Changes.FIRST, _WALL, batch=True)
_add_effect("wallReverse", _BOTH, Changes.FIRST, _WALL, batch=True)
_add_effect("bounceDirection", _BOTH, Changes.FIRST, {"maxBounceSpeed": number(0.0)})
_add_effect("halfSpeed", _FIRST, Changes.FIRST, quiet=True)
_add_effect("waterPhysics", _FIRST, Changes.FIRST, quiet=True)

_END: Final[Parameters] = {"win": FLAG, "limit": whole(0), "count_score": switch()}
_THREE: Final[Parameters] = {"stype1": _OTHER, "stype2": _OTHER, "stype3": _OTHER, "min": switch()}

TERMINATIONS: Final[dict[str, Schema]] = {
    name: Schema(name, {**_END, **own})
    for name, own in {
        "SpriteCounter": {"stype": _MUST},
        "SpriteCounterMore": {"stype": _MUST},
        "MultiSpriteCounter": _THREE,
        "MultiSpriteCounterSubTypes": {"stype1": _MUST, "subTypesNum": whole(-1)},
        "Timeout": {"use_counter": switch(), "compare": switch(), "limits": text("0")},
        "StopCounter": _THREE,
    }.items()
}
"""By name."""
