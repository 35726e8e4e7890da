"""Bound on the work of one cycle, so that no game description can stall its host.

The original has no such bound: a game that doubles its sprites with each effect hangs it.
"""

from __future__ import annotations

__all__ = ["LARGE_GROUP", "MAX_TIMERS", "MAX_WORK", "WorkLimit", "WorkLimitExceeded"]

from typing import Final

MAX_WORK: Final = 300_000
"""Sprites made, killed, examined or looped over in one cycle. The public games stay below 10,000."""

MAX_TIMERS: Final = 10_000
"""Pending timers. The public games stay below 20."""

LARGE_GROUP: Final = 32
"""Cells and groups of at most this many sprites are not charged: counting them would cost too much."""


class WorkLimitExceeded(Exception):
    """A cycle needs too much work; the play ends."""


class WorkLimit:
    """The work of one play in the current cycle.

    Attributes:
        used: units of work so far, one a sprite.
    """

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: int = 0

    def charge(self, work: int) -> None:
        """Add some work to the current cycle.

        Args:
            work: units, one a sprite.

        Raises:
            WorkLimitExceeded: the cycle has used more than `MAX_WORK`.
        """
        self.used += work
        if self.used > MAX_WORK:
            raise WorkLimitExceeded(f"more than {MAX_WORK} steps in one cycle")
