"""Compiles the sprite types of a game: their traits and behaviour, and which of them need no update."""

from __future__ import annotations

__all__ = ["MAX_CELLS_A_SIDE", "compile_kinds"]

from collections.abc import Collection, Mapping
from typing import Any, Final

from flagfall.tasks.vgdl.definition import GameDefinition, SourcePosition, SpriteType
from flagfall.tasks.vgdl.engine.sprites import (
    avatars,
    avatars_continuous,
    npcs,
    passive,
    path_chasers,
    producers,
    walkers,
)
from flagfall.tasks.vgdl.engine.sprites.behaviour import ACTS, UPDATES
from flagfall.tasks.vgdl.engine.sprites.passive import age_and_move, fly_on
from flagfall.tasks.vgdl.engine.state.play import Update
from flagfall.tasks.vgdl.engine.state.sprite import SpriteKind, category_of
from flagfall.tasks.vgdl.engine.state.tables import SideEffects
from flagfall.tasks.vgdl.language.errors import GameError
from flagfall.tasks.vgdl.language.sprite_schema import PASSIVE, SPRITE_CLASSES

MODULES = (avatars, avatars_continuous, npcs, passive, path_chasers, producers, walkers)
"""Modules with behaviours: importing them has filled `ACTS` and `UPDATES`."""

for _row in SPRITE_CLASSES.values():
    if _row.behaviour not in (ACTS if _row.is_avatar else {PASSIVE, *UPDATES}):
        raise TypeError(
            f"the sprite class {_row.name} has no behaviour: {_row.behaviour!r} is not registered"
        )

MAX_CELLS_A_SIDE: Final = 64
"""Size limit of a sprite. The largest one of the public games has 4."""


def compile_kinds(definition: GameDefinition, side_effects: SideEffects) -> tuple[SpriteKind, ...]:
    """Return the traits of all types of a game.

    Args:
        definition: the definition of the game.
        side_effects: types whose sprites its effects can change.

    Raises:
        GameError: a sprite is too large.
    """
    for sprite_type in definition.types:
        _check_size(definition, sprite_type)
    kinds = tuple(_kind(definition, sprite_type, side_effects.turned) for sprite_type in definition.types)
    ranks = {type_id: rank for rank, type_id in enumerate(reversed(definition.order))}
    for kind, sprite_type in zip(kinds, definition.types, strict=True):
        if sprite_type.kind is None:
            continue
        behaviour = SPRITE_CLASSES[sprite_type.kind].behaviour
        if kind.is_avatar:
            kind.act = ACTS[behaviour](kind)
        else:
            kind.rank = ranks.get(kind.id)
            kind.update = _update(kind, behaviour, sped=kind.id in side_effects.sped)
            kind.fixed = kind.update is None and kind.id not in side_effects.changed
    return kinds


def _check_size(definition: GameDefinition, sprite_type: SpriteType) -> None:
    """Reject sprites as large as levels."""
    place = sprite_type.place or SourcePosition(definition.name, 1)
    for key, value in sprite_type.parameters.items():
        if key in {"wMult", "hMult"} and isinstance(value, int | float) and value > MAX_CELLS_A_SIDE:
            raise GameError(
                place, f"{key} of {sprite_type.name!r} is {value}; {MAX_CELLS_A_SIDE} is the most"
            )


def _kind(definition: GameDefinition, sprite_type: SpriteType, turned: Collection[int]) -> SpriteKind:
    parameters: Mapping[str, Any] = sprite_type.parameters
    row = SPRITE_CLASSES.get(sprite_type.kind or "")
    is_avatar = row is not None and row.is_avatar
    moves_passively = not (parameters.get("is_static", False) or parameters.get("only_active", False))
    continuous = parameters.get("physicstype", 0) != 0
    oriented = parameters.get("is_oriented", False) or parameters.get("orientation", (0, 0)) != (0, 0)
    return SpriteKind(
        id=sprite_type.id,
        name=sprite_type.name,
        parameters=parameters,
        is_avatar=is_avatar,
        category=category_of(parameters, is_avatar=is_avatar),
        subtypes=sprite_type.subtypes,
        singletons=tuple(
            definition.types[above].subtypes
            for above in sprite_type.path
            if definition.types[above].singleton
        ),
        stationary=parameters.get("stationary", False),
        passive=moves_passively,
        is_npc=bool(parameters.get("is_npc")),
        senses_ground=row is not None and row.senses_ground,
        drifts=moves_passively and (continuous or oriented or sprite_type.id in turned),
        turns_first=parameters.get("rotateInPlace", False),
        continuous=continuous,
        actions=() if row is None else row.actions,
        products=_products(parameters, "" if row is None else row.products),
        unknown=sprite_type.unknown,
    )


def _products(parameters: Mapping[str, Any], key: str) -> tuple[int, ...]:
    """Return the types that a parameter names: one or several."""
    named = parameters.get(key)
    if isinstance(named, tuple):
        return named
    return (named,) if isinstance(named, int) else ()


def _update(kind: SpriteKind, behaviour: str, *, sped: bool) -> Update | None:
    """Return the update of a type; `None` if it can never have an effect."""
    if behaviour != PASSIVE:
        return UPDATES[behaviour](kind)
    parameters = kind.parameters
    mortal = parameters["timeToLive"] >= 0
    if not kind.passive:
        return age_and_move if mortal else None
    if mortal or kind.continuous:
        return age_and_move
    return fly_on if kind.drifts and (sped or parameters["speed"]) else None
