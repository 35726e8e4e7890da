"""Effects by the clock: `TIME` lines and `addTimer`."""

from __future__ import annotations

__all__ = ["NO_SCORE_MESSAGE", "Timer", "TimerPlan", "run_timers", "schedule"]

from typing import TYPE_CHECKING, Final

import attrs

from flagfall.tasks.vgdl.engine.state.work_limit import MAX_TIMERS, TooMuchEffortError
from flagfall.tasks.vgdl.language.values import NO_SCORE

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.rules.collisions import Effect
    from flagfall.tasks.vgdl.engine.state.play import Play

NO_SCORE_MESSAGE: Final = "a scoreChange is no integer"


@attrs.frozen(eq=False)
class TimerPlan:
    """What a timer does; compiled, and never changed.

    Attributes:
        index: its number among the game's plans.
        types: whose sprites it runs over, in order; `None` where it runs once and over none.
        effect: what it does; its own score does not count.
        score: what each run adds.
        period: ticks between runs.
        repeats: whether it is run again.
        first: when a level's own timer runs first.
        enabled: it may do nothing at all.
    """

    index: int
    types: tuple[int, ...] | None
    effect: Effect
    score: int
    period: int
    repeats: bool
    first: int = -1
    enabled: bool = True


@attrs.frozen(eq=False)
class Timer:
    """A plan and the tick from which on it is due."""

    due: int
    plan: TimerPlan


def schedule(timers: list[Timer], timer: Timer) -> None:
    """Put a timer in its place: before those that are due at the same tick.

    Raises:
        TooMuchEffortError: too many are waiting.
    """
    if len(timers) >= MAX_TIMERS:
        raise TooMuchEffortError(f"more than {MAX_TIMERS} timers are waiting")
    at = 0
    while at < len(timers) and timers[at].due < timer.due:
        at += 1
    timers.insert(at, timer)


def run_timers(play: Play) -> None:
    """Run all timers that are due."""
    timers = play.session.timers
    while timers and timers[0].due <= play.tick:
        plan = timers.pop(0).plan
        if plan.enabled:
            run(play, plan)
        if plan.repeats:
            schedule(timers, Timer(play.tick + plan.period, plan))


def run(play: Play, plan: TimerPlan) -> None:
    """Run a timer's effect over its sprites as they are when each type's turn comes."""
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
    """Let a score count, or complain of what is none."""
    if score == NO_SCORE:
        play.warn(NO_SCORE_MESSAGE)
    else:
        play.score += score
