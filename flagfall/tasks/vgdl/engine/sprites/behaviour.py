"""Decorators that register a function as a behaviour of sprite classes, under the name in their rows.

`@update("chaser")` and `@act("drive")` are for functions that make the behaviour of a type from its
`SpriteKind`; `@plain_update` and `@plain_act` for behaviours that need no preparation.
"""

from __future__ import annotations

__all__ = ["ACTS", "UPDATES", "act", "plain_act", "plain_update", "update"]

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from flagfall.tasks.vgdl.engine.state.play import Act, Update
from flagfall.tasks.vgdl.engine.state.sprite import SpriteKind

_Made = TypeVar("_Made")
_MakerOf: TypeAlias = Callable[[SpriteKind], _Made]

UPDATES: Final[dict[str, _MakerOf[Update]]] = {}
"""Makers of behaviours in a tick, by name; filled when the modules of this folder are imported."""

ACTS: Final[dict[str, _MakerOf[Act]]] = {}
"""Makers of behaviours of the avatar, by name."""

_PlainUpdate = TypeVar("_PlainUpdate", bound=Update)
_PlainAct = TypeVar("_PlainAct", bound=Act)


def _register(table: dict[str, _MakerOf[_Made]], name: str) -> Callable[[_MakerOf[_Made]], _MakerOf[_Made]]:
    def register(maker: _MakerOf[_Made]) -> _MakerOf[_Made]:
        if name in table:
            raise TypeError(f"there are two behaviours {name!r}")
        table[name] = maker
        return maker

    return register


def update(name: str) -> Callable[[_MakerOf[Update]], _MakerOf[Update]]:
    """Register a maker of what sprites do in a tick.

    Args:
        name: of the behaviour.
    """
    return _register(UPDATES, name)


def plain_update(name: str) -> Callable[[_PlainUpdate], _PlainUpdate]:
    """Register what sprites do in a tick.

    Args:
        name: of the behaviour.
    """

    def register(behaviour: _PlainUpdate) -> _PlainUpdate:
        update(name)(lambda _kind: behaviour)
        return behaviour

    return register


def act(name: str) -> Callable[[_MakerOf[Act]], _MakerOf[Act]]:
    """Register a maker of what the avatar does in a tick.

    Args:
        name: of the behaviour.
    """
    return _register(ACTS, name)


def plain_act(name: str) -> Callable[[_PlainAct], _PlainAct]:
    """Register what the avatar does in a tick.

    Args:
        name: of the behaviour.
    """

    def register(behaviour: _PlainAct) -> _PlainAct:
        act(name)(lambda _kind: behaviour)
        return behaviour

    return register
