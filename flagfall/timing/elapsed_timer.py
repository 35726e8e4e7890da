"""The timer of a turn, as an agent sees it wherever it runs.

It stands alone, so that it can be imported where there is no trio.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flagfall.timing.durations import NEVER_NS

_MS: Final = 1_000_000


class ElapsedTimer:
    """Elapsed and remaining time of the agent's turn, to be read only: agents in the loop hold it.

    The millisecond values are rounded towards zero, as in GVGAI's `ElapsedCpuTimer`.

    Args:
        now: the present time in nanoseconds.
        turn: returns when the clock of the turn began, on that clock; its limit in nanoseconds, `NEVER_NS`
            for none; and the notice of the last turn, if that was late or illegal.
    """

    __slots__ = ("_now", "_turn")

    def __init__(self, now: Callable[[], int], turn: Callable[[], tuple[int, int, object]]) -> None:
        self._now = now
        self._turn = turn

    @property
    def started_ns(self) -> int:
        """Return when the clock of the turn began."""
        return self._turn()[0]

    @property
    def limit_ns(self) -> int:
        """Return how long the turn may take; `NEVER_NS` for no limit."""
        return self._turn()[1]

    @property
    def late(self) -> object:
        """Return the notice of the last turn if that was late or illegal, once; else `None`.

        See `flagfall.kernel.channels.turn_channel.LateNotice`.
        """
        return self._turn()[2]

    @property
    def elapsed_ns(self) -> int:
        """Return the nanoseconds since the turn's clock started."""
        return self._now() - self._turn()[0]

    @property
    def remaining_ns(self) -> int:
        """Return the nanoseconds left; negative when the time is over, `NEVER_NS` where there is no limit."""
        started_ns, limit_ns, _ = self._turn()
        return NEVER_NS if limit_ns >= NEVER_NS else limit_ns - (self._now() - started_ns)

    @property
    def elapsed_ms(self) -> int:
        """Return the whole milliseconds since the turn's clock started."""
        return self.elapsed_ns // _MS

    @property
    def remaining_ms(self) -> int:
        """Return the whole milliseconds left; negative when the time is over by a millisecond or more."""
        return int(self.remaining_ns / _MS)

    @property
    def exceeded(self) -> bool:
        """Return whether the time is over. Exactly the limit is."""
        return self.remaining_ns <= 0
