"""Values that the live page shows, bounded in number and length; their names are those of the page's JSON."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias

import attrs
import msgspec

from flagfall.errors import UsageError
from flagfall.recording.journal.file import is_compressed
from flagfall.timing import Budget, TimeControl
from flagfall.timing.durations import NEVER_NS
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.standings import Standings
from flagfall.tournament.tables import shown_columns
from flagfall.tournament.task_tables import TaskRow

MAX_NAME_CHARS: Final = 200
"""Characters of the name of an agent, a task or a match."""

MAX_LINE_CHARS: Final = 500
"""Characters of a reason or a problem."""

MAX_AGENTS: Final = 500
"""Rows of the standings; a reader looks at fewer, and `flagfall results` prints all."""

MAX_TASK_ROWS: Final = 500
"""Rows of the table by task."""

MAX_NOTES: Final = 20
"""Remarks below the standings."""

MAX_RUNNING: Final = 64
"""Matches in progress that are shown one by one; the others are counted."""

MAX_SEATS: Final = 32
"""Seats of a match that are shown."""

State = Literal["missing", "waiting", "running", "paused", "stopping", "ended", "interrupted", "damaged"]


class SeatClock(msgspec.Struct):
    """Use of time of a seat in a match that is being played; `None` for what has no limit or is not known.

    `last_ns` and `last_limit_ns` are of its last turn, the other limits of the next one.
    """

    turns: int = 0
    late: int = 0
    spent_ns: int = 0
    last_ns: int | None = None
    last_limit_ns: int | None = None
    limit_ns: int | None = None
    bank_ns: int | None = None
    total_ns: int | None = None
    out: str | None = None


class RunningView(msgspec.Struct):
    """A match that is being played; `seconds` since it began, `turn_seconds` since its last recorded turn.

    `journal`: it has a journal, so that its replay can be opened. `short` is the short name of its task, here
    and below.
    """

    match: str
    task: str
    short: str
    agents: list[str]
    attempt: int
    seconds: float
    turn: int | None = None
    turn_seconds: float | None = None
    seats: list[SeatClock] | None = None
    journal: bool = False


class RunView(msgspec.Struct):
    """The state of the tournament; `left_seconds` is the estimated time to its end."""

    state: State
    detail: str = ""
    name: str = ""
    played: int = 0
    total: int | None = None
    void: int = 0
    jobs: int | None = None
    rate: float | None = None
    left_seconds: float | None = None
    controllable: bool = False
    running: list[RunningView] = []
    running_count: int = 0


class NewsSeat(msgspec.Struct):
    """A seat of a match that has ended."""

    agent: str
    score: float
    late: int
    out: str | None


class NewsItem(msgspec.Struct):
    """A match that has ended: `number` in the database, `why` if it is void or a stall coincided with it."""

    number: int
    match: str
    attempt: int
    void: bool
    why: str
    reason: str
    seats: list[NewsSeat]
    turns: int
    elapsed_ns: int
    stalls: int
    journal: bool
    task: str | None = None
    short: str | None = None


def cut(text: str, most: int = MAX_NAME_CHARS) -> str:
    """Return a text, cut to a length, in which UTF-8 can hold every character."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short.encode("utf-8", "backslashreplace").decode()


def news_item(number: int, record: MatchRecord, task: str | None, short: str | None) -> NewsItem:
    """Return a record, void or not, as it is shown."""
    return NewsItem(
        number=number,
        match=cut(record.id),
        attempt=record.attempt,
        void=record.status == "void",
        why=cut(record.why, MAX_LINE_CHARS),
        reason=cut(record.reason, MAX_LINE_CHARS),
        seats=[
            NewsSeat(cut(seat.agent), seat.score, seat.late, None if seat.fell is None else cut(seat.fell))
            for seat in record.seats[:MAX_SEATS]
        ],
        turns=record.turns,
        elapsed_ns=record.elapsed_ns,
        stalls=record.stalls,
        journal=record.journal is not None,
        task=None if task is None else cut(task),
        short=None if short is None else cut(short),
    )


def standings_view(stands: Standings, matches: int, short: Mapping[str, str]) -> dict[str, Any]:
    """Return the standings of some matches as they are shown, with the short names of tasks."""
    rows = stands.rows[:MAX_AGENTS]
    return {
        "matches": matches,
        "over": stands.over,
        "columns": [column.as_data() for column in shown_columns("pages", stands.drawn)],
        "drawn": stands.drawn,
        "elo_level": stands.table.elo.level,
        "rows": [row.as_data() | {"agent": cut(row.agent)} for row in rows],
        "left_out": len(stands.rows) - len(rows),
        "tasks": [_task_row(row, short[row.task]) for row in stands.tasks[:MAX_TASK_ROWS]],
        "tasks_left_out": max(0, len(stands.tasks) - MAX_TASK_ROWS),
        "notes": [cut(note, MAX_LINE_CHARS) for note in stands.notes[:MAX_NOTES]],
    }


def _task_row(row: TaskRow, short: str) -> dict[str, Any]:
    return {
        "task": cut(row.task),
        "short": cut(short),
        "agent": cut(row.agent),
        "matches": row.matches,
        "score": attrs.asdict(row.score),
        "solved": row.solved,
        "tasks": row.tasks,
        "fell": row.fell,
    }


# A journal reaches the file every 0.25 s. What was appended is read once, in small pieces; a journal that
# grows faster than it is read here is given up, and its match is shown without the clocks of its seats.

ENDINGS: Final = (".jsonl.zst", ".jsonl")
"""What the name of a journal may end with."""

MAX_FOLLOWED: Final = 16
"""Matches whose journals are read; a page shows about as many clocks at once."""

READ_BYTES: Final = 1_024
"""Bytes that are decompressed at a time: zstd makes 33 MB of them at most."""

MAX_READ_BYTES: Final = 512 * 1024
"""Bytes of a journal that are read at a time; more than that are left for the next time."""

READ_SECONDS: Final = 0.1
"""Longest time of reading all journals."""

MAX_BEHIND_BYTES: Final = 8 * 1024 * 1024
"""Bytes that may be unread; a journal with more is given up."""

MAX_LINE_BYTES: Final = 256 * 1024
"""Longest line that is read; longer ones hold large observations, and are skipped."""


class _Turn(msgspec.Struct, tag_field="event", tag="turn"):
    turn: int
    seat: int = 0
    spent_ns: int = 0
    verdict: str = "on time"


class _Turns(msgspec.Struct, tag_field="event", tag="turns"):
    turn: int
    spent_ns: list[int]


class _Disqualified(msgspec.Struct, tag_field="event", tag="disqualified"):
    seat: int
    reason: str


_Line: TypeAlias = _Turn | _Turns | _Disqualified
_LINES: Final = msgspec.json.Decoder(_Line)
_PREFIXES: Final = (b'{"event":"turn', b'{"event":"disqualified"')
_LATE: Final = frozenset({"late", "overrun", "disqualified"})


class FollowedJournal:
    """A journal that is being written; `turn` is its last one, `since` the time when it was read (monotonic).

    Raises:
        OSError, UsageError: the file cannot be opened; the extra for compressed journals is not installed.
    """

    def __init__(self, path: Path, seats: int, control: TimeControl | None) -> None:
        self.seats: list[SeatClock] = [SeatClock() for _ in range(min(seats, MAX_SEATS))]
        self.turn: int | None = None
        self.since: float = time.monotonic()
        self._budgets = None if control is None else [Budget(control) for _ in self.seats]
        self._rest = b""
        self._skipping = False
        self._inflate: Any = _decompressor() if is_compressed(path) else None
        self._file: BinaryIO = path.open("rb")
        self._position = 0
        self._show_limits()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, until: float) -> bool:
        """Read what was appended, up to a time; return false if the journal has to be given up."""
        try:
            size = self._file.seek(0, 2)
            self._file.seek(self._position)
            if size - self._position > MAX_BEHIND_BYTES:
                return False
            left = MAX_READ_BYTES
            while left > 0 and time.monotonic() < until and (data := self._file.read(READ_BYTES)):
                self._position += len(data)
                left -= len(data)
                self._take(data if self._inflate is None else self._inflate.decompress(data))
        except Exception:  # noqa: BLE001 - a damaged journal: zstandard has errors of its own
            return False
        self._show_limits()
        return True

    def _take(self, text: bytes) -> None:
        *lines, self._rest = (self._rest + text).split(b"\n")
        for line in lines:
            if not self._skipping:
                self._take_line(line)
            self._skipping = False
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest, self._skipping = b"", True

    def _take_line(self, line: bytes) -> None:
        if not line.startswith(_PREFIXES) or len(line) > MAX_LINE_BYTES:
            return
        event = _LINES.decode(line)
        if isinstance(event, _Turns):
            for spent_ns in event.spent_ns:
                self._charge(0, spent_ns)
            self._advance(event.turn + len(event.spent_ns) - 1)
        elif not 0 <= event.seat < len(self.seats):
            return
        elif isinstance(event, _Disqualified):
            self.seats[event.seat].out = event.reason
        else:
            if event.verdict in _LATE:
                self.seats[event.seat].late += 1
            if event.verdict != "absent":
                self._charge(event.seat, event.spent_ns)
            self._advance(event.turn)

    def _charge(self, seat: int, spent_ns: int) -> None:
        clock = self.seats[seat]
        clock.turns += 1
        clock.spent_ns += spent_ns
        clock.last_ns = spent_ns
        if self._budgets is not None:
            clock.last_limit_ns = _limit(self._budgets[seat])
            self._budgets[seat].charge("act", spent_ns)

    def _advance(self, turn: int) -> None:
        if self.turn is None or turn > self.turn:
            self.turn, self.since = turn, time.monotonic()

    def _show_limits(self) -> None:
        for clock, budget in zip(self.seats, self._budgets or (), strict=False):
            clock.limit_ns = _limit(budget)
            clock.bank_ns, clock.total_ns = budget.bank_ns, budget.total_ns


@attrs.define(eq=False)
class ClockReader:
    """Reads the journals of matches that are being played."""

    _folder: Path
    _followed: dict[str, FollowedJournal | None] = attrs.Factory(dict)

    def read(self, matches: Iterable[tuple[str, int, TimeControl | None]]) -> Mapping[str, FollowedJournal]:
        """Read what was appended to journals, and return those that are followed, by the name of the file.

        The matches are given by that name without its ending, the number of seats, and the time control.
        """
        wanted = {name: (seats, control) for name, seats, control in list(matches)[:MAX_FOLLOWED]}
        for name in self._followed.keys() - wanted.keys():
            self._forget(name)
        until = time.monotonic() + READ_SECONDS
        for name, (seats, control) in wanted.items():
            if name not in self._followed and (journal := self._open(name, seats, control)) is not None:
                self._followed[name] = journal
            followed = self._followed.get(name)
            if followed is not None and not followed.read(until):
                followed.close()
                self._followed[name] = None
        return {name: journal for name, journal in self._followed.items() if journal is not None}

    def close(self) -> None:
        """Close all files."""
        for name in list(self._followed):
            self._forget(name)

    def _forget(self, name: str) -> None:
        journal = self._followed.pop(name)
        if journal is not None:
            journal.close()

    def _open(self, name: str, seats: int, control: TimeControl | None) -> FollowedJournal | None:
        for ending in ENDINGS:
            path = self._folder / f"{name}{ending}"
            try:
                return FollowedJournal(path, seats, control)
            except (OSError, UsageError, ValueError):
                continue
        return None


def _limit(budget: Budget) -> int | None:
    limit_ns = budget.limit("act")
    return None if limit_ns >= NEVER_NS else limit_ns


def _decompressor() -> Any:
    try:
        import zstandard  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError("compressed journals need the extra zstd: pip install 'flagfall[zstd]'") from None
    return zstandard.ZstdDecompressor().decompressobj()
