"""Effects on resources, health, speed, shields and the score."""

from __future__ import annotations

__all__ = ["HAVING_EFFECTS"]

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from flagfall.tasks.vgdl.engine.state.work_limit import spend

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.effects.registry import Maker
    from flagfall.tasks.vgdl.engine.game import Game
    from flagfall.tasks.vgdl.engine.rules.collisions import Effect
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite


def collect_resource(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The second takes the first, as far as there is room."""
    score: int = parameters["scoreChange"]
    kills: bool = parameters["killResource"]
    limits = game.definition.limits
    memory = game.new_flag()

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if not first.kind.parameters["is_resource"]:
            return score if play.session.flags[memory] else 0
        resource = first.type
        room = limits[resource] - second.resource(resource)
        taken = play.session.flags[memory] = room > 0
        if not taken:
            return 0
        second.gain(resource, min(first.kind.parameters.get("value", 1), room))
        if kills:
            play.kill(first)
        return score

    return run


def collect_resource_if_held(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The second takes the first, if it holds enough of something else and there is room for all of it."""
    score: int = parameters["scoreChange"]
    kills: bool = parameters["killResource"]
    held: int | None = parameters["heldResource"]
    needed: int = parameters["value"]
    limits = game.definition.limits
    memory = game.new_flag()

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if not first.kind.parameters["is_resource"]:
            return score if play.session.flags[memory] else 0
        play.session.flags[memory] = False
        if second.resource(held) < needed:
            return 0
        resource = first.type
        value = first.kind.parameters.get("value", 1)
        if second.resource(resource) + value <= limits[resource]:
            second.gain(resource, value)
            play.session.flags[memory] = True
        if kills:
            play.kill(first)
        return score if play.session.flags[memory] else 0

    return run


def change_resource(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first gains or loses a resource; the second may be used up by it."""
    score: int = parameters["scoreChange"]
    resource: int | None = parameters["resource"]
    value: int = parameters["value"]
    kills: bool = parameters["killResource"]
    limit = game.definition.limits[resource] if resource is not None else 0

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        amount = first.resource(resource)
        if resource is None or amount + value > limit:
            return 0
        first.gain(resource, max(0, amount + value) - amount)
        if kills:
            play.kill(second, transformed=True)
        return score

    return run


def add_health_points(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first gains health, where that stays below its limit."""
    del game
    score: int = parameters["scoreChange"]
    value: int = parameters["value"]
    kill_second: bool = parameters["killSecond"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        if first.health + value >= first.limit_health:
            return 0
        first.health += value
        first.max_health = max(first.max_health, first.health)
        if kill_second and second is not None:
            play.kill(second)
        return score

    return run


def add_health_points_to_max(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first gains health up to its limit."""
    del game
    score: int = parameters["scoreChange"]
    value: int = parameters["value"]
    kill_second: bool = parameters["killSecond"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        first.health = min(first.health + value, first.limit_health)
        first.max_health = max(first.max_health, first.health)
        if kill_second and second is not None:
            play.kill(second)
        return score

    return run


def subtract_health_points(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first, or one of a type, loses health and may die of it, which has a score of its own."""
    score: int = parameters["scoreChange"]
    score_if_killed: int = parameters["scoreChangeIfKilled"]
    value: int = parameters["value"]
    limit: int = parameters["limit"]
    stype: int | None = parameters["stype"]
    types = () if stype is None else game.subtypes(stype)

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        target = first
        for type_id in types:
            if play.groups[type_id]:
                target = play.groups[type_id][0]
        target.health -= value
        if target.health > limit:
            return score
        play.kill(target)
        return score_if_killed

    return run


def setting_speed(change: Callable[[float, float], float]) -> Maker:
    """All sprites of a type change their speed."""

    def make(parameters: Mapping[str, Any], game: Game) -> Effect:
        score: int = parameters["scoreChange"]
        value: float = parameters["value"]
        types = game.subtypes(parameters["stype"])

        def run(play: Play, first: Sprite | None, second: Sprite | None) -> int:
            del first, second
            for type_id in types:
                spend(play, len(play.groups[type_id]))
                for sprite in play.groups[type_id]:
                    sprite.speed = change(sprite.speed, value)
            return score

        return run

    return make


def shield_from(parameters: Mapping[str, Any], game: Game) -> Effect:
    """For the rest of the tick, an effect is off between the first's type and another."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    effect: str = parameters["ftype"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        play.shields.add((first.type, stype, effect))
        return score

    return run


def remove_score(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The score becomes 0."""
    del game
    score: int = parameters["scoreChange"]
    kill_second: bool = parameters["killSecond"]

    def run(play: Play, first: Sprite | None, second: Sprite | None) -> int:
        del first
        play.score = 0
        if kill_second and second is not None:
            play.kill(second)
        return score

    return run


HAVING_EFFECTS: Final[Mapping[str, Maker]] = {
    "collectResource": collect_resource,
    "collectResourceIfHeld": collect_resource_if_held,
    "changeResource": change_resource,
    "addHealthPoints": add_health_points,
    "addHealthPointsToMax": add_health_points_to_max,
    "subtractHealthPoints": subtract_health_points,
    "setSpeedForAll": setting_speed(lambda _, value: value),
    "increaseSpeedToAll": setting_speed(lambda speed, value: speed + value),
    "decreaseSpeedToAll": setting_speed(lambda speed, value: max(0.0, speed - value)),
    "shieldFrom": shield_from,
    "removeScore": remove_score,
}
