"""What the referee needs of a seat and of the ticks: small protocols, so that it knows neither."""

from __future__ import annotations

__all__ = ["PacePort", "SeatPort"]

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from flagfall.kernel.channels.envelope import Envelope
    from flagfall.kernel.outcomes import SeatStats
    from flagfall.timing.phases import Phase


class SeatPort(Protocol):
    """A seat, as the referee needs it; `flagfall.kernel.seat` has the one that agents sit on."""

    number: int
    stats: SeatStats
    wants: frozenset[str]
    disqualified: str | None
    reason_detail: str
    is_metered: bool

    @property
    def limit_ns(self) -> int:
        """Return how long what was asked last may take before it is late."""

    def post(self, envelope: Envelope, now_ns: int) -> None:
        """Ask the agent."""

    def charge(self, phase: Phase, spent_ns: int) -> None:
        """Book the time that one phase took."""

    def expire(self) -> None:
        """End what is open, which was judged."""

    def withdraw(self) -> None:
        """End what is open, without a verdict."""

    def is_untouched(self, now_ns: int, reason: str) -> bool:
        """Return whether the seat is disqualified for something that came before the open turn."""

    def disqualify(self, reason: str, detail: str) -> str:
        """Close the seat for good; return the reason, which the seat may know better."""


class PacePort(Protocol):
    """The ticks of a match at real-time pace; `flagfall.kernel.pace` has those of a clock."""

    def start_turn(self, now_ns: int) -> None:
        """Set the tick that ends a turn."""

    def stop(self) -> None:
        """Stop ticking until the next turn starts."""
