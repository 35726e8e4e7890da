"""Shows a seat turns that are over, before a match goes on from a recorded one, and takes its answers.

It stands in for the referee of the seat meanwhile. The limits of the time control hold, so that an agent that
never answers cannot stop the match, and nothing is charged, played or recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

if TYPE_CHECKING:
    from flagfall.kernel.channels.turn_channel import Envelope
    from flagfall.kernel.continuation import Rehearsed
    from flagfall.kernel.referee.task_rules import RefereePort
    from flagfall.kernel.seat import HostSeat
    from flagfall.timing.control import Phase


class Rehearsal:
    """Stands in for the referee of one seat.

    Args:
        referee: the referee of the match, which is told when the seat must be disqualified.
    """

    def __init__(self, seat: HostSeat, referee: RefereePort) -> None:
        self.turns: int = 0
        self.abortable: bool = False
        self.result_until_ns: int = 0
        self._seat = seat
        self._referee = referee
        self._answer: Any = None
        self._is_over = trio.Event()

    async def play(self, shown: Rehearsed) -> None:
        """Show the seat everything, as long as it is not disqualified.

        Raises:
            UsageError: the answers are not those of the record.
        """
        seat = self._seat
        notes, seat.notes = seat.notes, None  # those of the record count
        delay, seat.delay = seat.delay, None  # its draws begin with the match
        seat.answer_to(self)
        try:
            envelope = next(shown, None)
            while envelope is not None and not seat.is_closed():
                try:
                    envelope = shown.send(await self._ask(envelope))
                except StopIteration:
                    break
        finally:
            shown.close()
            seat.answer_to(self._referee)
            seat.notes, seat.delay = notes, delay

    async def _ask(self, envelope: Envelope) -> Any:
        """Return the answer to one turn; `None` if there is none in time, or the phase is not wanted."""
        if envelope.phase not in self._seat.wants:
            return None
        self.turns = max(self.turns, envelope.number)
        self._answer, self._is_over = None, trio.Event()
        self._seat.post(envelope, self._seat.now())
        await self._is_over.wait()
        return self._answer

    # What a seat asks of its referee, and reports to it (`RefereePort`).

    def replied(self, _seat: HostSeat, _envelope: Envelope, action: Any, *_times: Any) -> None:
        """Take the answer to the turn that is shown, late or not."""
        self._answer = action
        self._is_over.set()

    def deadline(self, *_verdict: Any) -> None:
        """End the turn without an answer."""
        self._is_over.set()

    def disqualified(self, seat: HostSeat, reason: str, detail: str = "") -> None:
        """Have the seat disqualified in the match, and show it nothing more."""
        self._referee.disqualified(seat, reason, detail)
        self._is_over.set()

    def replied_stale(self, *_reply: Any) -> None:
        """Drop a reply, which nobody counts."""

    dropped = replied_stale

    def has_asked(self, number: int) -> bool:
        """Return whether a number may be that of a turn that was shown."""
        return number <= self.turns

    def is_paced(self, phase: Phase) -> bool:  # noqa: ARG002 - nothing waits for a tick here
        """Return false."""
        return False
