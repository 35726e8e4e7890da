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

MAX_REASON: Final = 100
"""Characters of an error that a table shows."""

SCRIPT: Final = Path(__file__).with_name("group_process.py")
LINKED: Final = ("flagfall", "examples")
"""Folders of a checkout that benchmarks use."""


class _GroupFailedError(Exception):
    """A group could not be measured; the text is the last line of its error."""


@attrs.frozen
class _Place:
    """Where a group runs.

    Attributes:
        root: folder with the packages `benchmarks` and `flagfall`.
        python: the interpreter.
        package: the folder that `flagfall` must be imported from.
    """

    root: Path
    python: str
    package: Path

    def measure(self, suite: str, group: str, scale: int) -> dict[str, Row]:
        """Measure a group in a new process, and return its rows by name.

        Args:
            suite: name of the suite.
            group: name of the group.
            scale: divides the amount of work.

        Raises:
            _GroupFailedError: it raised an error, took too long, or imported another version of flagfall.
        """
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
            except subprocess.TimeoutExpired as error:
                raise _GroupFailedError(f"took more than {LIMIT_SECONDS} s") from error
            except subprocess.CalledProcessError as error:
                lines = error.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
                raise _GroupFailedError(lines[-1]) from error
            lines = output.read_text(encoding="utf-8").splitlines()
        return {row.name: row for row in (Row(**json.loads(line)) for line in lines)}


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
        """Return where a group of the other version can run, or None and the reason.

        Args:
            suite: name of the suite.
            group: name of the group.
        """
        reasons = []
        for place in self.before:
            try:
                place.measure(suite, group, 100)
            except _GroupFailedError as error:
                reasons.append(str(error))
            else:
                return place, ""
        return None, reasons[0]


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
        before: list[dict[str, Row]] = []
        now: list[dict[str, Row]] = []
        for _ in range(rounds):
            try:
                before.append(place.measure(suite, group, scale) if place else {})
            except _GroupFailedError as error:
                before.append({})
                reason = str(error)
            try:
                now.append(other.now.measure(suite, group, scale))
            except _GroupFailedError as error:
                raise UsageError(f"{suite} {group}: cannot be measured: {error}") from error
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
