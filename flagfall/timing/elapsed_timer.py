"""The clock of a turn, as its agent sees it."""

from __future__ import annotations

__all__ = ["ElapsedTimer"]

from flagfall.timing.clocks import NowNs
from flagfall.timing.durations import NEVER_NS

_MS = 1_000_000


class ElapsedTimer:
    """Elapsed and remaining time of the agent's turn.

    The millisecond values are rounded towards zero, as in GVGAI's `ElapsedCpuTimer`.

    Attributes:
        started_ns: when the turn's clock started.
        limit_ns: how long the turn may take; `NEVER_NS` for no limit.
        late: notice of the last turn that was late or illegal, given once, with the turn
            after it; else `None` (see `flagfall.kernel.channels.envelope.LateNotice`).
    """

    __slots__ = ("_now", "late", "limit_ns", "started_ns")

    def __init__(self, now: NowNs, limit_ns: int = NEVER_NS) -> None:
        self._now = now
        self.limit_ns: int = limit_ns
        self.started_ns: int = now()
        self.late: object = None

    @property
    def elapsed_ns(self) -> int:
        """Return the nanoseconds since the turn's clock started."""
        return self._now() - self.started_ns

    @property
    def remaining_ns(self) -> int:
        """Return the nanoseconds left; negative when the time is over, `NEVER_NS` where there is no limit."""
        return NEVER_NS if self.limit_ns >= NEVER_NS else self.limit_ns - self.elapsed_ns

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
