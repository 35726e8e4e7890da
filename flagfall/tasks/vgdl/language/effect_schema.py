"""Effects and terminations: the original's, with their parameters, defaults and traits.

A new effect is one row here, and a function under the same name in `flagfall.tasks.vgdl.engine.effects`; a
row without a function fails at import.
"""

from __future__ import annotations

__all__ = ["EFFECTS", "TERMINATIONS", "TIMED"]

from typing import Final

from flagfall.tasks.vgdl.language.schema import (
    Changes,
    EffectSchema,
    Needs,
    Parameters,
    Schema,
    counts,
    flag,
    number,
    score,
    sprite,
    sprites,
    switch,
    text,
    whole,
)

_COMMON: Final[Parameters] = {
    "scoreChange": score(),
    "prob": number(1.0),
    "repeat": whole(1),
    "counter": counts(),
    "counterElse": counts(),
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
_HEALTH: Final[Parameters] = {"value": whole(1), "killSecond": switch()}
_IF_HAS: Final[Parameters] = {"resource": _MUST, "limit": whole(0)}
_BESIDE: Final[Parameters] = {"stype": _MADE, "stepBack": switch()}
_WALL: Final[Parameters] = {"friction": number(0.0)}
_SPEED_LIMIT: Final[Parameters] = {"limspeed": number(1.0)}

_ALONE, _FIRST, _BOTH = Needs.NOTHING, Needs.FIRST, Needs.BOTH
_ALL_OF_STYPE: Final = Changes.FIRST | Changes.STYPE | Changes.STYPE_SPEED

EFFECTS: Final[dict[str, EffectSchema]] = {}
"""By name."""


def _add(
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
    parameters = {**_COMMON, **own}
    EFFECTS[name] = EffectSchema(name, parameters, needs, changes, quiet, batch, counts_itself)


# Position and direction. What has not moved is changed neither by `stepBack` nor by `undoAll`.
_add("stepBack", _FIRST, Changes.NOTHING, {"pixelPerfect": switch()}, quiet=True)
_add("undoAll", _ALONE, Changes.NOTHING, {"notStype": sprites()})
_add("wrapAround", _FIRST, Changes.FIRST, {"offset": number(0.0)}, quiet=True)
_add("bounceForward", _BOTH, Changes.FIRST, quiet=True)
_add("pullWithIt", _BOTH, Changes.FIRST, {"pixelPerfect": switch()}, quiet=True)
_add("align", _BOTH, Changes.FIRST, {"orient": switch(on=True)}, quiet=True)
_add("attractGaze", _BOTH, Changes.FIRST, {"align": switch()}, quiet=True)
_add("teleportToExit", _BOTH, Changes.FIRST, quiet=True)
_add("turnAround", _FIRST, Changes.FIRST, quiet=True)
_add("reverseDirection", _FIRST, Changes.FIRST, quiet=True)
_add("flipDirection", _FIRST, Changes.FIRST, quiet=True)

# Killing.
_add("killSprite", _FIRST, Changes.NOTHING, quiet=True)
_add("killBoth", _BOTH, Changes.NOTHING, quiet=True)
_add("killAll", _ALONE, Changes.NOTHING, {"stype": _MUST}, quiet=True)
_add("killIfHasMore", _FIRST, Changes.NOTHING, _IF_HAS, quiet=True)
_add("killIfHasLess", _FIRST, Changes.NOTHING, _IF_HAS, quiet=True)
_add(
    "killIfOtherHasMore",
    _BOTH,
    Changes.SECOND,
    {"resource": _OTHER, "limit": whole(0), "subtract": switch()},
    quiet=True,
)
_add("killIfFromAbove", _BOTH, Changes.NOTHING, quiet=True)
_add("killIfFrontal", _BOTH, Changes.NOTHING, quiet=True)
_add("killIfNotFrontal", _BOTH, Changes.NOTHING, quiet=True)
_add("killIfAlive", _BOTH, Changes.NOTHING, quiet=True)
_add("killIfSlow", _BOTH, Changes.NOTHING, _SPEED_LIMIT, quiet=True)
_add("killIfFast", _BOTH, Changes.NOTHING, _SPEED_LIMIT, quiet=True)
_add("killIfNotUpright", _FIRST, Changes.NOTHING, quiet=True)

# Transforming and spawning.
_add("transformTo", _FIRST, Changes.NOTHING, _TO)
_add(
    "transformIfCount",
    _BOTH,
    Changes.NOTHING,
    {
        **_TO,
        "stypeCount": _OTHER,
        "geq": whole(0),
        "leq": whole(10000),
        "estype": sprite(makes=True),
    },
    counts_itself=True,
)
_add("transformToAll", _ALONE, Changes.NOTHING, {**_TO, "stype": _MUST, "stypeTo": _MADE})
_add("transformToRandomChild", _FIRST, Changes.NOTHING, {**_TO, "stype": _CHILDREN})
_add(
    "transformToSingleton",
    _BOTH,
    Changes.STYPE_ORIENTATION,
    {"stype": _MADE, "stype_other": _MADE, "takeOrientation": switch()},
)
_add("cloneSprite", _FIRST, Changes.NOTHING)
_add("spawn", _FIRST, Changes.NOTHING, {"stype": _MADE})
_add("spawnIfHasMore", _FIRST, Changes.FIRST, {**_IF_HAS, "stype": _MADE, "spend": whole(0)})
_add("spawnIfHasLess", _FIRST, Changes.NOTHING, {**_IF_HAS, "stype": _MADE})
_add("spawnAbove", _BOTH, Changes.NOTHING, _BESIDE)
_add("spawnBelow", _BOTH, Changes.NOTHING, _BESIDE)
_add("spawnLeft", _BOTH, Changes.NOTHING, _BESIDE)
_add("spawnRight", _BOTH, Changes.NOTHING, _BESIDE)
_add("spawnBehind", _BOTH, Changes.NOTHING, {"stype": _MADE})
_add(
    "spawnIfCounterSubTypes",
    _FIRST,
    Changes.NOTHING,
    {
        "stype": _MADE,
        "estype": sprite(makes=True),
        "stypeCount": _OTHER,
        "subTypesNum": whole(-1),
        "limit": whole(0),
    },
)
_add("updateSpawnType", _BOTH, Changes.NOTHING, {"stype": _MADE, "spawnPoint": _MUST}, quiet=True)

# Resources, health, speed, time.
_add("collectResource", _BOTH, Changes.SECOND, {"killResource": switch(on=True)}, quiet=True)
_add(
    "collectResourceIfHeld",
    _BOTH,
    Changes.SECOND,
    {"killResource": switch(on=True), "heldResource": _OTHER, "value": whole(1)},
    quiet=True,
)
_add(
    "changeResource",
    _BOTH,
    Changes.FIRST,
    {"resource": _OTHER, "value": whole(1), "killResource": switch()},
    quiet=True,
)
_add("addHealthPoints", _FIRST, Changes.FIRST, _HEALTH, quiet=True)
_add("addHealthPointsToMax", _FIRST, Changes.FIRST, _HEALTH, quiet=True)
_add(
    "subtractHealthPoints",
    _FIRST,
    Changes.FIRST | Changes.STYPE,
    {"value": whole(1), "limit": whole(0), "stype": _OTHER, "scoreChangeIfKilled": score()},
    quiet=True,
)
_add("setSpeedForAll", _ALONE, _ALL_OF_STYPE, {"stype": _MUST, "value": number(0.0)}, quiet=True)
_add("increaseSpeedToAll", _ALONE, _ALL_OF_STYPE, {"stype": _MUST, "value": number(0.1)}, quiet=True)
_add("decreaseSpeedToAll", _ALONE, _ALL_OF_STYPE, {"stype": _MUST, "value": number(0.1)}, quiet=True)
_add("shieldFrom", _FIRST, Changes.NOTHING, {"stype": _MUST, "ftype": text()}, quiet=True)
_add("removeScore", _ALONE, Changes.NOTHING, {"stype": _OTHER, "killSecond": switch()}, quiet=True)
_add("addTimer", _FIRST, Changes.FIRST, {"timer": whole(-1), "ftype": text()})

# Continuous physics.
_add("wallStop", _BOTH, Changes.FIRST, _WALL)
_add("wallBounce", _BOTH, Changes.FIRST, _WALL, batch=True)
_add("wallReverse", _BOTH, Changes.FIRST, _WALL, batch=True)
_add("bounceDirection", _BOTH, Changes.FIRST, {"maxBounceSpeed": number(0.0)})
_add("halfSpeed", _FIRST, Changes.FIRST, quiet=True)
_add("waterPhysics", _FIRST, Changes.FIRST, quiet=True)

_END: Final[Parameters] = {"win": flag(), "limit": whole(0), "count_score": switch()}
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
