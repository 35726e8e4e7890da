"""`python -m benchmarks.mutants PATH...`: change one thing at a time, and list changes that no test notices.

A mutant is a copy of the checkout in which one comparison, number, operator, condition or call is another
one, or one statement is missing. See `benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

import attrs

ROOT: Final = Path(__file__).parents[1]

CONCERNED: Final[Mapping[str, str]] = {
    "flagfall/tasks/commai/micro": "tests/tasks/test_micro_tasks.py tests/tasks/test_sentence_tasks.py"
    " tests/recording/test_rule_revisions.py",
    "flagfall/tournament/stats": "tests/tournament/test_intervals.py tests/tournament/test_blocks.py"
    " tests/tournament/test_standings.py tests/tournament/test_ratings.py tests/tournament/test_sprt.py"
    " tests/tournament/test_formats.py tests/tournament/test_differences.py",
    "flagfall/timing/budget": "tests/timing/test_budget.py tests/kernel/test_being_late.py",
    "flagfall/timing/control": "tests/timing/test_control.py tests/timing/test_budget.py",
    "flagfall/timing/deadlines": "tests/timing/test_deadlines.py tests/kernel/test_being_late.py",
    "flagfall/timing/durations": "tests/timing/test_durations.py tests/timing/test_control.py",
    "flagfall/timing": "tests/timing tests/kernel/test_being_late.py tests/kernel/test_stalls.py",
    "flagfall/kernel": "tests/kernel tests/recording/test_verify.py",
}
"""The tests that notice a mutant of a file, by the beginning of its path; the quickest first."""

_COMPARISONS: Final = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: Final = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.Pow: ast.Mult,
}  # fmt: skip
_UNCHANGED: Final = {"annotation", "returns", "decorator_list", "exc", "msg"}
"""Parts of the syntax tree whose changes are no changes of behaviour, or only of a message."""


@attrs.frozen
class Mutant:
    """One change of one file.

    Attributes:
        path: of the file, below the checkout.
        line: in the file.
        change: the code before and after.
        source: of the changed module.
    """

    path: str
    line: int
    change: str
    source: str


def _other_expressions(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, [operator, *more], comparators) if type(operator) in _COMPARISONS:
            yield ast.Compare(left, [_COMPARISONS[type(operator)](), *more], comparators)
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            yield ast.BinOp(left, _OPERATORS[type(operator)](), right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.IfExp(test, body, other):
            yield ast.IfExp(test, other, body)
        case ast.Call(_, [ast.Name() | ast.Attribute() | ast.Call() as first, *_]):
            yield first  # such as a sample or a sorted list replaced by what it was made from


def _other_statements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.AugAssign(target, operator, value):
            if type(operator) in _OPERATORS:
                yield ast.AugAssign(target, _OPERATORS[type(operator)](), value)
            yield ast.Pass()
        case ast.If(test, body, other) if ast.unparse(test) != "TYPE_CHECKING":
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, other)
        case ast.Return(ast.expr() as value) if ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
        case ast.Assign([ast.Attribute() | ast.Subscript()], _) | ast.Delete() | ast.Raise():
            yield ast.Pass()
        case (
            ast.Expr(ast.Call() | ast.Yield() | ast.YieldFrom() | ast.Await()) | ast.Break() | ast.Continue()
        ):
            yield ast.Pass()


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Every change of a module that is tried.

    Args:
        path: of the module, below the checkout.
        source: its code.
    """
    tree = ast.parse(source)

    def below(node: ast.AST) -> Iterator[Mutant]:
        for field, value in ast.iter_fields(node):
            siblings = value if isinstance(value, list) else [value]
            for index, old in enumerate(siblings):
                if field in _UNCHANGED or not isinstance(old, ast.AST) or isinstance(old, ast.JoinedStr):
                    continue
                for new in (*_other_expressions(old), *_other_statements(old)):
                    before, after = (ast.unparse(each).splitlines() for each in (old, new))
                    changed = [*siblings[:index], new, *siblings[index + 1 :]]
                    setattr(node, field, changed if isinstance(value, list) else new)
                    mutated = ast.unparse(ast.fix_missing_locations(tree))
                    setattr(node, field, value)
                    yield Mutant(path, getattr(old, "lineno", 0), f"`{before[0]}` -> `{after[0]}`", mutated)
                yield from below(old)

    return below(tree)


def _concerned(path: str) -> list[str]:
    found = [begin for begin in CONCERNED if path.startswith(begin)]
    if not found:
        raise SystemExit(f"mutants: {path}: no tests in CONCERNED; name them with --tests")
    return CONCERNED[max(found, key=len)].split()


def _passes(copy: Path, tests: Sequence[str], seconds: float) -> bool | None:
    """Run tests in a copy of the checkout, and end all that they started; `None` if that took too long."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-m",
        "not release",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, cwd=copy, stdout=quiet, stderr=quiet, start_new_session=True) as running:
        try:
            return running.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def main(words: Sequence[str] | None = None) -> None:
    """Try mutants, and print the survivors.

    Args:
        words: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("path", nargs="+", help="module or folder of the checkout, such as flagfall/timing")
    parser.add_argument("--tests", nargs="+", help="the tests to run; by default those of the package")
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(words)
    files = sorted({file for path in arguments.path for file in [Path(path), *Path(path).rglob("*.py")]})
    sources = {str(file): file.read_text() for file in files if file.suffix == ".py"}
    all_mutants = [mutant for path, source in sources.items() for mutant in mutants_of(path, source)]
    chosen = all_mutants
    if arguments.sample is not None and arguments.sample < len(all_mutants):
        drawn = Random(arguments.seed).sample(range(len(all_mutants)), arguments.sample)
        chosen = [all_mutants[index] for index in sorted(drawn)]
    endless, survivors, seconds = 0, 0, dict[tuple[str, ...], float]()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(
            ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "artefacts"), symlinks=True
        )
        for number, mutant in enumerate(chosen):
            tests = tuple(arguments.tests or _concerned(mutant.path))
            if tests not in seconds:
                began = time.monotonic()
                if not _passes(copy, tests, 3600):
                    raise SystemExit(f"mutants: {' '.join(tests)}: fail without a change")
                seconds[tests] = 3 * (time.monotonic() - began) + 10
            file = copy / mutant.path
            file.write_text(mutant.source)
            os.utime(file, (number, number))  # or a compiled module of the same second would be taken for it
            passes = _passes(copy, tests, seconds[tests])
            file.write_text(sources[mutant.path])
            endless, survivors = endless + (passes is None), survivors + (passes is True)
            if passes:
                print(f"{mutant.path}:{mutant.line}: {mutant.change}", flush=True)
    print(f"{len(chosen)} of {len(all_mutants)} mutants: {survivors} survived, {endless} without end")


if __name__ == "__main__":
    main()
