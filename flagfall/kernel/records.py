"""The order of a match's records, where several seats act at once.

Records of one turn come in seat order, whoever was first. An incident (a dropped reply, a fallen seat, a
stall) is recorded when time has moved on, those of one moment in seat order. So the journal does not depend
on the order in which the loop runs its tasks. With one seat there is nothing to order.
"""

from __future__ import annotations

__all__ = ["Incident", "Records"]

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from flagfall.events import Event, ReplyDropped, SeatFell, StallSeen, TurnPlayed
from flagfall.timing import NEVER_NS

if TYPE_CHECKING:
    from flagfall.kernel.roles import Sink

Incident: TypeAlias = ReplyDropped | SeatFell | StallSeen


class Records:
    """Gives the events of one match to a sink, in order.

    Args:
        emit: takes every event, or `None` where nobody looks.
        solo: there is one seat only.

    Attributes:
        sink_failed: called with what the sink raised.
    """

    def __init__(self, emit: Sink | None, *, solo: bool) -> None:
        self.sink_failed: Callable[[Exception], None] = lambda _error: None
        self._emit = emit
        self._solo = solo
        self._turn: dict[int, TurnPlayed] = {}
        self._incidents: list[Incident] = []

    def tell(self, event: Event) -> None:
        """Give an event to whoever looks; a failure of theirs goes to the environment."""
        if self._emit is not None:
            try:
                self._emit(event)
            except Exception as error:  # noqa: BLE001 - it must not strike the agent whose turn it is
                self.sink_failed(error)

    def note(self, incident: Incident) -> None:
        """Record an incident, at its place."""
        if self._solo:
            self.tell(incident)
        elif self._emit is not None:
            self._incidents.append(incident)

    def hold(self, record: TurnPlayed) -> None:
        """Keep the record of one of several seats until the turn is complete."""
        self._turn[record.seat] = record
        if self._incidents:
            self.flush(record.at_ns)

    def tell_turn(self) -> None:
        """The turn is complete."""
        for number in sorted(self._turn):
            self.tell(self._turn[number])
        self._turn.clear()

    def forget_turn(self) -> None:
        """The turn was withdrawn."""
        self._turn.clear()

    def flush(self, before_ns: int = NEVER_NS) -> None:
        """Record the incidents before this moment."""
        ready = [i for i in self._incidents if i.at_ns < before_ns]
        self._incidents = [i for i in self._incidents if i.at_ns >= before_ns]
        for incident in sorted(ready, key=lambda i: (i.at_ns, -1 if i.seat is None else i.seat)):
            self.tell(incident)
