"""Cache of what views make of the first moment of a play, shared by all plays that begin alike.

Plays of one level begin with equal sprites, and many end after a few ticks: without this cache, a view of
such a play would spend most of its time on sprites that never change.
"""

from __future__ import annotations

__all__ = ["FirstMoment", "first_moment"]

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from flagfall.tasks.vgdl.views.per_game import per_game

if TYPE_CHECKING:
    from collections.abc import Hashable

    from flagfall.tasks.vgdl.engine.state.game import Game
    from flagfall.tasks.vgdl.engine.state.play import Play

MAX_MOMENTS: Final = 8
"""First moments kept for each game; a public game has five levels."""

MAX_PARTS: Final = 4
"""Results kept for each first moment: one state, and pictures in a few sizes."""

_ATTRIBUTES: Final = attrgetter("id", "category", "x", "y", "ox", "oy", "disabled")
"""All that views show of a sprite, except for what its type determines."""


class FirstMoment:
    """The first moment of a play, before its first cycle.

    Args:
        play: the play, at that moment.

    Attributes:
        parts: results of views by their names; only immutable ones, or copies that their owner never changes.
    """

    __slots__ = ("_groups", "_size", "parts")

    def __init__(self, play: Play) -> None:
        self._size = (play.width, play.height, play.block_size)
        self._groups = _groups(play)
        self.parts: dict[Hashable, Any] = {}

    def matches(self, play: Play) -> bool:
        """Return whether a play begins with equal sprites on a screen of the same size.

        Args:
            play: a play of the same game, before its first cycle.
        """
        return self._size == (play.width, play.height, play.block_size) and all(
            (group if kind.fixed else list(map(_ATTRIBUTES, group))) == known
            for kind, group, known in zip(play.game.kinds, play.groups, self._groups, strict=True)
        )

    def keep(self, name: Hashable, part: Any) -> None:
        """Keep a result; the oldest one is dropped if there are too many.

        Args:
            name: the name of the result.
            part: the result.
        """
        if len(self.parts) >= MAX_PARTS:
            del self.parts[next(iter(self.parts))]
        self.parts[name] = part


@per_game
def _moments(_game: Game) -> list[FirstMoment]:
    return []


def first_moment(play: Play) -> FirstMoment | None:
    """Return the kept first moment of plays that begin as this one does; `None` if it has begun already.

    Args:
        play: at any tick.
    """
    if play.tick != -1:
        return None
    moments = _moments(play.game)
    for moment in moments:
        if moment.matches(play):
            return moment
    moment = FirstMoment(play)
    moments[:] = [moment, *moments[: MAX_MOMENTS - 1]]
    return moment


def _groups(play: Play) -> list[list[Any]]:
    """Return the sprites of each type: those that never change as they are, others as their attributes."""
    return [
        group.copy() if kind.fixed else list(map(_ATTRIBUTES, group))
        for kind, group in zip(play.game.kinds, play.groups, strict=True)
    ]
