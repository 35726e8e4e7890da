"""Results of a run, kept in a file of JSON lines so that runs can be compared later."""

from __future__ import annotations

__all__ = ["KeptRun", "Result", "ResultFile", "measure", "read_run"]

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import attrs
from cattrs import Converter
from cattrs.errors import ForbiddenExtraKeysError

from benchmarks.measure import Row
from benchmarks.suites import Group
from flagfall.errors import UsageError

_CONVERTER: Final = Converter(forbid_extra_keys=True, detailed_validation=False)


@attrs.frozen
class Result:
    """A measured row, and where it belongs.

    Attributes:
        suite: name of its suite.
        group: name of its group.
        row: what was measured.
        before: the figure of the version before; empty if it was not measured.
        change: the figure divided by the figure before; empty if one of them is missing.
    """

    suite: str
    group: str
    row: Row
    before: str = ""
    change: str = ""


@attrs.frozen
class KeptRun:
    """Content of a file of results.

    Attributes:
        machines: one line for each time that results were added.
        results: by suite and row name; a row that was measured again replaces the older one.
        measured_on: the line of `machines` for each result.
    """

    machines: list[str] = attrs.field(factory=list)
    results: dict[tuple[str, str], Result] = attrs.field(factory=dict)
    measured_on: dict[tuple[str, str], str] = attrs.field(factory=dict)

    def machines_of(self, suite: str) -> list[str]:
        """Return the lines under which rows of a suite were measured, without repetitions."""
        lines = (line for (of, _), line in self.measured_on.items() if of == suite)
        return list(dict.fromkeys(lines))


def measure(suite: str, groups: Mapping[str, Group], scale: int) -> Iterator[Result]:
    """Measure groups of a suite, one row while each result is read.

    Args:
        suite: its name.
        groups: functions by name.
        scale: divides the amount of work.
    """
    for name, group in groups.items():
        for row in group(scale):
            yield Result(suite, name, row)


def row_fields(row: Row) -> dict[str, Any]:
    """Return the fields of a row that JSON can hold, without most of those that are empty.

    Args:
        row: the row.
    """
    fields = {name: value for name, value in attrs.asdict(row).items() if value or name == "value"}
    if math.isnan(row.number):  # JSON has no such number
        del fields["number"]
    return fields


class ResultFile:
    """File that results are appended to, each as soon as it is measured.

    Args:
        path: of the file; existing lines are kept.
        machine: the line of the machine, and how it measured; written first.
    """

    def __init__(self, path: Path, machine: str) -> None:
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
        self._write({"machine": machine})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, result: Result) -> None:
        """Append a result.

        Args:
            result: the result.
        """
        fields = {name: value for name, value in attrs.asdict(result, recurse=False).items() if value}
        self._write({**fields, "row": row_fields(result.row)})

    def _write(self, fields: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(fields, ensure_ascii=False) + "\n")
        self._file.flush()


def read_run(path: Path) -> KeptRun:
    """Read a file of results.

    Args:
        path: written by `--json`.

    Raises:
        UsageError: it cannot be read, or a line of it is no result.
    """
    run, machine = KeptRun(), ""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            fields = json.loads(line)
            if "machine" in fields:
                machine = str(fields["machine"])
                run.machines.append(machine)
                continue
            result = _CONVERTER.structure(fields, Result)
        except (ValueError, TypeError, KeyError, AttributeError, ForbiddenExtraKeysError) as error:
            raise UsageError(f"{path}: line {number}: is no line that --json writes") from error
        key = result.suite, result.row.name
        run.results[key], run.measured_on[key] = result, machine
    return run


def change(now: float, before: float) -> str:
    """Return a figure divided by the figure before, as text.

    Args:
        now: the figure; may be NaN.
        before: the figure before; may be NaN.
    """
    if math.isnan(now) or math.isnan(before):
        return ""
    if not before:
        return "=" if not now else ""
    return f"{now / before:.2f}"
