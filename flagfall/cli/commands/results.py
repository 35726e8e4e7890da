"""`flagfall results`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from flagfall.cli.console.files import Flag, Output, reading
from flagfall.errors import UsageError


def results(
    file: Path,
    /,
    *,
    output: Output = None,
    json: Flag = False,
    form: Annotated[Literal["table", "csv", "json", "parquet"] | None, Parameter(name=["--format"])] = None,
    matches: Flag = False,
    compare: Annotated[tuple[str, str] | None, Parameter(negative="")] = None,
    wide: Flag = False,
) -> None:
    """Print the statistics of a match in the layout of round 1, or the standings of a tournament.

    If a journal is cut off or damaged, the statistics cover the part before the damage. If a tournament is
    running or was interrupted, the standings so far are printed.

    Args:
        file: A journal, or the folder of a tournament.
        output: Write to this file instead: for a match JSON if its name ends in `.json`, for a tournament
            the format of its ending.
        json: Print one JSON object instead of text.
        form: Format of a tournament's rows; by default a table. Parquet needs pyarrow.
        matches: For a tournament, print a row for each seat of each match instead of the standings.
        compare: For a tournament, print the difference of two agents on each task and in their duels, with
            its interval and the probability that the first one is better.
        wide: Print whole tables, however long their lines are.
    """
    if file.is_dir():
        from flagfall.cli.tournaments.results import show_comparison, show_tournament

        if compare is not None:
            if output is not None or form is not None or matches:
                what = "prints tables, or with --json an object"
                raise UsageError(f"--compare {what}: leave --output, --format and --matches out")
            show_comparison(file, compare, json=json, wide=wide)
            return
        show_tournament(file, output, "json" if json and form is None else form, matches=matches, wide=wide)
        return
    with reading(file):
        if form is not None or matches or compare is not None:
            raise UsageError(
                "--format, --matches and --compare are for the folder of a tournament, not for a journal"
            )
        _show_match(file, output, json=json)


def _show_match(file: Path, output: Path | None, *, json: bool) -> None:
    from flagfall.cli.runs.plan import check_results, figures_text, write_results
    from flagfall.recording.journal.reader import read_journal
    from flagfall.recording.round1_results import ResultsSink

    sink = ResultsSink()
    fault: UsageError | None = None
    try:
        for event in read_journal(file):
            sink(event)
    except UsageError as error:
        fault = error
    figures = sink.figures()
    if output is None:
        if fault is None or figures.tasks:
            sys.stdout.write(figures_text(figures, as_json=json))
    elif fault is None:
        check_results(output)
        write_results(output, figures)
    if fault is not None:
        raise fault
