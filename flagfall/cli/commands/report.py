"""`flagfall report`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from flagfall.cli.console.files import Output
from flagfall.errors import UsageError

MAX_EMBEDDED = 50
"""Most replays in a page: with more, it takes a browser many seconds to open."""


def report(
    folder: Path,
    other: Path | None = None,
    /,
    *,
    output: Output = None,
    embed: int = 0,
    png: Path | None = None,
    plots_format: Literal["png", "pdf", "svg"] = "png",
) -> None:
    """Write the report of a tournament: one HTML file to look at, which needs no network.

    It has standings with intervals, a cross table, results by task, learning curves, ratings over time, think
    times against the limits, and faults of agents with the end of their standard error. The tournament may be
    running or interrupted; nothing in its folder is changed but the report itself.

    Two folders, such as last month's and this one's, are compared instead: Elo, scores on each task and think
    times of the agents that both have, the differences with intervals, and how the plans differ.

    Args:
        folder: The folder of a tournament.
        other: A second one, to compare: its figures less those of the first.
        output: The file; by default `report.html` in the folder. A comparison needs one; ending in `.json`,
            it gets the data of the page.
        embed: Number of matches whose replays are put into the file, chosen by interest.
        png: Also write the plots to this folder, for papers (needs the extra `plots`).
        plots_format: Format of the plots: a picture, or drawings that can be scaled.
    """
    if not 0 <= embed <= MAX_EMBEDDED:
        raise UsageError(f"--embed {embed}: write a whole number from 0 to {MAX_EMBEDDED}")
    for one in (folder, other):
        if one is not None and not one.is_dir():
            what = "is a file; name the folder of a tournament" if one.exists() else "does not exist"
            raise UsageError(f"{one} {what}")
    if other is not None:
        if embed or png is not None:
            raise UsageError(
                "--embed and --png are for the report of one folder: leave them out, or name one"
            )
        _compare(folder, other, output)
        return
    if png is not None:
        from flagfall.viewer.report.plots import check_plots

        check_plots()
    from flagfall.cli.tournaments.results import write_report
    from flagfall.tournament.folder import REPORT

    target = output or folder / REPORT
    if output is None and target.exists() and not target.is_file():  # a pipe would block
        raise UsageError(f"{target} is not a regular file: remove it, or name another file with --output")
    plots = write_report(folder, target, embed=embed, plots=png, form=plots_format)
    print(f"report: {target}")
    if png is not None:
        print(f"plots:  {', '.join(map(str, plots)) or 'none, as there is nothing to draw'}")


def _compare(first: Path, second: Path, output: Path | None) -> None:
    if output is None:
        raise UsageError("a comparison belongs to no folder: name its file with --output")
    if first.samefile(second):
        raise UsageError(f"{first} and {second} are the same folder: name two")
    from flagfall.cli.tournaments.results import write_comparison

    write_comparison(first, second, output)
    print(f"comparison: {output}")
