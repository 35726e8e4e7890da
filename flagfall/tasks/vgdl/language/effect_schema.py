"""The effects and the terminations: the original's, with their parameters and defaults."""

from __future__ import annotations

__all__ = ["EFFECTS", "TERMINATIONS", "TIMED"]

from collections.abc import Mapping
from typing import Final

from flagfall.tasks.vgdl.language.schema import (
    Parameter,
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
"""What a `TIME` line takes besides its effect's own."""

_MUST: Final = sprite(required=True)
_MADE: Final = sprite(required=True, makes=True)
_OTHER: Final = sprite()
_TO: Final[Mapping[str, Parameter]] = {"stype": _MADE, "killSecond": switch(), "forceOrientation": switch()}
_HEALTH: Final[Mapping[str, Parameter]] = {"value": whole(1), "killSecond": switch()}
_IF_HAS: Final[Mapping[str, Parameter]] = {"resource": _MUST, "limit": whole(0)}
_BESIDE: Final[Mapping[str, Parameter]] = {"stype": _MADE, "stepBack": switch()}

_OWN: Final[Mapping[str, Mapping[str, Parameter]]] = {
    # position and direction
    "stepBack": {"pixelPerfect": switch()},
    "undoAll": {"notStype": sprites()},
    "wrapAround": {"offset": number(0.0)},
    "bounceForward": {},
    "pullWithIt": {"pixelPerfect": switch()},
    "align": {"orient": switch(on=True)},
    "attractGaze": {"align": switch()},
    "teleportToExit": {},
    "turnAround": {},
    "reverseDirection": {},
    "flipDirection": {},
    # killing
    "killSprite": {},
    "killBoth": {},
    "killAll": {"stype": _MUST},
    "killIfHasMore": _IF_HAS,
    "killIfHasLess": _IF_HAS,
    "killIfOtherHasMore": {"resource": _OTHER, "limit": whole(0), "subtract": switch()},
    "killIfFromAbove": {},
    "killIfFrontal": {},
    "killIfNotFrontal": {},
    "killIfAlive": {},
    "killIfSlow": {"limspeed": number(1.0)},
    "killIfFast": {"limspeed": number(1.0)},
    "killIfNotUpright": {},
    # transforming and spawning
    "transformTo": _TO,
    "transformIfCount": {
        **_TO,
        "stypeCount": _OTHER,
        "geq": whole(0),
        "leq": whole(10000),
        "estype": sprite(makes=True),
    },
    "transformToAll": {**_TO, "stype": _MUST, "stypeTo": _MADE},
    "transformToRandomChild": {**_TO, "stype": _MUST},
    "transformToSingleton": {"stype": _MADE, "stype_other": _MADE, "takeOrientation": switch()},
    "cloneSprite": {},
    "spawn": {"stype": _MADE},
    "spawnIfHasMore": {**_IF_HAS, "stype": _MADE, "spend": whole(0)},
    "spawnIfHasLess": {**_IF_HAS, "stype": _MADE},
    "spawnAbove": _BESIDE,
    "spawnBelow": _BESIDE,
    "spawnLeft": _BESIDE,
    "spawnRight": _BESIDE,
    "spawnBehind": {"stype": _MADE},
    "spawnIfCounterSubTypes": {
        "stype": _MADE,
        "estype": sprite(makes=True),
        "stypeCount": _OTHER,
        "subTypesNum": whole(-1),
        "limit": whole(0),
    },
    "updateSpawnType": {"stype": _MADE, "spawnPoint": _MUST},
    # resources, health, speed, time
    "collectResource": {"killResource": switch(on=True)},
    "collectResourceIfHeld": {
        "killResource": switch(on=True),
        "heldResource": _OTHER,
        "value": whole(1),
    },
    "changeResource": {"resource": _OTHER, "value": whole(1), "killResource": switch()},
    "addHealthPoints": _HEALTH,
    "addHealthPointsToMax": _HEALTH,
    "subtractHealthPoints": {
        "value": whole(1),
        "limit": whole(0),
        "stype": _OTHER,
        "scoreChangeIfKilled": score(),
    },
    "setSpeedForAll": {"stype": _MUST, "value": number(0.0)},
    "increaseSpeedToAll": {"stype": _MUST, "value": number(0.1)},
    "decreaseSpeedToAll": {"stype": _MUST, "value": number(0.1)},
    "shieldFrom": {"stype": _MUST, "ftype": text()},
    "removeScore": {"stype": _OTHER, "killSecond": switch()},
    "addTimer": {"timer": whole(-1), "ftype": text()},
    # continuous physics
    "wallStop": {"friction": number(0.0)},
    "wallBounce": {"friction": number(0.0)},
    "wallReverse": {"friction": number(0.0)},
    "bounceDirection": {"maxBounceSpeed": number(0.0)},
    "halfSpeed": {},
    "waterPhysics": {},
}

EFFECTS: Final[Mapping[str, Schema]] = {name: Schema(name, {**_COMMON, **own}) for name, own in _OWN.items()}
"""By name."""

_END: Final[Parameters] = {"win": flag(), "limit": whole(0), "count_score": switch()}
_THREE: Final[Parameters] = {"stype1": _OTHER, "stype2": _OTHER, "stype3": _OTHER, "min": switch()}

TERMINATIONS: Final[Mapping[str, Schema]] = {
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
