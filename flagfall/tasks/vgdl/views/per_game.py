"""Results that depend on a compiled game only, kept as long as the game is."""

from __future__ import annotations

__all__ = ["per_game"]

from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagfall.tasks.vgdl.engine.state.game import Game

_Result = TypeVar("_Result")


def per_game(make: Callable[[Game], _Result]) -> Callable[[Game], _Result]:
    """Keep the results of a function by game.

    Args:
        make: the function; its results must not refer to the game.
    """
    results: WeakKeyDictionary[Game, _Result] = WeakKeyDictionary()

    @wraps(make)
    def get(game: Game) -> _Result:
        found = results.get(game)
        if found is None:
            found = results[game] = make(game)
        return found

    return get
