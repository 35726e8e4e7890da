"""Terminations: when a game is over, and whether it is won."""

from __future__ import annotations

__all__ = ["compile_termination", "judge", "winning"]

from collections.abc import Callable, Mapping
from typing import Any, Final

from flagfall.tasks.vgdl.definition import GameDefinition, TerminationRule
from flagfall.tasks.vgdl.engine.state.play import Play, Test
from flagfall.tasks.vgdl.engine.state.tables import Termination
from flagfall.tasks.vgdl.language.effect_schema import TERMINATIONS

TestMaker = Callable[[GameDefinition, Mapping[str, Any]], Test]


def compile_termination(definition: GameDefinition, rule: TerminationRule) -> Termination:
    """Return a line of the TerminationSet as functions of the play.

    Args:
        definition: the definition of the game.
        rule: the line.
    """
    return Termination(
        done=_TESTS[rule.kind](definition, rule.parameters),
        won=winning(rule),
        every_tick=rule.kind == "Timeout"
        or any(other.kind == "StopCounter" for other in definition.terminations),
    )


def _sprite_counter(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """`SpriteCounter`: at most `limit` sprites are left."""
    types = definition.types[parameters["stype"]].subtypes
    limit = parameters["limit"]
    return lambda play: play.memory.can_end and play.count_alive(types) <= limit


def _sprite_counter_more(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """`SpriteCounterMore`: at least `limit` sprites are present."""
    types = definition.types[parameters["stype"]].subtypes
    limit = parameters["limit"]
    return lambda play: play.memory.can_end and play.count_alive(types) >= limit


def _sum_of(definition: GameDefinition, parameters: Mapping[str, Any]) -> Callable[[Play], int]:
    given = [parameters[key] for key in ("stype1", "stype2", "stype3")]
    types = [definition.types[type_id].subtypes for type_id in given if type_id is not None]
    return lambda play: sum([play.count_alive(subtypes) for subtypes in types])


def _multi_sprite_counter(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """`MultiSpriteCounter`: exactly `limit` sprites of several types are present; with `min`, more."""
    total = _sum_of(definition, parameters)
    limit = parameters["limit"]
    if parameters["min"]:
        return lambda play: play.memory.can_end and total(play) > limit
    return lambda play: play.memory.can_end and total(play) == limit


def _multi_sprite_counter_sub_types(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """`MultiSpriteCounterSubTypes`: exactly `limit` sprites of exactly `subTypesNum` types are present."""
    types = definition.types[parameters["stype1"]].subtypes
    limit = parameters["limit"]
    kinds = int(parameters["subTypesNum"])
    return lambda play: (
        play.memory.can_end and play.count_alive(types) == limit and play.count_types(types) == kinds
    )


def _timeout(_definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """`Timeout`: `limit` ticks have passed."""
    limit = parameters["limit"]
    return lambda play: play.tick >= limit


def _stop_counter(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """`StopCounter`: never ends the game, but decides whether the other counters may."""
    total = _sum_of(definition, parameters)
    limit = parameters["limit"]
    least = parameters["min"]

    def done(play: Play) -> bool:
        play.memory.can_end = total(play) <= limit if least else total(play) != limit
        return False

    return done


_TESTS: Final[Mapping[str, TestMaker]] = {
    "SpriteCounter": _sprite_counter,
    "SpriteCounterMore": _sprite_counter_more,
    "MultiSpriteCounter": _multi_sprite_counter,
    "MultiSpriteCounterSubTypes": _multi_sprite_counter_sub_types,
    "Timeout": _timeout,
    "StopCounter": _stop_counter,
}

if _TESTS.keys() != TERMINATIONS.keys():
    raise TypeError(
        f"terminations without a test, or without a row: {sorted(_TESTS.keys() ^ TERMINATIONS.keys())}"
    )


def winning(rule: TerminationRule) -> Test:
    """Return the test for a win when a termination ends the game; a `Timeout` may use the counters.

    Args:
        rule: line of the TerminationSet.
    """
    parameters: Mapping[str, Any] = rule.parameters
    if parameters["count_score"]:
        return lambda play: play.score != 0
    if rule.kind != "Timeout" or not parameters["use_counter"]:
        wins = bool(parameters["win"])
        return lambda _: wins
    if parameters["compare"]:
        return lambda play: len(set(play.counters)) > 1
    wanted = str(parameters["limits"]).split(",")[0]
    return lambda play: len(play.counters) == 1 and str(play.counters[0]) == wanted


def judge(play: Play) -> bool | None:
    """Return whether the first termination that holds wins the game; `None` while the game goes on.

    Args:
        play: at the end of a cycle.
    """
    for termination in play.game.terminations:
        if (play.counted or termination.every_tick) and termination.done(play):
            return termination.won(play)
    return None
