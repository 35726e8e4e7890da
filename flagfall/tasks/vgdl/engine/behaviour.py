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

_Maker = TypeVar("_Maker")
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
    return _registrar(MAKERS, name, f"the effect {name} has two behaviours")


def _registrar(makers: dict[str, _Maker], name: str, taken: str) -> Callable[[_Maker], _Maker]:
    def register(maker: _Maker) -> _Maker:
        if name in makers:
            raise TypeError(taken)
        makers[name] = maker
        return maker

    return register


_SpriteBehaviour = TypeVar("_SpriteBehaviour")
_SpriteMaker: TypeAlias = Callable[[SpriteKind], _SpriteBehaviour]


class BehaviourRegistry(dict[str, _SpriteMaker[_SpriteBehaviour]], Generic[_SpriteBehaviour]):
    """Makers of the behaviours of sprites, by the names that rows of sprite classes give.

    Filled when the modules of this folder are imported.
    """

    def maker(self, name: str) -> Callable[[_SpriteMaker[_SpriteBehaviour]], _SpriteMaker[_SpriteBehaviour]]:
        """Register a function that makes the behaviour of a type.

        Raises:
            TypeError: another function has this name.
        """
        return _registrar(self, name, f"there are two behaviours {name!r}")

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
