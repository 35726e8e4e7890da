"""Effects at the edge of the screen (spec 2.4)."""

from __future__ import annotations

__all__ = ["check_edges", "watch_edges"]

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.play import Play
    from flagfall.tasks.vgdl.sprites import Sprite


def check_edges(play: Play) -> None:
    """Run the edge effects of all sprites that are not wholly on the screen."""
    if not play.game.edges:
        return
    watched = play.game.watched_edges
    width, height = play.screen
    for sprite in play.touched:
        if watched[sprite.type] and is_outside(sprite, width, height):
            play.outside.add(sprite)
    if play.outside:
        run_edges(play, width, height)
        watch_edges(play)
        play.outside = {sprite for sprite in play.outside if is_outside(sprite, width, height)}


def watch_edges(play: Play) -> None:
    """Remember what effects have moved or made, for the next tick's look at the edges."""
    watched = play.game.watched_edges
    play.outside.update([sprite for sprite in play.touched if watched[sprite.type]])


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
                size = len(group)
                for sprite in list(group):
                    if is_outside(sprite, width, height) and sprite not in play.killed and not sprite.disabled:
                        play.score += effect(play, sprite, None)
                        if len(group) != size:
                            play.warn("an edge effect added to the sprites it was walking over")
                            break
