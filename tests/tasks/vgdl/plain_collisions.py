"""A cycle without any shortcut: every sprite of a pair against every other, as specified.

Slow; the engine's broad phase must come to the same result.
"""

from __future__ import annotations

__all__ = ["plain_advance"]

from flagfall.tasks.vgdl.engine.cycle import begin_cycle, end_cycle, remove_dead, update
from flagfall.tasks.vgdl.engine.physics import detect_ground
from flagfall.tasks.vgdl.engine.rules import run_edges, run_timers
from flagfall.tasks.vgdl.engine.state.game import Pair, Rule
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite


def plain_advance(play: Play, action: str) -> None:
    """Run one cycle, with plain collisions and edges."""
    if play.over:
        return
    begin_cycle(play)
    update(play, action)
    run_timers(play)
    run_edges(play)
    for pair in play.game.pairs:
        for rule in pair.rules:
            if (pair.first, pair.second, rule.name) not in play.shields:
                run_rule(play, pair, rule)
    play.touched.clear()
    remove_dead(play)
    end_cycle(play)


def run_rule(play: Play, pair: Pair, rule: Rule) -> None:
    firsts = [sprite for type_id in play.game.subtypes(pair.first) for sprite in play.groups[type_id]]
    seconds = [sprite for type_id in play.game.subtypes(pair.second) for sprite in play.groups[type_id]]
    for first in firsts:
        hits = [second for second in seconds if second is not first and intersects(first, second)]
        if rule.batch and hits:
            play.score += rule.run(play, first, hits)
        elif not rule.batch:
            for second in hits:
                if first not in play.killed and intersects(first, second):
                    play.score += rule.run(play, first, second)


def intersects(first: Sprite, second: Sprite) -> bool:
    if first.kind.senses_ground:
        detect_ground(first, second)
    return (
        min(first.w, first.h, second.w, second.h) > 0
        and max(first.x, second.x) < min(first.x + first.w, second.x + second.w)
        and max(first.y, second.y) < min(first.y + first.h, second.y + second.h)
    )
