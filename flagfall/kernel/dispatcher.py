"""The dispatcher passes the events of a match to its sinks, in a deterministic order.

Where several seats act at once, records of one turn come in seat order, whichever was first. An incident (a
dropped reply, a disqualified seat, a stall) is recorded when time has moved on, those of one moment in seat
order. So the journal does not depend on the order in which the loop runs its tasks. With one seat there is
nothing to order; plain turns are held back then for sinks that take many at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from operator import sub
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeGuard, runtime_checkable

from msgspec.structs import replace

from flagfall.events import Event, TurnPlayed, TurnsPlayed
from flagfall.timing import NEVER_NS
from flagfall.timing.deadlines import ignore

if TYPE_CHECKING:
    from collections.abc import Sequence


Sink: TypeAlias = Callable[[Event], None]
"""Takes every event of a match, in order. It is called inside a turn: it must not block."""


@runtime_checkable
class BatchSink(Protocol):
    """A sink that takes plain turns in batches: an event for each would cost more than the turn itself.

    Every other event is passed to a call of the sink, in order. Plain turns are held back until there are
    `flagfall.kernel.dispatcher.HELD_TURNS` of them, or until another event comes.
    """

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks."""

    def write_batch(self, turns: TurnsPlayed) -> None:
        """Take a batch of plain turns; never blocks."""

    def set_flush(self, flush: Callable[[], None]) -> None:
        """Prepare for a match.

        Args:
            flush: delivers at once the turns that are held back.
        """


@runtime_checkable
class WritingSink(Protocol):
    """A sink with a writer: an actor of its own, which can ask the match to wait for it between turns."""

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks."""

    def attach(
        self, pause: Callable[[], None], real_work: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """Prepare for a match.

        Args:
            pause: asks the match to wait for `drain` before the next turn.
            real_work: a context for waiting for a disk or a thread: no virtual time passes in it.

        Raises:
            UsageError: it takes no match any more; nothing is played or recorded.
        """

    async def run(self) -> None:
        """Write until `finish` was called and everything is written.

        Raises:
            HostFault: it cannot write.
        """

    async def drain(self) -> None:
        """Wait until there is room again."""

    def finish(self) -> None:
        """End the input: no more events come."""


def is_batch_sink(sink: Sink) -> TypeGuard[BatchSink]:
    """Return whether a sink takes batches; asked once a match, where `isinstance` would cost 10 us."""
    return hasattr(sink, "write_batch")


def is_writing_sink(sink: Sink) -> TypeGuard[WritingSink]:
    """Return whether a sink has a writer; asked once a match, as `is_batch_sink`."""
    return hasattr(sink, "drain")


HELD_TURNS: Final = 256
"""At most this many plain turns are held back. To pass them on and to write them takes some 20 us, most of it
for code that has grown cold; with 64 at a time it costs a turn 0.1 us more."""

_FIELDS: Final = 5

HELD_VALUES: Final = HELD_TURNS * _FIELDS
"""The length at which `EventDispatcher.held` must be handed over."""

MAX_DROPPED_RECORDS: Final = 100
"""At most this many dropped replies of a seat are recorded one by one; further ones are only counted, so that
an agent that floods its seat cannot fill the disk."""


class EventDispatcher:
    """Passes the events of one match to its sinks, in order.

    Args:
        sinks: take every event.
        origin_ns: when the match began, on its clock.
        solo: there is one seat only.
        paced: the match is at real-time pace.

    Attributes:
        sink_failed: called with what a sink raised, in the middle of what the caller of the dispatcher does:
            it must neither complete nor withdraw a turn.
        has_event_sinks: there are sinks that take every turn as an event, when it is played.
        held: the plain turns that are held back, five values each: time on the match's clock,
            observation, reward, action, time spent. The code that adds one calls `flush_held` when it is
            `HELD_VALUES` long. `None` where the next turn is not to be held back: there is no sink that takes
            batches, or an agent has made a note, which needs an event to be on.
        first_held: the number of the first of them; set by the code that adds it.
        is_pause_asked: a sink asks the match to wait for it before the next turn is opened, so that no clock
            runs meanwhile; whoever lets it wait resets this.
    """

    __slots__ = (
        "_add_note",
        "_held",
        "_incidents",
        "_origin_ns",
        "_sinks",
        "_solo",
        "_takers",
        "_turn",
        "_watchers",
        "first_held",
        "has_event_sinks",
        "has_sinks",
        "held",
        "is_pause_asked",
        "sink_failed",
    )

    def __init__(self, sinks: Sequence[Sink], origin_ns: int, *, solo: bool, paced: bool) -> None:
        self.sink_failed: Callable[[BaseException], None] = ignore
        self.has_sinks: bool = bool(sinks)
        self._origin_ns = origin_ns
        self._solo = solo
        self._sinks = tuple(sinks)
        takers = [sink for sink in sinks if is_batch_sink(sink)] if solo and not paced else []
        self._takers = tuple(sink.write_batch for sink in takers)
        self._watchers = tuple(sink for sink in sinks if not any(sink is taker for taker in takers))
        self.has_event_sinks: bool = bool(self._watchers)
        self._held: list[Any] | None = [] if takers else None
        self.held: list[Any] | None = self._held
        self.first_held: int = 0
        self.is_pause_asked: bool = False
        self._add_note: Callable[[TurnPlayed], TurnPlayed] | None = None
        self._turn: dict[int, TurnPlayed] = {}
        self._incidents: list[Event] | None = None  # most matches have none

    def begin(self) -> None:
        """Prepare the sinks that take batches for this match."""
        for sink in self._sinks:
            if self._held is not None and is_batch_sink(sink):
                sink.set_flush(self.flush_held)

    def ask_for_pause(self) -> None:
        """Ask the match to wait for the writers of its sinks before the next turn."""
        self.is_pause_asked = True

    def note_with(self, add_note: Callable[[TurnPlayed], TurnPlayed] | None) -> None:
        """Add the notes of agents to the records of turns from now on.

        Args:
            add_note: returns the record of a turn with the note of its agent; `None`: no note is left.
        """
        self._add_note = add_note
        self.held = self._held if add_note is None else None

    def dispatch(self, event: Event) -> None:
        """Pass an event to every sink; a failure of a sink is reported to the environment."""
        if self._held:
            self.flush_held()
        self._give(self._sinks, event)

    def repeat(self, event: Event) -> None:
        """Pass on an event of an earlier match; plain turns are held back as those of this match are."""
        held = self.held
        if held is not None and type(event) is TurnPlayed and is_plain(event):
            if not held:
                self.first_held = event.turn
            held += (
                event.at_ns + self._origin_ns,
                event.observation,
                event.reward,
                event.action,
                event.spent_ns,
            )
            self._give(self._watchers, event)
            if len(held) >= HELD_VALUES:
                self.flush_held()
        else:
            self.dispatch(event)

    def resume(self, origin_ns: int, at_ns: int, incidents: Sequence[Event]) -> None:
        """Go on at a time of an earlier match.

        Args:
            origin_ns: when the match began, on its clock.
            at_ns: the time since then; incidents that wait happened at this time at the latest.
            incidents: further ones, from the earlier match.
        """
        self.flush_held()
        self._origin_ns = origin_ns
        waiting = [replace(incident, at_ns=min(at_ns, incident.at_ns)) for incident in self._incidents or ()]
        self._incidents = [*incidents, *waiting]

    def _give(self, takers: Sequence[Callable[[Any], None]], what: Any) -> None:
        for take in takers:
            try:
                take(what)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - it must not strike the agent whose turn it is
                self.sink_failed(error)

    def close(self) -> None:
        """Pass on nothing more: the match is over, though an agent may still hold its seat."""
        self._sinks = self._takers = self._watchers = ()
        self.sink_failed = ignore

    def flush_held(self) -> None:
        """Pass the turns that are held back to the sinks that take batches."""
        held = self._held
        if held:
            times = held[0::_FIELDS]
            at_ns = (times[0] - self._origin_ns, *map(sub, times[1:], times))
            turns = TurnsPlayed(
                self.first_held, at_ns, held[1::_FIELDS], held[2::_FIELDS], held[3::_FIELDS], held[4::_FIELDS]
            )
            held.clear()
            self._give(self._takers, turns)

    def add_incident(self, incident: Event) -> None:
        """Record an incident, at its place; it may be of any class that no turn depends on."""
        if self._solo:
            self.dispatch(incident)
        elif self.has_sinks:
            if self._incidents is None:
                self._incidents = []
            self._incidents.append(incident)

    def add_turn(self, record: TurnPlayed, *, held: bool) -> None:
        """Record a turn of one seat; of several seats when the turn is complete.

        Args:
            held: it is among those that are held back.
        """
        if self._add_note is not None:
            record = self._add_note(record)
        if not self._solo:
            self._turn[record.seat] = record
            if self._incidents:
                self.flush(record.at_ns)
        elif held:
            self._give(self._watchers, record)
        else:
            self.dispatch(record)

    def end_turn(self) -> None:
        """Record the turn, which is complete, in seat order."""
        turn, self._turn = self._turn, {}
        for number in sorted(turn):
            self.dispatch(turn[number])

    def forget_turn(self) -> None:
        """Drop the records of a turn that was withdrawn."""
        self._turn.clear()

    def flush(self, before_ns: int = NEVER_NS) -> None:
        """Record the incidents before this moment."""
        if not self._incidents:
            return
        ready = [i for i in self._incidents if i.at_ns < before_ns]
        self._incidents = [i for i in self._incidents if i.at_ns >= before_ns]
        for incident in sorted(ready, key=_time_and_seat):
            self.dispatch(incident)


def is_plain(turn: TurnPlayed) -> bool:
    """Return whether a turn of a match with one seat can be one of `TurnsPlayed`."""
    plain = TurnPlayed(turn.at_ns, turn.turn, turn.observation, turn.reward, turn.action, turn.spent_ns)
    return type(turn.observation) is type(turn.action) is int and turn == plain


def _time_and_seat(incident: Event) -> tuple[int, int]:
    seat = getattr(incident, "seat", None)
    return incident.at_ns, -1 if seat is None else seat
