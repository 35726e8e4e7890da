"""Effects that kill."""

from __future__ import annotations

__all__: list[str] = []

from flagfall.tasks.vgdl.engine.effects.behaviour import effect
from flagfall.tasks.vgdl.engine.physics.motion import unit_of_last_move
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.engine.state.tables import EffectLine


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
