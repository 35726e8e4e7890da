"""From a game's sprite types to compiled kinds: what updates which type, and which need no update at all."""

from __future__ import annotations

__all__ = ["MAX_CELLS_A_SIDE", "compile_kinds"]

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from flagfall.tasks.vgdl.definition import GameDefinition, Place, SpriteType
from flagfall.tasks.vgdl.engine.effects.registry import Changes
from flagfall.tasks.vgdl.engine.sprites.avatars import ACTS
from flagfall.tasks.vgdl.engine.sprites.avatars_continuous import CONTINUOUS_ACTS
from flagfall.tasks.vgdl.engine.sprites.npcs import alternate, chase, chase_in_sight, sometimes_random, wander
from flagfall.tasks.vgdl.engine.sprites.passive import age_and_move, burn, fly, fly_somewhere, spread
from flagfall.tasks.vgdl.engine.sprites.path_chasers import chase_by_path, follow_by_path
from flagfall.tasks.vgdl.engine.sprites.producers import (
    produce,
    produce_chosen,
    produce_wandering,
    products_of,
)
from flagfall.tasks.vgdl.engine.sprites.walkers import walk, walk_and_jump
from flagfall.tasks.vgdl.engine.state.sprite import Kind, Update, category_of
from flagfall.tasks.vgdl.language.errors import GameError
from flagfall.tasks.vgdl.language.sprite_schema import SPRITE_CLASSES

_UPDATES: Final[Mapping[str, Callable[[Kind], Update]]] = {
    "RandomMissile": lambda _: fly_somewhere,
    "Flicker": burn,
    "OrientedFlicker": burn,
    "Spreader": spread,
    "SpawnPoint": produce,
    "Bomber": produce,
    "RandomBomber": produce_wandering,
    "BomberRandomMissile": produce_chosen,
    "SpawnPointMultiSprite": produce,
    "RandomNPC": wander,
    "Chaser": chase,
    "Fleeing": chase,
    "LOSChaser": chase_in_sight,
    "PathChaser": chase_by_path,
    "AlternateChaser": alternate,
    "RandomAltChaser": lambda kind: sometimes_random(kind, alternate(kind)),
    "PathAltChaser": follow_by_path,
    "RandomPathAltChaser": lambda kind: sometimes_random(kind, follow_by_path(kind)),
    "RandomInertial": wander,
    "Walker": walk,
    "WalkerJumper": walk_and_jump,
}
"""Sprite classes with an update of their own; all others move passively and live on."""

_FEEL_GROUND: Final = {"PlatformerAvatar", "WizardAvatar", "Walker", "WalkerJumper"}

MAX_CELLS_A_SIDE: Final = 64
"""The largest sprite of the public games has 4."""


def compile_kinds(definition: GameDefinition, changes: Changes) -> tuple[Kind, ...]:
    """All types of a game.

    Args:
        definition: the game.
        changes: what its effects can do to them.

    Raises:
        GameError: a sprite is too large.
    """
    for sprite_type in definition.types:
        _check(definition, sprite_type)
    kinds = tuple(_kind(definition, sprite_type, changes.turned) for sprite_type in definition.types)
    ranks = {type_id: rank for rank, type_id in enumerate(reversed(definition.order))}
    for kind, sprite_type in zip(kinds, definition.types, strict=True):
        if kind.is_avatar:
            kind.act = {**ACTS, **CONTINUOUS_ACTS}[sprite_type.kind or ""](kind)
        elif sprite_type.kind is not None:
            kind.rank = ranks.get(kind.id)
            kind.update = _update(kind, sprite_type.kind, sped=kind.id in changes.sped)
            kind.fixed = kind.update is None and kind.id not in changes.changed
    return kinds


def _check(definition: GameDefinition, sprite_type: SpriteType) -> None:
    """Refuse sprites as large as levels."""
    place = sprite_type.place or Place(definition.name, 1)
    for key, value in sprite_type.parameters.items():
        if key in {"wMult", "hMult"} and isinstance(value, int | float) and value > MAX_CELLS_A_SIDE:
            raise GameError(
                place, f"{key} of {sprite_type.name!r} is {value}; {MAX_CELLS_A_SIDE} is the most"
            )


def _kind(definition: GameDefinition, sprite_type: SpriteType, turned: Collection[int]) -> Kind:
    parameters: Mapping[str, Any] = sprite_type.parameters
    sprite_class = SPRITE_CLASSES.get(sprite_type.kind or "")
    is_avatar = sprite_class is not None and sprite_class.is_avatar
    passive = not (parameters.get("is_static", False) or parameters.get("only_active", False))
    continuous = parameters.get("physicstype", 0) != 0
    oriented = parameters.get("is_oriented", False) or parameters.get("orientation", (0, 0)) != (0, 0)
    return Kind(
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
        passive=passive,
        walks=bool(parameters.get("is_npc")),
        feels_ground=sprite_type.kind in _FEEL_GROUND,
        drifts=passive and (continuous or oriented or sprite_type.id in turned),
        turns_first=parameters.get("rotateInPlace", False),
        continuous=continuous,
        actions=sprite_class.actions if sprite_class is not None else (),
        products=products_of(sprite_type.kind or "", parameters),
        unknown=sprite_type.unknown,
    )


def _update(kind: Kind, name: str, *, sped: bool) -> Update | None:
    """What a type does in a tick; `None` where nothing can ever come of it."""
    if name in _UPDATES:
        return _UPDATES[name](kind)
    parameters = kind.parameters
    mortal = parameters["timeToLive"] >= 0
    if not kind.passive:
        return age_and_move if mortal else None
    if mortal or kind.continuous:
        return age_and_move
    return fly if kind.drifts and (sped or parameters["speed"]) else None
