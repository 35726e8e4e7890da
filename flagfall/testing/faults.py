"""Fault schedules: what is to go wrong in a simulated match or tournament, and when.

    seat 1: crash @turn 200; seat 0: disconnect 3s @turn 5; stall host 500ms @1.5s

A schedule is a value with a text form: faults, separated by semicolons or line ends. A fault is a seat (of
the faults that strike one agent), a kind out of `FAULTS`, its amount if it has one, and a moment. This module
says which faults there are; `flagfall.testing.simulation` injects them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs

from flagfall.errors import UsageError, suggest
from flagfall.timing.durations import HOUR, MS, S, format_duration, parse_duration

if TYPE_CHECKING:
    from numpy.random import Generator

MAX_FAULTS: Final = 1_000
"""Most faults of a schedule."""

MAX_SEAT: Final = 1_000
MAX_TURN: Final = 2**53

MAX_COUNT: Final = 10_000_000
"""Largest amount that is a count: so many bytes are in memory at once."""

MAX_DURATION_NS: Final = 1_000 * HOUR
"""Longest duration, and latest time: far from `NEVER_NS`, however many of them add up."""

Unit: TypeAlias = Literal["start", "turn", "end", "time", "match"]

Host: TypeAlias = Literal["task", "process", "remote"]
"""Where an agent is simulated to run: in the event loop, in a process of its own, or connected."""


@attrs.frozen(order=True)
class Moment:
    """A moment of a match.

    Attributes:
        unit: `start` (the agent starts, or the match begins), `turn`, `end` (of the match), `time`; or
            `match`: when that match of a tournament is over, and not stored yet.
        at: the number of the turn or match, from 0, or the virtual time since the match began in
            nanoseconds; else 0.
    """

    unit: Unit = "start"
    at: int = 0

    def __str__(self) -> str:
        if self.unit in {"turn", "match"}:
            return f"@{self.unit} {self.at}"
        return f"@{format_duration(self.at) if self.unit == 'time' else self.unit}"


Place: TypeAlias = Literal[
    "agent", "link", "network", "process", "host", "disk", "sink", "task", "runner", "store"
]
"""What a fault strikes: the part of the simulation that injects it."""

_SEATED: Final = frozenset({"agent", "link", "network", "process"})
_TOURNAMENT: Final = frozenset({"runner", "store"})
_ALL: Final[frozenset[Host]] = frozenset({"task", "process", "remote"})
_FAR: Final[frozenset[Host]] = frozenset({"process", "remote"})
_PROCESS: Final[frozenset[Host]] = frozenset({"process"})
_REMOTE: Final[frozenset[Host]] = frozenset({"remote"})


@attrs.frozen
class FaultKind:
    """A row of `FAULTS`.

    Attributes:
        name: its words in a schedule.
        place: what it strikes; what a kind of that place does is in `flagfall.testing.simulation`.
        what: what happens, in a few words.
        shows: what then stands in the events, the result or the run.
        hosts: the agents that it can strike.
        amount: the unit of its amount: a duration, a count, or none.
        usual: the amount where none is written, in nanoseconds or as a count.
        units: the moments at which it can happen.
    """

    name: str
    place: Place
    what: str
    shows: str
    hosts: frozenset[Host] = _ALL
    amount: Literal["", "duration", "count"] = ""
    usual: int = 0
    units: tuple[Unit, ...] = ("start", "turn", "time")

    @property
    def has_seat(self) -> bool:
        """Whether it strikes one agent, whose seat a schedule names."""
        return self.place in _SEATED

    @property
    def is_of_tournament(self) -> bool:
        """Whether it strikes the runner of a tournament or its store, and no match."""
        return self.place in _TOURNAMENT


_NOT_AT_START: Final[tuple[Unit, ...]] = ("turn", "time")
_ALL_UNITS: Final[tuple[Unit, ...]] = ("start", "turn", "end", "time")
_MATCH: Final[tuple[Unit, ...]] = ("match",)
_VOID: Final = "the match is void"

_ROWS: Final = (
    FaultKind("crash", "agent", "the agent raises", "disqualified: `crashed`", units=_ALL_UNITS),
    FaultKind("leave", "agent", "the agent ends without a word", "disqualified: `gone`", units=_NOT_AT_START),
    FaultKind(
        "hang", "agent", "the agent never answers", "late; disqualified at the hard limit", units=_ALL_UNITS
    ),
    FaultKind("slow", "agent", "the agent takes longer", "the turn's time", _ALL, "duration", 100 * MS),
    FaultKind(
        "illegal", "agent", "the agent answers outside the action space", "illegal", units=_NOT_AT_START
    ),
    FaultKind("duplicate", "link", "the message arrives twice", "`ReplyDropped`", _FAR, units=_NOT_AT_START),
    FaultKind(
        "reorder",
        "link",
        "the agent's answer before arrives again, ahead of this one",
        "`ReplyDropped`",
        _FAR,
        units=_NOT_AT_START,
    ),
    FaultKind(
        "flood",
        "link",
        "the agent's answer before arrives that often again, ahead of this one",
        "`ReplyDropped`; beyond the bound of the protocol `garbage`",
        _FAR,
        "count",
        2_000,
        _NOT_AT_START,
    ),
    FaultKind("drop", "link", "the message is lost", "late; disqualified at the hard limit", _FAR),
    FaultKind(
        "delay", "link", "the message arrives later", "the time of the turn", _FAR, "duration", 50 * MS
    ),
    FaultKind("garbage", "link", "bytes arrive in its place", "disqualified: `garbage`", _FAR, "count", 16),
    FaultKind("truncate", "link", "half of the message arrives, and the connection is lost", "`gone`", _FAR),
    FaultKind(
        "disconnect",
        "link",
        "the connection is lost, and for that long none can be made",
        "the turn comes again",
        _REMOTE,
        "duration",
    ),
    FaultKind("intruder", "network", "another client joins with a wrong token", "no difference", _REMOTE),
    FaultKind("silent client", "network", "another client connects, and is silent", "no difference", _REMOTE),
    FaultKind("exit", "process", "its process ends with that exit code", "`gone`", _PROCESS, "count", 1),
    FaultKind("prints", "process", "it prints that many bytes", "`Printed`", _PROCESS, "count", 10_000),
    FaultKind("supervisor dies", "process", "its supervisor is killed", "`gone`", _PROCESS),
    FaultKind("supervisor stops", "process", "its supervisor is stopped", "the match ends later", _PROCESS),
    FaultKind("stall host", "host", "the program is stopped", "`StallSeen`", _ALL, "duration", 500 * MS),
    FaultKind("disk full", "disk", "the disk of the journal is full from then on", _VOID),
    FaultKind("disk error", "disk", "writing the journal fails from then on", _VOID),
    FaultKind(
        "disk slow",
        "disk",
        "each write of the journal takes that long from then on",
        "the match ends later",
        _ALL,
        "duration",
        2 * S,
    ),
    FaultKind("sink fails", "sink", "a sink raises", _VOID, units=("turn", "time", "end")),
    FaultKind("task raises", "task", "the task raises in `step`", _VOID, units=_NOT_AT_START),
    FaultKind("kill runner", "runner", "the runner is killed", "another run goes on", units=_MATCH),
    FaultKind("lose worker", "runner", "the worker of the match is killed", "a void attempt", units=_MATCH),
    FaultKind("store full", "store", "the disk of the store is full", "another run goes on", units=_MATCH),
)

FAULTS: Final[Mapping[str, FaultKind]] = {row.name: row for row in _ROWS}
"""All kinds of faults, by name."""


@attrs.frozen(order=True)
class Fault:
    """A fault of a schedule.

    Attributes:
        kind: a name out of `FAULTS`.
        moment: when it happens. A fault of a message strikes the agent's message of that turn, at the start
            the message that it is ready, and at a time the first one from then on.
        seat: the seat that it strikes, counted from 0 as in journals; `None` for kinds that strike no agent.
        amount: a duration in nanoseconds or a count, as its kind has it; 0 if it has none.

    Raises:
        UsageError: there is no such kind, or it has no such seat, amount or moment.
    """

    kind: str
    moment: Moment = Moment()
    seat: int | None = None
    amount: int = 0

    def __attrs_post_init__(self) -> None:
        row = self.row
        if row.has_seat is (self.seat is None):
            what = "strikes one agent: write seat 0: before it" if row.has_seat else "strikes no single seat"
            raise UsageError(f"{self.kind} {what}")
        if self.amount and not row.amount:
            raise UsageError(f"{self.kind} has no amount")
        if self.moment.unit not in row.units:
            known = ", ".join(f"@{_HINTS[unit]}" for unit in row.units)
            raise UsageError(f"{self.kind} cannot happen {self.moment}: write {known}")

    @property
    def row(self) -> FaultKind:
        """Its row in `FAULTS`."""
        try:
            return FAULTS[self.kind]
        except KeyError:
            raise UsageError(f"unknown fault {self.kind!r:.60}{suggest(self.kind, FAULTS)}") from None

    def __str__(self) -> str:
        seat = "" if self.seat is None else f"seat {self.seat}: "
        amount = ""
        if self.row.amount == "duration":
            amount = f" {format_duration(self.amount)}"
        elif self.row.amount:
            amount = f" {self.amount}"
        return f"{seat}{self.kind}{amount} {self.moment}"


_HINTS: Final[Mapping[Unit, str]] = {
    "start": "start",
    "turn": "turn 5",
    "end": "end",
    "time": "1.5s",
    "match": "match 3",
}

_SEAT: Final = re.compile(r"seat\s+(\S+?)\s*:\s*")


@attrs.frozen
class FaultSchedule:
    """The faults of one simulated match or tournament, in the order in which they are written.

    `str(schedule)` is a text that `parse` reads back as an equal value.
    """

    faults: tuple[Fault, ...] = ()

    @classmethod
    def parse(cls, text: str) -> FaultSchedule:
        """Read a schedule: faults such as `seat 1: crash @turn 200`, separated by semicolons or line ends.

        Without a seat, a fault of an agent strikes seat 0. Without a moment it happens at the start, or as
        early as its kind can.

        Raises:
            UsageError: a text of another form; the message has the position of the fault.
        """
        faults: list[Fault] = []
        for found in re.finditer(r"[^;\n]+", text):
            if not found[0].strip():
                continue
            try:
                faults.append(_parse_fault(found[0].strip()))
            except UsageError as error:
                at = found.start() + len(found[0]) - len(found[0].lstrip()) + 1
                raise UsageError(f"fault {len(faults) + 1}, at character {at}: {error}") from None
            if len(faults) > MAX_FAULTS:
                raise UsageError(f"more than {MAX_FAULTS} faults")
        return cls(tuple(faults))

    def __str__(self) -> str:
        return "; ".join(map(str, self.faults))

    def __iter__(self) -> Iterator[Fault]:
        return iter(self.faults)

    def __len__(self) -> int:
        return len(self.faults)


def _parse_fault(text: str) -> Fault:
    seat: int | None = None
    found = _SEAT.match(text)
    rest = text
    if found is not None:
        seat, rest = _whole(found[1], "seat", MAX_SEAT), text[found.end() :]
    what, at, when = rest.partition("@")
    kind, amount_text = _kind_of(what.split())
    row = FAULTS[kind]
    amount = row.usual if amount_text is None else _amount(row, amount_text)
    moment = _moment(when.strip()) if at else Moment(row.units[0], 0)
    if row.has_seat and seat is None:
        seat = 0
    return Fault(kind, moment, seat, amount)


def _kind_of(words: Sequence[str]) -> tuple[str, str | None]:
    """Return the kind that some words name, and its amount if there is one."""
    for length in (2, 1):
        name = " ".join(words[:length])
        if name in FAULTS and len(words) <= length + 1:
            return name, words[length] if len(words) > length else None
    name = " ".join(words)
    raise UsageError(f"unknown fault {name!r:.60}{suggest(name, FAULTS)}")


def _amount(row: FaultKind, text: str) -> int:
    if not row.amount:
        raise UsageError(f"{row.name} has no amount: leave {text!r:.60} out")
    if row.amount == "duration":
        return _bounded(parse_duration(text))
    return _whole(text, "count", MAX_COUNT)


def _moment(text: str) -> Moment:
    if text in {"start", "end"}:
        return Moment(text)  # type: ignore[arg-type]  # it is one of them
    unit, _, number = text.partition(" ")
    if unit in {"turn", "match"}:
        return Moment(unit, _whole(number.strip(), unit, MAX_TURN))  # type: ignore[arg-type]
    try:
        at_ns = parse_duration(text)
    except UsageError:
        known = ", ".join(f"@{hint}" for hint in _HINTS.values())
        raise UsageError(f"no moment: {text!r:.60}; write {known}") from None
    return Moment("time", _bounded(at_ns))


def _bounded(ns: int) -> int:
    if ns > MAX_DURATION_NS:
        raise UsageError(
            f"{format_duration(ns)} is too long: write at most {format_duration(MAX_DURATION_NS)}"
        )
    return ns


def _whole(text: str, what: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and int(text) <= most):
        raise UsageError(f"no {what}: {text!r:.60}; write a whole number from 0 to {most}")
    return int(text)


def kinds_for(hosts: Sequence[Host], *, tournament: bool = False) -> list[FaultKind]:
    """Return the kinds of faults that can strike a match of agents at these hosts, or a tournament."""
    return [
        row
        for row in FAULTS.values()
        if row.is_of_tournament is tournament and (not row.has_seat or row.hosts.intersection(hosts))
    ]


def random_schedule(
    generator: Generator,
    hosts: Sequence[Host],
    *,
    turns: int,
    kinds: Iterable[FaultKind] | None = None,
    most: int = 3,
    seconds: float = 1.0,
) -> FaultSchedule:
    """Draw a schedule of 1 to `most` faults, each of a kind that can strike a match of agents at these hosts.

    Args:
        generator: all draws come from it.
        hosts: one for each seat.
        turns: the turns of the match, or the matches of the tournament: a fault strikes in one of them.
        kinds: the kinds to draw from; by default all that can strike the match.
        seconds: the virtual time within which faults at a time happen.
    """
    rows = list(kinds_for(hosts) if kinds is None else kinds)
    return FaultSchedule(
        tuple(
            _random_fault(generator, rows[generator.integers(len(rows))], hosts, turns, seconds)
            for _ in range(int(generator.integers(1, most + 1)))
        )
    )


def _random_fault(
    generator: Generator, row: FaultKind, hosts: Sequence[Host], turns: int, seconds: float
) -> Fault:
    seat = None
    if row.has_seat:
        seats = [seat for seat, host in enumerate(hosts) if host in row.hosts]
        seat = seats[generator.integers(len(seats))]
    unit = row.units[generator.integers(len(row.units))]
    at = 0
    if unit in {"turn", "match"}:
        at = int(generator.integers(turns))
    elif unit == "time":
        at = int(generator.integers(int(seconds * 1000))) * MS
    amount = 0
    if row.amount == "duration":
        amount = int(generator.choice(_DURATIONS))
    elif row.amount:
        amount = int(generator.integers(1, 100))
    return Fault(row.name, Moment(unit, at), seat, amount)


_DURATIONS: Final[Sequence[Any]] = [MS * ms for ms in (0, 1, 5, 20, 40, 50, 100, 200, 500, 1000, 2000, 5000)]
"""Durations that a random fault may have: around the limits of short turns, and beyond hard limits."""
