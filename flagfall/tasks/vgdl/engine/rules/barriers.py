"""Barriers: what would only push a sprite back to where it stands, before anything notices that it moved.

A sprite that steps against a wall enters the wall, is found there, and steps back; many do so in every tick.
If nothing else can depend on the step, the sprite need not take it: `stride` only records its attempt.
"""

from __future__ import annotations

__all__ = ["find_barriers"]

from collections.abc import Iterator, Mapping
from typing import Any

from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.language.effect_schema import EFFECTS
from flagfall.tasks.vgdl.language.schema import Parameters
from flagfall.tasks.vgdl.language.sprite_schema import SPRITE_CLASSES
from flagfall.tasks.vgdl.language.values import ValueKind


def find_barriers(game: Game) -> list[frozenset[int]]:
    """Return by type the types against which its steps have no effect.

    The first effects on such a type, in the order in which pairs are run, step it back from these types, and
    their sprites never move. Nothing reads its position before: no timer, no edge effect, no chaser, and no
    effect on other sprites.

    Args:
        game: with its pairs, edges and timers.
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
