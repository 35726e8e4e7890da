"""Sprites, and what all sprites of one type have in common.

A sprite is state and nothing else: what it does lies in the update function of its `Kind`.
"""

from __future__ import annotations

__all__ = ["AVATAR_CATEGORY", "FROM_AVATAR_CATEGORY", "Kind", "Sprite"]

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.avatars import AvatarUpdate
    from flagfall.tasks.vgdl.updates import Update

AVATAR_CATEGORY: Final = 0
FROM_AVATAR_CATEGORY: Final = 5
MOVABLE_CATEGORY: Final = 6

_CATEGORY_FLAGS: Final = (("is_resource", 1), ("portal", 2), ("is_npc", 3), ("is_static", 4))


@attrs.define(eq=False)
class Kind:
    """What the sprites of one type have in common; compiled from the definition, and never changed.

    Attributes:
        id: the type.
        name: as the game writes it.
        made: whether a sprite of it can be made at all.
        parameters: those of its class, converted.
        category: what observations call it (spec section 8), unless the avatar fired it.
        is_avatar: of a class that the player can be.
        singletons: for each type on its path of which one sprite is enough: the types to be counted.
        passive: whether an update moves it along its orientation.
        update: what its sprites do in a tick; `None` where that is nothing.
        act: what its sprites do in a tick as the avatar; `None` where they cannot be it.
        rank: its turn among all updates of a tick; `None` where it has none, so that it never ages either.
        fixed: no sprite of it ever changes once it is made, so that plays can share it.
    """

    id: int
    name: str
    made: bool
    parameters: Mapping[str, Any]
    category: int
    is_avatar: bool
    singletons: tuple[tuple[int, ...], ...]
    passive: bool
    update: Update | None = None
    act: AvatarUpdate | None = None
    actions: tuple[str, ...] = ()
    rank: int | None = None
    fixed: bool = False

    def flag(self, name: str) -> bool:
        """A flag of the class; false where it has none of that name."""
        return bool(self.parameters.get(name, False))


def category_of(parameters: Mapping[str, Any], *, is_avatar: bool) -> int:
    """The first category that fits."""
    if is_avatar:
        return AVATAR_CATEGORY
    for flag, category in _CATEGORY_FLAGS:
        if parameters.get(flag):
            return category
    return MOVABLE_CATEGORY


class Sprite:
    """One sprite: a rectangle in whole pixels, and what it remembers.

    Attributes:
        id: its number, counted over everything that was made.
        type, kind: its leaf type.
        x, y, w, h: its rectangle.
        last_x, last_y: where that was when the cycle began.
        ox, oy: its orientation; (0, 0) is none.
        oriented: whether that means anything.
        speed: cells a move.
        cooldown: ticks from move to move, at least 1.
        moved_at: the tick of its last move; the tick minus this is how long it has rested.
        fresh: it has not had its first passive move, which never leads anywhere.
        disabled: a dead avatar: it does nothing more, and is still there.
        category: as in its kind, or fired by the avatar.
        resources: amounts by type, zeros too once touched.
        health, max_health, limit_health: points.
        ttl: updates left to live; negative for ever.
        age: a flicker's updates.
        aim_x, aim_y, repeats: an NPC's last random direction, and how often it was taken again.
        start, made: when a spawner began, and how many it made.
        quarry, quarry_x, quarry_y: what a path chaser is after, and where it once stood.
        original: it was built from the definition and not copied from another sprite.
        cells: where it is entered in the grid of cells; the rectangle may move between `left`, `right`, `top`
            and `bottom` without leaving them.
        grounded: continuous physics: it stands on something.
    """

    __slots__ = (
        "age",
        "aim_x",
        "aim_y",
        "bottom",
        "category",
        "cells",
        "cooldown",
        "disabled",
        "fresh",
        "grounded",
        "h",
        "health",
        "id",
        "kind",
        "last_x",
        "last_y",
        "left",
        "limit_health",
        "made",
        "max_health",
        "moved_at",
        "original",
        "oriented",
        "ox",
        "oy",
        "quarry",
        "quarry_x",
        "quarry_y",
        "repeats",
        "resources",
        "right",
        "speed",
        "start",
        "top",
        "ttl",
        "type",
        "w",
        "x",
        "y",
    )

    def copy(self) -> Sprite:
        """A sprite in the same state; nothing that can change is shared."""
        new = Sprite.__new__(Sprite)
        new.age = self.age
        new.aim_x = self.aim_x
        new.aim_y = self.aim_y
        new.bottom = self.bottom
        new.category = self.category
        new.cells = self.cells
        new.cooldown = self.cooldown
        new.disabled = self.disabled
        new.fresh = self.fresh
        new.grounded = self.grounded
        new.h = self.h
        new.health = self.health
        new.id = self.id
        new.kind = self.kind
        new.last_x = self.last_x
        new.last_y = self.last_y
        new.left = self.left
        new.limit_health = self.limit_health
        new.made = self.made
        new.max_health = self.max_health
        new.moved_at = self.moved_at
        new.original = self.original
        new.oriented = self.oriented
        new.ox = self.ox
        new.oy = self.oy
        new.quarry = self.quarry
        new.quarry_x = self.quarry_x
        new.quarry_y = self.quarry_y
        new.repeats = self.repeats
        new.right = self.right
        new.speed = self.speed
        new.start = self.start
        new.top = self.top
        new.ttl = self.ttl
        new.type = self.type
        new.w = self.w
        new.x = self.x
        new.y = self.y
        new.resources = self.resources.copy() if self.resources else NOTHING
        return new
