"""Effects that kill, move or turn sprites."""

from __future__ import annotations

from flagfall.tasks.vgdl.definition import DIRECTIONS, LEFT, RIGHT, VECTORS
from flagfall.tasks.vgdl.engine.behaviour import effect, effect_maker
from flagfall.tasks.vgdl.engine.physics import active, move, place, unit_of_last_move
from flagfall.tasks.vgdl.engine.state.game import Effect, EffectLine, Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite


@effect("killSprite")
def _kill_sprite(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Kill the first sprite."""
    play.kill(first)
    return line.score


@effect("killBoth")
def _kill_both(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Kill both sprites."""
    play.kill(first)
    play.kill(second)
    return line.score


@effect("killAll")
def _kill_all(line: EffectLine, play: Play, _first: Sprite | None, _second: Sprite | None) -> int:
    """Kill all sprites of a type."""
    for sprite in play.groups[line.parameters["stype"]]:
        play.kill(sprite)
    return line.score


@effect("killIfHasMore")
def _kill_if_has_more(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Kill the first sprite if it has `limit` or more of a resource."""
    if first.resource(line.parameters["resource"]) < line.parameters["limit"]:
        return 0
    play.kill(first)
    return line.score


@effect("killIfHasLess")
def _kill_if_has_less(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Kill the first sprite if it has `limit` or less of a resource."""
    if first.resource(line.parameters["resource"]) > line.parameters["limit"]:
        return 0
    play.kill(first)
    return line.score


@effect("killIfOtherHasMore")
def _kill_if_other_has_more(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Kill the first sprite if the second has `limit` or more of a resource; with `subtract`, take that."""
    resource, limit = line.parameters["resource"], line.parameters["limit"]
    if second.resource(resource) < limit:
        return 0
    play.kill(first)
    if line.parameters["subtract"] and resource is not None:
        second.gain(resource, -limit)
    return line.score


@effect("killIfFromAbove")
def _kill_if_from_above(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Kill the first sprite if the second has come down on it."""
    if first.last_y > second.last_y + second.h // 2 and second.y > second.last_y:
        play.kill(first)
        return line.score
    return 0


def _meets_head_on(first: Sprite, second: Sprite) -> bool:
    """Return whether two sprites have moved in opposite directions."""
    ax, ay = unit_of_last_move(first)
    bx, by = unit_of_last_move(second)
    return ax + bx == 0 and ay + by == 0


def _has_rested(sprite: Sprite) -> bool:
    """Return whether a sprite is where it was at the start of the cycle."""
    return sprite.x == sprite.last_x and sprite.y == sprite.last_y


@effect("killIfFrontal")
def _kill_if_frontal(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Kill the first sprite if it has rested, or if both met head on."""
    if _has_rested(first) or _meets_head_on(first, second):
        play.kill(first)
        return line.score
    return 0


@effect("killIfNotFrontal")
def _kill_if_not_frontal(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Kill the first sprite if it has rested, or if both met otherwise than head on."""
    if _has_rested(first) or not _meets_head_on(first, second):
        play.kill(first)
        return line.score
    return 0


@effect("killIfAlive")
def _kill_if_alive(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Kill the first sprite unless the second has been killed in this cycle."""
    if second in play.killed:
        return 0
    play.kill(first)
    return line.score


@effect_maker("stepBack")
def _step_back(line: EffectLine, _game: Game) -> Effect:
    """Move the first sprite back to where the cycle began; with `pixelPerfect`, until both just touch."""
    exact: bool = line.parameters["pixelPerfect"]
    score = line.score

    def run(play: Play, first: Sprite, second: Sprite | None) -> int:
        if exact and second is not None:
            put_flush(play, first, second)
        elif first.x != first.last_x or first.y != first.last_y:
            place(play, first, first.last_x, first.last_y)
        return score

    return run


def put_flush(play: Play, first: Sprite, second: Sprite) -> None:
    """Move a sprite back until it just touches another one; after a diagonal move or none, all the way."""
    dx, dy = unit_of_last_move(first)
    if (dx != 0) == (dy != 0):
        place(play, first, first.last_x, first.last_y)
    elif dx:
        place(play, first, second.x - first.w if dx > 0 else second.x + second.w, first.y)
    else:
        place(play, first, first.x, second.y - first.h if dy > 0 else second.y + second.h)


@effect_maker("undoAll")
def _undo_all(line: EffectLine, game: Game) -> Effect:
    """Move all sprites back to their positions at the start of the cycle, except types of `notStype`."""
    spared = set(line.parameters["notStype"])
    undone = [
        type_id in game.definition.order and type_id not in spared for type_id in range(len(game.kinds))
    ]

    def run(play: Play, _first: Sprite | None, _second: Sprite | None) -> int:
        play.work.charge(len(play.moved))
        for sprite in list(play.moved):
            if undone[sprite.type] and (sprite.x != sprite.last_x or sprite.y != sprite.last_y):
                place(play, sprite, sprite.last_x, sprite.last_y)
        return line.score

    return run


@effect("wrapAround")
def _wrap_around(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Move the first sprite to the opposite edge of the screen."""
    offset: float = line.parameters["offset"]
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
    return line.score


@effect("bounceForward")
def _bounce_forward(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Push the first sprite in the direction in which the second has moved."""
    dx, dy = unit_of_last_move(second)
    if dx * second.ox < 0:
        dx = -dx
    if dy * second.oy < 0:
        dy = -dy
    active(play, first, dx, dy, second.speed)
    first.ox = dx
    first.oy = dy
    return line.score


@effect_maker("pullWithIt")
def _pull_with_it(line: EffectLine, game: Game) -> Effect:
    """Move the first sprite along with the second, once a tick."""
    exact: bool = line.parameters["pixelPerfect"]
    key = game.new_pull()

    def run(play: Play, first: Sprite, second: Sprite) -> int:
        since, pulled = play.memory.pulls.get(key, (-1, ()))
        if since < play.tick:
            since, pulled = play.tick, ()
        if first.id in pulled:
            return line.score
        play.memory.pulls[key] = (since, (*pulled, first.id))
        dx, dy = unit_of_last_move(second)
        move(play, first, dx, dy, int(second.speed * play.block_size))
        if exact:
            place(play, first, second.x, second.y)
        return line.score

    return run


@effect("align")
def _align(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Put the first sprite at the position of the second; with `orient`, turn it the same way."""
    if line.parameters["orient"]:
        first.ox = second.ox
        first.oy = second.oy
    place(play, first, second.x, second.y)
    return line.score


@effect("attractGaze")
def _attract_gaze(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Turn the first sprite like the second with probability `prob`; two draws if both are oriented."""
    if first.oriented and second.oriented and play.random.next_double() < line.parameters["prob"]:
        first.ox = second.ox
        first.oy = second.oy
        if line.parameters["align"]:
            if (first.ox, first.oy) in {VECTORS[LEFT], VECTORS[RIGHT]}:
                place(play, first, first.x, second.y)
            else:
                place(play, first, second.x, first.y)
    return line.score


@effect("teleportToExit")
def _teleport_to_exit(line: EffectLine, play: Play, first: Sprite, second: Sprite) -> int:
    """Move the first sprite to one of the second's exits, by one draw; kill it if there is none."""
    goal = second.kind.parameters.get("stype")
    if not isinstance(goal, int):
        play.warn("teleportToExit: the second sprite has no exit")
        return line.score
    exits = play.groups[goal]
    if not exits:
        play.kill(first)
        return line.score
    way_out = exits[play.random.next_int(len(exits))]
    place(play, first, way_out.x, way_out.y)
    first.moved_at = play.tick
    if way_out.oriented:
        first.ox = way_out.ox
        first.oy = way_out.oy
    return line.score


@effect("turnAround")
def _turn_around(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Move the first sprite back, then two moves down, and reverse its direction."""
    place(play, first, first.last_x, first.last_y)
    for _ in range(2):
        first.moved_at = play.tick - first.cooldown
        active(play, first, 0, 1, first.speed)
    first.ox = -first.ox
    first.oy = -first.oy
    return line.score


@effect("reverseDirection")
def _reverse_direction(line: EffectLine, _play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Reverse the direction of the first sprite."""
    first.ox = -first.ox
    first.oy = -first.oy
    return line.score


@effect("flipDirection")
def _flip_direction(line: EffectLine, play: Play, first: Sprite, _second: Sprite | None) -> int:
    """Turn the first sprite in a random direction, by one draw."""
    first.ox, first.oy = DIRECTIONS[play.random.next_int(4)]
    return line.score
