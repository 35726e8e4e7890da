"""Process that executes a recorded match to draw it: what a task does there cannot hold up the pages.

It reads commands from its standard input: a pickled `Job` first, then two numbers for each part of the
match. On its standard output it reports `p` and the turn while it works, `w` and one line before it gives
up, and `f` and the pictures. It ends with its input.
"""

from __future__ import annotations

__all__ = ["Job", "main", "pack", "read_message"]

import os
import pickle
import resource
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import BinaryIO, Final

import attrs

from flagfall.tasks.catalog import add_pickled
from flagfall.viewer.replay.execution import Execution, Rebuild

MAX_MEMORY_BYTES: Final = 4 * 1024**3
"""Most memory of the process; a task that needs more raises an error."""

REPORT_SECONDS: Final = 0.5
"""Interval between reports on the turn reached."""

LOOKS: Final = 10
"""Looks, or waits, one after the other, until something has taken too long. Where the machine or a process
was frozen, only one of them is lost, so a freeze costs no pictures."""

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
        patience_seconds: longest time for one turn.
        families: from `flagfall.tasks.catalog.pickled_families`.
    """

    path: Path
    rebuild: Rebuild
    patience_seconds: float
    families: bytes


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
    """Writes reports to the parent, from the thread of the execution and from its watch.

    Args:
        write: the stream.
    """

    def __init__(self, write: BinaryIO) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._due = 0.0

    def send(self, kind: bytes, payload: bytes) -> None:
        with self._lock:
            self._write.write(pack(kind, payload))
            self._write.flush()

    def progress(self, turn: int) -> None:
        """Report the turn reached, if the last report is long ago."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + REPORT_SECONDS
            self.send(b"p", str(turn).encode())


class _Watched:
    """An execution, and a thread that ends the process if code of a task hangs.

    Args:
        job: the match.
        reports: takes the reports.
    """

    def __init__(self, job: Job, reports: _Reports) -> None:
        self._reports = reports
        self._turn = 0
        self._since = time.monotonic()
        self.execution = Execution(job.path, job.rebuild, self._begin_event)
        self._is_drawing = False
        self._is_open = True
        threading.Thread(target=self._watch, args=(job.patience_seconds,), daemon=True).start()

    def _begin_event(self, turn: int) -> None:
        self._turn, self._since = turn, time.monotonic()
        self._reports.progress(turn)

    def draw(self, first: int, last: int) -> None:
        """Draw a part of the match, and report it."""
        self._since = time.monotonic()
        self._is_drawing = True
        data = self.execution.draw(first, last)
        self._is_drawing = False
        self._reports.send(b"f", data)

    def close(self) -> None:
        self._is_open = False
        self.execution.close()

    def _watch(self, patience_seconds: float) -> None:
        looks, since = 0, self._since
        while self._is_open:
            time.sleep(patience_seconds / LOOKS)
            looks = looks + 1 if self._is_drawing and since == self._since else 0
            since = self._since
            if looks > LOOKS:
                took = f"the task takes more than {patience_seconds:g} s for it"
                why = f"pictures end at turn {self._turn}: {took}"
                self._reports.send(b"w", why.encode())
                self._reports.send(b"f", self.execution.drawn_so_far(why))
                os._exit(1)


def main() -> None:
    """Draw parts of a match until the input ends."""
    commands, reports = _take_streams()
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    os.nice(NICENESS)
    os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"  # environments open no window
    job: Job = pickle.load(commands)  # noqa: S301 - from the parent process
    add_pickled(job.families)
    due: SimpleQueue[tuple[int, int]] = SimpleQueue()
    threading.Thread(target=_read_commands, args=(commands, due), daemon=True).start()
    watched: _Watched | None = None
    while True:
        first, last = due.get()
        if watched is None or not watched.execution.can_draw(first):
            if watched is not None:
                watched.close()
            watched = _Watched(job, reports)
        watched.draw(first, last)


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
