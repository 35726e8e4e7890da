"""Writing the report of a tournament to a file."""

from __future__ import annotations

__all__ = ["write_report"]

import sys
from typing import TYPE_CHECKING

from flagfall.cli.console.files import replacing
from flagfall.cli.console.progress import watch_turns
from flagfall.viewer.report.data import report_data
from flagfall.viewer.report.matches import choose
from flagfall.viewer.report.page import report_page
from flagfall.viewer.report.replays import embed_replays
from flagfall.viewer.report.source import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from flagfall.viewer.report.plots import PlotFormat


def write_report(
    folder: Path,
    output: Path,
    *,
    embed: int = 0,
    plots: Path | None = None,
    form: PlotFormat = "png",
) -> list[Path]:
    """Write the report of a tournament, and plots if a folder for them is given.

    Args:
        folder: the results folder.
        output: the file of the page; it is replaced when the page is complete.
        embed: number of matches whose replays are embedded.
        plots: folder of the plots, which is made if it is missing; `None` for no plots.
        form: file format of the plots.

    Returns:
        The files of the plots.

    Raises:
        UsageError: the folder holds no tournament or is damaged, or a file cannot be made.
        HostFault: a file cannot be written.
    """
    with open_source(folder) as source:
        chosen = choose(source, embed)
        with watch_turns("embedding replays") as watch:
            embedded, blocks = embed_replays(chosen, _warn, watch)
        data = report_data(source, embedded, target=output.parent)
    page = report_page(data, blocks)
    with replacing(output) as writing:
        writing.write(page.decode())
    if plots is None:
        return []
    from flagfall.viewer.report.plots import write_plots

    return write_plots(data, plots, form)


def _warn(line: str) -> None:
    print(f"flagfall: {line}", file=sys.stderr)
