"""Standings and matches as flat rows, and as files of them: CSV, JSON, Parquet."""

from __future__ import annotations

__all__ = ["FORMATS", "agent_rows", "export", "match_rows"]

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from flagfall.errors import UsageError
from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.standings import Standings

Row: TypeAlias = dict[str, Any]
"""Plain numbers and words by column; all rows of a table have the same columns."""

_MATCH: Final = tuple(field.name for field in attrs.fields(MatchRecord) if field.name != "seats")
_SEAT: Final = tuple(field.name for field in attrs.fields(SeatRecord) if field.name != "thinking")


def agent_rows(standings: Standings) -> list[Row]:
    """A row for each agent: what `AgentRow` says, with the ends of intervals in columns of their own."""
    return [_flat(attrs.asdict(row, recurse=False)) for row in standings.rows]


_PARTS: Final = MappingProxyType(
    {"score": ("value", "low", "high"), "elo": ("value", "low", "high"), "skill": ("mu", "sigma")}
)


def _flat(fields: Mapping[str, Any]) -> Row:
    row: Row = {}
    for name, value in fields.items():
        for part in _PARTS.get(name, ()):
            column = name if part == "value" else f"{name}_{part}"
            row[column] = None if value is None else getattr(value, part)
        if name not in _PARTS:
            row[name] = value
    return row


def match_rows(records: Iterable[MatchRecord]) -> list[Row]:
    """A row for each seat of each match, void ones too; a void match without seats has one row."""
    rows = []
    for record in records:
        match = {name: getattr(record, name) for name in _MATCH}
        match["match_turns"] = match.pop("turns")
        if not record.seats:
            rows.append({**match, "seat": None, **dict.fromkeys(_SEAT)})
        for number, seat in enumerate(record.seats):
            rows.append({**match, "seat": number, **{name: getattr(seat, name) for name in _SEAT}})
    return rows


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(rows: Sequence[Row]) -> bytes:
    return json.dumps(rows, indent=2).encode() + b"\n"


def _parquet(rows: Sequence[Row]) -> bytes:
    try:
        import pyarrow as pa  # noqa: PLC0415 - few need it
        from pyarrow import parquet  # noqa: PLC0415 - likewise
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install pyarrow; or take csv or json") from None
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(list(rows)), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


FORMATS: Final[Mapping[str, Callable[[Sequence[Row]], bytes]]] = MappingProxyType(
    {"csv": _csv, "json": _json, "parquet": _parquet}
)
"""How rows can be written."""


def check_format(form: str) -> None:
    """See beforehand that rows can be written so.

    Raises:
        UsageError: a library that this needs is not there.
    """
    if form == "parquet":
        _parquet([])


def export(rows: Sequence[Row], form: str) -> bytes:
    """Rows as the bytes of a file.

    Args:
        rows: with the same columns each.
        form: out of `FORMATS`.

    Raises:
        UsageError: a library that this needs is not there.
    """
    return FORMATS[form](rows)
