"""Chunks of a recorded match: its turns in columns and the events between them, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from flagfall.events import (
    Event,
    MatchEnded,
    MatchStarted,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    StallSeen,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
)
from flagfall.kernel.channels.codecs import CodecError
from flagfall.recording.journal.format import decode_events
from flagfall.texts import counted
from flagfall.timing.durations import US
from flagfall.viewer.replay.tally import MAX_LISTED_REWARDS
from flagfall.viewer.replay.texts import MAX_NAME_CHARS, exact, note_of, number, shortened, text_of

if TYPE_CHECKING:
    from flagfall.viewer.replay.index import Index

MAX_COMMON_EVENTS: Final = 2_000
"""The most events of a chunk; a match may stall between any two turns."""

MAX_EVENTS: Final = 2_500
"""The most events of a chunk with disqualified seats and the end of the match, which are shown beside many
others."""

MAX_DETAIL_CHARS: Final = 5_000
"""Longest text of an event: a sentence with a traceback of 4,000 characters, the longest that is recorded."""

_COLUMNS: Final = (
    *("turn", "seat", "at_ns", "spent_ns", "credit_ns", "verdict", "soft_ns", "hard_ns", "bank_ns"),
    *("reward", "observation", "action", "refused", "answers", "note"),
)

_MAX_TAPE: Final = 2**31
"""Numbers of a tape are smaller; those of byte tasks lie below 256."""


def chunk_of(index: Index, number: int) -> dict[str, Any]:
    """Return a chunk; an `IndexError` if there is none of this number.

    The column `reward` has what the action of each row earned, `None` where that is not known; `ends` has the
    turns that a task ended after.
    """
    building = _Builder(index, number)
    for line in index.chunk_lines(number):
        try:
            events = decode_events(line, index.schema)
        except (CodecError, ValueError) as error:
            building.note(0, "damaged", None, f"A line of the journal cannot be read: {error}.")
            continue
        for event in events:
            building.take(event)
    return building.result()


class _Builder:
    """Collects the rows and the events of a chunk."""

    def __init__(self, index: Index, number: int) -> None:
        entry = index.tally.chunks[number]
        self._first = entry.first
        self._limits = entry.limits.copy()
        self._earned = entry.earned.copy()
        self._last_earned = entry.last_earned
        self._ends_task = entry.ends_task
        self._ends: list[int] = []
        self._latest: dict[int, int] = {}  # by seat, the row of its last turn
        self._seats = len(index.tally.seats)
        self._names = [seat.name for seat in index.tally.seats]
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._shown: list[int | None] = []
        self._played: list[int | None] = []
        self._numbers = bool(index.tally.numbers)
        self._events: list[dict[str, Any]] = []
        self._waiting = 0
        self._left_out = 0

    def take(self, event: Event) -> None:
        if isinstance(event, TurnPlayed):
            if 0 <= event.seat < self._seats:
                self._take_turn(event)
        else:
            if isinstance(event, SeatReady):
                self._limits.take_start(event)
            elif isinstance(event, TaskStarted):
                self._earned.begin_task()
            elif isinstance(event, TaskEnded):
                self._take_end(event)
            text = _SENTENCES.get(type(event), _told)(event, self._names)
            facts, kind = event.facts(), str(event.__struct_config__.tag)
            self.note(event.at_ns, kind, facts.get("seat"), text, facts.get("index"))

    def _take_end(self, event: TaskEnded) -> None:
        for seat, earned in self._earned.end_task(event).items():
            self._pay(seat, earned)
        if self._columns["turn"]:
            self._ends_after(self._columns["turn"][-1])

    def _ends_after(self, turn: int) -> None:
        if turn not in self._ends[-1:]:  # a task without a turn may follow
            self._ends.append(turn)

    def _pay(self, seat: int, earned: float | None) -> None:
        """Write what the last action of a seat earned into its row, unless an earlier chunk has it."""
        row = self._latest.get(seat)
        if row is not None and earned is not None:
            self._columns["reward"][row] = number(earned)

    def _take_turn(self, event: TurnPlayed) -> None:
        seat, limits, columns = event.seat, self._limits.take_turn(event), self._columns
        self._pay(seat, self._earned.take_turn(event.turn, seat, event.reward))
        self._latest[seat] = len(columns["turn"])
        row = (
            event.turn,
            seat,
            event.at_ns,
            event.spent_ns,
            event.credit_ns,
            event.verdict,
            *limits,
            None,
            text_of(event.observation),
            text_of(event.action),
            None if event.refused is None else shortened(event.refused),
            event.answers,
            None if event.note is None else note_of(event.note),
        )
        for name, value in zip(_COLUMNS, row, strict=True):
            columns[name].append(value)
        if self._numbers:
            self._shown.append(_tape(event.observation))
            self._played.append(_tape(event.action))
        for waiting in self._events[self._waiting :]:
            waiting["turn"] = event.turn
        self._waiting = len(self._events)

    def note(self, at_ns: int, kind: str, seat: int | None, text: str, task: int | None = None) -> None:
        """Add an event; the turn that follows is filled in with it."""
        most = MAX_EVENTS if kind in {"disqualified", "over"} else MAX_COMMON_EVENTS
        if len(self._events) >= most:
            self._left_out += 1
        else:
            self._append(at_ns, kind, seat, text, task)

    def _append(self, at_ns: int, kind: str, seat: int | None, text: str, task: int | None) -> None:
        text = shortened(text, MAX_DETAIL_CHARS)
        event = {"at_ns": at_ns, "turn": 0, "kind": kind, "seat": seat, "text": text, "task": task}
        self._events.append(event)

    def result(self) -> dict[str, Any]:
        for seat, earned in self._last_earned.items():
            self._pay(seat, earned)
        turns = self._columns["turn"]
        if self._ends_task:
            self._ends_after(turns[-1])
        following = turns[-1] + 1 if turns else self._first
        if self._left_out:
            left_out = f"{self._left_out:,} more events of these turns are left out."
            self._append(0, "damaged", None, left_out, None)
        for waiting in self._events[self._waiting :]:
            waiting["turn"] = following
        return {
            "first": self._first,
            **self._columns,
            "ends": self._ends,
            "numbers": {"observation": self._shown, "action": self._played} if self._numbers else {},
            "events": self._events,
        }


def _tape(value: Any) -> int | None:
    return value if type(value) is int and abs(value) < _MAX_TAPE else None


def _ms(ns: int) -> str:
    return f"{ns / US / 1000:,.1f} ms"


def _seat(event: Any, names: list[str]) -> str:
    seat = event.seat
    named = 0 <= seat < len(names)
    return f"Seat {seat} ({shortened(names[seat], MAX_NAME_CHARS)})" if named else f"Seat {seat}"


def _begins(event: MatchStarted, _names: list[str]) -> str:
    return (
        f"The match begins: {counted(len(event.agents), 'seat')}, {counted(len(event.tasks), 'task')},"
        f" {shortened(event.scheduler, MAX_NAME_CHARS)}, {shortened(event.time_control, MAX_NAME_CHARS)}."
    )


def _ready(event: SeatReady, names: list[str]) -> str:
    host = shortened(event.host, MAX_NAME_CHARS)
    return f"{_seat(event, names)} is ready after {_ms(event.spent_ns)}, on the host {host}."


def _start(event: TaskStarted, _names: list[str]) -> str:
    return f"Task {shortened(event.task, MAX_NAME_CHARS)} begins, with seed {exact(event.seed)}."


def _end(event: TaskEnded, _names: list[str]) -> str:
    result = {True: "solved", False: "failed", None: "no result"}[event.result]
    task = shortened(event.task, MAX_NAME_CHARS)
    ended = shortened(event.ended, MAX_NAME_CHARS)
    paid = [f"{number(one):,.12g}" for one in event.rewards or [event.reward]]
    rewards = f"reward{'s' * (len(paid) > 1)} {', '.join(paid[:MAX_LISTED_REWARDS])}"
    return f"Task {task} ends ({ended}): {result}, {rewards}, {counted(event.steps, 'step')}."


def _dropped(event: ReplyDropped, names: list[str]) -> str:
    to = "no turn" if event.turn < 0 else f"turn {exact(event.turn)}"
    why = {"stale": "its turn was over", "double": "it was answered before", "unasked": "it was not asked"}
    return f"A reply of {_seat(event, names)} to {to} is dropped: {why[event.why]}."


def _disqualified(event: SeatDisqualified, names: list[str]) -> str:
    reason = shortened(event.reason, MAX_NAME_CHARS)
    joint = "\n" if "\n" in event.detail else " "  # a traceback
    detail = f".{joint}{event.detail}" if event.detail else "."
    return f"{_seat(event, names)} is disqualified: {reason}{detail}"


def _stall(event: StallSeen, names: list[str]) -> str:
    blocker = "" if event.seat is None else f", blocked by {_seat(event, names)}"
    return f"The host stalled for {_ms(event.lost_ns)}{blocker}."


def _over(event: MatchEnded, _names: list[str]) -> str:
    detail = f". {event.detail}" if event.detail else "."
    return f"The match ends after {counted(event.turns, 'turn')}: {event.reason}{detail}"


def _told(event: Event, _names: list[str]) -> str:
    facts = (f"{name}: {text_of(value, MAX_DETAIL_CHARS)}" for name, value in event.facts().items())
    return f"{event.title.capitalize()}: {'; '.join(facts)}"


_SENTENCES: Final[Mapping[type[Event], Callable[[Any, list[str]], str]]] = {
    MatchStarted: _begins,
    SeatReady: _ready,
    TaskStarted: _start,
    TaskEnded: _end,
    ReplyDropped: _dropped,
    SeatDisqualified: _disqualified,
    StallSeen: _stall,
    MatchEnded: _over,
}
"""Texts of events that are shown in words of their own."""
