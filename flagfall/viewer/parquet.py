"""Tables of turns in Parquet: one row for each turn of each seat, in row groups of bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import attrs
from msgspec.structs import asdict

from flagfall.errors import UsageError
from flagfall.events import Event, MatchStarted, SeatReady, TaskStarted, TurnPlayed
from flagfall.recording.journal.format import encode
from flagfall.recording.journal.reader import Batch, JournalError, read_batches
from flagfall.recording.turn_limits import LimitsOfTurns
from flagfall.tournament.folder import JOURNALS

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_NAME_CHARS: Final = 200
"""Names of matches, tasks and agents are cut to this length."""

MAX_TEXT_CHARS: Final = 2_000
"""Values and messages in a timeline are cut to this length; viewers show less of them."""

_ENDINGS: Final = (".jsonl", ".jsonl.zst")


@attrs.frozen
class Source:
    """A match to export, which began at a wall time in ns since 1970; `None` under the virtual clock."""

    path: Path
    match: str
    begun_ns: int | None
    header: MatchStarted


def find_sources(path: Path, report: Callable[[str], None]) -> list[Source]:
    """Return the matches of a journal or of a results folder, in the order in which they began.

    Only the beginnings of the journals are read; they may come from others, and may be damaged. A line about
    each that cannot be read is reported.

    Raises:
        UsageError: the file is no journal, or the folder holds none that can be read.
    """
    if not path.is_dir():
        return [open_source(path)]
    folder = path / JOURNALS if (path / JOURNALS).is_dir() else path
    found = []
    for file in sorted(folder.iterdir()):
        if file.name.endswith(_ENDINGS) and file.is_file():
            try:
                found.append(open_source(file))
            except UsageError as error:
                report(str(error))
    if not found:
        raise UsageError(f"{path} holds no journal that can be read; name a journal or a results folder")
    return sorted(found, key=lambda source: (source.begun_ns or 0, source.match))


def open_source(path: Path) -> Source:
    """Return the match of a journal."""
    for _batch, events in read_batches(path):
        for event in events:
            if isinstance(event, MatchStarted):
                return Source(path, match_name(path), _nanoseconds(event.begun), event)
    raise JournalError(path, 1, None, "it holds no match")


def match_name(path: Path) -> str:
    """Return the name of a match: that of its journal without the ending."""
    return shorten(path.name.removesuffix(".zst").removesuffix(".jsonl"), MAX_NAME_CHARS)


def _nanoseconds(begun: str | None) -> int | None:
    """Return a recorded wall time in nanoseconds; `None` where it cannot be read."""
    try:
        return None if begun is None else int(datetime.fromisoformat(begun).timestamp() * 1_000_000) * 1_000
    except (ValueError, OverflowError):
        return None


def take_events(
    source: Source, take: Callable[[Event], None], take_batch: Callable[[Batch, int, int], None] | None = None
) -> str:
    """Pass on every event of a journal that can be read; return what is wrong with it, or an empty text.

    Args:
        take_batch: takes each batch after its events, with the times of the first and the last of them.
    """
    try:
        for batch, events in read_batches(source.path):
            first_ns = last_ns = None
            for event in events:
                take(event)
                last_ns = event.at_ns
                first_ns = last_ns if first_ns is None else first_ns
            if take_batch is not None and first_ns is not None and last_ns is not None:
                take_batch(batch, first_ns, last_ns)
    except JournalError as error:
        return str(error)
    return ""


def shorten(text: str, max_chars: int) -> str:
    """Return a text of bounded length, with the length of what was left out."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}… ({len(text)} characters)"


def json_text(value: Any) -> str:
    """Return a recorded value as JSON, as it stands in the journal."""
    return encode(value).decode()


GROUP_ROWS: Final = 65_536
"""Rows of a row group: enough for columns to compress well."""

GROUP_CHARS: Final = 16 * 1024 * 1024
"""Text of a row group beyond which it is written: observations may have 64 MiB each."""

MAX_METADATA_BYTES: Final = 4 * 1024 * 1024
"""Headers kept in the metadata of the schema, which readers load whole."""

_MAX_WHOLE: Final = 2**63 - 1


def _pyarrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UsageError("Parquet needs the extra parquet: pip install 'flagfall[parquet]'") from None
    return pa, parquet


_COLUMNS: Final = (
    *("match", "task_index", "task", "turn", "seat", "agent", "at_ns", "spent_ns", "credit_ns", "verdict"),
    *("soft_limit_ns", "hard_limit_ns", "bank_ns", "reward", "observation", "action"),
    *("observation_number", "action_number", "refused", "answers", "note"),
)
_NAMES: Final = ("match", "task", "agent", "verdict")
_TEXTS: Final = ("observation", "action", "refused", "note")


def _schema(pa: Any) -> Any:
    """Return the types of the columns: whole numbers but for names, which repeat, texts and the reward."""
    types = dict.fromkeys(_COLUMNS, pa.int64())
    types |= dict.fromkeys(_NAMES, pa.dictionary(pa.int32(), pa.string()))
    types |= dict.fromkeys(_TEXTS, pa.string())
    return pa.schema(types | {"reward": pa.float64()})


class _Rows:
    """Columns of the row group that is being filled, which `write` gets in the order of the schema."""

    def __init__(self, columns: int, write: Callable[[list[list[Any]]], None]) -> None:
        self._columns: list[list[Any]] = [[] for _ in range(columns)]
        self._write = write
        self._chars = 0

    def add(self, row: tuple[Any, ...], chars: int) -> None:
        """Add a row with texts of this length."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
        self._chars += chars
        if len(self._columns[0]) >= GROUP_ROWS or self._chars >= GROUP_CHARS:
            self.flush()

    def flush(self) -> None:
        """Write the rows so far, if there are any."""
        if self._columns[0]:
            self._write(self._columns)
            self._columns = [[] for _ in self._columns]
            self._chars = 0


class _MatchRows:
    """Takes the events of one match, and adds its turns as rows."""

    def __init__(self, source: Source, rows: _Rows) -> None:
        self._match = source.match
        self._agents = [shorten(name, MAX_NAME_CHARS) for name in source.header.agents]
        self._limits = LimitsOfTurns(source.header)
        self._rows = rows
        self._task: tuple[int | None, str | None] = (None, None)

    def take(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, TurnPlayed):
            self._turn(event)
        elif isinstance(event, TaskStarted):
            self._task = (event.index, shorten(event.task, MAX_NAME_CHARS))
        elif isinstance(event, SeatReady):
            self._limits.take_start(event)

    def _turn(self, event: TurnPlayed) -> None:
        limits = self._limits.take_turn(event)
        seat = event.seat
        observation, action = json_text(event.observation), json_text(event.action)
        note = None if event.note is None else json_text(event.note)
        row = (
            self._match,
            *self._task,
            event.turn,
            seat,
            self._agents[seat] if 0 <= seat < len(self._agents) else None,
            event.at_ns,
            event.spent_ns,
            event.credit_ns,
            event.verdict,
            *limits,
            None if isinstance(event.reward, dict) else float(event.reward),
            observation,
            action,
            _whole(event.observation),
            _whole(event.action),
            event.refused,
            event.answers,
            note,
        )
        self._rows.add(row, sum(len(text or "") for text in (observation, action, event.refused, note)))


def _whole(value: Any) -> int | None:
    """Return a value if it is a whole number of 64 bits."""
    return value if type(value) is int and -_MAX_WHOLE <= value <= _MAX_WHOLE else None


def write_parquet(sources: Sequence[Source], file: BinaryIO, report: Callable[[str], None]) -> None:
    """Write the turns of some matches as one table; a line about each journal that is damaged is reported."""
    pa, parquet = _pyarrow()
    schema = _schema(pa).with_metadata(_metadata(sources))

    def write_group(columns: list[list[Any]]) -> None:
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=GROUP_ROWS)

    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        rows = _Rows(len(schema), write_group)
        for source in sources:
            if problem := take_events(source, _MatchRows(source, rows).take):
                report(problem)
        rows.flush()


def _metadata(sources: Sequence[Source]) -> dict[str, str]:
    """Return the headers of the matches by name as JSON, as many as have room."""
    entries, left_out, room = [], 0, MAX_METADATA_BYTES
    for source in sources:
        entry = f"{json_text(source.match)}:{json_text(asdict(source.header))}"
        room -= len(entry)
        if room > 0:
            entries.append(entry)
        else:
            left_out += 1
    return {"flagfall_matches": "{" + ",".join(entries) + "}", "flagfall_matches_left_out": str(left_out)}
