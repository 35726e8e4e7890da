"""`flagfall results`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from flagfall.cli.console.files import Flag, Output, reading
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from flagfall.recording.match_result import ResultReader
    from flagfall.recording.round1_results import ResultsSink


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
    """Print the result of a match, or the standings of a tournament.

    The result of a match has the winner, and for each seat its reward, mean and standard deviation of the
    return of an episode, late and illegal turns, why it was disqualified, and what its agent printed; for
    byte tasks also the statistics of round 1. If a journal is cut off or damaged, it covers the part before
    the damage. If a tournament is running or was interrupted, the standings so far are printed.

    Args:
        file: A journal, or the folder of a tournament.
        output: Write to this file instead: for a match the statistics of round 1 (as JSON if its name ends in
            `.json`), for a tournament the format of its ending.
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
        _show_match(file, output, json=json, wide=wide)


def _show_match(file: Path, output: Path | None, *, json: bool, wide: bool) -> None:
    from flagfall.cli.runs.plan import check_results, write_results
    from flagfall.recording.journal.reader import JournalError, read_journal
    from flagfall.recording.match_result import ResultReader
    from flagfall.recording.round1_results import ResultsSink

    reader, figures = ResultReader(), ResultsSink()
    fault: UsageError | None = None
    try:
        for event in read_journal(file):
            reader(event)
            figures(event)
    except UsageError as error:
        fault = error if isinstance(error, JournalError) else UsageError(f"{file}: {error}")
    if output is None and figures.begun:
        _print_match(reader, figures, json=json, wide=wide)
    elif output is not None and fault is None:
        check_results(output)
        write_results(output, figures.figures())
    if fault is not None:
        raise fault


def _print_match(reader: ResultReader, figures: ResultsSink, *, json: bool, wide: bool) -> None:
    from flagfall.cli.console.output import print_json
    from flagfall.cli.runs import tables
    from flagfall.texts import counted, one_line

    match = tables.PlayedMatch(None, reader.result(), has_rewards=reader.has_rewards)
    round1 = figures.figures() if figures.is_bytes else None
    if json:
        data = tables.result_data(match)
        print_json({**data, "fault": reader.fault, "round1": None if round1 is None else round1.as_data()})
        return
    result = match.result
    episodes = sum(task.played for task in result.tasks)
    print(f"{counted(result.turns, 'turn')}, {counted(episodes, 'episode')}; ended: {result.reason}")
    if reader.fault:
        print(f"fault: {one_line(reader.fault)}")
    tables.print_results([match], several=False, wide=wide)
    tables.print_notes([match], several=False, wide=wide)
    tables.print_incidents([match], several=False)
    if round1 is not None:
        sys.stdout.write(f"\n{round1.as_text()}")
