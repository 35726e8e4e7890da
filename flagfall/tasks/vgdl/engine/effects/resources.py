"""Effects on resources, health, speed, shields and the score."""

from __future__ import annotations

__all__: list[str] = []

from flagfall.tasks.vgdl.engine.effects.behaviour import effect, effect_maker
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.engine.state.tables import Effect, EffectLine


@effect_maker("collectResource")
def _collect_resource(line: EffectLine, game: Game) -> Effect:
    """Give the first sprite, a resource, to the second, as far as its limit allows."""
    kills: bool = line.parameters["killResource"]
    limits = game.definition.limits
    flag = game.new_flag()

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if not first.kind.parameters["is_resource"]:
            return line.score if play.memory.flags[flag] else 0
        resource = first.type
        room = limits[resource] - second.resource(resource)
        taken = play.memory.flags[flag] = room > 0
        if not taken:
            return 0
        second.gain(resource, min(first.kind.parameters.get("value", 1), room))
        if kills:
            play.kill(first)
        return line.score

    return run


@effect_maker("collectResourceIfHeld")
def _collect_resource_if_held(line: EffectLine, game: Game) -> Effect:
    """Give the first sprite, a resource, to the second if that has enough of another one and room for all."""
    kills: bool = line.parameters["killResource"]
    held: int | None = line.parameters["heldResource"]
    needed: int = line.parameters["value"]
    limits = game.definition.limits
    flag = game.new_flag()

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if not first.kind.parameters["is_resource"]:
            return line.score if play.memory.flags[flag] else 0
        play.memory.flags[flag] = False
        if second.resource(held) < needed:
            return 0
        resource = first.type
        value = first.kind.parameters.get("value", 1)
        if second.resource(resource) + value <= limits[resource]:
            second.gain(resource, value)
            play.memory.flags[flag] = True
        if kills:
            play.kill(first)
        return line.score if play.memory.flags[flag] else 0

    return run


@effect("changeResource")
def _change_resource(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Add to a resource of the first sprite within its limit; with `killResource`, remove the second."""
    resource, value = line.parameters["resource"], line.parameters["value"]
    amount = first.resource(resource)
    if resource is None or amount + value > play.game.definition.limits[resource]:
        return 0
    first.gain(resource, max(0, amount + value) - amount)
    if line.parameters["killResource"]:
        play.kill(second, transformed=True)
    return line.score


@effect("addHealthPoints")
def _add_health_points(line: EffectLine, play: Play, first: Sprite, second: Sprite | None) -> int:
    """Add to the health of the first sprite if it stays below its limit."""
    if first.health + line.parameters["value"] >= first.limit_health:
        return 0
    return _add_health_points_to_max(line, play, first, second)


@effect("addHealthPointsToMax")
def _add_health_points_to_max(line: EffectLine, play: Play, first: Sprite, second: Sprite | None) -> int:
    """Add to the health of the first sprite, up to its limit."""
    first.health = min(first.health + line.parameters["value"], first.limit_health)
    first.max_health = max(first.max_health, first.health)
    if line.parameters["killSecond"] and second is not None:
        play.kill(second)
    return line.score


@effect("subtractHealthPoints")
def _subtract_health_points(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Take health from the first sprite, or from one of `stype`; kill it at `limit`, for another score."""
    target = first
    for type_id in play.game.subtypes(line.parameters["stype"]):
        if play.groups[type_id]:
            target = play.groups[type_id][0]
    target.health -= line.parameters["value"]
    if target.health > line.parameters["limit"]:
        return line.score
    play.kill(target)
    score_if_killed: int = line.parameters["scoreChangeIfKilled"]
    return score_if_killed


def _sprites_of_stype(line: EffectLine, play: Play) -> list[Sprite]:
    """Return all sprites of a line's `stype`, and charge for them."""
    sprites = [
        sprite for type_id in play.game.subtypes(line.parameters["stype"]) for sprite in play.groups[type_id]
    ]
    play.work.charge(len(sprites))
    return sprites


@effect("setSpeedForAll")
def _set_speed_for_all(line: EffectLine, play: Play, _first: Sprite | None, _second: Sprite | None) -> int:
    """Set the speed of all sprites of a type."""
    for sprite in _sprites_of_stype(line, play):
        sprite.speed = line.parameters["value"]
    return line.score


@effect("increaseSpeedToAll")
def _increase_speed_to_all(
    line: EffectLine, play: Play, _first: Sprite | None, _second: Sprite | None
) -> int:
    """Increase the speed of all sprites of a type."""
    for sprite in _sprites_of_stype(line, play):
        sprite.speed += line.parameters["value"]
    return line.score


@effect("decreaseSpeedToAll")
def _decrease_speed_to_all(
    line: EffectLine, play: Play, _first: Sprite | None, _second: Sprite | None
) -> int:
    """Decrease the speed of all sprites of a type, to 0 at the least."""
    for sprite in _sprites_of_stype(line, play):
        sprite.speed = max(0.0, sprite.speed - line.parameters["value"])
    return line.score


@effect("shieldFrom")
def _shield_from(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Turn off an effect between the first sprite's type and another, for the rest of the tick."""
    play.shields.add((first.type, line.parameters["stype"], line.parameters["ftype"]))
    return line.score


@effect("removeScore")
def _remove_score(line: EffectLine, play: Play, _first: Sprite | None, second: Sprite | None) -> int:
    """Set the score to 0."""
    play.score = 0
    if line.parameters["killSecond"] and second is not None:
        play.kill(second)
    return line.score
