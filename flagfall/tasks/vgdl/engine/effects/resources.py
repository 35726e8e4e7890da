"""Effects on resources, health, speed, shields and the score; and those that transform, spawn, or wait."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import add

from flagfall.tasks.vgdl.definition import DOWN, LEFT, RIGHT, UP, VECTORS, SourcePosition
from flagfall.tasks.vgdl.engine.behaviour import effect, effect_maker
from flagfall.tasks.vgdl.engine.state.game import Effect, EffectLine, Game, Timer, TimerPlan, schedule
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite, overlaps
from flagfall.tasks.vgdl.language.values import GameError


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


def _change_speeds(
    changed: Callable[[float, float], float], line: EffectLine, play: Play, *_sprites: Sprite | None
) -> int:
    """Change the speed of all sprites of a type."""
    sprites = [
        sprite for type_id in play.game.subtypes(line.parameters["stype"]) for sprite in play.groups[type_id]
    ]
    play.work.charge(len(sprites))
    for sprite in sprites:
        sprite.speed = changed(sprite.speed, line.parameters["value"])
    return line.score


effect("setSpeedForAll")(partial(_change_speeds, lambda _speed, value: value))
effect("increaseSpeedToAll")(partial(_change_speeds, add))
effect("decreaseSpeedToAll")(partial(_change_speeds, lambda speed, value: max(0.0, speed - value)))


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


def _transform(line: EffectLine, play: Play, old: Sprite, new: Sprite | None, second: Sprite | None) -> None:
    """Let a new sprite take an old one's place; do nothing if the new one could not be made."""
    if new is None:
        return
    if line.parameters["forceOrientation"] or (old.oriented and new.oriented and new.ox == 0 and new.oy == 0):
        new.ox = old.ox
        new.oy = old.oy
    _replace(play, old, new)
    new.health = old.health
    play.kill(old, transformed=not old.kind.is_avatar or new.kind.is_avatar)
    if line.parameters["killSecond"] and second is not None:
        play.kill(second, transformed=True)


def _replace(play: Play, old: Sprite, new: Sprite) -> None:
    """Pass on a sprite's last position, its resources, and the role of the avatar."""
    new.last_x = old.last_x
    new.last_y = old.last_y
    play.moved.add(new)
    for resource, amount in old.resources.items():
        new.gain(resource, amount)
    if old.kind.is_avatar and new.kind.is_avatar:
        play.set_avatar(old, new)


@effect("transformTo")
def _transform_to(line: EffectLine, play: Play, first: Sprite, second: Sprite | None) -> int:
    """Transform the first sprite into another type."""
    if not first.disabled:
        _transform(line, play, first, play.add(line.parameters["stype"], first.x, first.y), second)
    return line.score


@effect("transformIfCount")
def _transform_if_count(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Transform the first sprite into `stype` if a count is in a range, else into `estype`, if given."""
    parameters = line.parameters
    count = play.count(play.game.subtypes(parameters["stypeCount"]))
    fits: bool = parameters["geq"] <= count <= parameters["leq"]
    into: int | None = parameters["stype" if fits else "estype"]
    if into is not None:
        _transform(line, play, first, play.add(into, first.x, first.y, forced=True), second)
        play.add_counts(parameters["counter" if fits else "counterElse"])
    return line.score if fits else 0


@effect("transformToAll")
def _transform_to_all(line: EffectLine, play: Play, _first: Sprite | None, second: Sprite | None) -> int:
    """Transform all sprites of one type into another, including those killed in this cycle."""
    into: int = line.parameters["stypeTo"]
    for sprite in list(play.groups[line.parameters["stype"]]):
        _transform(line, play, sprite, play.add(into, sprite.x, sprite.y, forced=True), second)
    return line.score


@effect_maker("transformToRandomChild")
def _transform_to_random_child(line: EffectLine, game: Game) -> Effect:
    """Transform the first sprite into one of a type's subtypes, by one draw."""
    types = game.definition.types
    about = types[line.parameters["stype"]]
    children = [subtype for subtype in about.subtypes if subtype != about.id]
    lacking = [types[child] for child in children if types[child].kind is None]
    if not children or lacking:
        reason = f"{lacking[0].name!r} has no class" if lacking else "there are none"
        raise GameError(
            about.place or SourcePosition(game.definition.name, 1),
            f"transformToRandomChild chooses among the types below {about.name!r}: {reason}",
        )

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        chosen = children[play.random.next_int(len(children))]
        _transform(line, play, first, play.add(chosen, first.x, first.y), second)
        return line.score

    return run


@effect("transformToSingleton")
def _transform_to_singleton(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Transform the first sprite into the only one of a type, and present ones of that type into another."""
    stype: int = line.parameters["stype"]
    for sprite in list(play.groups[stype]):
        _become(play, sprite, play.add(line.parameters["stype_other"], sprite.x, sprite.y))
    new = play.add(stype, first.x, first.y)
    _become(play, first, new)
    if new is not None and line.parameters["takeOrientation"]:
        new.oriented = True
        new.ox = -second.ox
        new.oy = -second.oy
    return line.score


def _become(play: Play, old: Sprite, new: Sprite | None) -> None:
    """Transform for `transformToSingleton`: orientation always passes on, health never."""
    if new is None:
        return
    if old.oriented and new.oriented:
        new.ox = old.ox
        new.oy = old.oy
    _replace(play, old, new)
    play.kill(old, transformed=not old.kind.is_avatar or new.kind.is_avatar)


@effect("cloneSprite")
def _clone_sprite(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Make another sprite of the first one's type."""
    play.add(first.type, first.x, first.y)
    return line.score


@effect("spawn")
def _spawn(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Make a sprite at the first one with probability `prob`; two draws."""
    if play.random.next_double() < line.parameters["prob"]:
        play.add(line.parameters["stype"], first.x, first.y)
    return line.score


@effect("spawnIfHasMore")
def _spawn_if_has_more(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Do as `spawn` if the first sprite has `limit` or more of a resource, and take `spend` of it."""
    parameters = line.parameters
    resource: int = parameters["resource"]
    if play.random.next_double() >= parameters["prob"] or first.resource(resource) < parameters["limit"]:
        return 0
    play.add(parameters["stype"], first.x, first.y)
    first.gain(resource, -parameters["spend"])
    return line.score


@effect("spawnIfHasLess")
def _spawn_if_has_less(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Do as `spawn` if the first sprite has `limit` or less of a resource."""
    parameters = line.parameters
    held = first.resource(parameters["resource"])
    if play.random.next_double() >= parameters["prob"] or held > parameters["limit"]:
        return 0
    play.add(parameters["stype"], first.x, first.y)
    return line.score


def _last_position(sprite: Sprite) -> tuple[int, int] | None:
    """Return a sprite's position at the start of the cycle; `None` if it still overlaps that."""
    if overlaps(sprite, sprite.last_x, sprite.last_y, sprite.w, sprite.h):
        return None
    return sprite.last_x, sprite.last_y


def _spawn_beside(
    dx: float, dy: float, line: EffectLine, play: Play, _first: Sprite | None, second: Sprite
) -> int:
    """Make a sprite beside the second, or beside its last position, with probability `prob`; two draws."""
    if play.random.next_double() < line.parameters["prob"]:
        base = _last_position(second) if line.parameters["stepBack"] else (second.x, second.y)
        if base is not None:
            block = play.block_size
            play.add(line.parameters["stype"], base[0] + dx * block, base[1] + dy * block)
    return line.score


for _name, _way in (("spawnAbove", UP), ("spawnBelow", DOWN), ("spawnLeft", LEFT), ("spawnRight", RIGHT)):
    effect(_name)(partial(_spawn_beside, *VECTORS[_way]))


@effect("spawnBehind")
def _spawn_behind(line: EffectLine, play: Play, _first: Sprite, second: Sprite) -> int:
    """Make a sprite at the second one's last position with probability `prob`; two draws."""
    if play.random.next_double() < line.parameters["prob"]:
        base = _last_position(second)
        if base is not None:
            play.add(line.parameters["stype"], *base)
    return line.score


@effect("spawnIfCounterSubTypes")
def _spawn_if_counter_sub_types(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Make an `stype` if `limit` sprites of `subTypesNum` types are present, else an `estype`, if given."""
    parameters = line.parameters
    counted = play.game.subtypes(parameters["stypeCount"])
    present = play.count_types(counted)
    # The original halves the number of types.
    if play.count_alive(counted) == parameters["limit"] and present // 2 == parameters["subTypesNum"]:
        play.add(parameters["stype"], first.x, first.y)
        return line.score
    if parameters["estype"] is not None:
        play.add(parameters["estype"], first.x, first.y)
    return 0


@effect("updateSpawnType")
def _update_spawn_type(line: EffectLine, play: Play, _first: Sprite, second: Sprite) -> int:
    """Change the product of spawners; one that chooses among several replaces the second sprite's type."""
    stype: int = line.parameters["stype"]
    for type_id in play.game.subtypes(line.parameters["spawnPoint"]):
        for sprite in play.groups[type_id]:
            products = list(sprite.products)
            if len(products) == 1:
                sprite.products = (stype,)
            elif "stypeMissile" in sprite.kind.parameters and second.type in products:
                products[products.index(second.type)] = stype
                sprite.products = tuple(products)
    return line.score


@effect_maker("addTimer")
def _add_timer(line: EffectLine, game: Game) -> Effect:
    """Run another effect later, once for each collision; the score is added both times."""
    assert line.inner is not None  # the parser demands one
    period: int = line.parameters["timer"]
    plan = TimerPlan(len(game.timer_plans), None, line.inner, line.score, period, repeats=False)
    game.timer_plans.append(plan)

    def run(play: Play, _first: Sprite | None, _second: Sprite | None) -> int:
        schedule(play.memory.timers, Timer(play.tick + period, plan))
        return line.score

    return run
