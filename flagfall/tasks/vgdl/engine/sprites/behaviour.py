"""Registries of behaviours, under the names that rows of sprite classes give.

`@UPDATES.maker("chaser")` and `@ACTS.maker("shoot_every_way")` register a function that makes the behaviour
of a type from its `SpriteKind`; `@UPDATES.plain(...)` and `@ACTS.plain(...)` one that is the behaviour
itself.
"""

from __future__ import annotations

__all__ = ["ACTS", "UPDATES", "BehaviourRegistry"]

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from flagfall.tasks.vgdl.engine.state.play import Act, Update
from flagfall.tasks.vgdl.engine.state.sprite import SpriteKind

_Behaviour = TypeVar("_Behaviour")


class BehaviourRegistry(dict[str, Callable[[SpriteKind], _Behaviour]], Generic[_Behaviour]):
    """Makers of behaviours by name; filled when the modules of this folder are imported."""

    def maker(
        self, name: str
    ) -> Callable[[Callable[[SpriteKind], _Behaviour]], Callable[[SpriteKind], _Behaviour]]:
        """Register a function that makes the behaviour of a type.

        Args:
            name: the name of the behaviour, as rows of sprite classes write it.

        Raises:
            TypeError: another function has this name.
        """

        def register(maker: Callable[[SpriteKind], _Behaviour]) -> Callable[[SpriteKind], _Behaviour]:
            if name in self:
                raise TypeError(f"there are two behaviours {name!r}")
            self[name] = maker
            return maker

        return register

    def plain(self, name: str) -> Callable[[_Behaviour], _Behaviour]:
        """Register a function that is the behaviour of all types.

        Args:
            name: the name of the behaviour, as rows of sprite classes write it.

        Raises:
            TypeError: another function has this name.
        """

        def register(behaviour: _Behaviour) -> _Behaviour:
            self.maker(name)(lambda _kind: behaviour)
            return behaviour

        return register


UPDATES: Final = BehaviourRegistry[Update]()
"""Behaviours of sprites in a tick."""

ACTS: Final = BehaviourRegistry[Act]()
"""Behaviours of the avatar in a tick."""
