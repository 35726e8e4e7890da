"""The timer of a turn, as an agent sees it wherever it runs.

It stands alone, so that it can be imported where there is no trio.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flagfall.timing.durations import MS, NEVER_NS

NANODOLLARS: Final = 10**9
"""Costs are whole billionths of a US dollar: a token costs some millionths."""


class ElapsedTimer:
    """Elapsed and remaining time of the agent's turn, to be read only: agents in the loop hold it.

    The millisecond values are rounded towards zero, as in GVGAI's `ElapsedCpuTimer`.

    Args:
        now: the present time in nanoseconds.
        turn: returns when the clock of the turn began, on that clock; its limit in nanoseconds, `NEVER_NS`
            for none; and the notice of the last turn, if that was late or illegal.
        left: returns `flagfall.timing.Budget.left`; by default there is no budget.
    """

    __slots__ = ("_left", "_now", "_turn")

    def __init__(
        self,
        now: Callable[[], int],
        turn: Callable[[], tuple[int, int, object]],
        left: Callable[[], tuple[int | None, int | None]] = lambda: (None, None),
    ) -> None:
        self._now = now
        self._turn = turn
        self._left = left

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
        return self.elapsed_ns // MS

    @property
    def remaining_ms(self) -> int:
        """Return the whole milliseconds left; negative when the time is over by a millisecond or more."""
        return int(self.remaining_ns / MS)

    @property
    def tokens_left(self) -> int | None:
        """Return the tokens that are left for the match; `None` where there is no budget of them."""
        return self._left()[0]

    @property
    def cost_left(self) -> float | None:
        """Return the US dollars that are left for the match; `None` where there is no budget of cost."""
        cost = self._left()[1]
        return None if cost is None else cost / NANODOLLARS

    @property
    def exceeded(self) -> bool:
        """Return whether the time is over. Exactly the limit is."""
        return self.remaining_ns <= 0
