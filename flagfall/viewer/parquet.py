"""Tables of turns in Parquet: one row for each turn of each seat, in row groups of bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import attrs
from msgspec.structs import asdict

from flagfall.errors import UsageError
from flagfall.events import Event, MatchStarted
from flagfall.kernel.channels.arrays import list_encoder
from flagfall.recording.journal.reader import Batch, JournalError, read_batches
from flagfall.recording.turn_columns import Turns, arrow_column, forms_of, iter_turns, table_cells
from flagfall.tournament.folder import JOURNALS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flagfall.recording.turn_values import Cells

MAX_NAME_CHARS: Final = 200
"""Names of matches, tasks and agents are cut to this length."""

MAX_TEXT_CHARS: Final = 2_000
"""Values and messages in a timeline are cut to this length; viewers show less of them."""

_ENDINGS: Final = (".jsonl", ".jsonl.zst")

_encode: Final = list_encoder().encode


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
    """Return a recorded value as JSON, with arrays as lists."""
    return _encode(value).decode()


GROUP_ROWS: Final = 65_536
"""Rows of a row group: enough for columns to compress well."""

GROUP_BYTES: Final = 64 * 1024 * 1024
"""Size of a row group beyond which it is written: observations may have megabytes each."""

MAX_METADATA_BYTES: Final = 4 * 1024 * 1024
"""Headers kept in the metadata of the schema, which readers load whole."""


def _pyarrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise UsageError("Parquet needs the extra parquet: pip install 'flagfall[parquet]'") from None
    return pa, parquet


def _blocks(source: Source, report: Callable[[str], None]) -> Iterator[Turns]:
    """Yield the turns of a journal that can be read; report what is wrong with it."""
    try:
        yield from iter_turns(source.path, GROUP_ROWS)
    except JournalError as error:
        report(str(error))


class _RowGroups:
    """Collects tables of one form, and writes them as row groups."""

    def __init__(self, file: BinaryIO, metadata: dict[str, str]) -> None:
        self._pa, self._parquet = _pyarrow()
        self._file = file
        self._metadata = metadata
        self._writer: Any = None
        self._tables: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, match: str, columns: Iterable[Cells], rows: int) -> None:
        """Add turns of a match."""
        pa = self._pa
        matches = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), [match])
        table = pa.table({"match": matches, **{of.name: arrow_column(pa, of) for of in columns}})
        self._tables.append(table)
        self._rows += rows
        self._bytes += table.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write what is left, and end the file."""
        if self._tables:
            self._flush()
        if self._writer is not None:  # a journal was there, and is no more
            self._writer.close()

    def _flush(self) -> None:
        table = self._pa.concat_tables(self._tables).unify_dictionaries()
        table = table.replace_schema_metadata(self._metadata)
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._file, table.schema, compression="zstd")
        self._writer.write_table(table, GROUP_ROWS)
        self._tables, self._rows, self._bytes = [], 0, 0


def write_parquet(sources: Sequence[Source], file: BinaryIO, report: Callable[[str], None]) -> None:
    """Write the turns of some matches as one table; a line about each journal that is damaged is reported.

    The journals are read twice: the type of a column holds the values of all matches.

    Raises:
        UsageError: pyarrow is not installed, or a match goes on meanwhile with values of other kinds.
    """
    groups = _RowGroups(file, _metadata(sources))
    forms = forms_of(turns for source in sources for turns in _blocks(source, report))
    for source in sources:
        for turns in _blocks(source, lambda _problem: None):
            if any(not form.has(turns[name]) for name, form in forms.items()):
                raise UsageError(f"{source.path} changed while it was read; export it again")
            groups.add(source.match, table_cells(turns, forms), turns.rows)
    groups.close()


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
