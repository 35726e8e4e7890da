"""A journal as the pages ask for it: summary, chunks and pictures, with its index made in the background."""

from __future__ import annotations

__all__ = ["RecordedMatch"]

import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flagfall.errors import UsageError
from flagfall.recording.journal.reader import JournalError
from flagfall.tasks.building import rebuild as rebuild_tasks
from flagfall.viewer.replay.chunk import chunk_of
from flagfall.viewer.replay.index import Index
from flagfall.viewer.replay.pictures import Pictures, picture_facts
from flagfall.viewer.replay.summary import json_bytes, summary_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from flagfall.viewer.replay.execution import Rebuild
    from flagfall.viewer.replay.summary import SeatFacts

FIRST_VIEW_SECONDS: Final = 0.4
"""Longest wait of a summary for the index; that of a long match comes before its index is complete."""


PAUSE_SECONDS: Final = 0.000_5
"""Pause of the reading thread after each piece, in which a request can take the lock."""


class RecordedMatch:
    """A journal that is shown.

    Methods block, and may be called from several threads.

    Args:
        path: the journal.
        trust: modules that the journal names may be imported.
        rebuild: returns the task scheduler of the header, as for `flagfall.recording.verify`; a function that
            can be pickled. By default `flagfall.tasks.building.rebuild`.
        facts: facts of the seats that the journal does not hold, in seat order.
        watch: called with the turn reached while pictures are made.

    Raises:
        JournalError: the file cannot be read, or is no journal.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        trust: bool = False,
        rebuild: Rebuild | None = None,
        facts: Sequence[SeatFacts] = (),
        watch: Callable[[int], None] = lambda _turn: None,
    ) -> None:
        self.path: Path = Path(path)
        self._trust = trust
        self._has_own_tasks = rebuild is not None
        self._facts = facts
        self._rebuild: Rebuild = rebuild or partial(rebuild_tasks, trust=trust)
        self._watch = watch
        self._lock = threading.Lock()
        self._index = Index(self.path)
        self._reader: threading.Thread | None = None
        self._is_closed = False
        self._pictures = self._new_pictures()

    def _new_pictures(self) -> Pictures:
        return Pictures(self.path, self._rebuild, self._watch)

    def close(self) -> None:
        """End the process that makes pictures, and the reading of the file."""
        self._is_closed = True
        self._pictures.close()

    # The index.

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
                self._pictures.close()
                self._pictures = self._new_pictures()
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

    # Data.

    def summary(self) -> dict[str, Any]:
        """Return the summary of what was read so far."""
        with self._lock:
            return summary_of(self._index, self._picture_facts(), self._facts)

    def _picture_facts(self) -> dict[str, Any]:
        index = self._index
        return picture_facts(
            index.header, numbers=index.tally.numbers, trust=self._trust, config=self._has_own_tasks
        )

    def chunk(self, number: int) -> dict[str, Any]:
        """Return a chunk.

        Args:
            number: its number.

        Raises:
            UsageError: there is no such chunk, or the file cannot be read.
        """
        self._require(number)
        try:
            return chunk_of(self._index, number)
        except (OSError, EOFError) as error:
            raise JournalError(self.path, 1, None, f"cannot be read: {error}") from error

    def frames(self, number: int, span: tuple[int, int] | None = None) -> bytes:
        """Return the pictures of a chunk.

        Args:
            number: its number.
            span: the first and the last turn that are wanted, within the chunk; by default all.

        Raises:
            UsageError: there is no such chunk.
        """
        entry = self._require(number)
        first, last = (entry.first, entry.last) if span is None else span
        return self._pictures.part(first, last)

    def _require(self, number: int) -> Any:
        with self._lock:
            chunks = self._index.tally.chunks
            if not 0 <= number < len(chunks):
                raise UsageError(f"there is no part {number} of this match; it has {len(chunks)}")
            return chunks[number]

    def summary_bytes(self) -> bytes:
        """Return the summary as JSON, with what was added to the file; what is gone stays as it was."""
        with suppress(JournalError):
            self.refresh()
        return json_bytes(self.summary())
