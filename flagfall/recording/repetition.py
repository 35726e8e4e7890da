"""Comparison of a recorded match with the same match when its agents play it again. Pure.

Rule 1: what the tasks make (observations, rewards, results) is compared by `flagfall.recording.verify`, which
    allows for the rounding of floats. Here it is what agents and the clock make.
Rule 2: what depends on the machine is not compared: where an agent runs, what it prints, its traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from flagfall.events import (
    Event,
    MatchEnded,
    MatchStarted,
    SeatDisqualified,
    SeatReady,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
)
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.turn_limits import are_same, shown
from flagfall.recording.verify import Difference

_CUT: Final = frozenset({"stopped", "void"})
"""Ends of matches by a signal or a fault of the host, which do not come again."""

_COMPARED: Final = MappingProxyType(
    {
        MatchStarted: (),
        SeatReady: ("seat", "spent_ns", "at_ns"),
        TaskStarted: ("task", "index", "seed", "at_ns"),
        TurnPlayed: (
            *("turn", "seat", "verdict", "action", "refused", "answers"),
            *("spent_ns", "credit_ns", "at_ns", "note"),
        ),
        SeatDisqualified: ("seat", "reason", "at_ns"),
        TaskEnded: ("task", "index", "ended", "steps", "answers", "at_ns"),
        MatchEnded: ("reason", "turns", "at_ns"),
    }
)
"""The fields that are compared, the most telling first; of other events all."""


class Repetition:
    """A sink that compares a match with a recorded one, event by event.

    Args:
        journal: of the recorded match, which has been verified. If that was cut, its turns are compared.
        stop: called at the first difference, and when the turns of a match that was cut have been compared.

    Attributes:
        difference: the first one; `None` as long as there is none.
    """

    def __init__(self, journal: Path, stop: Callable[[], None]) -> None:
        self.difference: Difference | None = None
        self._recorded = _before_cut(read_journal(journal))
        self._stop = stop
        self._turn: int | None = None
        self._is_over = False

    def __call__(self, event: Event) -> None:
        """Compare the next event."""
        if self._is_over:
            return
        recorded = next(self._recorded, None)
        if recorded is not None:
            self._turn = recorded.turn if isinstance(recorded, TurnPlayed) else self._turn
            self.difference = self._compare(recorded, event)
        if recorded is None or self.difference is not None:
            self._is_over = True
            self._stop()

    def _compare(self, recorded: Event, event: Event) -> Difference | None:
        if type(recorded) is not type(event):
            return self._different(recorded, "event", recorded.title, event.title)
        for name in _COMPARED.get(type(recorded), ("at_ns", *recorded.facts())):
            values = getattr(recorded, name), getattr(event, name)
            if not are_same(*values):
                return self._different(recorded, name, *map(shown, values))
        return None

    def _different(self, recorded: Event, what: str, found: str, expected: str) -> Difference:
        seat: Any = getattr(recorded, "seat", None)
        return Difference(None, self._turn, self._turn, seat, what, expected, found)


def _before_cut(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events of a match; of one that was cut those up to its last turn."""
    held: list[Event] = []
    for event in events:
        held.append(event)
        if isinstance(event, TurnPlayed):
            yield from held
            held.clear()
    if not any(isinstance(event, MatchEnded) and event.reason in _CUT for event in held):
        yield from held
