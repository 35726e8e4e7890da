"""The goal and the rules of a game as text, generated from its definition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from flagfall.tasks.vgdl.definition import (
    ACTIONS,
    NIL,
    EffectContext,
    EffectRule,
    GameDefinition,
    TerminationRule,
)
from flagfall.tasks.vgdl.engine.cycle import LAST_TICK
from flagfall.tasks.vgdl.language.tables import EFFECTS, SPRITE_CLASSES
from flagfall.tasks.vgdl.language.values import NO_SCORE, ValueKind

_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def instructions_of(definition: GameDefinition) -> str:
    """Return the actions of a game, how it ends, what changes the score, and what kills the avatar."""
    actions = ", ".join(_actions(definition))
    parts = [
        f"A game on a grid. In each tick, choose an action of the avatar: {actions}.",
        "The reward of a tick is the change of the score.",
        _listed("The game ends as soon as one of these holds; the first one decides", _ends(definition)),
        _listed("The score changes when", _scores(definition)),
        _listed("The avatar can be killed when", _deaths(definition)),
    ]
    return "\n\n".join(filter(None, parts))


def _listed(title: str, lines: Iterable[str]) -> str:
    found = dict.fromkeys(f"- {line}" for line in lines)
    return "\n".join([f"{title}:", *found]) if found else ""


def _avatars(definition: GameDefinition) -> dict[int, tuple[str, ...]]:
    """Return the types of avatars, and the actions of each."""
    known = ((sprite.id, SPRITE_CLASSES.get(sprite.kind or "")) for sprite in definition.types)
    return {number: row.actions for number, row in known if row is not None and row.is_avatar}


def _actions(definition: GameDefinition) -> list[str]:
    possible = {action for actions in _avatars(definition).values() for action in actions} - {NIL}
    return [f"{NIL} (do nothing)", *(action for action in ACTIONS if action in possible)]


def _name(definition: GameDefinition, number: int | None) -> str:
    return "nothing" if number is None else definition.types[number].name


# How a game ends; `flagfall.tasks.vgdl.engine.rules` has the same rows as tests.


def _sum(definition: GameDefinition, parameters: Mapping[str, Any], joint: str) -> str:
    given = [parameters[key] for key in ("stype1", "stype2", "stype3")]
    return joint.join(_name(definition, number) for number in given if number is not None)


def _at_most(definition: GameDefinition, parameters: Mapping[str, Any]) -> str:
    name, limit = _name(definition, parameters["stype"]), parameters["limit"]
    return f"no {name} is left" if limit == 0 else f"at most {limit} {name} are left"


def _at_least(definition: GameDefinition, parameters: Mapping[str, Any]) -> str:
    return f"there are {parameters['limit']} or more {_name(definition, parameters['stype'])}"


def _exactly(definition: GameDefinition, parameters: Mapping[str, Any]) -> str:
    if parameters["limit"] == 0 and not parameters["min"]:
        return f"no {_sum(definition, parameters, ' or ')} is left"
    count = f"{'more than' if parameters['min'] else 'exactly'} {parameters['limit']}"
    return f"there are {count} {_sum(definition, parameters, ' and ')} in all"


def _exactly_of_kinds(definition: GameDefinition, parameters: Mapping[str, Any]) -> str:
    name, kinds = _name(definition, parameters["stype1"]), parameters["subTypesNum"]
    return f"there are exactly {parameters['limit']} {name}, of exactly {kinds} kinds"


def _after(_definition: GameDefinition, parameters: Mapping[str, Any]) -> str:
    return f"{parameters['limit']} ticks have passed"


def _held_back(definition: GameDefinition, parameters: Mapping[str, Any]) -> str:
    count = f"{'more than' if parameters['min'] else 'exactly'} {parameters['limit']}"
    return f"(not by counts while there are {count} {_sum(definition, parameters, ' and ')} in all)"


ENDS: Final[Mapping[str, Callable[[GameDefinition, Mapping[str, Any]], str]]] = {
    "SpriteCounter": _at_most,
    "SpriteCounterMore": _at_least,
    "MultiSpriteCounter": _exactly,
    "MultiSpriteCounterSubTypes": _exactly_of_kinds,
    "Timeout": _after,
    "StopCounter": _held_back,
}
"""The condition of each termination."""


def _ends(definition: GameDefinition) -> Iterator[str]:
    for rule in definition.terminations:
        condition = ENDS[rule.kind](definition, rule.parameters)
        yield condition if rule.kind == "StopCounter" else f"{condition}: {_verdict(rule)}"
    if not any(rule.kind == "Timeout" for rule in definition.terminations):
        yield f"{LAST_TICK} ticks have passed: you lose"


def _verdict(rule: TerminationRule) -> str:
    if rule.parameters["count_score"]:
        return "you win if the score is not 0"
    if rule.kind == "Timeout" and rule.parameters["use_counter"]:
        return "the counters of the game decide"
    return "you win" if rule.parameters["win"] else "you lose"


# What happens between sprites.

_SCORES: Final = {"scoreChange": "", "scoreChangeIfKilled": ", and has no health left"}


def _scores(definition: GameDefinition) -> Iterator[str]:
    for rule in definition.rules:
        for key, more in _SCORES.items():
            score = rule.parameters.get(key, 0)
            if score not in {0, NO_SCORE}:
                yield f"{_occasion(definition, rule)}{more}: {score:+d} ({_effect(definition, rule)})"


def _deaths(definition: GameDefinition) -> Iterator[str]:
    avatars = _avatars(definition).keys()
    for rule in definition.rules:
        kills = rule.effect == "subtractHealthPoints" or rule.effect.startswith("kill")
        killed = [rule.first, *(rule.seconds if rule.effect == "killBoth" else ())]
        if kills and any(not avatars.isdisjoint(definition.types[number].subtypes) for number in killed):
            yield f"{_occasion(definition, rule)} ({_effect(definition, rule)})"


def _occasion(definition: GameDefinition, rule: EffectRule) -> str:
    first = _name(definition, rule.first)
    if rule.context is EffectContext.EDGE:
        return f"{first} leaves the grid"
    if rule.context is EffectContext.TIME:
        return "a timer has run down"
    return f"{first} meets {' or '.join(_name(definition, number) for number in rule.seconds)}"


def _effect(definition: GameDefinition, rule: EffectRule) -> str:
    """Return an effect as words, with its own parameters: `kill if other has more: limit 2`."""
    known = EFFECTS[rule.effect].parameters
    written = [key for key in known if key in rule.written and key not in _SCORES]
    details = [f"{key} {_value(definition, known[key].kind, rule.parameters[key])}" for key in written]
    return ": ".join(filter(None, [_CAPITAL.sub(" ", rule.effect).lower(), ", ".join(details)]))


def _value(definition: GameDefinition, kind: ValueKind, value: Any) -> str:
    if kind is ValueKind.SPRITE:
        return _name(definition, value)
    return (
        " ".join(_name(definition, number) for number in value) if kind is ValueKind.SPRITES else str(value)
    )
