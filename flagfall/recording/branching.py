"""A turn of a recorded match from which another match goes on: found in its journal, and executed up to it.

Everything up to the last record of the turn before is as it was recorded; what comes next, the end of a task
included, happens anew. So an agent that takes a seat there is shown what that seat was to be shown next.

Rule 1: the match is executed as `verify` does it, and only one that is as it was recorded is gone on with.
Rule 2: an agent learns nothing that its seat was not shown.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from hashlib import sha256
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, Final

import attrs
from msgspec.structs import replace

from flagfall.errors import UsageError
from flagfall.events import (
    ON_TIME,
    Event,
    MatchEnded,
    MatchStarted,
    Parent,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    StallSeen,
    TaskEnded,
    TurnPlayed,
)
from flagfall.kernel.channels.turn_channel import Envelope, LateNotice, PlayedTurn
from flagfall.kernel.continuation import Continuation, Rehearsed, SeatState
from flagfall.kernel.referee.task_rules import TaskRules
from flagfall.kernel.roles import SchedulerRole
from flagfall.kernel.script import PhaseRequest
from flagfall.recording.journal.file import open_lines
from flagfall.recording.journal.format import MAX_LINE_BYTES, encode, update
from flagfall.recording.journal.reader import JournalTruncated, read_journal
from flagfall.recording.match_result import ResultReader
from flagfall.recording.replay import Different, NotRepeatable, Rerun
from flagfall.recording.turn_limits import LimitsOfTurns, are_same, shown
from flagfall.timing import TimeControl

MAX_TRANSCRIPT_TURNS: Final = 1_000
"""The most turns of a transcript: the longest episodes of most tasks."""

MAX_TRANSCRIPT_BYTES: Final = 1024 * 1024
"""The largest transcript as JSON: a quarter of what fits into one message of the agent protocol."""

_INCIDENTS: Final = (ReplyDropped, SeatDisqualified, StallSeen)


def recorded_events(path: Path) -> Iterator[Event]:
    """Yield the events of a journal, also of one without an end; an end without the last seal is none."""
    ended: list[Event] = []
    with suppress(JournalTruncated):
        for event in read_journal(path):
            if isinstance(event, MatchEnded):
                ended.append(event)
            else:
                yield event
        yield from ended


class AnswerDiffers(UsageError):
    """An agent that is shown recorded turns again does not repeat an answer."""


@attrs.frozen
class _LastTurn:
    """The last turn that is kept: its number, the number of events up to its end, and its time.

    Attributes:
        is_timed: a record of it was made when it ended; those of seats that are out are made when it begins.
    """

    turn: int = -1
    count: int = 0
    at_ns: int = 0
    is_timed: bool = False

    def followed_by(self, event: TurnPlayed, count: int) -> _LastTurn:
        is_timed = event.verdict not in {"absent", "disqualified"}
        is_timed |= self.is_timed and event.turn == self.turn
        return _LastTurn(event.turn, count, max(self.at_ns, event.at_ns), is_timed)


@attrs.frozen(eq=False)
class BranchPoint:
    """A turn of a recorded match; `find` makes it.

    Attributes:
        journal: the file.
        header: the start of the match.
        turn: the number of the first turn that is played anew.
        kept: the number of events before it, the start of the match included.
        at_ns: the time of the last of these.
        rebuild: returns a task scheduler with new tasks for the header.
        rehearsed: seats whose agents play the recorded turns, too, and must repeat their answers.
    """

    journal: Path
    header: MatchStarted
    turn: int
    kept: int
    at_ns: int
    rebuild: Callable[[MatchStarted], SchedulerRole]
    rehearsed: frozenset[int] = frozenset()

    @classmethod
    def find(
        cls,
        path: str | os.PathLike[str],
        turn: int | None,
        rebuild: Callable[[MatchStarted], SchedulerRole],
    ) -> BranchPoint:
        """Find a turn in a journal, which may lack its end.

        Args:
            turn: the number of the first turn to be played anew, at least 1; `None` for the one after the
                last that is recorded.
            rebuild: returns a task scheduler with new tasks for the header of the journal, such as
                `flagfall.tasks.building.rebuild`.

        Raises:
            JournalError: the file cannot be read, or was changed.
            UsageError: the match has no such turn.
        """
        path = Path(path)
        if turn is not None and turn < 1:
            raise UsageError(f"turn {turn}: at least one turn is kept; `flagfall run` plays all of them anew")
        header: MatchStarted | None = None
        ended: MatchEnded | None = None
        last = before = _LastTurn()
        count, is_solo = 0, False
        for count, event in enumerate(recorded_events(path), 1):
            if isinstance(event, MatchStarted):
                header, is_solo = event, len(event.agents) == 1
            elif isinstance(event, MatchEnded):
                ended = event
            elif isinstance(event, TurnPlayed):
                if turn is not None and event.turn >= turn:
                    break
                before = before if event.turn == last.turn else last
                last = last.followed_by(event, count)
            elif isinstance(event, ReplyDropped | StallSeen) and is_solo and last.count == count - 1:
                # Recorded as it happened: at once, and with several seats when time has moved on.
                last = attrs.evolve(last, count=count) if event.at_ns <= last.at_ns else last
        else:
            unsure = header is not None and last.count == count and not is_solo
            last = _whole_turn(path, rebuild, last, before) if unsure else last
            _check_open(path, last.turn + 1, turn, ended)
        if header is None or last.turn < 0:
            raise UsageError(f"{path}: no turn of this match is recorded, so there is nothing to go on from")
        if header.tick_ns is not None and not last.is_timed:
            raise UsageError(
                f"{path}: nobody who was asked in turn {last.turn} was there at its tick, so when it ended is"
                " not recorded; name another turn"
            )
        return cls(path, header, last.turn + 1, last.count, last.at_ns, rebuild)

    @property
    def parents(self) -> tuple[Parent, ...]:
        """What the header of the new journal says of the recorded matches."""
        older = tuple(parent for parent in self.header.parents if parent.turn < self.turn)
        was = self.header.settings_at(self.turn - 1)
        digits = sha256_of(self.journal)
        return (*older, Parent(self.turn, digits, tuple(was.agents), was.seed, was.time_control))

    def execute(
        self, control: TimeControl, seed: int, steps: int | None = None
    ) -> tuple[SchedulerRole, Continuation, dict[str, Any]]:
        """Execute the recorded match up to the turn.

        Args:
            control: the time control under which the match goes on; the recorded times are charged to it.
            seed: the root seed of what begins from the turn on.
            steps: number of turns after which the match ends; `None` for no limit.

        Returns:
            The task scheduler; the match at the turn; and the fields of `MatchStarted` from which all of it
            can be executed again.

        Raises:
            UsageError: the tasks cannot be created here, or the match cannot be executed as it was recorded,
                or not from the middle of its task.
        """
        header = replace(self.header, seed=seed, parents=self.parents)
        fields = ("tasks", "scheduler", "config", "rules", "code", "parents")
        scheduler = self.rebuild(self.header)
        try:
            continuation = _Execution(self, header, scheduler, control).run(steps)
        except BaseException:
            scheduler.close()
            raise
        return scheduler, continuation, {name: getattr(header, name) for name in fields}

    def events(self) -> Iterator[Event]:
        """Yield the recorded events before the turn, without the start of the match."""
        return islice(recorded_events(self.journal), 1, self.kept)

    def later_events(self) -> Iterator[Event]:
        """Yield the recorded events from the turn on."""
        return islice(recorded_events(self.journal), self.kept, None)

    def incidents(self) -> list[Event]:
        """Return what happened before the turn, and was recorded after time had moved on (`EventDispatcher`).

        A seat that is disqualified at that very time is out before the turn, unless it plays a part in it.
        """
        if len(self.header.agents) == 1:
            return []
        found: list[Event] = []
        first: dict[int, TurnPlayed] = {}
        until = inf
        for event in self.later_events():
            if isinstance(event, TurnPlayed):
                if event.turn > until:
                    break
                if event.at_ns > self.at_ns:
                    until = min(until, event.turn)
                first.setdefault(event.seat, event)
            elif isinstance(event, _INCIDENTS) and event.at_ns <= self.at_ns:
                found.append(event)
        stays = {seat for seat, turn in first.items() if turn.verdict != "absent"}
        return [
            event for event in found if not isinstance(event, SeatDisqualified) or event.seat not in stays
        ]

    def rehearse(self, seat: int) -> Rehearsed:
        """Yield all that a seat was shown before the turn, and compare the answers with the record.

        Raises:
            AnswerDiffers: an answer is another one.
        """
        scheduler = self.rebuild(self.header)
        try:
            rerun = Rerun(self.header, scheduler)
            phases, limits = _Phases(rerun), LimitsOfTurns(self.header)
            for event in self.events():
                rerun.take(event)
                if isinstance(event, SeatReady):
                    limits.take_start(event)
                for request in phases.newest():
                    answer = yield phases.envelope(request, seat)
                    if request.phase == "result" and isinstance(event, TaskEnded) and seat in event.answers:
                        self._compare(seat, f"`result` of {event.task}", answer, event.answers[seat])
                if isinstance(event, TurnPlayed) and event.seat == seat and event.verdict != "absent":
                    noted = {} if event.note is None else event.note
                    answer = yield Envelope(
                        event.turn, rerun.observation, event.reward, "act", phases.late, noted
                    )
                    if event.verdict == ON_TIME:
                        self._compare(seat, f"turn {event.turn}", answer, event.action)
                    phases.late = _notice(event, limits.take_turn(event).soft_ns)
        finally:
            rerun.close()
            scheduler.close()

    def _compare(self, seat: int, what: str, answer: Any, recorded: Any) -> None:
        if not are_same(recorded, answer):
            raise AnswerDiffers(
                f"{self.journal}: {what}, seat {seat}: the agent answers {shown(answer)}, and"
                f" {shown(recorded)} is recorded: it does not repeat what it did; let it begin at turn"
                f" {self.turn} with the transcript"
            )


def _whole_turn(
    path: Path, rebuild: Callable[[MatchStarted], SchedulerRole], last: _LastTurn, before: _LastTurn
) -> _LastTurn:
    """Return the last turn if all seats that were asked in it have a record, else the one before."""
    events = islice(recorded_events(path), last.count)
    header = next(events)
    assert isinstance(header, MatchStarted)
    scheduler = rebuild(header)
    rerun = Rerun(header, scheduler)
    try:
        for event in events:
            rerun.take(event)
        rerun.advance()
    except (Different, NotRepeatable):
        return before
    else:
        return last
    finally:
        rerun.close()
        scheduler.close()


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a journal, not compressed, as hexadecimal digits."""
    digest = sha256()
    with open_lines(path, MAX_LINE_BYTES) as lines:
        for line in lines:
            update(digest, line)
    return digest.hexdigest()


def _check_open(path: Path, turn: int, wanted: int | None, ended: MatchEnded | None) -> None:
    """Raise `UsageError` if a match, whose next turn has a number, has no further turn."""
    if wanted is not None and wanted != turn:
        raise UsageError(f"{path}: there is no turn {wanted}: {turn} turns are recorded")
    if ended is not None and ended.reason in {"finished", "seats"}:
        raise UsageError(f"{path}: the match is over after turn {turn - 1}; name an earlier turn")


class _Phases:
    """The requests for phases of a match that is executed again."""

    def __init__(self, rerun: Rerun) -> None:
        self.count: int = 1  # the start
        self.late: LateNotice | None = None
        self._rerun = rerun
        self._newest: list[PhaseRequest] = []
        rerun.on_phase = self._newest.append

    def newest(self) -> list[PhaseRequest]:
        """Return the requests since the last call."""
        newest, self._newest[:] = [*self._newest], []
        return newest

    def envelope(self, request: PhaseRequest, seat: int) -> Envelope:
        """Return what a seat is shown."""
        assert self._rerun.task is not None
        self.count += 1
        share = TaskRules.of(self._rerun.task).share_of(seat, request.observation, request.reward)
        late, self.late = self.late, None
        return Envelope(-self.count, *share, request.phase, late)


def _notice(turn: TurnPlayed, limit_ns: int | None) -> LateNotice | None:
    """Return the notice of a turn, with its limit, if that was late or illegal."""
    if turn.verdict not in {"late", "overrun", "illegal"}:
        return None
    late_by_ns = 0 if limit_ns is None or turn.verdict == "illegal" else max(0, turn.spent_ns - limit_ns)
    return LateNotice(turn.turn, turn.verdict, turn.action, late_by_ns)


class _Execution:
    """Executes a match up to a turn, and collects what it is gone on with."""

    def __init__(
        self, point: BranchPoint, header: MatchStarted, scheduler: SchedulerRole, control: TimeControl
    ) -> None:
        self._point = point
        self._rerun = Rerun(header, scheduler)
        self._phases = 1
        self._result = ResultReader()
        self._result(header)
        self._recorded_limits = LimitsOfTurns(point.header)
        self._limits = LimitsOfTurns(replace(header, time_control=str(control), parents=()))
        self._turns: dict[int, TurnPlayed] = {}
        self._notices: dict[int, LateNotice | None] = {}
        self._transcripts: dict[int, deque[PlayedTurn]] = {}
        self._init: PhaseRequest | None = None
        self._rerun.on_phase = self._take_phase

    def run(self, steps: int | None) -> Continuation:
        point, rerun = self._point, self._rerun
        try:
            for event in point.events():
                rerun.take(event)
                self._result(event)
                if isinstance(event, TurnPlayed):
                    self._take_turn(event)
                elif isinstance(event, SeatReady):
                    self._limits.take_start(event)
                    self._recorded_limits.take_start(event)
            script, request = rerun.advance(steps)
        except (Different, NotRepeatable) as why:
            rerun.close()
            place = f"turn {rerun.turn}" if rerun.turn < point.turn else f"turn {point.turn}"
            raise UsageError(f"{point.journal}: {place} cannot be reached: {_reason(why)}") from why
        assert rerun.task is not None
        seats = self._result.seats
        outside = frozenset(number for number, (stats, out) in enumerate(seats) if out or stats.has_missed)
        incidents = point.incidents()
        outs = {event.seat: event for event in incidents if isinstance(event, SeatDisqualified)}
        outs |= {number: out for number, (_, out) in enumerate(seats) if out is not None}
        for number in outside - outs.keys():  # the end of the journal is missing
            outs[number] = SeatDisqualified(point.at_ns, number, "gone", "why is not recorded")
            incidents.append(outs[number])
        return Continuation(
            script,
            request,
            rerun.task,
            point.turn,
            self._phases,
            point.at_ns,
            point.events(),
            incidents,
            [self._seat(number, stats, outs.get(number)) for number, (stats, _) in enumerate(seats)],
            self._result.result().tasks,
            point.header.rules,
        )

    def _take_phase(self, request: PhaseRequest) -> None:
        self._phases += 1
        if request.phase == "init":
            self._init = attrs.evolve(request, observation=deepcopy(request.observation))

    def _take_turn(self, event: TurnPlayed) -> None:
        seat, limits = event.seat, self._recorded_limits.take_turn(event)
        self._limits.take_turn(event)
        self._notices[seat] = _notice(event, limits.soft_ns)
        if event.turn >= self._point.turn - MAX_TRANSCRIPT_TURNS and seat not in self._point.rehearsed:
            turn = event.turn, deepcopy(self._rerun.observation), event.reward, event.action, event.verdict
            self._transcripts.setdefault(seat, deque()).append(PlayedTurn(*turn))

    def _seat(self, number: int, stats: Any, out: SeatDisqualified | None) -> SeatState:
        point = self._point
        rehearse = partial(point.rehearse, number)
        if number not in point.rehearsed:
            rehearse = partial(_show_task, self._init, self._rerun.task, number)
        return SeatState(
            stats,
            self._limits.budget_of(number),
            out,
            self._notices.get(number),
            _bounded(self._transcripts.get(number, ())),
            rehearse,
        )


def _show_task(init: PhaseRequest | None, task: Any, seat: int) -> Rehearsed:
    """Yield the beginning of the task that runs, if it has one."""
    if init is not None and not task.continuous:
        share = TaskRules.of(task).share_of(seat, init.observation, init.reward)
        yield Envelope(-2, *share, "init")


def _bounded(turns: Sequence[PlayedTurn]) -> tuple[PlayedTurn, ...]:
    """Return the last turns, as many as `MAX_TRANSCRIPT_BYTES` allow."""
    kept: list[PlayedTurn] = []
    left = MAX_TRANSCRIPT_BYTES
    for turn in reversed(turns):
        left -= len(encode(turn))
        if left < 0:
            break
        kept.append(turn)
    return tuple(reversed(kept))


def _reason(why: Different | NotRepeatable) -> str:
    if isinstance(why, NotRepeatable):
        return str(why)
    values = f": expected {why.expected}, found {why.found}" if why.expected or why.found else ""
    return f"its execution differs from the record: {why.what}{values}"
