"""Rules besides collisions: barriers, the edge of the screen, timers, and the end of a play.

A sprite that steps against a wall enters the wall, is found there, and steps back; many do so in every tick.
If nothing else can depend on the step, the sprite need not take it: `stride` only records its attempt.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from flagfall.tasks.vgdl.definition import GameDefinition, TerminationRule
from flagfall.tasks.vgdl.engine.state.game import LARGE_GROUP, Game, Termination, Timer, TimerPlan, schedule
from flagfall.tasks.vgdl.engine.state.play import Play, Test
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.language.schema import Parameters
from flagfall.tasks.vgdl.language.tables import EFFECTS, SPRITE_CLASSES, TERMINATIONS
from flagfall.tasks.vgdl.language.values import NO_SCORE, NO_SCORE_MESSAGE, ValueKind


def find_barriers(game: Game) -> list[frozenset[int]]:
    """Return by type the types against which its steps have no effect.

    The first effects on such a type, in the order in which pairs are run, step it back from these types, and
    their sprites never move. Nothing reads its position before: no timer, no edge effect, no chaser, and no
    effect on other sprites.
    """
    definition = game.definition
    if game.timer_plans or any(rule.effect == "shieldFrom" for rule in definition.rules):
        return [frozenset()] * len(game.kinds)
    seen = {
        subtype for named in _named_types(game) for type_id in named for subtype in game.subtypes(type_id)
    }
    return [
        frozenset()
        if kind.is_avatar or kind.id in seen or game.watched_edges[kind.id]
        else frozenset(_barriers_of(game, kind.id))
        for kind in game.kinds
    ]


def _barriers_of(game: Game, type_id: int) -> Iterator[int]:
    for pair in game.pairs:
        is_first = pair.first_ranks[type_id] is not None
        is_second = pair.second_ranks[type_id] is not None
        if not pair.rules or not (is_first or is_second):
            continue
        if is_second or not pair.rules[0].steps_back:
            return
        for kind, rank in zip(game.kinds, pair.second_ranks, strict=True):
            if rank is not None and kind.fixed:
                yield kind.id


def _named_types(game: Game) -> Iterator[tuple[int, ...]]:
    """Yield the types whose sprites a sprite or an effect may look up; not those that a sprite spawns."""
    for rule in game.definition.rules:
        yield from _types_in(EFFECTS[rule.effect].parameters, rule.parameters, "")
    for sprite_type in game.definition.types:
        if sprite_type.kind is not None:
            row = SPRITE_CLASSES[sprite_type.kind]
            yield from _types_in(row.parameters, sprite_type.parameters, row.products)


def _types_in(known: Parameters, values: Mapping[str, Any], products: str) -> Iterator[tuple[int, ...]]:
    for key, parameter in known.items():
        value = values[key]
        if key != products and parameter.kind is ValueKind.SPRITE and value is not None:
            yield (value,)
        elif key != products and parameter.kind is ValueKind.SPRITES:
            yield value


def check_edges(play: Play) -> None:
    """Run the edge effects if a sprite that has any is partly outside of the screen."""
    width, height = play.screen
    grid = play.grid
    if any(is_outside(sprite, width, height) for sprite in grid.near_edge):
        run_edges(play)
    grid.near_edge = {sprite for sprite in grid.near_edge if may_be_outside(sprite, width, height)}


def may_be_outside(sprite: Sprite, width: int, height: int) -> bool:
    """Return whether the cells in which a sprite is entered extend beyond the screen."""
    right = sprite.right + sprite.w
    return sprite.left < 0 or sprite.top < 0 or right > width or sprite.bottom + sprite.h > height


def is_outside(sprite: Sprite, width: int, height: int) -> bool:
    """Return whether any part of a sprite is beyond the screen; the border belongs to the screen."""
    return sprite.x < 0 or sprite.y < 0 or sprite.x + sprite.w > width or sprite.y + sprite.h > height


def run_edges(play: Play) -> None:
    """Run all edge effects, type by type; a type with several lines is looped over once for each."""
    width, height = play.screen
    groups = play.groups
    for types, effects in play.game.edges:
        for effect in effects:
            for type_id in types:
                group = groups[type_id]
                if len(group) > LARGE_GROUP:
                    play.work.charge(len(group))
                size = len(group)
                for sprite in list(group):
                    if (
                        is_outside(sprite, width, height)
                        and sprite not in play.killed
                        and not sprite.disabled
                    ):
                        play.score += effect(play, sprite, None)
                        if len(group) != size:
                            play.warn("an edge effect made sprites of the type over which it runs")
                            break


def run_timers(play: Play) -> None:
    """Run all timers that are due, and schedule those that repeat."""
    timers = play.memory.timers
    while timers and timers[0].due <= play.tick:
        plan = timers.pop(0).plan
        if plan.enabled:
            run(play, plan)
        if plan.repeats:
            schedule(timers, Timer(play.tick + plan.period, plan))


def run(play: Play, plan: TimerPlan) -> None:
    """Run the effect of a timer, over the sprites that each type has when its turn comes."""
    if plan.types is None:
        plan.effect(play, None, None)
        add_score(play, plan.score)
        return
    for type_id in plan.types:
        for sprite in list(play.groups[type_id]):
            if sprite not in play.killed and not sprite.disabled:
                plan.effect(play, sprite, None)
                add_score(play, plan.score)


def add_score(play: Play, score: int) -> None:
    """Add to the score, or log a message if a `scoreChange` was not an integer."""
    if score == NO_SCORE:
        play.warn(NO_SCORE_MESSAGE)
    else:
        play.score += score


TestMaker = Callable[[GameDefinition, Mapping[str, Any]], Test]


def compile_termination(definition: GameDefinition, rule: TerminationRule) -> Termination:
    """Return a line of the TerminationSet as functions of the play."""
    return Termination(
        done=_TESTS[rule.kind](definition, rule.parameters),
        won=winning(rule),
        every_tick=rule.kind == "Timeout"
        or any(other.kind == "StopCounter" for other in definition.terminations),
    )


def _sprite_counter(
    holds: Callable[[int, int], bool], definition: GameDefinition, parameters: Mapping[str, Any]
) -> Test:
    """`SpriteCounter`: at most `limit` sprites are left; `SpriteCounterMore`: at least as many are."""
    types = definition.types[parameters["stype"]].subtypes
    limit = parameters["limit"]
    return lambda play: play.memory.can_end and holds(play.count_alive(types), limit)


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
    "SpriteCounter": partial(_sprite_counter, operator.le),
    "SpriteCounterMore": partial(_sprite_counter, operator.ge),
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
    """Return the test for a win when a termination ends the game; a `Timeout` may use the counters."""
    parameters = rule.parameters
    if parameters["count_score"]:
        return lambda play: play.score != 0
    if rule.kind != "Timeout" or not parameters["use_counter"]:
        wins: bool = parameters["win"]
        return lambda _: wins
    if parameters["compare"]:
        return lambda play: len(set(play.counters)) > 1
    wanted = str(parameters["limits"]).split(",")[0]
    return lambda play: len(play.counters) == 1 and str(play.counters[0]) == wanted


def judge(play: Play) -> bool | None:
    """Return whether the first termination that holds wins the game; `None` while the game goes on."""
    for termination in play.game.terminations:
        if (play.counted or termination.every_tick) and termination.done(play):
            return termination.won(play)
    return None
