"""Runs the timers that are due: `TIME` lines and `addTimer`."""

from __future__ import annotations

__all__ = ["run_timers"]

from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.timers import Timer, TimerPlan, schedule
from flagfall.tasks.vgdl.language.values import NO_SCORE, NO_SCORE_MESSAGE


def run_timers(play: Play) -> None:
    """Run all timers that are due, and schedule those that repeat.

    Args:
        play: in a cycle.
    """
    timers = play.memory.timers
    while timers and timers[0].due <= play.tick:
        plan = timers.pop(0).plan
        if plan.enabled:
            run(play, plan)
        if plan.repeats:
            schedule(timers, Timer(play.tick + plan.period, plan))


def run(play: Play, plan: TimerPlan) -> None:
    """Run the effect of a timer, over the sprites that each type has when its turn comes.

    Args:
        play: in a cycle.
        plan: the plan of a timer that is due.
    """
    if plan.types is None:
        plan.effect(play, None, None)
        add_score(play, plan.score)
        return
    for type_id in plan.types:
        for sprite in list(play.groups[type_id]):
            if sprite not in play.killed and not sprite.disabled:
                plan.effect(play, sprite, None)
                add_score(play, plan.score)


def add_score(play: Play, score: int) -> None:
    """Add to the score, or log a message if a `scoreChange` was not an integer.

    Args:
        play: in a cycle.
        score: change, or `NO_SCORE`.
    """
    if score == NO_SCORE:
        play.warn(NO_SCORE_MESSAGE)
    else:
        play.score += score
