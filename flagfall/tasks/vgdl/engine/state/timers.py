"""Timers of `TIME` lines and of `addTimer`: plans, and the queue of those that are pending."""

from __future__ import annotations

__all__ = ["Timer", "TimerPlan", "schedule"]

import attrs

from flagfall.tasks.vgdl.engine.state.tables import Effect
from flagfall.tasks.vgdl.engine.state.work_limit import MAX_TIMERS, WorkLimitExceeded


@attrs.frozen(eq=False)
class TimerPlan:
    """Constant part of a timer.

    Attributes:
        index: position among the game's plans.
        types: types over whose sprites it runs, in order; `None` if it runs once and without a sprite.
        effect: run for each sprite; its own change of the score is ignored.
        score: change of the score by each run.
        period: ticks between runs.
        repeats: it is scheduled again after a run.
        first: tick of the first run, for a timer of the level.
        enabled: its effect runs.
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
    """A plan, and the tick from which on it is due."""

    due: int
    plan: TimerPlan


def schedule(timers: list[Timer], timer: Timer) -> None:
    """Insert a timer, before those that are due at the same tick.

    Args:
        timers: pending ones, by due time.
        timer: a new one.

    Raises:
        WorkLimitExceeded: `MAX_TIMERS` are pending.
    """
    if len(timers) >= MAX_TIMERS:
        raise WorkLimitExceeded(f"more than {MAX_TIMERS} timers are waiting")
    at = 0
    while at < len(timers) and timers[at].due < timer.due:
        at += 1
    timers.insert(at, timer)
