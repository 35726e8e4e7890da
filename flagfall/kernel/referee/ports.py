"""The referee as others see it: its states, and what it needs of a seat, which it does not import."""

from __future__ import annotations

__all__ = ["RefereeState", "SeatPort"]

from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from flagfall.kernel.channels.envelope import Envelope
    from flagfall.kernel.outcomes import SeatStats
    from flagfall.timing import Budget


class RefereeState(Enum):
    """What the referee of a match waits for."""

    IDLE = auto()
    """For the next request; nothing is asked."""

    ASKING = auto()
    """For answers of seats. Where `Referee.stopped` is set, they count until the result is taken."""

    AWAITING_TICK = auto()
    """For the tick, at real-time pace: all seats have answered, and the world has not moved."""

    COMPLETE = auto()
    """For the environment, which has not taken the result yet."""

    STOPPED = auto()
    """For nothing: the match is over, and nothing is open."""


class SeatPort(Protocol):
    """A seat as the referee needs it; implemented by `flagfall.kernel.seat.HostSeat`."""

    number: int
    stats: SeatStats
    disqualified: str | None
    reason_detail: str
    budget: Budget

    @property
    def wants(self) -> frozenset[str]:
        """Return the phases that the agent wants to be asked in."""

    @property
    def limit_ns(self) -> int:
        """Return the limit of the last request: an answer that takes longer is late."""

    @property
    def held_up_loop(self) -> bool:
        """Return whether it was this seat's agent that held up the event loop last."""

    def post(self, envelope: Envelope, now_ns: int) -> None:
        """Send a request to the agent."""

    def expire(self) -> None:
        """End the open request, which was judged."""

    def withdraw(self) -> None:
        """End the open request, without a verdict."""

    def is_untouched(self, now_ns: int, reason: str) -> bool:
        """Return true if the reason for disqualification precedes the open turn."""

    def disqualify(self, reason: str, detail: str) -> str:
        """Close the seat for good; return the reason, which the seat may replace by a more exact one."""
