"""Effects that transform sprites and make new ones."""

from __future__ import annotations

__all__ = ["MAKING_EFFECTS"]

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from flagfall.tasks.vgdl.definition import Place
from flagfall.tasks.vgdl.engine.rules.collisions import overlaps
from flagfall.tasks.vgdl.engine.rules.terminations import present_types
from flagfall.tasks.vgdl.language.errors import GameError

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.effects.registry import Maker
    from flagfall.tasks.vgdl.engine.game import Game
    from flagfall.tasks.vgdl.engine.rules.collisions import Effect
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite


def transform(
    play: Play,
    old: Sprite,
    new: Sprite | None,
    second: Sprite | None,
    *,
    force_orientation: bool = False,
    kill_second: bool = False,
) -> None:
    """Let a new sprite take an old one's place; nothing happens where the new one could not be made."""
    if new is None:
        return
    if force_orientation or (old.oriented and new.oriented and new.ox == 0 and new.oy == 0):
        new.ox = old.ox
        new.oy = old.oy
    replace(play, old, new)
    new.health = old.health
    play.kill(old, transformed=not old.kind.is_avatar or new.kind.is_avatar)
    if kill_second and second is not None:
        play.kill(second, transformed=True)


def replace(play: Play, old: Sprite, new: Sprite) -> None:
    """Hand over where it was, what it has, and whether it is the avatar."""
    new.last_x = old.last_x
    new.last_y = old.last_y
    play.moved.add(new)
    for resource, amount in old.resources.items():
        new.gain(resource, amount)
    if old.kind.is_avatar and new.kind.is_avatar:
        play.set_avatar(old, new)


def transform_to(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first becomes another type."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    kill_second: bool = parameters["killSecond"]
    force: bool = parameters["forceOrientation"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        if not first.disabled:
            new = play.add(stype, first.x, first.y)
            transform(play, first, new, second, force_orientation=force, kill_second=kill_second)
        return score

    return run


def transform_if_count(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first becomes one type where the count of something is in a range, and perhaps another if not."""
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    otherwise: int | None = parameters["estype"]
    counted = game.subtypes(parameters["stypeCount"])
    least: int = parameters["geq"]
    most: int = parameters["leq"]
    kill_second: bool = parameters["killSecond"]
    force: bool = parameters["forceOrientation"]
    counter = parameters["counter"]
    counter_else = parameters["counterElse"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        fits = least <= play.count(counted) <= most
        into = stype if fits else otherwise
        if into is not None:
            new = play.add(into, first.x, first.y, forced=True)
            transform(play, first, new, second, force_orientation=force, kill_second=kill_second)
            play.add_counts(counter if fits else counter_else)
        return score if fits else 0

    return run


def transform_to_all(parameters: Mapping[str, Any], game: Game) -> Effect:
    """All of one type become another, the dead of this tick too."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    into: int = parameters["stypeTo"]
    kill_second: bool = parameters["killSecond"]
    force: bool = parameters["forceOrientation"]

    def run(play: Play, first: Sprite | None, second: Sprite | None) -> int:
        del first
        for sprite in list(play.groups[stype]):
            new = play.add(into, sprite.x, sprite.y, forced=True)
            transform(play, sprite, new, second, force_orientation=force, kill_second=kill_second)
        return score

    return run


def transform_to_random_child(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first becomes one of a type's subtypes; one draw."""
    score: int = parameters["scoreChange"]
    parent: int = parameters["stype"]
    children = [subtype for subtype in game.subtypes(parent) if subtype != parent]
    lacking = [
        game.definition.types[child] for child in children if game.definition.types[child].kind is None
    ]
    if not children or lacking:
        about = game.definition.types[parent]
        reason = f"{lacking[0].name!r} has no class" if lacking else "there are none"
        place = about.place or Place(game.definition.name, 1)
        raise GameError(
            place, f"transformToRandomChild chooses among the types below {about.name!r}: {reason}"
        )
    kill_second: bool = parameters["killSecond"]
    force: bool = parameters["forceOrientation"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        chosen = children[play.random.next_int(len(children))]
        new = play.add(chosen, first.x, first.y)
        transform(play, first, new, second, force_orientation=force, kill_second=kill_second)
        return score

    return run


def transform_to_singleton(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first becomes the only one of a type; those that were of it become something else."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    other: int = parameters["stype_other"]
    looks_back: bool = parameters["takeOrientation"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        for sprite in list(play.groups[stype]):
            change(play, sprite, play.add(other, sprite.x, sprite.y))
        new = play.add(stype, first.x, first.y)
        change(play, first, new)
        if new is not None and looks_back:
            new.oriented = True
            new.ox = -second.ox
            new.oy = -second.oy
        return score

    def change(play: Play, old: Sprite, new: Sprite | None) -> None:
        if new is None:
            return
        if old.oriented and new.oriented:
            new.ox = old.ox
            new.oy = old.oy
        replace(play, old, new)
        play.kill(old, transformed=not old.kind.is_avatar or new.kind.is_avatar)

    return run


def clone_sprite(parameters: Mapping[str, Any], game: Game) -> Effect:
    """Another one of the first's type."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        play.add(first.type, first.x, first.y)
        return score

    return run


def spawn(parameters: Mapping[str, Any], game: Game) -> Effect:
    """With a chance, a new sprite where the first is; two draws."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    chance: float = parameters["prob"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        if play.random.next_double() < chance:
            play.add(stype, first.x, first.y)
        return score

    return run


def spawn_if_has_more(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The same, where the first has `limit` or more, of which it may spend some."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    chance: float = parameters["prob"]
    resource: int = parameters["resource"]
    limit: int = parameters["limit"]
    price: int = parameters["spend"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        if play.random.next_double() >= chance or first.resource(resource) < limit:
            return 0
        play.add(stype, first.x, first.y)
        first.gain(resource, -price)
        return score

    return run


def spawn_if_has_less(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The same, where the first has `limit` or less."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    chance: float = parameters["prob"]
    resource: int = parameters["resource"]
    limit: int = parameters["limit"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        if play.random.next_double() >= chance or first.resource(resource) > limit:
            return 0
        play.add(stype, first.x, first.y)
        return score

    return run


def last_place(sprite: Sprite) -> tuple[int, int] | None:
    """Where a sprite was when the cycle began; `None` where it still overlaps that."""
    if overlaps(sprite, sprite.last_x, sprite.last_y, sprite.w, sprite.h):
        return None
    return sprite.last_x, sprite.last_y


def spawn_beside(dx: int, dy: int) -> Maker:
    """With a chance, a new sprite a cell beside the second, or beside where that was; two draws."""

    def make(parameters: Mapping[str, Any], game: Game) -> Effect:
        del game
        score: int = parameters["scoreChange"]
        stype: int = parameters["stype"]
        chance: float = parameters["prob"]
        before: bool = parameters["stepBack"]

        def run(play: Play, first: Sprite, second: Sprite) -> int:
            del first
            if play.random.next_double() < chance:
                base = last_place(second) if before else (second.x, second.y)
                if base is not None:
                    block = play.block_size
                    play.add(stype, base[0] + dx * block, base[1] + dy * block)
            return score

        return run

    return make


def spawn_behind(parameters: Mapping[str, Any], game: Game) -> Effect:
    """With a chance, a new sprite where the second was; two draws."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    chance: float = parameters["prob"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        del first
        if play.random.next_double() < chance:
            base = last_place(second)
            if base is not None:
                play.add(stype, *base)
        return score

    return run


def spawn_if_counter_sub_types(parameters: Mapping[str, Any], game: Game) -> Effect:
    """One new sprite where something is there so many times, of so many types; else perhaps another."""
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    otherwise: int | None = parameters["estype"]
    counted = game.subtypes(parameters["stypeCount"])
    limit: int = parameters["limit"]
    kinds: int = parameters["subTypesNum"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        present = present_types(play, game.definition, counted)
        if play.alive(counted) == limit and present // 2 == kinds:  # the original halves it
            play.add(stype, first.x, first.y)
            return score
        if otherwise is not None:
            play.add(otherwise, first.x, first.y)
        return 0

    return run


def update_spawn_type(parameters: Mapping[str, Any], game: Game) -> Effect:
    """Spawners make another type from now on; one that chooses does so in place of the second's type."""
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]
    spawners = game.subtypes(parameters["spawnPoint"])

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        del first
        for type_id in spawners:
            for sprite in play.groups[type_id]:
                kinds = list(sprite.products)
                if len(kinds) == 1:
                    sprite.products = (stype,)
                elif "stypeMissile" in sprite.kind.parameters and second.type in kinds:
                    kinds[kinds.index(second.type)] = stype
                    sprite.products = tuple(kinds)
        return score

    return run


MAKING_EFFECTS: Final[Mapping[str, Maker]] = {
    "transformTo": transform_to,
    "transformIfCount": transform_if_count,
    "transformToAll": transform_to_all,
    "transformToRandomChild": transform_to_random_child,
    "transformToSingleton": transform_to_singleton,
    "cloneSprite": clone_sprite,
    "spawn": spawn,
    "spawnIfHasMore": spawn_if_has_more,
    "spawnIfHasLess": spawn_if_has_less,
    "spawnAbove": spawn_beside(0, -1),
    "spawnBelow": spawn_beside(0, 1),
    "spawnLeft": spawn_beside(-1, 0),
    "spawnRight": spawn_beside(1, 0),
    "spawnBehind": spawn_behind,
    "spawnIfCounterSubTypes": spawn_if_counter_sub_types,
    "updateSpawnType": update_spawn_type,
}
