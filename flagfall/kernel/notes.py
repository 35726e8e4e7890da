"""Notes of agents on their turns: bounded, in plain values, and kept in the record of the turn.

A note is for readers of the journal: how an agent found its answer, what that cost. It changes nothing in
the match, and `verify` ignores it. A note costs only the turn that has one; other turns are recorded as if
there were none.

Rule 1: a note belongs to the next turn of its seat that is settled; a newer one for that turn replaces it.
Rule 2: an agent cannot flood a journal: a note and all notes of a seat have a limit (`MAX_NOTE_BYTES`,
    `MAX_NOTES_BYTES`), and what is beyond is counted only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from flagfall.kernel.channels.arrays import json_encoder
from flagfall.kernel.safe_values import safe_repr
from flagfall.kernel.usage import NAMES, Usage

if TYPE_CHECKING:
    from flagfall.events import TurnPlayed
    from flagfall.kernel.dispatcher import EventDispatcher
    from flagfall.kernel.outcomes import SeatStats
    from flagfall.timing import Budget

MAX_NOTE_BYTES: Final = 16 * 1024
"""Maximum size of a note as JSON: a prompt of four pages and its answer."""

MAX_NOTES_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of all notes of a seat in a match: a thousand of the largest."""

MAX_SUMS: Final = 32
"""Maximum number of names under which numbers of a seat's notes are added up."""

MAX_SUM: Final = 2**53
"""Largest sum of numbers, in either direction: up to here every format holds whole numbers exactly."""

MAX_NAME_CHARS: Final = 40
"""Numbers with longer names are not added up: names are headings of tables."""

LEFT_OUT: Final = "notes left out"
"""The name under which notes and numbers beyond the limits are counted."""

_encode: Final = json_encoder().encode


class TurnNotes:
    """Takes the notes of all seats of a match."""

    def __init__(self, dispatcher: EventDispatcher) -> None:
        self._dispatcher = dispatcher
        self._waiting: dict[int, Any] = {}
        self._used: dict[int, Usage] = {}
        self._bytes: dict[int, int] = {}

    def take(self, seat: int, stats: SeatStats, budget: Budget, value: Any) -> None:
        """Take a note for the turn of a seat that is settled next.

        Args:
            stats: the statistics of the seat, in which the numbers in a mapping are added up.
            budget: what is left of its time control, which is charged with tokens and cost.
        """
        sums = stats.noted
        try:
            text = _encode(value)
        except (ValueError, TypeError, OverflowError, RecursionError):
            text = _encode(safe_repr(value))
        if not self._has_room(seat, len(text), sums):
            return
        note = msgspec.json.decode(text)
        if isinstance(note, dict):
            add_up(note, sums)
            Usage.of(note).charge(budget)
        if self._dispatcher.has_sinks:
            self._waiting[seat] = note
            self._dispatcher.note_with(self._add_to)

    def use(self, seat: int, stats: SeatStats, budget: Budget, usage: Usage) -> None:
        """Take what a language model used for the turn of a seat that is settled next; its note has it, too.

        Args:
            stats: see `take`.
            budget: see `take`.
        """
        found = usage.as_note()
        add_up({name: found[name] for name in NAMES if name in found}, stats.noted)
        usage.charge(budget)
        if found and self._dispatcher.has_sinks and self._has_room(seat, len(_encode(found)), stats.noted):
            self._used[seat] = self._used[seat] + usage if seat in self._used else usage
            self._dispatcher.note_with(self._add_to)

    def _has_room(self, seat: int, size: int, sums: dict[str, float]) -> bool:
        """Return whether the notes of a seat have room for some bytes more; if not, that is counted."""
        used = self._bytes.get(seat, 0) + size
        if size > MAX_NOTE_BYTES or used > MAX_NOTES_BYTES:
            sums[LEFT_OUT] = sums.get(LEFT_OUT, 0) + 1
            return False
        self._bytes[seat] = used
        return True

    def _add_to(self, record: TurnPlayed) -> TurnPlayed:
        """Return the record of a turn with the note of its seat."""
        note, used = self._waiting.pop(record.seat, None), self._used.pop(record.seat, None)
        if not self._waiting and not self._used:
            self._dispatcher.note_with(None)
        if used is not None:
            note = used.added_to(note)
        return record if note is None else msgspec.structs.replace(record, note=note)


def add_up(note: Mapping[str, Any], sums: dict[str, float]) -> None:
    """Add the numbers of a note to sums by their names, within the limits above."""
    left_out = 0
    for name, number in note.items():
        if type(number) not in (int, float) or len(name) > MAX_NAME_CHARS:
            continue
        if name in sums or len(sums) < MAX_SUMS:
            total = sums.get(name, 0) + number
            if -MAX_SUM <= total <= MAX_SUM:  # no infinite one, and none that is not a number
                sums[name] = total
            else:
                left_out += 1
    if left_out:
        sums[LEFT_OUT] = sums.get(LEFT_OUT, 0) + left_out
