"""The state of a play: copied for a search, compared, written down and read again.

Sprites of fixed kinds never change once they stand, so plays that were forked from each other share them;
what dies in one of them is only taken out of that one's groups and cells. (One that was born where another
had moved to is told at the next cycle that it stands there; in all plays alike, before anybody asks.)
"""

from __future__ import annotations

__all__ = ["dump", "fork", "key", "load"]

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.definition import LevelDefinition
from flagfall.tasks.vgdl.engine.rules.timers import Timer
from flagfall.tasks.vgdl.engine.state.grid import enter_first
from flagfall.tasks.vgdl.engine.state.sprite import NOTHING, Sprite

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.game import Game
    from flagfall.tasks.vgdl.engine.state.play import Play

_FORM: Final = "flagfall vgdl state 1"

_DERIVED: Final = {"kind", "cells", "left", "right", "top", "bottom"}
_KEPT: Final = tuple([name for name in Sprite.__slots__ if name not in _DERIVED | {"resources", "quarry"}])
_PLAIN: Final = ("tick", "over", "winner", "score", "last_action", "population", "counted", "aborted")


def fork(play: Play, new: Play) -> Play:
    """Fill a new play with a copy of another; neither notices what happens to the other from now on."""
    for name in ("game", "level", "block_size", "width", "height", "screen", "paths", *_PLAIN):
        setattr(new, name, getattr(play, name))
    new.random = play.random.fork()
    new.session = play.session.fork()
    new.counters = play.counters.copy()
    new.templates = play.templates.copy()
    copies: dict[Sprite, Sprite] = {}
    new.groups = []
    for kind, group in zip(play.game.kinds, play.groups, strict=True):
        if kind.fixed or not group:
            new.groups.append(group.copy())
        else:
            copied = [sprite.copy() for sprite in group]
            copies.update(zip(group, copied, strict=True))
            new.groups.append(copied)
    _connect(play, new, copies)
    return new


def _connect(play: Play, new: Play, copies: dict[Sprite, Sprite]) -> None:
    """Let everything in a new play that was about a sprite be about its copy."""
    cells = new.cells = play.cells.copy()
    get = copies.get
    for cell in {cell for sprite in copies for cell in sprite.cells}:
        cells[cell] = tuple([get(sprite, sprite) for sprite in cells[cell]])
    for sprite in copies.values():
        if sprite.quarry is not None:
            sprite.quarry = get(sprite.quarry, sprite.quarry)
    new.moved = {get(sprite, sprite) for sprite in play.moved}
    new.touched = {get(sprite, sprite) for sprite in play.touched}
    new.contacts = {get(sprite, sprite) for sprite in play.contacts}
    new.near_edge = {get(sprite, sprite) for sprite in play.near_edge}
    new.stale = [get(sprite, sprite) for sprite in play.stale]
    new.disabled = [get(sprite, sprite) for sprite in play.disabled]
    new.avatar = None if play.avatar is None else get(play.avatar, play.avatar)
    new.clear_cycle()


def key(play: Play) -> tuple[Any, ...]:
    """All that the future of a play depends on, and its past in numbers, as a hashable value."""
    session = play.session
    return (
        tuple([getattr(play, name) for name in _PLAIN]),
        play.random.state,
        play.random.draws,
        play.block_size,
        tuple(play.counters),
        None if play.avatar is None else play.avatar.id,
        (
            session.next_id,
            tuple([(timer.due, timer.plan.index) for timer in session.timers]),
            tuple(session.flags),
            tuple(sorted(session.pulls.items())),
            tuple(session.messages),
            session.can_end,
        ),
        tuple(
            [
                tuple([sprite.id for sprite in group] if kind.fixed else map(_frozen, group))
                for kind, group in zip(play.game.kinds, play.groups, strict=True)
            ]
        ),
    )


def _frozen(sprite: Sprite) -> tuple[Any, ...]:
    quarry = sprite.quarry
    return (
        *[getattr(sprite, name) for name in _KEPT],
        tuple(sorted(sprite.resources.items())),
        None if quarry is None else (quarry.id, quarry.x, quarry.y),
    )


def dump(play: Play) -> bytes:
    """The whole state as bytes, for `load`."""
    session = play.session
    living = {sprite.id for group in play.groups for sprite in group}
    quarries = [sprite.quarry for group in play.groups for sprite in group if sprite.quarry is not None]
    level = play.level
    return msgspec.msgpack.encode(
        {
            "form": _FORM,
            "game": play.game.definition.name,
            "types": [kind.name for kind in play.game.kinds],
            "level": [level.name, level.width, level.height, level.sprites],
            "block_size": play.block_size,
            "play": {name: getattr(play, name) for name in _PLAIN},
            "random": [play.random.state, play.random.draws],
            "counters": play.counters,
            "made": [template is not None for template in play.templates],
            "sprites": [_row(sprite) for group in play.groups for sprite in group],
            "ghosts": [_row(quarry) for quarry in quarries if quarry.id not in living],
            "stale": [sprite.id for sprite in play.stale],
            "disabled": [sprite.id for sprite in play.disabled],
            "avatar": None if play.avatar is None else play.avatar.id,
            "session": {
                "next_id": session.next_id,
                "timers": [(timer.due, timer.plan.index) for timer in session.timers],
                "flags": session.flags,
                "pulls": session.pulls,
                "messages": session.messages,
                "can_end": session.can_end,
            },
        }
    )


def _row(sprite: Sprite) -> list[Any]:
    quarry = None if sprite.quarry is None else sprite.quarry.id
    return [*[getattr(sprite, name) for name in _KEPT], sprite.resources, quarry]


def load(game: Game, data: bytes) -> Play:
    """The play that a dump was made of.

    Raises:
        UsageError: these are not the bytes of a dump, or of one of another game.
    """
    try:
        state = msgspec.msgpack.decode(data, strict=False)
        if state["form"] != _FORM:
            raise UsageError(f"a state of the form {state['form']!r}, not {_FORM!r}")
        if state["types"] != [kind.name for kind in game.kinds]:
            raise UsageError(f"a state of the game {state['game']!r}, not of {game.definition.name!r}")
        return _rebuild(game, state)
    except (msgspec.DecodeError, KeyError, IndexError, TypeError, ValueError) as mistake:
        raise UsageError(f"these bytes are not the state of a play: {mistake!r}") from mistake


def _rebuild(game: Game, state: dict[str, Any]) -> Play:
    name, width, height, placed = state["level"]
    level = LevelDefinition(name, width, height, tuple([tuple(place) for place in placed]))
    play = game.start(level, 0, state["block_size"], game.session())
    for attribute in _PLAIN:
        setattr(play, attribute, state["play"][attribute])
    play.random.state, play.random.draws = state["random"]
    play.counters = state["counters"]
    for made, kind in zip(state["made"], game.kinds, strict=True):
        if made and play.templates[kind.id] is None:
            play.first_of(kind.id).original = False
    _rebuild_session(play, state["session"])
    play.clear_cells()
    living = [_sprite(game, row) for row in state["sprites"]]
    everyone = {sprite.id: sprite for sprite in (*living, *[_sprite(game, row) for row in state["ghosts"]])}
    for row, sprite in zip(state["sprites"], living, strict=True):
        sprite.quarry = everyone.get(row[-1])
        play.groups[sprite.type].append(sprite)
        enter_first(play, sprite)
        play.effort = 0  # this is no cycle
    play.touched = set(living)
    play.moved = set(_displaced(living))
    play.stale = [everyone[number] for number in state["stale"]]
    play.disabled = [everyone[number] for number in state["disabled"]]
    play.avatar = everyone.get(state["avatar"])
    return play


def _rebuild_session(play: Play, state: dict[str, Any]) -> None:
    session = play.session
    session.next_id = state["next_id"]
    session.timers = [Timer(due, play.game.plans[index]) for due, index in state["timers"]]
    session.flags = state["flags"]
    session.pulls = {memory: (since, tuple(pulled)) for memory, (since, pulled) in state["pulls"].items()}
    session.messages = state["messages"]
    session.can_end = state["can_end"]


def _sprite(game: Game, row: list[Any]) -> Sprite:
    sprite = Sprite.__new__(Sprite)
    for name, value in zip(_KEPT, row[:-2], strict=True):
        setattr(sprite, name, value)
    sprite.kind = game.kinds[sprite.type]
    sprite.resources = row[-2] or NOTHING
    sprite.quarry = None
    sprite.cells = ()
    sprite.products = tuple(sprite.products)
    return sprite


def _displaced(sprites: Iterable[Sprite]) -> Iterable[Sprite]:
    return (sprite for sprite in sprites if sprite.x != sprite.last_x or sprite.y != sprite.last_y)
