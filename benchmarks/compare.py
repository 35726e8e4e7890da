"""Rows of this checkout measured in turn with those of another one, such as the version before.

Each group runs in a process of its own, in alternation: the other version, then this one. The benchmarks are
those of this checkout; if they cannot run with the other version's code, the other version's own ones run,
and rows of the same name are compared.
"""

from __future__ import annotations

__all__ = ["ROUNDS", "OtherCheckout", "measure_against"]

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Self

import attrs

from benchmarks.machine import ROOT, commit_of
from benchmarks.measure import Row
from benchmarks.results import Result, change
from benchmarks.suites import SUITES, Group
from flagfall.errors import UsageError

ROUNDS: Final = 3
LIMIT_SECONDS: Final = 1800
"""A group that takes longer is stuck: at full size the longest takes a few minutes."""

TRIAL_SCALE: Final = 100
"""Of the trial that shows which benchmarks run with the other version."""

MAX_REASON: Final = 100
"""Characters of an error that a table shows."""

SCRIPT: Final = Path(__file__).with_name("group_process.py")
LINKED: Final = ("flagfall", "examples")
"""Folders of a checkout that benchmarks use."""


@attrs.frozen
class _Rows:
    """Rows of a group.

    Attributes:
        rows: by name; those measured before an error, if there was one.
        error: the last line of the error; empty if all rows were measured.
    """

    rows: Mapping[str, Row]
    error: str = ""


@attrs.frozen
class _Place:
    """Place in which a group runs.

    Attributes:
        root: folder with the packages `benchmarks` and `flagfall`.
        python: the interpreter.
        package: the folder that `flagfall` must be imported from.
    """

    root: Path
    python: str
    package: Path

    def measure(self, suite: str, group: str, scale: int) -> _Rows:
        """Measure a group in a new process.

        Args:
            suite: name of the suite.
            group: name of the group.
            scale: divides the amount of work.
        """
        error = ""
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "rows.jsonl"
            words: list[str | Path] = [
                self.python,
                "-P",
                SCRIPT,
                self.package,
                SUITES[suite],
                group,
                str(scale),
                output,
            ]
            environment = {**os.environ, "PYTHONPATH": str(self.root)}
            try:
                subprocess.run(
                    words,
                    env=environment,
                    cwd=self.root,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=LIMIT_SECONDS,
                    check=True,
                )
            except subprocess.TimeoutExpired:
                error = f"took more than {LIMIT_SECONDS} s"
            except subprocess.CalledProcessError as failed:
                messages = failed.stderr.decode(errors="replace").strip().splitlines()
                error = messages[-1] if messages else f"exit code {failed.returncode}"
            lines = output.read_text(encoding="utf-8").splitlines() if output.exists() else []
        rows = (Row(**json.loads(line)) for line in lines if line.endswith("}"))  # not one that broke off
        return _Rows({row.name: row for row in rows}, error)


class OtherCheckout:
    """Another checkout of flagfall, and this one, both ready to measure with the benchmarks of this one.

    Args:
        path: folder of the other checkout. If it has a virtual environment `.venv`, its interpreter is used.

    Raises:
        UsageError: the folder holds no checkout.
    """

    def __init__(self, path: Path) -> None:
        path = path.resolve()
        if not (path / "flagfall" / "__init__.py").is_file():
            raise UsageError(f"--against: {path} holds no package flagfall; name the folder of a checkout")
        python = path / ".venv" / "bin" / "python"
        interpreter = str(python) if python.exists() else sys.executable
        self._folder = tempfile.TemporaryDirectory()
        mixed = Path(self._folder.name) / "mixed"
        mixed.mkdir()
        (mixed / "benchmarks").symlink_to(ROOT / "benchmarks")
        (mixed.parent / "shared").symlink_to(ROOT.parent / "shared")  # public games beside the checkout
        for name in LINKED:
            if (path / name).is_dir():
                (mixed / name).symlink_to(path / name)
        self.commit = commit_of(path) or str(path)
        self.now = _Place(ROOT, sys.executable, ROOT / "flagfall")
        self.before = (
            _Place(mixed, interpreter, path / "flagfall"),
            _Place(path, interpreter, path / "flagfall"),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._folder.cleanup()

    def place_for(self, suite: str, group: str) -> tuple[_Place | None, str]:
        """Return where all or most of a group of the other version can run, and why the rest cannot.

        Args:
            suite: name of the suite.
            group: name of the group.
        """
        tried = []
        for place in self.before:
            found = place.measure(suite, group, TRIAL_SCALE)
            if not found.error:
                return place, ""
            tried.append((place, found))
        for place, found in tried:
            if found.rows:
                return place, found.error
        return None, tried[0][1].error


def measure_against(
    suite: str, groups: Mapping[str, Group], scale: int, other: OtherCheckout, rounds: int = ROUNDS
) -> Iterator[Result]:
    """Measure groups in turn with another version.

    Args:
        suite: name of the suite.
        groups: functions by name.
        scale: divides the amount of work.
        other: the other version.
        rounds: number of measurements of each.

    Raises:
        UsageError: a group of this version cannot be measured.
    """
    for group in groups:
        place, reason = other.place_for(suite, group)
        before: list[Mapping[str, Row]] = []
        now: list[Mapping[str, Row]] = []
        for _ in range(rounds):
            found = place.measure(suite, group, scale) if place else _Rows({})
            before.append(found.rows)
            reason = found.error or reason
            found = other.now.measure(suite, group, scale)
            if found.error:
                raise UsageError(f"{suite} {group}: cannot be measured: {found.error}")
            now.append(found.rows)
        for name in now[0]:
            mine = [rows[name] for rows in now]
            theirs = [rows.get(name) for rows in before]
            yield _joined(suite, group, mine, theirs, reason)


def _joined(suite: str, group: str, now: list[Row], before: list[Row | None], reason: str) -> Result:
    """Return the median row of this version beside the median of the other one."""
    mine = sorted(now, key=lambda row: row.number)[len(now) // 2]
    theirs = sorted((row for row in before if row is not None), key=lambda row: row.number)
    if not theirs:
        return Result(
            suite, group, mine, before=f"cannot run: {reason}"[:MAX_REASON] if reason else "no such row"
        )
    middle = theirs[len(theirs) // 2]
    ratios = [
        row.number / old.number
        for row, old in zip(now, before, strict=False)
        if old is not None and old.number
    ]
    ratio = f"{statistics.median(ratios):.2f}" if ratios else change(mine.number, middle.number)
    return Result(suite, group, mine, before=middle.skipped or middle.value, change=ratio)
