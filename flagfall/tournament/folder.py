"""Names of the files in a tournament's folder.

tournament.db   SQLite database: the plan, and every match with its seats
plan.toml       the plan as it was read
journals/       one file a match
running/        journals being written
lock            held by the runner
report.html     the report, where one was written
control         address of the running tournament, for `flagfall ctl`
"""

from __future__ import annotations

__all__ = ["CONTROL", "DATABASE", "JOURNALS", "LOCK", "PLAN", "REPORT", "RUNNING", "replace_file"]

import os
from pathlib import Path
from typing import Final

DATABASE: Final = "tournament.db"
PLAN: Final = "plan.toml"
LOCK: Final = "lock"
CONTROL: Final = "control"
REPORT: Final = "report.html"

JOURNALS: Final = "journals"
"""Folder of complete journals; each appears there in one piece."""

RUNNING: Final = "running"
"""Folder of journals being written. Files left there by an earlier run are of no use."""


def replace_file(path: Path, content: bytes) -> None:
    """Write a file of the folder in one piece; a link in its place is replaced, not followed.

    Args:
        path: the file.
        content: its new content.

    Raises:
        OSError: it cannot be written.
    """
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.unlink(missing_ok=True)
    try:
        with made.open("xb") as file:
            file.write(content)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)
