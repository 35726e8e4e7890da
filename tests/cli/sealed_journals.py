"""Journals of lines that a test makes up, with true seals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flagfall.recording.journal.format import Sealer

HEADER: dict[str, Any] = {
    "event": "match",
    "at_ns": 0,
    "schema": 2,
    "flagfall": "1",
    "tasks": ["micro1"],
    "scheduler": "sequential:1",
    "agents": ["random"],
    "seed": 0,
    "time_control": "untimed",
    "clock": "virtual",
}


def sealed(path: Path, *lines: Any) -> None:
    """Write a journal of these lines, each a value or the bytes of a line."""
    text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    path.write_bytes(text + Sealer().seal(text, len(lines), last=True))
