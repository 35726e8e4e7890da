"""`flagfall results DIR`: the standings or the matches of a tournament."""

from __future__ import annotations

__all__ = ["show_tournament"]

import sys
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Final

from flagfall.cli.console.files import replacing
from flagfall.cli.console.output import MAX_ROWS, number, print_json, print_table, table
from flagfall.cli.tournaments.standings import print_standings
from flagfall.errors import UsageError
from flagfall.terminal_text import sanitize_terminal
from flagfall.tournament.exports import FILE_FORMATS, agent_rows, export, match_rows
from flagfall.tournament.store import Store
from flagfall.tournament.stored_standings import stored_standings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from flagfall.tournament.exports import ExportRow
    from flagfall.tournament.records import MatchRecord

_SPARE_OF_MATCHES: Final = (
    *("credit_ns", "over_ns", "start_ns", "think_p50_ns", "think_max_ns", "think_p99_ns", "think_ns"),
    *("dropped", "skipped", "absent", "match_turns", "ticks", "game_score", "journal", "elapsed_ns"),
    *("stalls", "tasks", "solved", "attempt", "reward", "illegal", "turns", "late", "seat", "reason"),
)
"""Columns of matches that a narrow terminal does without, the least important first."""


def show_tournament(
    folder: Path, output: Path | None, form: str | None, *, matches: bool, wide: bool = False
) -> None:
    """Print the standings or the matches, or write them to a file.

    Args:
        folder: the folder of the tournament.
        output: file to write; `None` prints.
        form: `table`, or one of `flagfall.tournament.exports.FILE_FORMATS`; by default the extension of
            `output`.
        matches: a row for each seat of each match.
        wide: leave out no column of a table.

    Raises:
        UsageError: the folder holds no tournament, or the format is not supported.
        HostFault: the file cannot be written.
    """
    if form == "table" and output is not None:
        raise UsageError(f"{output}: a table can only be printed; for a file use {' or '.join(FILE_FORMATS)}")
    form = form or _format_of(output)
    if form == "parquet" and output is None:
        raise UsageError("Parquet is a binary format: name a file with --output")
    with closing(Store(folder)) as store:
        stored = store.plan()
        if stored is None:
            raise UsageError(f"{folder}: the tournament has not begun")
        if matches:
            if form == "table":
                _print_matches(store.records(), wide=wide)
            else:
                _write(match_rows(store.records()), output, form)
            return
        stands = stored_standings(store, stored.for_display())
        remarks = store.remarks()
    if form == "table":
        print_standings(stands, wide=wide)
        _print_voids(remarks)
    elif form == "json" and output is None:
        print_json(stands.as_data())
    else:
        _write(agent_rows(stands), output, form)


def _format_of(output: Path | None) -> str:
    if output is None:
        return "table"
    form = output.suffix.removeprefix(".")
    if form not in FILE_FORMATS:
        raise UsageError(
            f"{output}: unknown extension; use one of {', '.join(f'.{name}' for name in FILE_FORMATS)}"
        )
    return form


def _print_matches(records: Iterator[MatchRecord], *, wide: bool) -> None:
    """Print a row for each seat of the first matches."""
    rows = match_rows(islice(records, MAX_ROWS))
    shown = table(*("disqualified" if name == "fell" else name for name in (rows[0] if rows else ())))
    for row in rows:
        shown.add_row(*("" if value is None else sanitize_terminal(str(value)) for value in row.values()))
    print_table(shown, spare=_SPARE_OF_MATCHES, wide=wide)
    if next(records, None) is not None:
        print(f"These are the first {number(MAX_ROWS)} matches; --output FILE.csv writes all of them.")


def _write(rows: Sequence[ExportRow], output: Path | None, form: str) -> None:
    """Write rows to a file or to the standard output."""
    data = export(rows, form)
    if output is None:
        sys.stdout.write(data.decode())
        return
    with replacing(output) as file:
        file.buffer.write(data)


def _print_voids(records: Sequence[MatchRecord]) -> None:
    """Print how faults and stalls of the host affected the matches.

    Args:
        records: those with remarks.
    """
    voids = [record for record in records if record.status == "void"]
    marked = [record for record in records if record.status == "played" and record.why]
    if voids:
        print(f"Void and played again: {len(voids)}; the last: {_reason(voids[-1])}")
    if marked:
        print(f"Counted though the host stalled: {len(marked)}; the last: {_reason(marked[-1])}")


def _reason(record: MatchRecord) -> str:
    return sanitize_terminal(f"{record.id}, {record.why}")
