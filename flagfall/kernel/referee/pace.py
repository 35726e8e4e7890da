"""Real-time pace: ticks at a constant rate, at which the world moves whether agents answered or not."""

from __future__ import annotations

__all__ = ["Pace"]

from collections.abc import Callable

from flagfall.timing import NEVER_NS, Deadline
from flagfall.timing.deadlines import DeadlineQueue


class Pace(Deadline):
    """The ticks of one match.

    Args:
        tick_ns: the time between two ticks.
        deadlines: the deadlines of the event loop.
        rank: the rank among deadlines of one moment.
        on_tick: called with the present time and the time of the tick.
    """

    __slots__ = ("_deadlines", "_on_tick", "_tick_ns")

    def __init__(
        self, tick_ns: int, deadlines: DeadlineQueue, rank: int, on_tick: Callable[[int, int], None]
    ) -> None:
        super().__init__(rank)
        self._tick_ns = tick_ns
        self._deadlines = deadlines
        self._on_tick = on_tick

    def start_turn(self, now_ns: int) -> None:
        """Set the tick that ends a turn: it keeps the rate; ticks that the host missed are left out."""
        planned_ns = self.due_ns + self._tick_ns if self.due_ns < NEVER_NS else now_ns + self._tick_ns
        self.due_ns: int = planned_ns if planned_ns > now_ns else now_ns + self._tick_ns
        self._deadlines.arm(self)

    def stop(self) -> None:
        """Stop ticking until the next turn starts, from which the rate counts then."""
        self.due_ns = NEVER_NS

    def fire(self, now_ns: int) -> None:
        """Report a tick."""
        self._on_tick(now_ns, self.due_ns)
