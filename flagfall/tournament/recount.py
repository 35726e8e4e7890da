"""Record of a match from its journal, counted as by the observer of a running match, without a replay."""

from __future__ import annotations

from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Final

from flagfall.errors import UsageError
from flagfall.events import Event, MatchEnded, MatchStarted, TaskEnded, TurnsPlayed
from flagfall.kernel.channels.codecs import CodecError
from flagfall.recording.journal.format import decode_line
from flagfall.recording.journal.reader import JournalError, batches, check_schema
from flagfall.recording.match_result import ResultReader
from flagfall.timing import TimeControl
from flagfall.tournament.model import PlannedTask
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.match_observer import MatchObserver

MAX_TASKS: Final = 1_000_000
"""Most tasks of one match that are counted, in 100 MB; a small compressed file may have any number."""


class Recount:
    """The events of a journal, counted as in the match.

    Args:
        path: the journal, which may come from others.
        first_turn: see `flagfall.tournament.run.match_observer.MatchObserver`.

    Raises:
        JournalError: it is damaged, incomplete or not a journal, or its events contradict each other.

    Attributes:
        header: its first event.
        has_rewards: see `flagfall.recording.match_result.ResultReader`.
    """

    def __init__(self, path: Path, first_turn: int = 0) -> None:
        self._path = path
        self._first_turn = first_turn
        self._line = 1
        self._tasks = 0
        self._is_over = False
        self._reader = ResultReader()
        self._observer: MatchObserver
        self.header: MatchStarted
        try:
            self._read()
        except JournalError:
            raise
        except (CodecError, UsageError, ArithmeticError) as error:
            raise self._contradiction(f"not an event of this match: {error}") from error
        self.has_rewards: bool = self._reader.has_rewards

    def _read(self) -> None:
        with closing(batches(self._path)) as parts:
            schema = None
            for batch in parts:
                if batch.state in {"damaged", "torn"}:
                    raise JournalError(self._path, batch.line, None, batch.what)
                for self._line, line in enumerate(batch.lines, batch.line):
                    schema = check_schema(self._path, line) if schema is None else schema
                    self._take(decode_line(line, schema))
        if not self._is_over:
            raise self._contradiction("the end of the match is missing")

    def _contradiction(self, what: str) -> JournalError:
        return JournalError(self._path, self._line, None, what)

    def _take(self, event: Event | TurnsPlayed) -> None:
        if isinstance(event, MatchStarted) is not (self._line == 1) or self._is_over:
            raise self._contradiction("a match begins in line 1 and ends in the last line")
        if isinstance(event, TurnsPlayed):
            self._reader.take_turns(event)
            self._observer.write_batch(event)
            return
        self._reader(event)  # it refuses what the observer could not take
        if isinstance(event, MatchStarted):
            self.header = event
            self._observer = MatchObserver(len(event.agents), _control(event.time_control), self._first_turn)
        self._observer(event)
        self._tasks += isinstance(event, TaskEnded)
        if self._tasks > MAX_TASKS:
            raise self._contradiction(f"more than {MAX_TASKS} tasks")
        self._is_over = isinstance(event, MatchEnded)

    def record(self, spec: MatchSpec, attempt: int, task: PlannedTask) -> MatchRecord:
        """Return the record of the match; the counts that a journal does not hold are 0."""
        return self._observer.record(spec, attempt, self._reader.result(), measure=task.score, last=task.last)


@lru_cache(maxsize=64)
def _control(text: str) -> TimeControl:
    return TimeControl.parse(text)
