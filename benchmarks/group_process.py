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


def main(module: str, group: str, scale: int, output: Path) -> None:
    """Write the folder of flagfall, and then each row as a JSON line.

    Args:
        module: of the suite.
        group: name of the group.
        scale: divides the amount of work.
        output: the file to write.
    """
    with output.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"flagfall": str(Path(flagfall.__file__).resolve().parent)}) + "\n")
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
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
