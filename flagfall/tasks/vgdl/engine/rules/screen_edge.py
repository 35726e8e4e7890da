"""Effects at the edge of the screen."""

from __future__ import annotations

__all__ = ["check_edges"]

from typing import TYPE_CHECKING

from flagfall.tasks.vgdl.engine.state.work_limit import CROWDED, spend

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite


def check_edges(play: Play) -> None:
    """Run the edge effects, if a sprite that they are for is not wholly on the screen."""
    width, height = play.screen
    if any(is_outside(sprite, width, height) for sprite in play.near_edge):
        run_edges(play, width, height)
    play.near_edge = {sprite for sprite in play.near_edge if may_be_outside(sprite, width, height)}


def may_be_outside(sprite: Sprite, width: int, height: int) -> bool:
    """Whether the cells that a sprite is entered in reach beyond the screen."""
    right = sprite.right + sprite.w
    return sprite.left < 0 or sprite.top < 0 or right > width or sprite.bottom + sprite.h > height


def is_outside(sprite: Sprite, width: int, height: int) -> bool:
    """Whether any part of a sprite is beyond the screen; its border is still on it."""
    return sprite.x < 0 or sprite.y < 0 or sprite.x + sprite.w > width or sprite.y + sprite.h > height


def run_edges(play: Play, width: int, height: int) -> None:
    """All edge effects, type by type; a type with several lines is walked once for each."""
    groups = play.groups
    for types, effects in play.game.edges:
        for effect in effects:
            for type_id in types:
                group = groups[type_id]
                if len(group) > CROWDED:
                    spend(play, len(group))
                size = len(group)
                for sprite in list(group):
                    if (
                        is_outside(sprite, width, height)
                        and sprite not in play.killed
                        and not sprite.disabled
                    ):
                        play.score += effect(play, sprite, None)
                        if len(group) != size:
                            play.warn("an edge effect added to the sprites it was walking over")
                            break
