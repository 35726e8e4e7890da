"""Sprites, and the traits that all sprites of one type share.

A sprite is state only; its behaviour is the `update` or `act` function of its `SpriteKind`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

FROM_AVATAR: Final = 5
"""Category of the avatar's shots."""

_AVATAR: Final = 0
_MOVABLE: Final = 6
_BY_FLAG: Final = (("is_resource", 1), ("portal", 2), ("is_npc", 3), ("is_static", 4))

NO_RESOURCES: Final[dict[int, int]] = {}
"""The resources of a sprite that never had any, shared by all of these; must not be written to."""


class Constant:
    """Base of what belongs to a compiled game: copies of a play share it, as it may hold functions."""

    __slots__ = ()

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self


@dataclass(eq=False, slots=True)
class SpriteKind(Constant):
    """Traits of a sprite type; compiled from the definition, and constant from then on.

    `update` and `act` take a `Play`, which this module cannot name: it is defined above; see `state.play`.

    Attributes:
        parameters: the parameters of its class, converted.
        category: category in observations, unless the avatar fired the sprite.
        subtypes: types whose sprites count as this one.
        singletons: for each singleton type on its path, the types whose sprites are counted.
        stationary: active movement has no effect.
        drifts: passive movement can change its position.
        is_npc: its class moves actively by itself.
        senses_ground: it detects by continuous physics whether it stands on something solid.
        turns_first: an active movement in another direction than its orientation only turns it.
        continuous: continuous physics applies.
        update: behaviour of its sprites in a tick; `None` for nothing.
        act: behaviour of the avatar in a tick; `None` for types that are not avatars.
        actions: legal actions of the avatar.
        rank: position in the update order; `None` for types that are never updated, and never age either.
        fixed: sprites never change once made, so that forked plays can share them.
        products: types that its sprites spawn.
        unknown: keys of its definition that its class does not know; logged when the first sprite is made.
    """

    id: int
    name: str
    parameters: Mapping[str, Any] = field(repr=False)
    is_avatar: bool
    category: int
    subtypes: tuple[int, ...]
    singletons: tuple[tuple[int, ...], ...]
    stationary: bool
    passive: bool
    drifts: bool
    is_npc: bool
    senses_ground: bool
    turns_first: bool
    continuous: bool
    update: Callable[..., None] | None = None
    act: Callable[..., object] | None = None
    actions: tuple[str, ...] = ()
    rank: int | None = None
    fixed: bool = False
    products: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()


def category_of(parameters: Mapping[str, Any], *, is_avatar: bool) -> int:
    """Return the category of a sprite type: that of the first flag that is set."""
    if is_avatar:
        return _AVATAR
    for flag, category in _BY_FLAG:
        if parameters.get(flag):
            return category
    return _MOVABLE


@dataclass(eq=False, slots=True)
class Sprite:
    """A rectangle in whole pixels, with the state of its behaviour.

    Attributes:
        id: number, counted over all sprites made.
        type, kind: its leaf type.
        x, y, w, h: rectangle in pixels.
        last_x, last_y: position at the start of the cycle.
        ox, oy: orientation; (0, 0) is none.
        oriented: the orientation has an effect.
        speed: cells a move.
        cooldown: ticks from one move to the next, at least 1.
        moved_at: tick of its last move; the tick minus this is how long it has rested.
        fresh: its first passive move, which has no effect, is still to come.
        disabled: a dead avatar: inactive, but still present.
        category: as in its kind, or `FROM_AVATAR`.
        resources: amounts by type; zeros stay once set.
        health, max_health, limit_health: points.
        ttl: updates left to live; negative for unlimited.
        age: updates of a flicker so far.
        last_direction_x, last_direction_y, repeats: an NPC's last random direction, and how often it was
            repeated.
        start, spawned, products: first tick of a spawner, how many sprites it made, and the types it makes.
        target, target_x, target_y: the sprite that a path chaser pursues, and its last reachable position.
        is_first: it is the first sprite of its type, built from the definition and not copied.
        cells: cells of the grid in which it is entered.
        left, right, top, bottom: bounds of x and y within which its cells stay the same.
        grounded, gravity, rotation: continuous physics: it stands on something, downward acceleration, and
            angle in radians.
    """

    kind: SpriteKind = field(repr=False)
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
    resources: dict[int, int]
    id: int = 0
    x: int = 0
    y: int = 0
    last_x: int = 0
    last_y: int = 0
    moved_at: int = 0
    fresh: bool = True
    disabled: bool = False
    age: int = 0
    last_direction_x: float = 0
    last_direction_y: float = 0
    repeats: int = 0
    start: int = -1
    spawned: int = 0
    products: tuple[int, ...] = ()
    target: Sprite | None = None
    target_x: int | None = None
    target_y: int | None = None
    is_first: bool = True
    grounded: bool = False
    gravity: float = 0
    rotation: float = 0
    cells: tuple[int, ...] = ()
    left: int = 0
    right: int = -1
    top: int = 0
    bottom: int = -1

    def copy(self) -> Sprite:
        """Return a sprite in the same state that shares nothing mutable."""
        new = Sprite.__new__(Sprite)
        new.age = self.age
        new.last_direction_x = self.last_direction_x
        new.last_direction_y = self.last_direction_y
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
        new.spawned = self.spawned
        new.products = self.products
        new.max_health = self.max_health
        new.moved_at = self.moved_at
        new.is_first = self.is_first
        new.oriented = self.oriented
        new.ox = self.ox
        new.oy = self.oy
        new.target = self.target
        new.target_x = self.target_x
        new.target_y = self.target_y
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
        new.resources = self.resources.copy() if self.resources else NO_RESOURCES
        return new

    def resource(self, resource: int | None) -> int:
        """Return the amount of a resource; 0 for `None`."""
        return 0 if resource is None else self.resources.get(resource, 0)

    def gain(self, resource: int, amount: int) -> None:
        """Change the amount of a resource, to 0 at the least.

        Args:
            amount: added to what it has; may be negative.
        """
        if self.resources is NO_RESOURCES:
            self.resources = {}
        self.resources[resource] = max(0, self.resources.get(resource, 0) + amount)


def build(kind: SpriteKind, block: int) -> Sprite:
    """Return a new sprite from its definition, at the origin and without a number.

    Args:
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
        resources=NO_RESOURCES,
        gravity=given["gravity"],
        products=kind.products,
    )


def overlaps(sprite: Sprite, x: int, y: int, w: int, h: int) -> bool:
    """Return whether a rectangle and a sprite's share inner points; one without an area shares none."""
    return (
        x < sprite.x + sprite.w
        and sprite.x < x + w
        and y < sprite.y + sprite.h
        and sprite.y < y + h
        and w > 0
        and h > 0
        and sprite.w > 0
        and sprite.h > 0
    )
