"""Records of matches: journals, their verification by replay, transcripts, results and logs."""

from __future__ import annotations

from flagfall.recording.journal.reader import JournalError as JournalError
from flagfall.recording.journal.reader import JournalTruncated as JournalTruncated
from flagfall.recording.journal.reader import read_journal as read_journal
from flagfall.recording.journal.writer import Journal as Journal
