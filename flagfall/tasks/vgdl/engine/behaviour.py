"""Registries of the functions that behave as effects and sprite classes, by the names of rows.

`@effect("killSprite")` is for a function of the line, the play and both sprites. Where something is to be
prepared once for each line, `@effect_maker("undoAll")` is for a function of the line and the game that
returns the effect. The caller adds the score that a behaviour returns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Generic, TypeAlias, TypeVar

from flagfall.tasks.vgdl.engine.state.game import Effect, EffectLine, Game
from flagfall.tasks.vgdl.engine.state.play import Act, Update
from flagfall.tasks.vgdl.engine.state.sprite import SpriteKind

EffectMaker: TypeAlias = Callable[[EffectLine, Game], Effect]
"""Makes an effect from a line of the game."""

MAKERS: Final[dict[str, EffectMaker]] = {}
"""By name of the effect; filled when the modules of this folder are imported."""

_EffectBehaviour = TypeVar("_EffectBehaviour", bound=Callable[..., int])


def effect(name: str) -> Callable[[_EffectBehaviour], _EffectBehaviour]:
    """Register a function `(line, play, first, second)` that returns the change of the score."""

    def register(behaviour: _EffectBehaviour) -> _EffectBehaviour:
        effect_maker(name)(lambda line, _game: partial(behaviour, line))
        return behaviour

    return register


def effect_maker(name: str) -> Callable[[EffectMaker], EffectMaker]:
    """Register a function that makes an effect from its line.

    Raises:
        TypeError: the effect has a behaviour already.
    """

    def register(maker: EffectMaker) -> EffectMaker:
        if name in MAKERS:
            raise TypeError(f"the effect {name} has two behaviours")
        MAKERS[name] = maker
        return maker

    return register


# Registries of behaviours, under the names that rows of sprite classes give.
#
# `@UPDATES.maker("chaser")` and `@ACTS.maker("shoot_every_way")` register a function that makes the
# behaviour of a type from its `SpriteKind`; `@UPDATES.plain(...)` and `@ACTS.plain(...)` one that is the
# behaviour itself.

_SpriteBehaviour = TypeVar("_SpriteBehaviour")


class BehaviourRegistry(dict[str, Callable[[SpriteKind], _SpriteBehaviour]], Generic[_SpriteBehaviour]):
    """Makers of behaviours by name; filled when the modules of this folder are imported."""

    def maker(
        self, name: str
    ) -> Callable[[Callable[[SpriteKind], _SpriteBehaviour]], Callable[[SpriteKind], _SpriteBehaviour]]:
        """Register a function that makes the behaviour of a type.

        Raises:
            TypeError: another function has this name.
        """

        def register(
            maker: Callable[[SpriteKind], _SpriteBehaviour],
        ) -> Callable[[SpriteKind], _SpriteBehaviour]:
            if name in self:
                raise TypeError(f"there are two behaviours {name!r}")
            self[name] = maker
            return maker

        return register

    def plain(self, name: str) -> Callable[[_SpriteBehaviour], _SpriteBehaviour]:
        """Register a function that is the behaviour of all types.

        Raises:
            TypeError: another function has this name.
        """

        def register(behaviour: _SpriteBehaviour) -> _SpriteBehaviour:
            self.maker(name)(lambda _kind: behaviour)
            return behaviour

        return register


UPDATES: Final = BehaviourRegistry[Update]()
"""Behaviours of sprites in a tick."""

ACTS: Final = BehaviourRegistry[Act]()
"""Behaviours of the avatar in a tick."""
