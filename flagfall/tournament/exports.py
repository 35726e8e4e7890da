"""Export of standings and matches as flat rows: CSV, JSON, Parquet."""

from __future__ import annotations

__all__ = ["FILE_FORMATS", "agent_rows", "export", "match_rows"]

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from flagfall.errors import UsageError
from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.tables.agents import COLUMNS, PARTS, AgentRow

if TYPE_CHECKING:
    from flagfall.tournament.standings import Standings

ExportRow: TypeAlias = dict[str, Any]
"""Numbers and texts by column; all rows of a table have the same columns."""

_MATCH: Final = tuple(field.name for field in attrs.fields(MatchRecord) if field.name != "seats")
_SEAT: Final = tuple(
    field.name for field in attrs.fields(SeatRecord) if field.name not in {"noted", "thinking"}
)


def agent_rows(standings: Standings) -> list[ExportRow]:
    """Return a row for each agent: a column of `COLUMNS` each, and separate ones for the ends of intervals.

    Args:
        standings: the standings of a tournament.
    """
    return [_flat(row) for row in standings.rows]


def _flat(row: AgentRow) -> ExportRow:
    flat: ExportRow = {"place": row.place, "agent": row.agent}
    for name, value in row.values.items():
        parts = PARTS.get(COLUMNS[name].form, ())
        for part in parts:
            column = name if part == "value" else f"{name}_{part}"
            flat[column] = None if value is None else getattr(value, part)
        if not parts:
            flat[name] = value
    return flat


def match_rows(records: Iterable[MatchRecord]) -> list[ExportRow]:
    """Return a row for each seat of each match, and a single one for a void match without seats.

    Args:
        records: all of them, including void attempts.
    """
    rows = []
    for record in records:
        match = {name: getattr(record, name) for name in _MATCH}
        match["match_turns"] = match.pop("turns")
        if not record.seats:
            rows.append({**match, "seat": None, **dict.fromkeys(_SEAT)})
        for number, seat in enumerate(record.seats):
            rows.append({**match, "seat": number, **{name: getattr(seat, name) for name in _SEAT}})
    return rows


def _csv(rows: Sequence[ExportRow]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(rows: Sequence[ExportRow]) -> bytes:
    return json.dumps(rows, indent=2).encode() + b"\n"


def _parquet(rows: Sequence[ExportRow]) -> bytes:
    try:
        import pyarrow as pa  # noqa: PLC0415 - optional
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        what = "Parquet needs pyarrow: pip install 'flagfall[parquet]'; or use csv or json"
        raise UsageError(what) from None
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(list(rows)), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


FILE_FORMATS: Final[Mapping[str, Callable[[Sequence[ExportRow]], bytes]]] = MappingProxyType(
    {"csv": _csv, "json": _json, "parquet": _parquet}
)
"""Writers of rows, by the name of the file format."""


def check_format(form: str) -> None:
    """Check beforehand that rows can be written in a file format.

    Args:
        form: a key of `FILE_FORMATS`.

    Raises:
        UsageError: a library that it needs is not installed.
    """
    FILE_FORMATS[form]([])


def export(rows: Sequence[ExportRow], form: str) -> bytes:
    """Return rows as the content of a file.

    Args:
        rows: all with the same columns.
        form: a key of `FILE_FORMATS`.

    Raises:
        UsageError: a library that it needs is not installed.
    """
    return FILE_FORMATS[form](rows)
