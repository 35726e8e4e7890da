"""Processes of tests: started, not ended, and their descriptors."""

from __future__ import annotations

__all__ = ["STARTED", "children", "end_started", "open_descriptors", "run_python"]

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from flagfall.timing.heartbeat import shared

STARTED: list[subprocess.Popen[Any]] = []
"""Programs of a test; those that still run at its end, since it has failed, are ended before the next one."""


def end_started() -> None:
    """End what is left of the programs of a test."""
    while STARTED:
        with STARTED.pop() as program:  # closes its pipes
            program.kill()


def children() -> set[int]:
    """Return the ids of all child processes of this one, also of those that ended and were not waited for."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found.update(map(int, (task / "children").read_text().split()))
    return found


def open_descriptors() -> set[str]:
    """Return the open descriptors of this process, without those of a heartbeat at rest."""
    shared.close_if_idle()
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def run_python(place: Path, folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with the modules of a place before all others.

    Args:
        words: arguments of Python, such as `-m flagfall verify match.jsonl`.
    """
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
