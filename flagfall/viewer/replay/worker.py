"""Process that executes a recorded match to draw it: what a task does there cannot hold up the pages.

It reads commands from its standard input: a pickled `Job` first, then two numbers for each part of the match. On a
pipe of its own it reports `p` and the turn while it works, and `f` and the pictures. It ends with its input.
"""

from __future__ import annotations

__all__ = ["Job", "main", "pack", "read_message"]

import os
import pickle
import resource
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Final

import attrs

from flagfall.viewer.replay.execution import Execution, Rebuild

MAX_MEMORY_BYTES: Final = 4 * 1024**3
"""Most memory of the process; a task that needs more raises an error."""

REPORT_SECONDS: Final = 0.5
"""Interval between reports on the turn reached."""

NICENESS: Final = 10
"""The process gets what the pages and running matches leave of a CPU."""

_HEAD: Final = struct.Struct("<cI")
_COMMAND: Final = struct.Struct("<qq")


@attrs.frozen
class Job:
    """The match to draw.

    Attributes:
        path: its journal.
        rebuild: returns its task scheduler; a function that can be pickled.
    """

    path: Path
    rebuild: Rebuild


def pack(kind: bytes, payload: bytes) -> bytes:
    """Return a message: a letter, the length, and the payload.

    Args:
        kind: one letter.
        payload: any bytes.
    """
    return _HEAD.pack(kind, len(payload)) + payload


def read_message(read: BinaryIO) -> tuple[bytes, bytes] | None:
    """Read a message; return `None` at the end of the stream.

    Args:
        read: the stream.
    """
    head = read.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, length = _HEAD.unpack(head)
    payload = read.read(length)
    return (kind, payload) if len(payload) == length else None


def command(first: int, last: int) -> bytes:
    """Return the command to draw a part of the match.

    Args:
        first: its first turn.
        last: its last turn.
    """
    return _COMMAND.pack(first, last)


class _Reports:
    """Writes reports to the parent.

    Args:
        write: the stream.
    """

    def __init__(self, write: BinaryIO) -> None:
        self._write = write
        self._due = 0.0

    def send(self, kind: bytes, payload: bytes) -> None:
        self._write.write(pack(kind, payload))
        self._write.flush()

    def progress(self, turn: int) -> None:
        """Report the turn reached, if the last report is long ago."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + REPORT_SECONDS
            self.send(b"p", str(turn).encode())


def main() -> None:
    """Draw parts of a match until the input ends."""
    commands, reports = _take_streams()
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    os.nice(NICENESS)
    os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"  # environments open no window
    job: Job = pickle.load(commands)  # noqa: S301 - from the parent process
    due: SimpleQueue[tuple[int, int]] = SimpleQueue()
    threading.Thread(target=_read_commands, args=(commands, due), daemon=True).start()
    execution: Execution | None = None
    while True:
        first, last = due.get()
        if execution is None or execution.turn > first:
            if execution is not None:
                execution.close()
            execution = Execution(job.path, job.rebuild, reports.progress)
        reports.send(b"f", execution.draw(first, last))


def _take_streams() -> tuple[BinaryIO, _Reports]:
    """Return the streams to the parent; what tasks print goes nowhere, and their input is empty."""
    commands, reports = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    return os.fdopen(commands, "rb"), _Reports(os.fdopen(reports, "wb"))


def _read_commands(commands: BinaryIO, due: SimpleQueue[tuple[int, int]]) -> None:
    """Pass commands on; with the parent's end, end the process whatever a task does."""
    while len(data := commands.read(_COMMAND.size)) == _COMMAND.size:
        first, last = _COMMAND.unpack(data)
        due.put((first, last))
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
