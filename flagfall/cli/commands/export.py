"""`flagfall export`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Final, Literal, NamedTuple

from cyclopts import Parameter

from flagfall.cli.console.files import Output, reading, replacing
from flagfall.errors import UsageError
from flagfall.texts import one_line


class Export(NamedTuple):
    """A format of exports.

    Attributes:
        ending: that of the file's name.
        writer: `module:function`, imported when it is called. It takes the matches (`Source`), a file for
            bytes, and a function for a line about each damaged journal.
        about: what the file holds and what the format needs, for the help.
    """

    ending: str
    writer: str
    about: str


EXPORTS: Final = {
    "trace": Export(
        ".trace.json",
        "flagfall.viewer.trace:write_trace",
        "a timeline of matches, turns, stalls and disqualifications in Chrome's trace event format, which"
        " ui.perfetto.dev opens.",
    ),
    "parquet": Export(
        ".parquet",
        "flagfall.viewer.parquet:write_parquet",
        "a table with a row for each turn; needs the extra `parquet`.",
    ),
}
"""Formats by name."""


def _help() -> str:
    return " ".join(f"`{name}`: {row.about}" for name, row in EXPORTS.items())


def export(
    file: Path,
    /,
    *,
    to: Annotated[Literal[tuple(EXPORTS)], Parameter(help=_help())],  # type: ignore[valid-type]  # their names
    output: Output = None,
) -> int:
    """Export a journal, or all journals of a tournament, for other programs.

    Nothing that a journal names is imported or executed. If a journal is cut off or damaged, the part before
    the damage is exported, a line tells about it, and the exit code is 1.

    Args:
        file: A journal, or the folder of a tournament.
        to: Format, a name of `EXPORTS`.
        output: File to write; by default in the working directory, named after the journal or folder.
    """
    from flagfall.viewer.parquet import find_sources, match_name

    problems = 0

    def report(problem: str) -> None:
        nonlocal problems
        problems += 1
        print(f"flagfall: {one_line(problem)}; what it holds is exported", file=sys.stderr)

    row = EXPORTS[to]
    with nullcontext() if file.is_dir() else reading(file):
        sources = find_sources(file, report)
        made = output or Path(match_name(file.absolute()) + row.ending)
        if any(made.exists() and made.samefile(source.path) for source in sources):
            raise UsageError(f"--output {made}: this is the journal itself; name another file")
        with replacing(made) as writing:
            resolve_name(row.writer)(sources, writing.buffer, report)
    print(made)
    return 1 if problems else 0
