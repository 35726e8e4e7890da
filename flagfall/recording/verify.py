"""Verification of journals: checks the seals, and every observation, reward and result by replay."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.events import SCHEMA, Event, MatchStarted, TurnPlayed
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.roles import SchedulerRole
from flagfall.recording.journal.format import decode_events
from flagfall.recording.journal.reader import Batch, JournalError, batches, check_schema
from flagfall.recording.replay import Different, NotRepeatable, Rerun
from flagfall.texts import counted

_EVENT_PREFIX: Final = b'{"event":'
"""The beginning of every line of a journal; a file without such a line is not one."""


@attrs.frozen
class Difference:
    """The first difference between a journal and its replay, or the first broken seal.

    Attributes:
        line: the number of the line in the file, from 1; `None` where agents played again, turn by turn.
        turn: the turn of that line, or the turn that was due; `None` before the first.
        last_turn: the last turn of the batch if only the batch is known; otherwise the same as `turn`.
        expected: the value of the replay as text; empty if there is none to compare.
        found: the value in the file as text; empty if there is none to compare.
    """

    line: int | None
    turn: int | None
    last_turn: int | None
    seat: int | None
    what: str
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        turn = "before turn 0" if self.turn is None else f"turn {self.turn}"
        if self.last_turn != self.turn:
            turn = f"turns {self.turn} to {self.last_turn}"
        seat = "" if self.seat is None else f", seat {self.seat}"
        if self.line is None:
            return f"{turn}{seat}: {self.what}: {self.found} is recorded, and it is {self.expected} now"
        values = f": expected {self.expected}, found {self.found}" if self.expected or self.found else ""
        return f"line {self.line}, {turn}{seat}: {self.what}{values}"


@attrs.frozen
class Verification:
    """The result of `verify`.

    Attributes:
        turns: the number of turns compared.
        tasks: the number of tasks compared.
        rounded: the number of values that differ by the rounding of floats alone, see
            `flagfall.recording.turn_limits`.
        difference: the first difference; `None` if there is none.
        not_repeatable: the reason if the match cannot be replayed; its seals were checked all the same.
        agents: the number of seats whose agents played the whole match again.
    """

    path: Path
    turns: int
    tasks: int
    rounded: int = 0
    difference: Difference | None = None
    not_repeatable: str | None = None
    agents: int = 0

    @property
    def ok(self) -> bool:
        """Return whether the whole match was replayed without a difference."""
        return self.difference is None and self.not_repeatable is None

    @property
    def verdict(self) -> str:
        """The result in one or two words."""
        if self.difference is not None:
            return "DIFFERENT"
        return "OK" if self.ok else "NOT VERIFIED"

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {"ok": self.ok, **attrs.asdict(self), "path": str(self.path)}

    def __str__(self) -> str:
        if self.difference is not None:
            return f"{self.path}: {self.difference}"
        are = "is as it was" if self.turns == 1 else "are as they were"
        done = f"{counted(self.turns, 'turn')} in {counted(self.tasks, 'task')} {are} recorded"
        if self.rounded:
            done += f"; {counted(self.rounded, 'value')} rounded otherwise"
        if self.agents:
            done += f"; {counted(self.agents, 'agent')} played the same match again"
        if self.not_repeatable is not None:
            return f"{self.path}: the seals hold; {done}; the rest was not compared: {self.not_repeatable}"
        return f"{self.path}: {done}"


def verify(
    path: str | os.PathLike[str],
    rebuild: Callable[[MatchStarted], SchedulerRole],
    *,
    watch: Callable[[int], None] = lambda _turns: None,
) -> Verification:
    """Replay a recorded match and compare everything that does not depend on the clock.

    The order and seeds of the tasks, every observation and reward, every result, and the reward owed at the
    end must be equal; floats may differ as far as another processor rounds them. Times and verdicts must be
    possible. A changed byte anywhere in the text of the file is found by the comparison or by the seal of
    its batch.

    Args:
        rebuild: returns a task scheduler with new tasks for the header of the journal.
        watch: called after each batch of lines with the number of turns compared so far.

    Raises:
        JournalError: the file cannot be read, or was written by a newer flagfall.
        UsageError: `rebuild` raised it, or its scheduler for a task that is due, and the header is as it was
            written.
    """
    return _Verifier(Path(path), rebuild, watch).run()


@attrs.define(eq=False)
class _Verifier:
    _path: Path
    _rebuild: Callable[[MatchStarted], SchedulerRole]
    _watch: Callable[[int], None]
    _rerun: Rerun | None = None
    _scheduler: SchedulerRole | None = None
    _difference: Difference | None = None
    _not_repeatable: str | None = None
    _seen: int | None = None
    _schema: int = SCHEMA

    def run(self) -> Verification:
        try:
            with closing(batches(self._path)) as parts:
                for batch in parts:
                    self._check(batch)
                    if self._difference is not None:
                        break
                    self._watch(0 if self._rerun is None else self._rerun.turn)
        finally:
            if self._rerun is not None:
                self._rerun.close()
            if self._scheduler is not None:
                self._scheduler.close()
        rerun = self._rerun
        done = (0, 0, 0) if rerun is None else (rerun.turn, rerun.tasks, rerun.rounded)
        return Verification(self._path, *done, self._difference, self._not_repeatable)

    def _check(self, batch: Batch) -> None:
        first = self._turn()
        for line, text in enumerate(batch.lines, batch.line):
            self._difference = self._compare(line, text, batch)
            if self._difference is not None:
                return
        self._difference = self._check_state(batch, first)

    def _compare(self, line: int, text: bytes, batch: Batch) -> Difference | None:
        """Compare one line with the replay."""
        turn = self._turn()
        seal = f" ({batch.what})" if batch.state == "damaged" else ""
        try:
            for event in decode_events(text, self._schema):
                turn = self._turn() if type(event) is TurnPlayed else self._seen
                self._take(event, line, text, batch)
        except CodecError as error:
            if line == 1 and not any(other.startswith(_EVENT_PREFIX) for other in batch.lines):
                raise JournalError(self._path, 1, None, f"this is not a journal: {error}") from None
            return Difference(line, turn, turn, None, f"not an event: {error}{seal}")
        except Different as found:
            values = found.expected, f"{found.found}{seal}"
            return Difference(line, turn, turn, found.seat, found.what, *values)
        return None

    def _take(self, event: Event, line: int, text: bytes, batch: Batch) -> None:
        if line == 1:
            self._begin(event, text, batch)
        elif self._rerun is not None and self._not_repeatable is None:
            try:
                self._rerun.take(event)
            except NotRepeatable as why:
                self._not_repeatable = str(why)
            except UsageError as error:
                if batch.state == "damaged":
                    raise _unusable_header(error) from error
                raise UsageError(f"the tasks of the match cannot be created here: {error}") from error
        if type(event) is TurnPlayed:
            self._seen = event.turn

    def _begin(self, event: Event, text: bytes, batch: Batch) -> None:
        sound = batch.state != "damaged"
        if sound:
            check_schema(self._path, text)
        if type(event) is not MatchStarted:
            raise Different("first line of a journal", "the header of a match", type(event).__name__)
        self._schema = event.schema
        try:
            self._scheduler = self._rebuild(event)
            self._rerun = Rerun(event, self._scheduler)
        except Exception as error:
            if sound:
                raise
            raise _unusable_header(error) from error

    def _check_state(self, batch: Batch, first: int | None) -> Difference | None:
        """Check the seal of a batch whose lines have no difference."""
        last, line = self._seen, batch.line + len(batch.lines)
        first = last if last is None else min(first or 0, last)
        if batch.state == "damaged":
            what = f"{batch.what}: lines {batch.line} to {line} are not as they were written"
            return Difference(line, first, last, None, what)
        if batch.state == "torn":
            what = f"{batch.what}: the writer was killed, or writes still"
            return Difference(line, last, last, None, what)
        over = self._rerun is None or self._rerun.over or self._not_repeatable is not None
        if batch.state == "last" and not over:
            return Difference(line, last, last, None, "the end of the match is missing")
        return None

    def _turn(self) -> int | None:
        """Return the turn that is due."""
        if self._rerun is None or self._not_repeatable is None:
            return None if self._rerun is None else self._rerun.turn
        return 0 if self._seen is None else self._seen + 1


def _unusable_header(error: Exception) -> Different:
    return Different("header", "a header from which a match can be built", repr(error))
