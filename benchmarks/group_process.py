"""Measure one group of rows in a process of its own, with whatever version of flagfall it finds.

`benchmarks.compare` starts this file by its path, also with a version of `benchmarks` that does not have it.
So it imports nothing of `benchmarks` besides the suite.
"""

from __future__ import annotations

import importlib
import json
import sys
from math import isnan
from pathlib import Path

import attrs

import flagfall


def main(package: Path, module: str, group: str, scale: int, output: Path) -> None:
    """Write each row as a JSON line.

    Args:
        package: the folder that flagfall must have been imported from.
        module: of the suite.
        group: name of the group.
        scale: divides the amount of work.
        output: the file to write.
    """
    imported = Path(flagfall.__file__).resolve().parent
    if imported != package.resolve():
        sys.exit(f"flagfall was imported from {imported}, not from {package}")
    with output.open("w", encoding="utf-8") as file:
        found = importlib.import_module(module)
        suite = getattr(found, "SUITE", None)
        measure = suite.groups[group] if suite else getattr(found, group)
        for row in measure(scale):
            fields = attrs.asdict(row)
            if isnan(fields.get("number", 0.0)):  # JSON has no such number
                del fields["number"]
            file.write(json.dumps(fields, ensure_ascii=False) + "\n")
            file.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), Path(sys.argv[5]))
