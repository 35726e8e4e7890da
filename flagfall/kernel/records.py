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
from flagfall.kernel.sinks import PlainTurn, all_events, all_plain_turns
from flagfall.timing import NEVER_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.kernel.roles import Sink

Incident: TypeAlias = ReplyDropped | SeatFell | StallSeen


class Records:
    """Gives the events of one match to its sinks, in order.

    Args:
        sinks: take every event.
        solo: there is one seat only.

    Attributes:
        sink_failed: called with what a sink raised.
        plain_turn: with one seat, tells a plain turn at once, without `sink_failed`: whoever calls it on
            each turn saves a call. `None` where nobody looks.
    """

    def __init__(self, sinks: Sequence[Sink], *, solo: bool) -> None:
        self.sink_failed: Callable[[Exception], None] = lambda _error: None
        self.plain_turn: PlainTurn | None = all_plain_turns(sinks) if sinks else None
        self._emit = all_events(sinks) if sinks else None
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
        """Keep the record of one of several seats until the turn is complete; one alone completes it."""
        if self._solo:
            self.tell(record)
            return
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
