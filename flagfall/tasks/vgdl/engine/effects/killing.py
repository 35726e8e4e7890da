"""Effects that kill."""

from __future__ import annotations

__all__ = ["KILLING_EFFECTS"]

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from flagfall.tasks.vgdl.engine.physics.movement import unit_of_last_move

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.effects.registry import Maker
    from flagfall.tasks.vgdl.engine.game import Game
    from flagfall.tasks.vgdl.engine.rules.collisions import Effect
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite


def kill_sprite(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first dies."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        play.kill(first)
        return score

    return run


def kill_both(parameters: Mapping[str, Any], game: Game) -> Effect:
    """Both die."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        play.kill(first)
        play.kill(second)
        return score

    return run


def kill_all(parameters: Mapping[str, Any], game: Game) -> Effect:
    """All of a type die."""
    del game
    score: int = parameters["scoreChange"]
    stype: int = parameters["stype"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del first, second
        for sprite in play.groups[stype]:
            play.kill(sprite)
        return score

    return run


def kill_if_has_more(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first dies of having `limit` or more."""
    del game
    score: int = parameters["scoreChange"]
    resource: int = parameters["resource"]
    limit: int = parameters["limit"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        if first.resources.get(resource, 0) >= limit:
            play.kill(first)
            return score
        return 0

    return run


def kill_if_has_less(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first dies of having `limit` or less."""
    del game
    score: int = parameters["scoreChange"]
    resource: int = parameters["resource"]
    limit: int = parameters["limit"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        if first.resources.get(resource, 0) <= limit:
            play.kill(first)
            return score
        return 0

    return run


def kill_if_other_has_more(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first dies where the second has `limit` or more, which it may have to pay."""
    del game
    score: int = parameters["scoreChange"]
    resource: int | None = parameters["resource"]
    limit: int = parameters["limit"]
    subtract: bool = parameters["subtract"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if second.resource(resource) < limit:
            return 0
        play.kill(first)
        if subtract and resource is not None:
            second.gain(resource, -limit)
        return score

    return run


def kill_if_from_above(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first dies where the second has come down on it."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if first.last_y > second.last_y + second.h // 2 and second.y > second.last_y:
            play.kill(first)
            return score
        return 0

    return run


def meets_head_on(first: Sprite, second: Sprite) -> bool:
    """Whether two sprites have moved against each other."""
    ax, ay = unit_of_last_move(first)
    bx, by = unit_of_last_move(second)
    return ax + bx == 0 and ay + by == 0


def stood(sprite: Sprite) -> bool:
    """Whether a sprite is where it was when the cycle began."""
    return sprite.x == sprite.last_x and sprite.y == sprite.last_y


def kill_by_meeting(*, head_on: bool) -> Maker:
    """The first dies where it stood, or where they met head on, or otherwise than so."""

    def make(parameters: Mapping[str, Any], game: Game) -> Effect:
        del game
        score: int = parameters["scoreChange"]

        def run(play: Play, first: Sprite, second: Sprite) -> int:
            if stood(first) or meets_head_on(first, second) == head_on:
                play.kill(first)
                return score
            return 0

        return run

    return make


def kill_if_alive(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first dies unless the second is dead."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if second not in play.killed:
            play.kill(first)
        return score

    return run


KILLING_EFFECTS: Final[Mapping[str, Maker]] = {
    "killSprite": kill_sprite,
    "killBoth": kill_both,
    "killAll": kill_all,
    "killIfHasMore": kill_if_has_more,
    "killIfHasLess": kill_if_has_less,
    "killIfOtherHasMore": kill_if_other_has_more,
    "killIfFromAbove": kill_if_from_above,
    "killIfFrontal": kill_by_meeting(head_on=True),
    "killIfNotFrontal": kill_by_meeting(head_on=False),
    "killIfAlive": kill_if_alive,
}
