"""`flagfall export`."""

from __future__ import annotations

__all__ = ["export"]

import sys
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Parameter

from flagfall.errors import UsageError

_ENDINGS: Final = {"trace": ".trace.json", "parquet": ".parquet"}


def export(
    file: Path,
    /,
    *,
    to: Literal["trace", "parquet"],
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
) -> int:
    """Export a journal, or all journals of a tournament, for other programs.

    Nothing that a journal names is imported or executed. If a journal is cut off or damaged, the part before
    the damage is exported, a line tells about it, and the exit code is 1.

    Args:
        file: A journal, or the folder of a tournament.
        to: `trace`: a timeline of matches, turns, stalls and disqualifications in Chrome's trace event
            format, which ui.perfetto.dev opens. `parquet`: a table with a row for each turn; needs pyarrow.
        output: File to write; by default in the working directory, named after the journal or folder.
    """
    from contextlib import nullcontext

    from flagfall.cli.console.files import reading, replacing
    from flagfall.terminal_text import one_line
    from flagfall.viewer.export.parquet import check_parquet, write_parquet
    from flagfall.viewer.export.sources import find_sources, match_name
    from flagfall.viewer.export.trace import write_trace

    problems = 0

    def report(problem: str) -> None:
        nonlocal problems
        problems += 1
        print(f"flagfall: {one_line(problem)}; what it holds is exported", file=sys.stderr)

    if to == "parquet":
        check_parquet()
    with nullcontext() if file.is_dir() else reading(file):
        sources = find_sources(file, report)
        made = output or Path(match_name(file.absolute()) + _ENDINGS[to])
        if any(made.exists() and made.samefile(source.path) for source in sources):
            raise UsageError(f"--output {made}: this is the journal itself; name another file")
        with replacing(made) as writing:
            if to == "trace":
                write_trace(sources, writing, report)
            else:
                write_parquet(sources, writing.buffer, report)
    print(made)
    return 1 if problems else 0
