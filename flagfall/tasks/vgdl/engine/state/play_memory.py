"""State that outlives a play: the learning track reads a game once and plays level after level.

The original keeps between levels whatever belongs to its parsed game and not to its level. All of it is here,
so a play with a new memory starts like the first one.
"""

from __future__ import annotations

__all__ = ["MAX_MESSAGES", "PlayMemory"]

from collections.abc import Iterable
from typing import Final

from flagfall.tasks.vgdl.engine.state.timers import Timer, TimerPlan, schedule

MAX_MESSAGES: Final = 25
"""With more messages than these, the original ends the play."""


class PlayMemory:
    """State carried over from play to play.

    Args:
        plans: timers of the game.
        flags: number of flags that its effects use.
        messages: log so far.

    Attributes:
        next_id: number of the next sprite.
        timers: pending timers, by due time.
        flags: the flags of effects that remember whether their score applied.
        pulls: by pulling effect, the tick of its last pull and the sprites pulled in that tick.
        messages: lines that the original would have logged and not yet cleared.
        can_end: counters may end the game.
    """

    __slots__ = ("can_end", "flags", "messages", "next_id", "pulls", "timers")

    def __init__(self, plans: Iterable[TimerPlan], flags: int, messages: list[str]) -> None:
        self.next_id: int = 0
        self.timers: list[Timer] = []
        for plan in plans:
            if plan.types is not None:
                schedule(self.timers, Timer(plan.first, plan))
        self.flags: list[bool] = [True] * flags
        self.pulls: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.messages: list[str] = messages
        self.can_end: bool = True

    def copy(self) -> PlayMemory:
        """Return an independent memory in the same state."""
        new = PlayMemory.__new__(PlayMemory)
        new.next_id = self.next_id
        new.timers = self.timers.copy()
        new.flags = self.flags.copy()
        new.pulls = self.pulls.copy()
        new.messages = self.messages.copy()
        new.can_end = self.can_end
        return new
