"""`python -m benchmarks SUITE...`: measure, and print a table of each suite; `all` stands for all suites."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.compare import ROUNDS, OtherCheckout, measure_against
from benchmarks.machine import describe_machine
from benchmarks.plot import check_plot, draw
from benchmarks.results import Result, ResultFile, measure
from benchmarks.suites import SUITES, Group, load_suite
from benchmarks.tables import markdown, show
from flagfall.errors import UsageError

QUICK = 10
INTERRUPTED = 130


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", choices=[*SUITES, "all"], nargs="+")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--scale", type=_positive, default=1, metavar="N", help="divide the amount of work by N"
    )
    size.add_argument(
        "--quick",
        dest="scale",
        action="store_const",
        const=QUICK,
        help=f"the same as --scale {QUICK}",
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="measure only groups whose name contains this text"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="append the results to this file")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER", help="measure in turn with the checkout in this folder"
    )
    parser.add_argument(
        "--rounds",
        type=_positive,
        default=ROUNDS,
        metavar="N",
        help=f"with --against: how often each group is measured with either version; {ROUNDS} by default",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the growth curves: .svg or .png")
    return parser


def _kept(results: Iterator[Result], file: ResultFile | None, measured: list[Result]) -> Iterator[Result]:
    for result in results:
        if file is not None:
            file.add(result)
        measured.append(result)
        yield result


def run(arguments: argparse.Namespace) -> None:
    """Measure suites, and print a table of each.

    Args:
        arguments: of the command line.

    Raises:
        UsageError: an argument cannot be used; the message names it.
    """
    names = list(SUITES) if "all" in arguments.suite else list(dict.fromkeys(arguments.suite))
    chosen: dict[str, Mapping[str, Group]] = {name: load_suite(name).select(arguments.only) for name in names}
    if not any(chosen.values()):
        known = ", ".join(group for name in names for group in load_suite(name).groups)
        raise UsageError(f"--only {arguments.only}: no such group in {', '.join(names)}; known: {known}")
    if arguments.plot:
        if "growth" not in names:
            raise UsageError(f"--plot {arguments.plot}: only the suite growth has curves; name it too")
        check_plot(arguments.plot)  # before a long measurement, not after it
    machine = describe_machine()
    measured: list[Result] = []
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(OtherCheckout(arguments.against)) if arguments.against else None
        notes = [str(machine)]
        if arguments.scale != 1:
            notes.append(f"work divided by {arguments.scale}: a trial, no figures to keep")
        if other is not None:
            notes.append(f"before: flagfall {other.commit}, in turn with this version")
        file = stack.enter_context(ResultFile(arguments.json, "; ".join(notes))) if arguments.json else None
        for name, groups in chosen.items():
            if not groups:
                continue
            if other is None:
                results = measure(name, groups, arguments.scale)
            else:
                results = measure_against(name, groups, arguments.scale, other, arguments.rounds)
            (markdown if arguments.markdown else show)(
                f"{name}: {load_suite(name).title}",
                _kept(results, file, measured),
                notes,
                compared=other is not None,
            )
    if arguments.plot:
        draw(measured, arguments.plot)


def main(words: Sequence[str] | None = None) -> None:
    """Run the suites named on the command line.

    Args:
        words: of the command line.
    """
    arguments = _parser().parse_args(words)
    try:
        run(arguments)
    except UsageError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
