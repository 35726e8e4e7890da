"""Effects on where sprites are and where they look."""

from __future__ import annotations

__all__ = ["POSITION_EFFECTS", "put_flush"]

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from flagfall.tasks.vgdl.actions import VECTORS
from flagfall.tasks.vgdl.engine.physics.movement import active, move, place, unit_of_last_move
from flagfall.tasks.vgdl.engine.sprites.passive import DIRECTIONS
from flagfall.tasks.vgdl.engine.state.work_limit import spend

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.effects.registry import Maker
    from flagfall.tasks.vgdl.engine.game import Game
    from flagfall.tasks.vgdl.engine.rules.collisions import Effect
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite


def step_back(parameters: Mapping[str, Any], game: Game) -> Effect:
    """Back to where it was when the cycle began; or, with `pixelPerfect`, just so far that it touches."""
    del game
    score: int = parameters["scoreChange"]

    def back(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        if first.x != first.last_x or first.y != first.last_y:
            place(play, first, first.last_x, first.last_y)
        return score

    def flush(play: Play, first: Sprite, second: Sprite | None) -> int:
        if second is None:
            return back(play, first, second)
        put_flush(play, first, second)
        return score

    return flush if parameters["pixelPerfect"] else back


def put_flush(play: Play, first: Sprite, second: Sprite) -> None:
    """Back just so far that it touches, if it has moved along one axis; else to where it was."""
    dx, dy = unit_of_last_move(first)
    if (dx != 0) == (dy != 0):
        place(play, first, first.last_x, first.last_y)
    elif dx:
        place(play, first, second.x - first.w if dx > 0 else second.x + second.w, first.y)
    else:
        place(play, first, first.x, second.y - first.h if dy > 0 else second.y + second.h)


def undo_all(parameters: Mapping[str, Any], game: Game) -> Effect:
    """Everything back to where it was when the cycle began."""
    score: int = parameters["scoreChange"]
    spared = set(parameters["notStype"])
    undone = [
        type_id in game.definition.order and type_id not in spared for type_id in range(len(game.kinds))
    ]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del first, second
        spend(play, len(play.moved))
        for sprite in list(play.moved):
            if undone[sprite.type] and (sprite.x != sprite.last_x or sprite.y != sprite.last_y):
                place(play, sprite, sprite.last_x, sprite.last_y)
        return score

    return run


def wrap_around(parameters: Mapping[str, Any], game: Game) -> Effect:
    """In again at the opposite border."""
    del game
    score: int = parameters["scoreChange"]
    offset: float = parameters["offset"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        width, height = play.screen
        if first.ox > 0:
            place(play, first, int(offset * first.w), first.y)
        elif first.ox < 0:
            place(play, first, int(width - first.w * (1 + offset)), first.y)
        elif first.oy > 0:
            place(play, first, first.x, int(offset * first.h))
        elif first.oy < 0:
            place(play, first, first.x, int(height - first.h * (1 + offset)))
        first.moved_at = play.tick
        return score

    return run


def bounce_forward(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first is pushed where the second went."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        dx, dy = unit_of_last_move(second)
        if dx * second.ox < 0:
            dx = -dx
        if dy * second.oy < 0:
            dy = -dy
        active(play, first, dx, dy, second.speed)
        first.ox = dx
        first.oy = dy
        return score

    return run


def pull_with_it(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first is carried along by the second, once a tick."""
    score: int = parameters["scoreChange"]
    exact: bool = parameters["pixelPerfect"]
    memory = game.pulls
    game.pulls += 1

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        since, pulled = play.session.pulls.get(memory, (-1, ()))
        if since < play.tick:
            since, pulled = play.tick, ()
        if first.id in pulled:
            return score
        play.session.pulls[memory] = (since, (*pulled, first.id))
        dx, dy = unit_of_last_move(second)
        move(play, first, dx, dy, int(second.speed * play.block_size))
        if exact:
            place(play, first, second.x, second.y)
        return score

    return run


def align(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first is put on the second."""
    del game
    score: int = parameters["scoreChange"]
    orient: bool = parameters["orient"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if orient:
            first.ox = second.ox
            first.oy = second.oy
        place(play, first, second.x, second.y)
        return score

    return run


def attract_gaze(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first looks where the second looks; two draws where both are oriented."""
    del game
    score: int = parameters["scoreChange"]
    chance: float = parameters["prob"]
    aligned: bool = parameters["align"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        if first.oriented and second.oriented and play.random.next_double() < chance:
            first.ox = second.ox
            first.oy = second.oy
            if aligned:
                if (first.ox, first.oy) in {VECTORS["LEFT"], VECTORS["RIGHT"]}:
                    place(play, first, first.x, second.y)
                else:
                    place(play, first, second.x, first.y)
        return score

    return run


def teleport_to_exit(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The first goes to one of the second's exits, chosen by a draw; it dies where there is none."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        goal = second.kind.parameters.get("stype")
        if not isinstance(goal, int):
            play.warn("teleportToExit: the second sprite has no exit")
            return score
        exits = play.groups[goal]
        if not exits:
            play.kill(first)
            return score
        way_out = exits[play.random.next_int(len(exits))]
        place(play, first, way_out.x, way_out.y)
        first.moved_at = play.tick
        if way_out.oriented:
            first.ox = way_out.ox
            first.oy = way_out.oy
        return score

    return run


def turn_around(parameters: Mapping[str, Any], game: Game) -> Effect:
    """Back, two moves down, and the other way round."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        place(play, first, first.last_x, first.last_y)
        for _ in range(2):
            first.moved_at = play.tick - first.cooldown
            active(play, first, 0, 1, first.speed)
        first.ox = -first.ox
        first.oy = -first.oy
        return score

    return run


def reverse_direction(parameters: Mapping[str, Any], game: Game) -> Effect:
    """The other way round."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del play, second
        first.ox = -first.ox
        first.oy = -first.oy
        return score

    return run


def flip_direction(parameters: Mapping[str, Any], game: Game) -> Effect:
    """A random direction; one draw."""
    del game
    score: int = parameters["scoreChange"]

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        del second
        first.ox, first.oy = DIRECTIONS[play.random.next_int(4)]
        return score

    return run


POSITION_EFFECTS: Final[Mapping[str, Maker]] = {
    "stepBack": step_back,
    "undoAll": undo_all,
    "wrapAround": wrap_around,
    "bounceForward": bounce_forward,
    "pullWithIt": pull_with_it,
    "align": align,
    "attractGaze": attract_gaze,
    "teleportToExit": teleport_to_exit,
    "turnAround": turn_around,
    "reverseDirection": reverse_direction,
    "flipDirection": flip_direction,
}
