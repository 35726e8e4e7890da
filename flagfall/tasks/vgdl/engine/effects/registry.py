"""The table of all effects: how each is made from its line, what it needs, and what it can change.

The effects themselves stand in the `effects_*` files, by the sections of the language's specification.
"""

from __future__ import annotations

__all__ = ["Changes", "Maker", "can_take_all", "compile_effect", "find_changes", "is_quiet", "takes_all"]

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from flagfall.tasks.vgdl.definition import EffectContext, EffectRule, GameDefinition
from flagfall.tasks.vgdl.engine.effects.continuous import BATCH_EFFECTS, CONTINUOUS_EFFECTS
from flagfall.tasks.vgdl.engine.effects.killing import KILLING_EFFECTS
from flagfall.tasks.vgdl.engine.effects.position import POSITION_EFFECTS
from flagfall.tasks.vgdl.engine.effects.resources import HAVING_EFFECTS
from flagfall.tasks.vgdl.engine.effects.spawning import MAKING_EFFECTS
from flagfall.tasks.vgdl.engine.rules.timers import NO_SCORE_MESSAGE, Timer, TimerPlan, schedule
from flagfall.tasks.vgdl.language.values import NO_SCORE

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.game import Game
    from flagfall.tasks.vgdl.engine.rules.collisions import Effect
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite

Maker: TypeAlias = "Callable[[Mapping[str, Any], Game], Effect]"
"""Makes an effect from the parameters of its line."""

_EFFECTS: Final[Mapping[str, Maker]] = {
    **POSITION_EFFECTS,
    **KILLING_EFFECTS,
    **MAKING_EFFECTS,
    **HAVING_EFFECTS,
    **CONTINUOUS_EFFECTS,
}

_ALONE: Final = {
    *("undoAll", "killAll", "transformToAll", "removeScore"),
    *("setSpeedForAll", "increaseSpeedToAll", "decreaseSpeedToAll"),
}
"""They work without any sprite."""

_NEEDS_BOTH: Final = {
    *("bounceForward", "pullWithIt", "align", "attractGaze", "teleportToExit"),
    *(
        "killBoth",
        "killIfOtherHasMore",
        "killIfFromAbove",
        "killIfFrontal",
        "killIfNotFrontal",
        "killIfAlive",
    ),
    *("transformIfCount", "transformToSingleton"),
    *("spawnAbove", "spawnBelow", "spawnLeft", "spawnRight", "spawnBehind"),
    *("collectResource", "collectResourceIfHeld", "changeResource"),
    *("wallStop", "wallBounce", "wallReverse", "bounceDirection", "killIfSlow", "killIfFast"),
    "updateSpawnType",
}
"""Without a second sprite they log a message and do nothing, and their score counts all the same."""

_CHANGE_NO_SPRITE: Final = {
    *("killSprite", "killBoth", "killAll", "killIfHasMore", "killIfHasLess", "killIfFromAbove"),
    *("killIfFrontal", "killIfNotFrontal", "killIfAlive", "killIfSlow", "killIfFast", "killIfNotUpright"),
    *("stepBack", "undoAll"),  # what has not moved is changed by neither
    *("transformTo", "transformIfCount", "transformToAll", "transformToRandomChild", "transformToSingleton"),
    *("cloneSprite", "spawn", "spawnIfHasLess", "spawnAbove", "spawnBelow", "spawnLeft", "spawnRight"),
    *("spawnBehind", "spawnIfCounterSubTypes", "shieldFrom", "removeScore", "updateSpawnType"),
}
"""They kill and make sprites, and leave those that stand where they stand as they are."""

_CHANGE_SECOND: Final = {"collectResource", "collectResourceIfHeld", "killIfOtherHasMore"}
_CHANGE_TYPE: Final = {
    *("setSpeedForAll", "increaseSpeedToAll", "decreaseSpeedToAll", "subtractHealthPoints"),
}
_CHANGE_SPEED: Final = {"setSpeedForAll", "increaseSpeedToAll", "decreaseSpeedToAll"}

_LOUD: Final = {
    *("undoAll", "transformTo", "transformIfCount", "transformToAll", "transformToRandomChild"),
    *("transformToSingleton", "cloneSprite", "spawn", "spawnIfHasMore", "spawnIfHasLess", "spawnAbove"),
    *("spawnBelow", "spawnLeft", "spawnRight", "spawnBehind", "spawnIfCounterSubTypes", "addTimer"),
    *("wallStop", "wallBounce", "wallReverse", "bounceDirection"),
}


def takes_all(rule: EffectRule) -> bool:
    """Whether an effect is run once for all second sprites; one that cannot be does nothing then."""
    return bool(rule.parameters["inBatch"]) or (
        rule.effect in BATCH_EFFECTS and "inBatch" not in rule.written
    )


def can_take_all(rule: EffectRule) -> bool:
    """Whether it can be."""
    return rule.effect in BATCH_EFFECTS


def is_quiet(name: str) -> bool:
    """Whether an effect changes no place but the first sprite's, and makes no sprite."""
    return name not in _LOUD


@attrs.frozen
class Changes:
    """What a game's effects can do to sprites that do nothing by themselves.

    Attributes:
        sped: types whose speed they can change.
        turned: types that they can make oriented.
        changed: types whose sprites they can change in any way.
    """

    sped: set[int] = attrs.field(factory=set)
    turned: set[int] = attrs.field(factory=set)
    changed: set[int] = attrs.field(factory=set)


def find_changes(definition: GameDefinition) -> Changes:
    """What all effects of a game can do."""
    changes = Changes()
    for rule in definition.rules:
        note_changes(definition, rule, changes)
        if rule.inner is not None:
            note_changes(definition, rule.inner, changes)
    return changes


def note_changes(definition: GameDefinition, rule: EffectRule, changes: Changes) -> None:
    """Add what one effect can do."""
    types = definition.types
    name = rule.effect
    sped, turned, changed = changes.sped, changes.turned, changes.changed
    if name in _CHANGE_SECOND:
        changed.update(*(types[second].subtypes for second in rule.seconds))
    elif name not in _CHANGE_NO_SPRITE:
        changed.update(types[rule.first].subtypes)
    if name in _CHANGE_TYPE and isinstance(stype := rule.parameters["stype"], int):
        changed.update(types[stype].subtypes)
        if name in _CHANGE_SPEED:
            sped.update(types[stype].subtypes)
    if name == "transformToSingleton" and isinstance(stype := rule.parameters["stype"], int):
        turned.update(types[stype].subtypes)


def compile_effect(rule: EffectRule, game: Game) -> Effect:
    """A line of the InteractionSet as a function; its counters are counted by it."""
    effect = _unscored_effect(rule, game)
    scores = (rule.parameters["scoreChange"], rule.parameters.get("scoreChangeIfKilled"))
    if NO_SCORE in scores and rule.context is not EffectContext.TIME:
        return _complaining_of_score(effect)
    return effect


def _unscored_effect(rule: EffectRule, game: Game) -> Effect:
    """The same, where nobody asks what a score is that is no integer."""
    if rule.effect == "addTimer":
        return _add_timer(rule, game)
    effect = _EFFECTS[rule.effect](rule.parameters, game)
    counter: Any = rule.parameters["counter"]
    if any(counter) and rule.effect != "transformIfCount":
        effect = _counting(effect, counter)
    batch = rule.effect in BATCH_EFFECTS
    if rule.context is not EffectContext.PAIR and rule.effect in _NEEDS_BOTH:
        return _complaining(rule)
    if batch and "inBatch" in rule.written and not rule.parameters["inBatch"]:
        return lambda play, first, second: effect(play, first, (second,))
    return effect


def compile_inner(rule: EffectRule, game: Game) -> Effect:
    """An effect that will run without any sprite."""
    if rule.effect not in _ALONE:
        return _complaining(rule)
    return _unscored_effect(rule, game)


def _complaining(rule: EffectRule) -> Effect:
    score: Any = rule.parameters["scoreChange"]
    message = f"{rule.effect} has not the sprites that it needs"

    def run(play: Play, first: Sprite | None, second: Sprite | None) -> int:
        del first, second
        play.warn(message)
        return int(score)

    return run


def _complaining_of_score(effect: Effect) -> Effect:
    """An effect, some score of which is no integer: a message where that would count."""

    def run(play: Play, first: Sprite | None, second: Any) -> int:
        gain = effect(play, first, second)
        if gain < NO_SCORE:
            return gain
        play.warn(NO_SCORE_MESSAGE)
        return 0

    return run


def _counting(effect: Effect, counter: tuple[int, ...]) -> Effect:
    def run(play: Play, first: Sprite | None, second: Sprite | None) -> int:
        play.add_counts(counter)
        return effect(play, first, second)

    return run


def _add_timer(rule: EffectRule, game: Game) -> Effect:
    """`addTimer`: something will happen later, once for every collision; the score is given both times."""
    score: Any = rule.parameters["scoreChange"]
    period: Any = rule.parameters["timer"]
    inner: Effect = _complaining(rule) if rule.inner is None else compile_inner(rule.inner, game)
    plan = TimerPlan(len(game.plans), None, inner, score, period, repeats=False)
    game.plans.append(plan)

    def run(play: Play, first: Sprite | None, second: Sprite | None) -> int:
        del first, second
        schedule(play.session.timers, Timer(play.tick + period, plan))
        return int(score)

    return run
