"""`python -m benchmarks.report FILE...`: the tables and the picture of runs that were kept with `--json`."""

from __future__ import annotations

__all__ = ["main"]

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from benchmarks.plot import check_plot, draw
from benchmarks.results import KeptRun, Result, change, read_run
from benchmarks.suites import SUITES, load_suite
from benchmarks.tables import markdown, show
from flagfall.errors import UsageError


def joined(paths: Iterable[Path]) -> KeptRun:
    """Read files of results as one run; later files replace rows of earlier ones.

    Args:
        paths: written by `--json`.
    """
    whole = KeptRun()
    for run in map(read_run, paths):
        whole.machines.extend(run.machines)
        whole.results.update(run.results)
        whole.measured_on.update(run.measured_on)
    return whole


def beside(result: Result, before: KeptRun) -> Result:
    """Return a result with the figure of an older run.

    Args:
        result: the result.
        before: the older run.
    """
    old = before.results.get((result.suite, result.row.name))
    if old is None:
        return attrs.evolve(result, before="no such row", change="")
    ratio = change(result.row.number, old.row.number)
    return attrs.evolve(result, before=old.row.skipped or old.row.value, change=ratio)


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables that kept results make.

    Args:
        words: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("file", type=Path, nargs="+", help="written by --json")
    parser.add_argument("--before", type=Path, metavar="FILE", help="results of the version before")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--targets", action="store_true", help="only rows that have a target")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the growth curves: .svg or .png")
    arguments = parser.parse_args(words)
    try:
        if arguments.plot:
            check_plot(arguments.plot)
        run = joined(arguments.file)
        results = list(run.results.values())
        before = KeptRun()
        if arguments.before:
            before = read_run(arguments.before)
            results = [beside(result, before) for result in results]
        compared = any(result.before for result in results)
        shown = [result for result in results if result.row.target or not arguments.targets]
        for name in dict.fromkeys(result.suite for result in shown):
            title = load_suite(name).title if name in SUITES else name
            rows = (result for result in shown if result.suite == name)
            notes = [*run.machines_of(name), *(f"before: {line}" for line in before.machines_of(name))]
            (markdown if arguments.markdown else show)(f"{name}: {title}", rows, notes, compared=compared)
        if arguments.plot:
            draw(results, arguments.plot)
    except UsageError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
