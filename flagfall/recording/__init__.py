"""The record of a match: writing it, reading it, playing it again. `logs` sets up structlog."""

from __future__ import annotations

from flagfall.recording.journal import Journal as Journal
from flagfall.recording.reading import JournalError as JournalError
from flagfall.recording.reading import JournalTruncated as JournalTruncated
from flagfall.recording.reading import read_journal as read_journal
