"""Processes that a test has started and not ended."""

from __future__ import annotations

__all__ = ["children"]

from contextlib import suppress
from pathlib import Path


def children() -> set[int]:
    """Return the ids of all child processes of this one, also of those that ended and were not waited for."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found.update(map(int, (task / "children").read_text().split()))
    return found
