"""What outlives a play: in the learning track a game is read once and played level after level.

The original keeps, between levels, what lies in its parsed game and not in its level. All of it
is here, so a play that starts with a fresh session starts like the first one.
"""

from __future__ import annotations

__all__ = ["MAX_MESSAGES", "Session"]

from typing import Final

from flagfall.tasks.vgdl.engine.rules.timers import Timer, TimerPlan, schedule

MAX_MESSAGES: Final = 25
"""With more messages than these, the original ends the play."""


class Session:
    """The state.

    Attributes:
        next_id: the number of the next sprite.
        timers: what is due by the clock, in order.
        flags: what effects remember of whether their score applied.
        pulls: for each pulling effect the tick it counts for, and what it has pulled in that.
        messages: what the original would have logged and not yet cleared.
        can_end: whether counters may end the game.
    """

    __slots__ = ("can_end", "flags", "messages", "next_id", "pulls", "timers")

    def __init__(self, plans: list[TimerPlan], flags: int, messages: list[str]) -> None:
        self.next_id = 0
        self.timers: list[Timer] = []
        for plan in plans:
            if plan.types is not None:
                schedule(self.timers, Timer(plan.first, plan))
        self.flags = [True] * flags
        self.pulls: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.messages = messages
        self.can_end = True

    def fork(self) -> Session:
        """A session in the same state that goes its own way."""
        copy = Session.__new__(Session)
        copy.next_id = self.next_id
        copy.timers = self.timers.copy()
        copy.flags = self.flags.copy()
        copy.pulls = self.pulls.copy()
        copy.messages = self.messages.copy()
        copy.can_end = self.can_end
        return copy
