"""A journal as the pages ask for it: summary, chunks and pictures, with its index made in the background."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from flagfall.errors import UsageError
from flagfall.recording.journal.reader import JournalError
from flagfall.tasks.building import MAX_TASKS
from flagfall.tasks.building import rebuild as rebuild_tasks
from flagfall.tasks.catalog import check_imports, pickled_families
from flagfall.texts import one_line
from flagfall.viewer.replay.chunk import chunk_of
from flagfall.viewer.replay.execution import LOOKS, Job, command, read_message
from flagfall.viewer.replay.frames import FORMAT, no_frames
from flagfall.viewer.replay.index import Index
from flagfall.viewer.replay.summary import json_bytes, summary_of, view_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from flagfall.viewer.replay.execution import Rebuild
    from flagfall.viewer.replay.tally import Tally


MAX_KEPT_BYTES: Final = 64 * 1024 * 1024
"""Encoded pictures of a match that are kept; a 2,000-turn game takes less than 5 MB."""

TURN_SECONDS: Final = 15.0
"""Longest time of a turn; the process then gives up, and passes on the pictures that it has."""

SILENT_SECONDS: Final = 30.0
"""A process that reports nothing for this long is killed: it hangs in code that runs no Python."""

MAX_SECONDS: Final = 300.0
"""Longest time for one part of a match: a page waits for it."""

_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; from flagfall.viewer.replay import execution; execution.main()"
)
"""The process can import what its parent can, and nothing else that lies in the working directory."""

END_SECONDS: Final = 5.0
"""Longest time for a killed process to be gone."""


def picture_facts(tally: Tally, *, trust: bool, config: bool) -> dict[str, Any]:
    """Return the field `pictures` of a summary: whether the match can be executed here, and why not.

    Args:
        trust: modules that the journal names may be imported.
        config: the user gave the configuration of the tasks.
    """
    why, header = "", tally.header
    if view_of(tally) == "bytes":
        return {"available": False, "why": "", "format": FORMAT}
    if header.config is not None and '"python"' in header.config and not config:
        why = "its tasks were made by a Python function: pictures and names of actions need --config"
    elif not trust and not config:
        try:
            for task in header.tasks[:MAX_TASKS]:  # of more, none is made
                check_imports(task)
        except UsageError as error:
            why = one_line(f"{error}: if you trust this file, pictures and names of actions need --trust")
    return {"available": not why, "why": why, "format": FORMAT}


class Pictures:
    """Pictures of the parts of one match.

    Calls block, and may come from several threads; one part is made at a time.
    """

    def __init__(
        self,
        path: Path,
        rebuild: Rebuild,
        watch: Callable[[int], None] = lambda _turn: None,
        *,
        in_background: bool = True,
    ) -> None:
        self._job = (path, rebuild, TURN_SECONDS, in_background)
        self._watch = watch
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._kept_bytes = 0
        self._worker: _Worker | None = None
        self._failure = ""
        self._is_closed = False

    def part(self, first: int, last: int) -> bytes:
        """Return the pictures of some turns, see `flagfall.viewer.replay.frames`.

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
            self._worker = _Worker(Job(*self._job, pickled_families()))
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
        if self._worker is not None:
            self._worker.end()


class _WorkerLost(Exception):
    """The process has failed, or was ended as it took too long."""


class _Worker:
    """The parent's side of the process."""

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
        """Return a part of the match; a `_WorkerLost` if the process has ended, or takes too long."""
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
                lost = f"no pictures from turn {first} on: executing the match up to there takes more than"
                raise _WorkerLost(f"{lost} {MAX_SECONDS:g} s")

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


FIRST_VIEW_SECONDS: Final = 0.4
"""Longest wait of a summary for the index; that of a long match comes before its index is complete."""

PAUSE_SECONDS: Final = 0.000_5
"""Pause of the reading thread after each piece, in which a request can take the lock."""

LOOK_SECONDS: Final = 0.5
"""Shortest time between two looks at the file, whatever the number of pages that follow it."""

LOOK_SHARE: Final = 4
"""After a look the next one waits this many times its duration: a compressed file is decompressed up to where
it was read."""

MAX_KEPT_CHUNKS: Final = 4
"""Chunks that are kept as JSON: pages that follow a match all ask for its last one."""


class RecordedMatch:
    """A journal that is shown.

    Methods block, and may be called from several threads.

    Args:
        trust: modules that the journal names may be imported.
        rebuild: returns the task scheduler of the header, as for `flagfall.recording.verify`; a function that
            can be pickled. By default `flagfall.tasks.building.rebuild`.
        watch: called with the turn reached while pictures are made.
        in_background: pictures are made with what running matches leave of a CPU; false where a user waits.

    Raises:
        JournalError: the file cannot be read, or is no journal.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        trust: bool = False,
        rebuild: Rebuild | None = None,
        watch: Callable[[int], None] = lambda _turn: None,
        in_background: bool = True,
    ) -> None:
        self.path: Path = Path(path)
        self._trust = trust
        self._own_rebuild = rebuild
        self._watch = watch
        self._in_background = in_background
        self._lock = threading.Lock()
        self._index = Index(self.path)
        self._is_gone = False
        self._looking = threading.Lock()
        self._look_at = 0.0
        self._summary = b""
        self._reading_chunk = threading.Lock()
        self._chunks: OrderedDict[tuple[Index, int, int], bytes] = OrderedDict()
        self._reader: threading.Thread | None = None
        self._is_closed = False
        self._pictures = self._new_pictures()

    def _new_pictures(self) -> Pictures:
        rebuild = self._own_rebuild or partial(rebuild_tasks, trust=self._trust, journal=self.path)
        return Pictures(self.path, rebuild, self._watch, in_background=self._in_background)

    def follow(self, path: Path | None) -> None:
        """Go on with the journal at the place where it is now; `None` if it is nowhere any more."""
        is_gone = path is None
        if is_gone == self._is_gone and path in {None, self.path}:
            return
        with self._lock:
            self._look_at = 0.0
            self._is_gone = is_gone
            if path is not None and path != self.path:
                self.path = self._index.path = path
                self._draw_anew()

    def _draw_anew(self) -> None:
        former, self._pictures = self._pictures, self._new_pictures()
        former.close()  # who waits for it asks the new one

    def close(self) -> None:
        """End the process that makes pictures, and the reading of the file."""
        self._is_closed = True
        self._pictures.close()

    def read_all(self) -> None:
        """Read the journal to its present end."""
        with self._lock:
            while self._index.advance():
                pass

    def refresh(self) -> None:
        """Read what was added to the file, in the background; a file that was replaced is read anew.

        Raises:
            JournalError: the file is gone, or is no journal any more.
        """
        with self._lock:
            if not self._index.refresh():
                self._index = Index(self.path)
                self._draw_anew()
            if not self._index.is_reading:
                return
            if self._reader is None or not self._reader.is_alive():
                self._reader = threading.Thread(target=self._read, name="flagfall replay index", daemon=True)
                self._reader.start()
            reader = self._reader
        reader.join(FIRST_VIEW_SECONDS)

    def _read(self) -> None:
        while not self._is_closed:
            with self._lock:
                if not self._index.advance():
                    return
            time.sleep(PAUSE_SECONDS)

    def summary(self) -> dict[str, Any]:
        """Return the summary of what was read so far."""
        with self._lock:
            index, config = self._index, self._own_rebuild is not None
            summary = summary_of(index, picture_facts(index.tally, trust=self._trust, config=config))
            if not self._is_gone:
                return summary
            gone = "the journal is not there any more; its match may be played again"
            return summary | {"state": "truncated", "state_detail": gone}

    def chunk(self, number: int) -> dict[str, Any]:
        """Return a chunk; a `UsageError` if there is none, or the file cannot be read."""
        self._require(number)
        return self._chunk_of(self._index, number)

    def _chunk_of(self, index: Index, number: int) -> dict[str, Any]:
        try:
            return chunk_of(index, number)
        except (OSError, EOFError) as error:
            raise JournalError(self.path, 1, None, f"cannot be read: {error}") from error

    def frames(self, number: int, span: tuple[int, int] | None = None) -> bytes:
        """Return the pictures of a chunk, or of turns within it; a `UsageError` if there is none."""
        entry = self._require(number)
        first, last = (entry.first, entry.last) if span is None else span
        while True:
            pictures = self._pictures
            try:
                return pictures.part(first, last)
            except UsageError:
                if pictures is self._pictures:  # else the journal was moved or replaced meanwhile
                    raise

    def _require(self, number: int) -> Any:
        with self._lock:
            chunks = self._index.tally.chunks
            if self._is_gone:
                raise UsageError("the journal of this match is not there any more")
            if not 0 <= number < len(chunks):
                raise UsageError(f"there is no part {number} of this match; it has {len(chunks)}")
            return chunks[number]

    def summary_bytes(self) -> bytes:
        """Return the summary as JSON, with what was added to the file; what is gone stays as it was.

        Callers that ask within `LOOK_SECONDS` share one look at the file.
        """
        with self._looking:
            began = time.monotonic()
            if began >= self._look_at:
                with suppress(JournalError):
                    if not self._is_gone:
                        self.refresh()
                self._summary = json_bytes(self.summary())
                now = time.monotonic()
                self._look_at = now + max(LOOK_SECONDS, LOOK_SHARE * (now - began))
            return self._summary

    def chunk_bytes(self, number: int) -> bytes:
        """Return a chunk as JSON, as `chunk` does; callers share it until the match has grown."""
        self._require(number)
        with self._reading_chunk:
            index, kept = self._index, self._chunks
            key = (index, number, index.offset)
            if key not in kept:
                kept[key] = json_bytes(self._chunk_of(index, number))
            kept.move_to_end(key)
            if len(kept) > MAX_KEPT_CHUNKS:
                kept.popitem(last=False)
            return kept[key]


@contextmanager
def whole_match(
    path: str | os.PathLike[str],
    *,
    trust: bool = False,
    rebuild: Rebuild | None = None,
    watch: Callable[[int], None] = lambda _turn: None,
) -> Iterator[RecordedMatch]:
    """Open a journal, read to its present end, for a user who waits; see `RecordedMatch`."""
    match = RecordedMatch(path, trust=trust, rebuild=rebuild, watch=watch, in_background=False)
    with closing(match):
        match.read_all()
        yield match
