"""Compiles the lines of the InteractionSet: each name to its behaviour, wrapped as the line asks for."""

from __future__ import annotations

__all__ = ["compile_effect", "find_side_effects", "runs_in_batch"]

from typing import Any

from flagfall.tasks.vgdl.definition import EffectContext, EffectRule, GameDefinition
from flagfall.tasks.vgdl.engine.effects import continuous, killing, position, resources, spawning, timed
from flagfall.tasks.vgdl.engine.effects.behaviour import MAKERS
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.engine.state.tables import Effect, EffectLine, SideEffects
from flagfall.tasks.vgdl.language.effect_schema import EFFECTS
from flagfall.tasks.vgdl.language.schema import Changes, Needs
from flagfall.tasks.vgdl.language.values import NO_SCORE, NO_SCORE_MESSAGE

MODULES = (continuous, killing, position, resources, spawning, timed)
"""Modules with behaviours: importing them has filled `MAKERS`."""

if MAKERS.keys() != EFFECTS.keys():
    raise TypeError(
        f"effects without a behaviour, or without a row: {sorted(MAKERS.keys() ^ EFFECTS.keys())}"
    )


def runs_in_batch(rule: EffectRule) -> bool:
    """Return whether an effect is run once for all second sprites.

    Args:
        rule: line of the InteractionSet. If it asks for a batch of an effect that takes single sprites, the
            original does nothing.
    """
    return bool(rule.parameters["inBatch"]) or (EFFECTS[rule.effect].batch and "inBatch" not in rule.written)


def find_side_effects(definition: GameDefinition) -> SideEffects:
    """Return the types whose sprites the effects of a game can change.

    Args:
        definition: the definition of the game.
    """
    found = SideEffects()
    for line in definition.rules:
        for rule in (line, line.inner):
            if rule is not None:
                _add_side_effects(definition, rule, found)
    return found


def _add_side_effects(definition: GameDefinition, rule: EffectRule, found: SideEffects) -> None:
    types = definition.types
    changes = EFFECTS[rule.effect].changes
    stype = rule.parameters.get("stype")
    named = types[stype].subtypes if isinstance(stype, int) else ()
    if Changes.FIRST in changes:
        found.changed.update(types[rule.first].subtypes)
    if Changes.SECOND in changes:
        found.changed.update(*(types[second].subtypes for second in rule.seconds))
    if Changes.STYPE in changes:
        found.changed.update(named)
    if Changes.STYPE_SPEED in changes:
        found.sped.update(named)
    if Changes.STYPE_ORIENTATION in changes:
        found.turned.update(named)


def compile_effect(rule: EffectRule, game: Game) -> Effect:
    """Return a line of the InteractionSet as a function; it also adds to the counters of the game.

    Args:
        rule: the line.
        game: being compiled; flags and timers are added to it.

    Raises:
        GameError: the effect cannot work in this game.
    """
    effect = _compile_scoring(rule, game)
    scores = (rule.parameters["scoreChange"], rule.parameters.get("scoreChangeIfKilled"))
    if NO_SCORE in scores and rule.context is not EffectContext.TIME:
        return _with_score_message(effect)
    return effect


def _compile_scoring(rule: EffectRule, game: Game) -> Effect:
    """Do as `compile_effect`, but leave it to the caller to handle scores that are not integers."""
    schema = EFFECTS[rule.effect]
    parameters: Any = rule.parameters
    inner = None if rule.inner is None else _compile_inner(rule.inner, game)
    effect = MAKERS[rule.effect](EffectLine(parameters["scoreChange"], parameters, inner), game)
    counter = parameters["counter"]
    if any(counter) and not schema.counts_itself:
        effect = _with_counter(effect, counter)
    if rule.context is not EffectContext.PAIR and schema.needs is Needs.BOTH:
        return _lacking_sprites(rule)
    if schema.batch and "inBatch" in rule.written and not rule.parameters["inBatch"]:
        return lambda play, first, second: effect(play, first, (second,))
    return effect


def _compile_inner(rule: EffectRule, game: Game) -> Effect:
    """Return an effect that will run without any sprite."""
    if EFFECTS[rule.effect].needs is not Needs.NOTHING:
        return _lacking_sprites(rule)
    return _compile_scoring(rule, game)


def _lacking_sprites(rule: EffectRule) -> Effect:
    """Return an effect that logs that its sprites are missing; its score is added all the same."""
    score: Any = rule.parameters["scoreChange"]
    message = f"{rule.effect} lacks the sprites that it needs"

    def run(play: Play, _first: Sprite | None, _second: Sprite | None) -> int:
        play.warn(message)
        return int(score)

    return run


def _with_score_message(effect: Effect) -> Effect:
    """Return an effect that logs a message each time when a score that is not an integer would be added."""

    def run(play: Play, first: Sprite | None, second: Any) -> int:
        gain = effect(play, first, second)
        if gain < NO_SCORE:
            return gain
        play.warn(NO_SCORE_MESSAGE)
        return 0

    return run


def _with_counter(effect: Effect, counter: tuple[int, ...]) -> Effect:
    """Return an effect that also adds to the game's counters."""

    def run(play: Play, first: Sprite | None, second: Sprite | None) -> int:
        play.add_counts(counter)
        return effect(play, first, second)

    return run
