"""The parts of journals that a report shows: ends of tasks and disqualifications, without the turns.

A journal may have been changed or come from others: a path never leads out of the folder, the number of bytes
that are unpacked is bounded, and a damaged journal counts up to its damage.
"""

from __future__ import annotations

__all__ = ["Episode", "JournalDigest", "JournalReader", "journal_path"]

from contextlib import closing
from pathlib import Path
from typing import Final

import attrs

from flagfall.errors import UsageError
from flagfall.events import Event, MatchStarted, SeatDisqualified, TaskEnded
from flagfall.kernel.channels.codecs import CodecError
from flagfall.recording.journal.format import decode_events
from flagfall.recording.journal.reader import batches, check_schema
from flagfall.tournament.folder import JOURNALS
from flagfall.tournament.records import MatchRecord

MAX_JOURNAL_BYTES: Final = 64_000_000
"""Bytes of one journal, unpacked, that a report reads: 0.2 s."""

MAX_ALL_BYTES: Final = 1_000_000_000
"""Bytes of all journals, unpacked, that a report reads: some seconds."""

MAX_EPISODES: Final = 100_000
"""Most ends of tasks that are kept of one journal."""

_WANTED: Final = tuple(f'{{"event":"{name}",'.encode() for name in ("match", "end", "disqualified", "fell"))


@attrs.frozen
class Episode:
    """End of one task.

    Attributes:
        result: solved, failed, or neither.
        reward: sum of its rewards.
        steps: number of its steps.
    """

    result: bool | None
    reward: float
    steps: int


@attrs.define
class JournalDigest:
    """Facts of a journal that a report shows.

    Attributes:
        begun: time at which the match began (ISO 8601); `None` on the virtual clock.
        episodes: ends of tasks, in order; those that were cut by the end of the match are left out.
        falls: disqualifications, by seat.
        whole: the journal was read to its end.
    """

    begun: str | None = None
    episodes: list[Episode] = attrs.Factory(list)
    falls: dict[int, SeatDisqualified] = attrs.Factory(dict)
    whole: bool = False


def journal_path(folder: Path, record: MatchRecord) -> Path | None:
    """Return the journal of a match if it is a file in the journals of the tournament's folder.

    Args:
        folder: the folder of the tournament.
        record: a stored record, whose path may be damaged.
    """
    if record.journal is None:
        return None
    place, _, name = record.journal.partition("/")
    if place != JOURNALS or not name or "/" in name or "\0" in name or name in {".", ".."}:
        return None
    home = folder / JOURNALS
    path = home / name
    try:
        inside = not home.is_symlink() and path.resolve().parent == home.resolve()
        return path if inside and path.is_file() else None
    except OSError:
        return None


class JournalReader:
    """Reader of several journals, which share a bound.

    Args:
        folder: the folder of the tournament.

    Attributes:
        unread: journals that are missing, damaged or too large; of the last two the beginning was read.
    """

    def __init__(self, folder: Path) -> None:
        self.unread: int = 0
        self._folder = folder
        self._left = MAX_ALL_BYTES
        self._kept: dict[Path, JournalDigest] = {}

    def read(self, record: MatchRecord) -> JournalDigest | None:
        """Return the digest of a match's journal; `None` if it has none or the bound is reached.

        Args:
            record: the record of the match.
        """
        path = journal_path(self._folder, record)
        if path is None or (path not in self._kept and self._left <= 0):
            self.unread += 1
            return None
        if path not in self._kept:
            digest = self._kept[path] = JournalDigest()
            self._fill(path, digest)
            self.unread += not digest.whole
        return self._kept[path]

    def _fill(self, path: Path, digest: JournalDigest) -> None:
        """Read a journal up to its end, its damage, or the bound."""
        limit = min(self._left, MAX_JOURNAL_BYTES)
        read = 0
        try:
            with closing(batches(path)) as parts:
                schema = None
                for batch in parts:
                    if batch.state == "damaged" or not batch.lines:
                        return
                    schema = check_schema(path, batch.lines[0]) if schema is None else schema
                    for line in batch.lines:
                        read += len(line)
                        if line.startswith(_WANTED):
                            for event in decode_events(line, schema):
                                _take(event, digest)
                    if batch.state == "last":
                        digest.whole = True
                    if read > limit:
                        return
        except (UsageError, CodecError, OSError):
            return
        finally:
            self._left -= read


def _take(event: Event, digest: JournalDigest) -> None:
    if isinstance(event, TaskEnded):
        if event.ended != "cut" and len(digest.episodes) < MAX_EPISODES:
            digest.episodes.append(Episode(event.result, float(event.reward), event.steps))
    elif isinstance(event, SeatDisqualified):
        digest.falls.setdefault(event.seat, event)
    elif isinstance(event, MatchStarted):
        digest.begun = event.begun
