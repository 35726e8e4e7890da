"""Pictures of a recorded match, made by a process that executes it (`worker`), and kept for a while."""

from __future__ import annotations

__all__ = ["Pictures", "picture_facts"]

import pickle
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from flagfall.errors import UsageError
from flagfall.tasks.building import MAX_TASKS
from flagfall.tasks.catalog import check_imports, pickled_families
from flagfall.terminal_text import one_line
from flagfall.viewer.replay.frames import FORMAT, no_frames
from flagfall.viewer.replay.summary import view_of
from flagfall.viewer.replay.worker import LOOKS, Job, command, read_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flagfall.events import MatchStarted
    from flagfall.viewer.replay.execution import Rebuild

MAX_KEPT_BYTES: Final = 64 * 1024 * 1024
"""Encoded pictures of a match that are kept; a 2,000-turn game takes less than 5 MB."""

TURN_SECONDS: Final = 15.0
"""Longest time of a turn; the process then gives up, and passes on the pictures that it has."""

SILENT_SECONDS: Final = 30.0
"""A process that reports nothing for this long is killed: it hangs in code that runs no Python."""

MAX_SECONDS: Final = 300.0
"""Longest time for one part of a match: a page waits for it."""

_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; from flagfall.viewer.replay import worker; worker.main()"
)
"""The process can import what its parent can, and nothing else that lies in the working directory."""

END_SECONDS: Final = 5.0
"""Longest time for a killed process to be gone."""


def picture_facts(
    header: MatchStarted, *, numbers: bool | None, trust: bool, config: bool = False
) -> dict[str, Any]:
    """Return the field `pictures` of a summary: whether the match can be executed here, and why not.

    Args:
        header: the header of the journal.
        numbers: its first turn consists of whole numbers.
        trust: modules that the journal names may be imported.
        config: the user gave the configuration of the tasks.
    """
    why = ""
    if view_of(header, numbers=numbers) == "bytes":
        return {"available": False, "why": "", "format": FORMAT}
    if header.config is not None and '"python"' in header.config and not config:
        why = "its tasks were made by a Python function: pictures need --config"
    elif not trust and not config:
        try:
            for task in header.tasks[:MAX_TASKS]:  # of more, none is made
                check_imports(task)
        except UsageError as error:
            why = one_line(f"{error}: if you trust this file, pictures need --trust")
    return {"available": not why, "why": why, "format": FORMAT}


class Pictures:
    """Pictures of the parts of one match.

    Calls block, and may come from several threads; one part is made at a time.

    Args:
        path: the journal.
        rebuild: returns the task scheduler of its header; a function that can be pickled.
        watch: called with the turn reached while a part is made.
    """

    def __init__(
        self,
        path: Path,
        rebuild: Rebuild,
        watch: Callable[[int], None] = lambda _turn: None,
    ) -> None:
        self._path = path
        self._rebuild = rebuild
        self._watch = watch
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._kept_bytes = 0
        self._worker: _Worker | None = None
        self._failure = ""
        self._is_closed = False

    def part(self, first: int, last: int) -> bytes:
        """Return the pictures of some turns, see `flagfall.viewer.replay.frames`.

        Args:
            first: the first turn.
            last: the last turn.

        Raises:
            UsageError: this object was closed, perhaps while the part was made.
        """
        with self._lock:
            found = self._kept.get((first, last))
            if found is not None:
                self._kept.move_to_end((first, last))
                return found
            made = self._made(first, last)
            self._kept[first, last] = made
            self._kept_bytes += len(made)
            while self._kept_bytes > MAX_KEPT_BYTES and len(self._kept) > 1:
                self._kept_bytes -= len(self._kept.popitem(last=False)[1])
            return made

    def _made(self, first: int, last: int) -> bytes:
        if self._failure:
            return no_frames(self._failure)
        if self._worker is None:
            self._worker = _Worker(Job(self._path, self._rebuild, TURN_SECONDS, pickled_families()))
        lost = ""
        if not self._is_closed:  # `close` may have been called while the process was started
            try:
                return self._worker.draw(first, last, self._watch)
            except _WorkerLost as error:
                lost = str(error)
        self._worker.end()
        self._worker = None
        if self._is_closed:
            raise UsageError("this match was closed while others are looked at: try again")
        self._failure = lost
        return no_frames(lost)

    def close(self) -> None:
        """End the process; a call that waits for it fails."""
        self._is_closed = True
        worker = self._worker
        if worker is not None:
            worker.end()


class _WorkerLost(Exception):
    """The process has failed, or was ended as it took too long."""


class _Worker:
    """The parent's side of the process.

    Args:
        job: the match to draw.
    """

    def __init__(self, job: Job) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-P", "-c", _PROGRAM, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C reaches the parent alone, which ends it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._commands = self._process.stdin
        self._messages: SimpleQueue[tuple[bytes, bytes] | None] = SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        self._turn = 0
        self._last_words = ""
        self._send(pickle.dumps(job))

    def _read(self, reports: BinaryIO) -> None:
        with reports, suppress(OSError, ValueError):
            while (message := read_message(reports)) is not None:
                self._messages.put(message)
        self._messages.put(None)

    def _send(self, data: bytes) -> None:
        with suppress(OSError):  # it has ended, which the next message shows
            self._commands.write(data)
            self._commands.flush()

    def draw(self, first: int, last: int, watch: Callable[[int], None]) -> bytes:
        """Return a part of the match.

        Raises:
            _WorkerLost: the process has ended, or takes too long.
        """
        self._send(command(first, last))
        until = time.monotonic() + MAX_SECONDS
        while True:
            message = self._next_message()
            if message is None:
                lost = f"no pictures after turn {self._turn}: the process that executed the match has ended"
                raise _WorkerLost(self._last_words or lost)
            kind, payload = message
            if kind == b"f":
                return payload
            if kind == b"w":
                self._last_words = payload.decode()
                continue
            self._turn = int(payload)
            watch(self._turn)
            if time.monotonic() > until:
                raise _WorkerLost(
                    f"no pictures from turn {first} on: executing the match up to there takes more than"
                    f" {MAX_SECONDS:g} s"
                )

    def _next_message(self) -> tuple[bytes, bytes] | None:
        for _ in range(LOOKS):
            with suppress(Empty):
                return self._messages.get(timeout=SILENT_SECONDS / LOOKS)
        raise _WorkerLost(f"no pictures after turn {self._turn}: executing the match hangs")

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        with suppress(OSError):
            self._commands.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self._reader.join(END_SECONDS)
