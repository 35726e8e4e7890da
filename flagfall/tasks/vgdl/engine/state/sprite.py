"""Sprites, and what all sprites of one type have in common.

A sprite is state and nothing else: what it does lies in the update function of its `Kind`.
"""

from __future__ import annotations

__all__ = ["FROM_AVATAR", "NOTHING", "Act", "Kind", "Sprite", "Update", "build", "category_of"]

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play

Update: TypeAlias = "Callable[[Play, Sequence[Sprite]], None]"
"""What all sprites of a type do in a tick, one after another."""

Act: TypeAlias = "Callable[[Play, Sprite, str], object]"
"""What the avatar does in a tick, asked for one of its actions or `NIL`; what it gives back is not used."""

FROM_AVATAR: Final = 5
"""The category of what the avatar has fired."""

_AVATAR: Final = 0
_MOVABLE: Final = 6
_BY_FLAG: Final = (("is_resource", 1), ("portal", 2), ("is_npc", 3), ("is_static", 4))

NOTHING: Final[dict[int, int]] = {}
"""The resources of a sprite that never had any; must not be written to."""


@attrs.define(eq=False)
class Kind:
    """What the sprites of one type have in common; compiled from the definition, and never changed.

    Attributes:
        id: the type.
        name: as the game writes it.
        parameters: those of its class, converted.
        is_avatar: of a class that the player can be.
        category: what observations call it, unless the avatar fired it.
        subtypes: the types whose sprites count as this one.
        singletons: for each type on its path of which one sprite is enough: the types to be counted.
        stationary: no active movement.
        passive: passive movement.
        drifts: passive movement can ever lead anywhere.
        walks: it is of a class that moves on purpose.
        feels_ground: it finds out whether it stands on something solid, by continuous physics.
        turns_first: asked to move another way than it looks, it turns.
        continuous: continuous physics.
        update: what its sprites do in a tick; `None` where that is nothing.
        act: what the avatar does in a tick; `None` where it cannot be one.
        actions: what it can be asked to do as the avatar.
        rank: its turn among the updates of a tick; `None` where it has none, and so never ages either.
        fixed: no sprite of it changes once it is made, so plays can share it.
        products: what types its sprites make.
        unknown: words of its definition that its class does not know: messages when the first is made.
    """

    id: int
    name: str
    parameters: Mapping[str, Any] = attrs.field(repr=False)
    is_avatar: bool
    category: int
    subtypes: tuple[int, ...]
    singletons: tuple[tuple[int, ...], ...]
    stationary: bool
    passive: bool
    drifts: bool
    walks: bool
    feels_ground: bool
    turns_first: bool
    continuous: bool
    update: Update | None = None
    act: Act | None = None
    actions: tuple[str, ...] = ()
    rank: int | None = None
    fixed: bool = False
    products: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()


def category_of(parameters: Mapping[str, Any], *, is_avatar: bool) -> int:
    """The first category that fits."""
    if is_avatar:
        return _AVATAR
    for flag, category in _BY_FLAG:
        if parameters.get(flag):
            return category
    return _MOVABLE


@attrs.define(eq=False, weakref_slot=False)
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
        start, made, products: when a spawner began, how many it made, and what types it makes.
        quarry, quarry_x, quarry_y: what a path chaser is after, and where it once stood.
        original: it was built from the definition and not copied from another sprite.
        cells: where it is entered in the grid of cells.
        left, right, top, bottom: its x and y may move between these without leaving its cells.
        grounded, gravity, rotation: continuous physics: whether it stands on something, how fast it falls,
            and where it is turned to, in radians.
    """

    kind: Kind = attrs.field(repr=False)
    type: int
    w: int
    h: int
    ox: float
    oy: float
    oriented: bool
    speed: float
    cooldown: int
    category: int
    health: int
    max_health: int
    limit_health: int
    ttl: int
    id: int = 0
    x: int = 0
    y: int = 0
    last_x: int = 0
    last_y: int = 0
    moved_at: int = 0
    fresh: bool = True
    disabled: bool = False
    resources: dict[int, int] = NOTHING
    age: int = 0
    aim_x: float = 0
    aim_y: float = 0
    repeats: int = 0
    start: int = -1
    made: int = 0
    products: tuple[int, ...] = ()
    quarry: Sprite | None = None
    quarry_x: int | None = None
    quarry_y: int | None = None
    original: bool = True
    grounded: bool = False
    gravity: float = 0
    rotation: float = 0
    cells: tuple[int, ...] = ()
    left: int = 0
    right: int = -1
    top: int = 0
    bottom: int = -1

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
        new.gravity = self.gravity
        new.rotation = self.rotation
        new.h = self.h
        new.health = self.health
        new.id = self.id
        new.kind = self.kind
        new.last_x = self.last_x
        new.last_y = self.last_y
        new.left = self.left
        new.limit_health = self.limit_health
        new.made = self.made
        new.products = self.products
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

    def resource(self, resource: int | None) -> int:
        """How much it has of something; nothing of `None`."""
        return 0 if resource is None else self.resources.get(resource, 0)

    def gain(self, resource: int, amount: int) -> None:
        """Add to what it has of something, or take from it; nobody has less than nothing."""
        if self.resources is NOTHING:
            self.resources = {}
        self.resources[resource] = max(0, self.resources.get(resource, 0) + amount)


def build(kind: Kind, block: int) -> Sprite:
    """A sprite as its definition makes it; it stands at the origin and has no number yet.

    Args:
        kind: its type.
        block: pixels a cell.
    """
    given = kind.parameters
    max_health = given["maxHealthPoints"] or given["healthPoints"]
    ox, oy = given["orientation"]
    return Sprite(
        kind=kind,
        type=kind.id,
        w=int(block * given["wMult"]),
        h=int(block * given["hMult"]),
        ox=ox,
        oy=oy,
        oriented=given["is_oriented"] or (ox, oy) != (0, 0),
        speed=given["speed"],
        cooldown=max(1, given["cooldown"]),
        category=kind.category,
        health=min(given["healthPoints"], max_health),
        max_health=max_health,
        limit_health=given["limitHealthPoints"],
        ttl=given["timeToLive"],
        gravity=given["gravity"],
        products=kind.products,
    )
