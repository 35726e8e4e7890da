"""Effects at the edge of the screen (`EOS`)."""

from __future__ import annotations

__all__ = ["check_edges", "run_edges"]

from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.engine.state.work_limit import LARGE_GROUP


def check_edges(play: Play) -> None:
    """Run the edge effects if a sprite that has any is partly outside of the screen.

    Args:
        play: in a cycle.
    """
    width, height = play.screen
    grid = play.grid
    if any(is_outside(sprite, width, height) for sprite in grid.near_edge):
        run_edges(play)
    grid.near_edge = {sprite for sprite in grid.near_edge if may_be_outside(sprite, width, height)}


def may_be_outside(sprite: Sprite, width: int, height: int) -> bool:
    """Return whether the cells in which a sprite is entered extend beyond the screen.

    Args:
        sprite: entered in the grid.
        width: the width of the screen, in pixels.
        height: the height of the screen, in pixels.
    """
    right = sprite.right + sprite.w
    return sprite.left < 0 or sprite.top < 0 or right > width or sprite.bottom + sprite.h > height


def is_outside(sprite: Sprite, width: int, height: int) -> bool:
    """Return whether any part of a sprite is beyond the screen; the border belongs to the screen.

    Args:
        sprite: any.
        width: the width of the screen, in pixels.
        height: the height of the screen, in pixels.
    """
    return sprite.x < 0 or sprite.y < 0 or sprite.x + sprite.w > width or sprite.y + sprite.h > height


def run_edges(play: Play) -> None:
    """Run all edge effects, type by type; a type with several lines is looped over once for each.

    Args:
        play: in a cycle.
    """
    width, height = play.screen
    groups = play.groups
    for types, effects in play.game.edges:
        for effect in effects:
            for type_id in types:
                group = groups[type_id]
                if len(group) > LARGE_GROUP:
                    play.work.charge(len(group))
                size = len(group)
                for sprite in list(group):
                    if (
                        is_outside(sprite, width, height)
                        and sprite not in play.killed
                        and not sprite.disabled
                    ):
                        play.score += effect(play, sprite, None)
                        if len(group) != size:
                            play.warn("an edge effect made sprites of the type over which it runs")
                            break
