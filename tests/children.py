"""Processes and descriptors that a test has not ended and not closed."""

from __future__ import annotations

__all__ = ["STARTED", "children", "end_started", "open_descriptors"]

import subprocess
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
