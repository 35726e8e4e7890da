"""When a game is over, and who has won."""

from __future__ import annotations

__all__ = ["Termination", "compile_termination"]

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.definition import GameDefinition, TerminationRule
    from flagfall.tasks.vgdl.engine.state.play import Play

Test: TypeAlias = "Callable[[Play], bool]"


@attrs.frozen
class Termination:
    """One line of the TerminationSet.

    Attributes:
        done: the test.
        won: whether the game is won when it is satisfied.
        by_tick: the test may change its mind though nothing was born and nothing died.
    """

    done: Test
    won: Test
    by_tick: bool


def compile_termination(definition: GameDefinition, rule: TerminationRule) -> Termination:
    """A line of the TerminationSet as a test."""
    return Termination(
        done=_TESTS[rule.kind](definition, rule.parameters),
        won=winning(rule),
        by_tick=rule.kind == "Timeout"
        or any(other.kind == "StopCounter" for other in definition.terminations),
    )


def sprite_counter(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """At most so many are left."""
    types = definition.types[parameters["stype"]].subtypes
    limit = parameters["limit"]
    return lambda play: play.session.can_end and play.alive(types) <= limit


def sprite_counter_more(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """At least so many are there."""
    types = definition.types[parameters["stype"]].subtypes
    limit = parameters["limit"]
    return lambda play: play.session.can_end and play.alive(types) >= limit


def _sum_of(definition: GameDefinition, parameters: Mapping[str, Any]) -> Callable[[Play], int]:
    given = [parameters[key] for key in ("stype1", "stype2", "stype3")]
    types = [definition.types[type_id].subtypes for type_id in given if type_id is not None]
    return lambda play: sum([play.alive(subtypes) for subtypes in types])


def multi_sprite_counter(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """Exactly so many of several types are there; with `min`, more than that."""
    total = _sum_of(definition, parameters)
    limit = parameters["limit"]
    if parameters["min"]:
        return lambda play: play.session.can_end and total(play) > limit
    return lambda play: play.session.can_end and total(play) == limit


def multi_sprite_counter_sub_types(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """Exactly so many are there, of exactly so many different types."""
    types = definition.types[parameters["stype1"]].subtypes
    limit = parameters["limit"]
    kinds = parameters["subTypesNum"]

    def done(play: Play) -> bool:
        if not play.session.can_end or play.alive(types) != limit:
            return False
        return present_types(play, definition, types) == int(kinds)

    return done


def present_types(play: Play, definition: GameDefinition, types: Sequence[int]) -> int:
    """How many of some types have sprites that are not disabled."""
    return sum(
        [bool(play.groups[number]) and play.alive(definition.types[number].subtypes) > 0 for number in types]
    )


def timeout(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """So many ticks have passed."""
    del definition
    limit = parameters["limit"]
    return lambda play: play.tick >= limit


def winning(rule: TerminationRule) -> Test:
    """Whether the game is won when a termination ends it; a `Timeout` may ask the counters."""
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


def stop_counter(definition: GameDefinition, parameters: Mapping[str, Any]) -> Test:
    """Never the end: it tells the other counters whether they may end the game."""
    total = _sum_of(definition, parameters)
    limit = parameters["limit"]
    least = parameters["min"]

    def done(play: Play) -> bool:
        play.session.can_end = total(play) <= limit if least else total(play) != limit
        return False

    return done


_TESTS: Final[Mapping[str, Callable[[GameDefinition, Mapping[str, Any]], Test]]] = {
    "SpriteCounter": sprite_counter,
    "SpriteCounterMore": sprite_counter_more,
    "MultiSpriteCounter": multi_sprite_counter,
    "MultiSpriteCounterSubTypes": multi_sprite_counter_sub_types,
    "Timeout": timeout,
    "StopCounter": stop_counter,
}


def judge(play: Play, terminations: Sequence[Termination], *, counted: bool) -> bool | None:
    """Whether the first satisfied termination is won; `None` where the game goes on.

    Args:
        play: the game.
        terminations: in file order.
        counted: something was born or has died since the last time.
    """
    for termination in terminations:
        if (counted or termination.by_tick) and termination.done(play):
            return termination.won(play)
    return None
