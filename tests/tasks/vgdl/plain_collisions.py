"""The tick without any shortcut: every sprite of a pair against every other, as the specification says it.

Slow, and what the engine's own way through cells and agendas must come to.
"""

from __future__ import annotations

__all__ = ["plain_advance"]

from flagfall.tasks.vgdl.engine.physics.continuous import feel_ground
from flagfall.tasks.vgdl.engine.rules.collisions import Pair, Rule
from flagfall.tasks.vgdl.engine.rules.screen_edge import run_edges
from flagfall.tasks.vgdl.engine.rules.timers import run_timers
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite


def plain_advance(play: Play, action: str) -> None:
    """One cycle, with plain collisions and edges."""
    if play.over:
        return
    play.begin_cycle()
    play.update(action)
    run_timers(play)
    run_edges(play, *play.screen)
    for pair in play.game.pairs:
        for rule in pair.rules:
            if (pair.first, pair.second, rule.name) not in play.shields:
                run_rule(play, pair, rule)
    play.touched.clear()
    play.bury()
    play.finish()


def run_rule(play: Play, pair: Pair, rule: Rule) -> None:
    firsts = [sprite for type_id in play.game.subtypes(pair.first) for sprite in play.groups[type_id]]
    seconds = [sprite for type_id in play.game.subtypes(pair.second) for sprite in play.groups[type_id]]
    for first in firsts:
        hits = [second for second in seconds if second is not first and intersects(first, second)]
        if rule.at_once and hits:
            play.score += rule.run(play, first, hits)
        elif not rule.at_once:
            for second in hits:
                if first not in play.killed and intersects(first, second):
                    play.score += rule.run(play, first, second)


def intersects(first: Sprite, second: Sprite) -> bool:
    if first.kind.feels_ground:
        feel_ground(first, second)
    return (
        min(first.w, first.h, second.w, second.h) > 0
        and max(first.x, second.x) < min(first.x + first.w, second.x + second.w)
        and max(first.y, second.y) < min(first.y + first.h, second.y + second.h)
    )
