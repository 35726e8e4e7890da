"""Record of a match from its journal, counted as by the observer of a running match, without a replay."""

from __future__ import annotations

from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Final

import attrs

from flagfall.events import (
    Event,
    MatchEnded,
    MatchStarted,
    SeatDisqualified,
    SeatReady,
    TaskEnded,
    TurnPlayed,
    TurnsPlayed,
)
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.outcomes import MatchResult, SeatReport, SeatStats, lost_by
from flagfall.recording.journal.format import decode_line
from flagfall.recording.journal.reader import JournalError, batches, check_schema
from flagfall.timing import TimeControl
from flagfall.tournament.model import PlannedTask
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.match_observer import MatchObserver

MAX_SEATS: Final = 9999
"""Most seats of a match in a plan."""

MAX_TASKS: Final = 1_000_000
"""Most tasks of one match that are counted, in 100 MB; a small compressed file may have any number."""


@attrs.define(eq=False)
class _Seat:
    """What a journal holds of a seat."""

    stats: SeatStats = attrs.Factory(SeatStats)
    disqualified: str | None = None


class Recount:
    """The events of a journal, counted as in the match.

    Args:
        path: the journal, which may come from others.

    Raises:
        JournalError: it is damaged, incomplete or not a journal, or its events contradict each other.

    Attributes:
        header: its first event.
        over: its last event.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = 1
        self._tasks = 0
        self.header: MatchStarted
        self.over: MatchEnded | None = None
        try:
            with closing(batches(path)) as parts:
                schema = None
                for batch in parts:
                    if batch.state in {"damaged", "torn"}:
                        raise JournalError(path, batch.line, None, batch.what)
                    for self._line, line in enumerate(batch.lines, batch.line):
                        schema = check_schema(path, line) if schema is None else schema
                        self._take(decode_line(line, schema))
        except (CodecError, ArithmeticError) as error:
            raise self._contradiction(f"not an event: {error}") from error
        if self.over is None:
            raise self._contradiction("the end of the match is missing")

    def _contradiction(self, what: str) -> JournalError:
        return JournalError(self._path, self._line, None, what)

    def _take(self, event: Event | TurnsPlayed) -> None:
        if isinstance(event, MatchStarted) is not (self._line == 1) or self.over is not None:
            raise self._contradiction("a match begins in line 1 and ends in the last line")
        if isinstance(event, MatchStarted):
            self._begin(event)
            return
        seat = 0 if isinstance(event, TurnsPlayed) else getattr(event, "seat", None)
        if seat is not None and not 0 <= seat < len(self._seats):
            raise self._contradiction(f"seat {seat} of {len(self._seats)}")
        if isinstance(event, TurnsPlayed):
            self._take_turns(event)
        else:
            self._observer(event)
            self._count(event)

    def _begin(self, header: MatchStarted) -> None:
        if len(header.agents) > MAX_SEATS:
            raise self._contradiction(f"{len(header.agents)} seats; {MAX_SEATS} are the most")
        self.header = header
        self._seats = [_Seat() for _ in header.agents]
        self._observer = MatchObserver(len(header.agents), _control(header.time_control))

    def _count(self, event: Event) -> None:
        if isinstance(event, TurnPlayed):
            self._take_turn(event)
        elif isinstance(event, SeatReady):
            self._seats[event.seat].stats.start_ns = event.spent_ns
        elif isinstance(event, SeatDisqualified):
            seat = self._seats[event.seat]
            seat.stats.late += event.reason == "late"
            seat.disqualified = seat.disqualified or event.reason
        elif isinstance(event, TaskEnded):
            self._tasks += 1
            if self._tasks > MAX_TASKS:
                raise self._contradiction(f"more than {MAX_TASKS} tasks")
        elif isinstance(event, MatchEnded):
            self.over = event

    def _take_turns(self, turns: TurnsPlayed) -> None:
        self._observer.write_batch(turns)
        stats = self._seats[0].stats
        stats.turns += len(turns)
        stats.think_ns += sum(turns.spent_ns)
        stats.think_max_ns = max(stats.think_max_ns, *turns.spent_ns)

    def _take_turn(self, turn: TurnPlayed) -> None:
        stats = self._seats[turn.seat].stats
        stats.turns += 1
        stats.think_ns += turn.spent_ns
        stats.think_max_ns = max(stats.think_max_ns, turn.spent_ns)
        stats.credit_ns += turn.credit_ns
        stats.late += turn.verdict in {"late", "overrun"}
        stats.illegal += turn.verdict == "illegal"
        stats.absent += turn.verdict == "absent"
        stats.is_cut |= turn.verdict == "disqualified"

    def record(self, spec: MatchSpec, attempt: int, task: PlannedTask) -> MatchRecord:
        """Return the record of the match; the counts that a journal does not hold are 0."""
        assert self.over is not None
        rewards = self.over.rewards or [0.0] * len(self._seats)
        if len(rewards) != len(self._seats):
            raise self._contradiction(f"{len(rewards)} rewards for {len(self._seats)} seats")
        reports = []
        for seat, agent, reward in zip(self._seats, self.header.agents, rewards, strict=True):
            seat.stats.reward = reward
            lost = lost_by(self.over.reason, seat.disqualified, has_missed=seat.stats.has_missed)
            reports.append(SeatReport(agent, seat.disqualified, "", seat.stats, lost_by=lost))
        result = MatchResult(self.over.reason, self.over.turns, tuple(reports), (), self.over.at_ns)
        return self._observer.record(spec, attempt, result, measure=task.score, last=task.last)


@lru_cache(maxsize=64)
def _control(text: str) -> TimeControl:
    return TimeControl.parse(text)
