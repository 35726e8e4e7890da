"""Plays as values: a key for comparison, and bytes that can be stored and loaded again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, TypeAlias, get_type_hints

import msgspec

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.definition import LevelDefinition
from flagfall.tasks.vgdl.engine.cycle import start
from flagfall.tasks.vgdl.engine.state.game import Game, Timer
from flagfall.tasks.vgdl.engine.state.play import PLAIN_FIELDS, Play
from flagfall.tasks.vgdl.engine.state.sprite import NO_RESOURCES, Sprite

_FORM: Final = "flagfall vgdl state 1"

_DERIVED: Final = {"kind", "cells", "left", "right", "top", "bottom"}
_STORED: Final = tuple(
    [field.name for field in fields(Sprite) if field.name not in _DERIVED | {"resources", "target"}]
)
"""Fields of a sprite in the order of a stored row; resources and target come last."""

_DECIMAL: Final = {name for name, kind in get_type_hints(Sprite).items() if kind is float}
"""Fields that are stored as decimal numbers even where they are whole, as in a compiled engine."""


def state_key(play: Play) -> tuple[Any, ...]:
    """Return all that the future of a play depends on, hashable: equal keys, equal futures."""
    memory = play.memory
    return (
        tuple([getattr(play, name) for name in PLAIN_FIELDS]),
        play.random.state,
        play.random.draws,
        play.block_size,
        tuple(play.counters),
        None if play.avatar is None else play.avatar.id,
        (
            memory.next_id,
            tuple([(timer.due, timer.plan.index) for timer in memory.timers]),
            tuple(memory.flags),
            tuple(sorted(memory.pulls.items())),
            tuple(memory.messages),
            memory.can_end,
        ),
        tuple(
            [
                tuple([sprite.id for sprite in group] if kind.fixed else map(_frozen, group))
                for kind, group in zip(play.game.kinds, play.groups, strict=True)
            ]
        ),
    )


def _frozen(sprite: Sprite) -> tuple[Any, ...]:
    target = sprite.target
    return (
        *[getattr(sprite, name) for name in _STORED],
        tuple(sorted(sprite.resources.items())),
        None if target is None else (target.id, target.x, target.y),
    )


def dump(play: Play) -> bytes:
    """Return the whole state of a play as bytes, for `load`."""
    memory = play.memory
    living = {sprite.id for group in play.groups for sprite in group}
    targets = [sprite.target for group in play.groups for sprite in group if sprite.target is not None]
    level = play.level
    return msgspec.msgpack.encode(
        {
            "form": _FORM,
            "game": play.game.definition.name,
            "types": [kind.name for kind in play.game.kinds],
            "level": [level.name, level.width, level.height, level.sprites],
            "block_size": play.block_size,
            "play": {name: getattr(play, name) for name in PLAIN_FIELDS},
            "random": [play.random.state, play.random.draws],
            "counters": play.counters,
            "made": [template is not None for template in play.templates],
            "sprites": [_row(sprite) for group in play.groups for sprite in group],
            "ghosts": [_row(target) for target in targets if target.id not in living],
            "stale": [sprite.id for sprite in play.idle],
            "disabled": [sprite.id for sprite in play.disabled],
            "avatar": None if play.avatar is None else play.avatar.id,
            "session": {
                "next_id": memory.next_id,
                "timers": [(timer.due, timer.plan.index) for timer in memory.timers],
                "flags": memory.flags,
                "pulls": memory.pulls,
                "messages": memory.messages,
                "can_end": memory.can_end,
            },
        }
    )


def _row(sprite: Sprite) -> list[Any]:
    target = None if sprite.target is None else sprite.target.id
    row = [float(getattr(sprite, key)) if key in _DECIMAL else getattr(sprite, key) for key in _STORED]
    return [*row, sprite.resources, target]


def load(game: Game, data: bytes) -> Play:
    """Return the play that was stored by `dump`.

    It goes on as the stored play would, up to a cycle in which one of them exceeds the work limit, and so
    ends: the work depends on the order of sprites in the cells of the grid and on what was looked up before,
    neither of which is stored.

    Raises:
        UsageError: `data` is not the result of `dump`, or belongs to another game.
    """
    try:
        state = msgspec.msgpack.decode(data, strict=False)
        if state["form"] != _FORM:
            raise UsageError(f"invalid state: its form is {state['form']!r}, expected {_FORM!r}")
        if state["types"] != [kind.name for kind in game.kinds]:
            raise UsageError(
                f"this state belongs to the game {state['game']!r}, not to {game.definition.name!r}"
            )
        return _rebuild(game, state)
    except (msgspec.DecodeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise UsageError(f"these bytes are not the state of a play: {error!r}") from error


def _rebuild(game: Game, state: dict[str, Any]) -> Play:
    name, width, height, placed = state["level"]
    level = LevelDefinition(name, width, height, tuple([tuple(place) for place in placed]))
    play = start(game, level, 0, state["block_size"], game.new_memory())
    for attribute in PLAIN_FIELDS:
        setattr(play, attribute, state["play"][attribute])
    play.random.state, play.random.draws = state["random"]
    play.counters = state["counters"]
    for made, kind in zip(state["made"], game.kinds, strict=True):
        if made and play.templates[kind.id] is None:
            play.make_template(kind.id).is_first = False
    _rebuild_memory(play, state["session"])
    play.clear_sprites()
    living = [_sprite(game, row) for row in state["sprites"]]
    everyone = {sprite.id: sprite for sprite in (*living, *[_sprite(game, row) for row in state["ghosts"]])}
    for row, sprite in zip(state["sprites"], living, strict=True):
        sprite.target = everyone.get(row[-1])
        play.groups[sprite.type].append(sprite)
        play.grid.enter_first(sprite)
        play.work.used = 0  # the limit is for cycles
    play.touched = set(living)
    play.moved = {sprite for sprite in living if (sprite.x, sprite.y) != (sprite.last_x, sprite.last_y)}
    play.idle = [everyone[number] for number in state["stale"]]
    play.disabled = [everyone[number] for number in state["disabled"]]
    play.avatar = everyone.get(state["avatar"])
    return play


def _rebuild_memory(play: Play, state: dict[str, Any]) -> None:
    memory = play.memory
    memory.next_id = state["next_id"]
    memory.timers = [Timer(due, play.game.timer_plans[index]) for due, index in state["timers"]]
    memory.flags = state["flags"]
    memory.pulls = {memory: (since, tuple(pulled)) for memory, (since, pulled) in state["pulls"].items()}
    memory.messages = state["messages"]
    memory.can_end = state["can_end"]


def _sprite(game: Game, row: list[Any]) -> Sprite:
    sprite = Sprite.__new__(Sprite)
    for name, value in zip(_STORED, row[:-2], strict=True):
        setattr(sprite, name, tuple(value) if name == "products" else value)
    sprite.kind = game.kinds[sprite.type]
    sprite.resources = row[-2] or NO_RESOURCES
    sprite.target = None
    sprite.cells = ()
    return sprite


Snapshot: TypeAlias = dict[str, Any]

_DIGITS: Final = 4
"""Decimals of positions, which are in cells."""


class _Cells(dict[float, float]):
    """Positions in cells, by position in pixels; sprites share rows and columns, and rounding is slow."""

    def __init__(self, block_size: int) -> None:
        super().__init__()
        self._block_size = block_size

    def __missing__(self, pixels: float) -> float:
        self[pixels] = cells = round(pixels / self._block_size, _DIGITS)
        return cells


def snapshot(play: Play) -> Snapshot:
    """Return the record of a tick; `sprites` has all types that have any, without dead avatars."""
    cells = _Cells(play.block_size)
    names = [kind.name for kind in play.game.kinds]
    positions = {}
    for name, group in zip(names, play.groups, strict=True):
        living = [sprite for sprite in group if not sprite.disabled]
        if living:
            positions[name] = sorted([[cells[sprite.x], cells[sprite.y]] for sprite in living])
    return {
        "t": play.tick + 1,
        "score": play.score,
        "winner": play.winner,
        "over": play.over,
        "avatar": _avatar(play, cells),
        "draws": play.random.draws,
        "sprites": positions,
    }


def _avatar(play: Play, cells: _Cells) -> Snapshot | None:
    avatar = play.avatar
    if avatar is None:
        return None
    return {
        "type": avatar.kind.name,
        "x": cells[avatar.x],
        "y": cells[avatar.y],
        "ox": float(avatar.ox),
        "oy": float(avatar.oy),
        "alive": not avatar.disabled,
        "hp": avatar.health,
        "res": {
            play.game.kinds[resource].name: amount for resource, amount in sorted(avatar.resources.items())
        },
    }


def changes(previous: Mapping[str, Any], current: Mapping[str, Any]) -> Snapshot:
    """Return a snapshot in which `sprites` has only the types that differ from an earlier one.

    Args:
        previous: the earlier snapshot, whole.
    """
    before = previous["sprites"]
    now = current["sprites"]
    moved = {name: places for name, places in now.items() if before.get(name) != places}
    gone: Snapshot = {name: [] for name in before if name not in now}
    return {**current, "sprites": dict(sorted((moved | gone).items()))}
