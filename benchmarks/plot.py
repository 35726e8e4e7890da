"""Picture of the growth curves: cost of one unit over size, both on logarithmic axes."""

from __future__ import annotations

__all__ = ["check_plot", "draw"]

from collections import defaultdict
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.results import Result
from flagfall.errors import UsageError

FORMATS: Final = (".svg", ".png")
COLUMNS: Final = 2
MARGIN: Final = 3
"""Room above and below the curves, so that a growth of some percent looks like that."""


def check_plot(path: Path) -> None:
    """Check that a picture can be drawn.

    Args:
        path: of the picture.

    Raises:
        UsageError: matplotlib is missing, or the file cannot be such a picture.
    """
    if path.suffix not in FORMATS:
        raise UsageError(f"--plot {path}: must end in {' or '.join(FORMATS)}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--plot {path}: there is no folder {path.absolute().parent}")
    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib: pip install 'flagfall[plots]'")


def draw(results: Iterable[Result], path: Path) -> None:
    """Draw the curves, those with the same group and unit in one diagram.

    Args:
        results: rows without a curve are left out.
        path: of the picture; `check_plot` accepts it.

    Raises:
        UsageError: no result is a point of a curve.
    """
    diagrams: dict[tuple[str, str], dict[str, list[tuple[int, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for result in results:
        row = result.row
        if row.curve and not row.skipped:
            name, _, unit = row.curve.rpartition(", ")
            diagrams[result.group, unit][name].append((row.size, row.number))
    if not diagrams:
        raise UsageError(f"--plot {path}: no growth curve was measured; the suite is growth")
    from matplotlib import rc_context  # noqa: PLC0415 - an extra that only pictures need
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.ticker import NullFormatter, StrMethodFormatter  # noqa: PLC0415

    lines = -(-len(diagrams) // COLUMNS)
    figure = Figure(figsize=(5.5 * COLUMNS, 3.6 * lines), layout="constrained")
    axes = figure.subplots(lines, COLUMNS, squeeze=False).flat
    for (group, unit), curves in diagrams.items():
        diagram = next(axes)
        for name, points in curves.items():
            diagram.plot(*zip(*sorted(points), strict=True), marker=".", label=name)
        costs = [cost for points in curves.values() for _, cost in points]
        diagram.set(xscale="log", yscale="log", xlabel=group, ylabel=unit, title=f"{unit} over {group}")
        diagram.set_ylim(min(costs) / MARGIN, max(costs) * MARGIN)
        for axis in (diagram.xaxis, diagram.yaxis):
            axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axis.set_minor_formatter(NullFormatter())
        diagram.grid(visible=True, which="major", alpha=0.3)
        diagram.legend(fontsize="small")
    for unused in axes:
        unused.remove()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "growth"}):  # small, and equal for equal figures
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
