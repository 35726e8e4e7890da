"""Journals to export: a single one, or all that are in a results folder, each read batch by batch.

Journals may come from others, and may be damaged: what they hold is exported, and the fault is reported.
"""

from __future__ import annotations

__all__ = ["Source", "find_sources", "open_source", "take_events"]

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.events import Event, MatchStarted
from flagfall.recording.journal.format import encode
from flagfall.recording.journal.reader import Batch, JournalError, read_batches
from flagfall.tournament.folder import JOURNALS

MAX_NAME_CHARS: Final = 200
"""Names of matches, tasks and agents are cut to this length."""

MAX_TEXT_CHARS: Final = 2_000
"""Values and messages in a timeline are cut to this length; viewers show less of them."""

_ENDINGS: Final = (".jsonl", ".jsonl.zst")


@attrs.frozen
class Source:
    """A match to export.

    Attributes:
        path: its journal.
        match: a name for the match.
        begun_ns: wall time of its beginning, in nanoseconds since 1970; `None` under the virtual clock.
        header: the first event of the journal.
    """

    path: Path
    match: str
    begun_ns: int | None
    header: MatchStarted


def find_sources(path: Path, report: Callable[[str], None]) -> list[Source]:
    """Return the matches of a journal or of a results folder, in the order in which they began.

    Only the beginnings of the journals are read.

    Args:
        path: a journal, or a folder with journals in it or in its folder `journals`.
        report: takes a line about each journal in a folder that cannot be read.

    Raises:
        UsageError: the file is no journal, or the folder holds none that can be read.
    """
    if not path.is_dir():
        return [open_source(path)]
    folder = path / JOURNALS if (path / JOURNALS).is_dir() else path
    found = []
    for file in sorted(folder.iterdir()):
        if file.name.endswith(_ENDINGS) and file.is_file():
            try:
                found.append(open_source(file))
            except UsageError as error:
                report(str(error))
    if not found:
        raise UsageError(f"{path} holds no journal that can be read; name a journal or a results folder")
    return sorted(found, key=lambda source: (source.begun_ns or 0, source.match))


def open_source(path: Path) -> Source:
    """Return the match of a journal.

    Args:
        path: the journal.

    Raises:
        UsageError: its beginning cannot be read.
    """
    for _batch, events in read_batches(path):
        for event in events:
            if isinstance(event, MatchStarted):
                return Source(path, match_name(path), _nanoseconds(event.begun), event)
    raise JournalError(path, 1, None, "it holds no match")


def match_name(path: Path) -> str:
    """Return the name of a match: that of its journal without the ending."""
    return shorten(path.name.removesuffix(".zst").removesuffix(".jsonl"), MAX_NAME_CHARS)


def _nanoseconds(begun: str | None) -> int | None:
    """Return a recorded wall time in nanoseconds; `None` where it cannot be read."""
    try:
        return None if begun is None else int(datetime.fromisoformat(begun).timestamp() * 1_000_000) * 1_000
    except (ValueError, OverflowError):
        return None


def take_events(
    source: Source, take: Callable[[Event], None], take_batch: Callable[[Batch, int, int], None] | None = None
) -> str:
    """Pass on every event of a journal that can be read.

    Args:
        source: the match.
        take: takes each event.
        take_batch: takes each batch after its events, with the times of the first and the last of them.

    Returns:
        What is wrong with the journal, in one line; an empty text if it is complete.
    """
    try:
        for batch, events in read_batches(source.path):
            first_ns = last_ns = None
            for event in events:
                take(event)
                last_ns = event.at_ns
                first_ns = last_ns if first_ns is None else first_ns
            if take_batch is not None and first_ns is not None and last_ns is not None:
                take_batch(batch, first_ns, last_ns)
    except JournalError as error:
        return str(error)
    return ""


def shorten(text: str, max_chars: int) -> str:
    """Return a text of bounded length, with the length of what was left out."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}… ({len(text)} characters)"


def json_text(value: Any) -> str:
    """Return a recorded value as JSON, as it stands in the journal."""
    return encode(value).decode()
