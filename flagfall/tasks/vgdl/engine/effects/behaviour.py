"""Decorators that make a function the behaviour of an effect.

`@effect("killSprite")` is for a function of the line, the play and both sprites. Where something is to be
prepared once for each line, `@effect_maker("undoAll")` is for a function of the line and the game that
returns the effect. The caller adds the score that a behaviour returns.
"""

from __future__ import annotations

__all__ = ["MAKERS", "EffectMaker", "effect", "effect_maker"]

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias, TypeVar

from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.tables import Effect, EffectLine

EffectMaker: TypeAlias = Callable[[EffectLine, Game], Effect]
"""Makes an effect from a line of the game."""

MAKERS: Final[dict[str, EffectMaker]] = {}
"""By name of the effect; filled when the modules of this folder are imported."""

_Behaviour = TypeVar("_Behaviour", bound=Callable[..., int])


def effect(name: str) -> Callable[[_Behaviour], _Behaviour]:
    """Register a function `(line, play, first, second)` that returns the change of the score.

    Args:
        name: the name of the effect, as games write it.
    """

    def register(behaviour: _Behaviour) -> _Behaviour:
        effect_maker(name)(lambda line, _game: partial(behaviour, line))
        return behaviour

    return register


def effect_maker(name: str) -> Callable[[EffectMaker], EffectMaker]:
    """Register a function that makes an effect from its line.

    Args:
        name: the name of the effect, as games write it.

    Raises:
        TypeError: the effect has a behaviour already.
    """

    def register(maker: EffectMaker) -> EffectMaker:
        if name in MAKERS:
            raise TypeError(f"the effect {name} has two behaviours")
        MAKERS[name] = maker
        return maker

    return register
