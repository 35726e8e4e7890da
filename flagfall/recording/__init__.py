"""Records of matches: journals, verification by replay, turns as columns, transcripts, results and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flagfall.recording.journal.reader import JournalError as JournalError
from flagfall.recording.journal.reader import JournalTruncated as JournalTruncated
from flagfall.recording.journal.reader import read_journal as read_journal
from flagfall.recording.journal.writer import Journal as Journal
from flagfall.recording.verify import Difference as Difference
from flagfall.recording.verify import Verification as Verification
from flagfall.recording.verify import verify as verify

if TYPE_CHECKING:
    from flagfall.recording.log_setup import configure_logging as configure_logging
    from flagfall.recording.log_sink import LogSink as LogSink
    from flagfall.recording.turn_columns import Turns as Turns
    from flagfall.recording.turn_columns import iter_turns as iter_turns
    from flagfall.recording.turn_columns import read_turns as read_turns

_HOMES = {
    "LogSink": "log_sink",
    "Turns": "turn_columns",
    "configure_logging": "log_setup",
    "iter_turns": "turn_columns",
    "read_turns": "turn_columns",
}
"""Modules of names that need structlog or numpy, which most matches do without."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - few programs come here

    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
