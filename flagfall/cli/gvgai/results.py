"""`flagfall gvgai results`."""

from __future__ import annotations

__all__ = ["results"]

from pathlib import Path
from typing import Annotated

from flagfall.cli.gvgai.options import Flag


def results(file: Path, /, *, json: Annotated[bool, Flag] = False) -> None:
    """Print the statistics of a recorded track: wins, scores, ticks, times, and the training curve.

    Args:
        file: A journal.
        json: Print one JSON object instead of tables.
    """
    from flagfall.cli.console.files import reading
    from flagfall.cli.console.output import print_json
    from flagfall.cli.gvgai.options import print_statistics
    from flagfall.gvgai.track_statistics import statistics_of

    with reading(file):
        statistics = statistics_of(file)
    if json:
        print_json(statistics.as_data())
    else:
        print_statistics(statistics)
