"""`flagfall results`."""

from __future__ import annotations

__all__ = ["results"]

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def results(
    file: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Print the figures of a match as round 1 has them: rewards, times and trials, in all and by task.

    Of a journal that is cut off or damaged, the figures of what stands before that are printed.

    Args:
        file: A journal.
        output: Write them to this file instead; JSON if it ends in `.json`.
        json: Print one JSON object instead of the text.
    """
    from flagfall.cli.files import require_file
    from flagfall.cli.results_file import check_results, figures_text, write_results
    from flagfall.errors import UsageError
    from flagfall.recording.journal import read_journal
    from flagfall.recording.results import ResultsSink

    require_file(file)
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
