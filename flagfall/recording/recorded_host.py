"""A host that plays on what is recorded of a seat: its actions, each as long after its turn began as then.

Where all seats play on what is recorded, the match becomes the recorded one, on the virtual clock to the
nanosecond. Otherwise the recorded actions are judged as those of any agent.
"""

from __future__ import annotations

from ast import literal_eval
from collections import deque
from contextlib import suppress
from math import inf
from typing import Any, Final

import trio
from trio.lowlevel import cancel_shielded_checkpoint

from flagfall.errors import AgentFault, UsageError
from flagfall.events import (
    ON_TIME,
    OUT_VERDICTS,
    Event,
    MatchEnded,
    Printed,
    ReplyDropped,
    SeatDisqualified,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
)
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.referee.task_rules import TaskRules
from flagfall.kernel.seat import MAX_NAMED_TURN, HostSeat
from flagfall.recording.branching import BranchPoint
from flagfall.recording.turn_limits import forms_of
from flagfall.timing import S

_SETTLING_PASSES: Final = 2
"""Passes of the loop before an agent is disqualified that has broken down, as in the event loop."""


class RecordedHost:
    """Plays one seat from a journal.

    Args:
        point: the turn from which the match goes on.

    Raises:
        UsageError: at real-time pace, an answer was on its way at that turn.
    """

    kind: HostKind = "task"

    def __init__(self, point: BranchPoint, seat: int) -> None:
        self.name: str = point.header.agents[seat]
        self._record = _Record(point, seat)

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:  # noqa: ARG002 - the record has it all
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        seat.printed = self._record.printed
        playing = _Playing(seat, self._record)
        try:
            await playing.play()
        except trio.EndOfChannel:
            await playing.end()


class _Record:
    """What a journal has of one seat from a turn on; times are since the match began.

    Attributes:
        turns: the records of its turns by number, without those after its disqualification.
        answers: the records in which an answer of its own was judged, by the turn that it answers.
        first: the number of the first turn that is played on.
        last: the number of its last turn; -1 if there is none.
        incidents: its dropped replies, and its disqualification.
        results: the ends of tasks, each with the number of the turn after it.
        before: its next reply to a turn that was over before; `None` if there is none.
        tick_ns: at real-time pace, the length of a tick.
        ended_ns: when the agents had ended; 0 if that is not recorded.
        inits: when the seats were ready for a task, by the number of its first turn, if that took time.
    """

    def __init__(self, point: BranchPoint, seat: int) -> None:
        self.at_ns: int = point.at_ns
        self.turns: dict[int, TurnPlayed] = {}
        self.answers: dict[int, TurnPlayed] = {}
        self.last: int = -1
        self.incidents: deque[ReplyDropped | SeatDisqualified] = deque()
        self.results: list[tuple[int, TaskEnded]] = []
        self.inits: dict[int, int] = {}
        self.before: ReplyDropped | None = None
        self.ended_ns: int = 0
        self.tick_ns: int | None = point.header.tick_ns
        self.printed: tuple[Printed, ...] = ()
        self._seat = seat
        self._task = (-1, 0)  # the number of its first turn, and its start
        self._is_ready_known = False
        self.first = self._next = point.turn
        self._is_solo = len(point.header.agents) == 1
        for event in point.later_events():
            self._take(event)

    @property
    def ends_in_init(self) -> bool:
        """Return whether the match ended before the first turn of its last task."""
        return self._task[0] == self._next

    @property
    def late_ns(self) -> int | None:
        """Return when its last turn was judged, if that was late."""
        last = self.turns.get(self.last)
        return last.at_ns if last is not None and last.verdict == "late" else None

    def _take(self, event: Event) -> None:
        if isinstance(event, TurnPlayed):
            self._next = event.turn + 1
            if event.turn == self._task[0]:
                self._take_ready(event)
            if event.seat == self._seat and event.verdict != "absent":
                self._take_turn(event)
        elif isinstance(event, TaskStarted):
            self._task, self._is_ready_known = (self._next, event.at_ns), False
        elif isinstance(event, TaskEnded):
            self.results.append((self._next, event))
        elif isinstance(event, MatchEnded):
            self.ended_ns = event.at_ns
            self.printed = tuple(part for part in event.printed if part.seat == self._seat)
        elif isinstance(event, ReplyDropped | SeatDisqualified) and event.seat == self._seat:
            self._take_incident(event)

    def _take_incident(self, event: ReplyDropped | SeatDisqualified) -> None:
        # With several seats, dropped replies of the time before are recorded again (`BranchPoint.incidents`).
        if self._is_solo or event.at_ns > self.at_ns or isinstance(event, SeatDisqualified):
            self.incidents.append(event)
            if len(self.incidents) == 1 and isinstance(event, ReplyDropped) and event.why != "unasked":
                self.before = event if event.turn < self.first else None

    def _take_ready(self, event: TurnPlayed) -> None:
        """Take when the first turn of a task had begun, as far as a record of it tells."""
        turn, began_ns = self._task
        if event.verdict not in {"absent", "disqualified"}:
            ready_ns = _began_ns(event) if self.tick_ns is None else event.at_ns - self.tick_ns
            if not self._is_ready_known:
                self._is_ready_known = True
                self.inits.pop(turn, None)
        elif self._is_ready_known or self.tick_ns is not None:  # it had begun by then, and maybe long before
            return
        else:
            ready_ns = event.at_ns
        if ready_ns > began_ns:
            self.inits[turn] = min(self.inits.get(turn, ready_ns), ready_ns)

    def _take_turn(self, event: TurnPlayed) -> None:
        before = self.turns.get(self.last)
        self.turns[event.turn] = event
        self.last = event.turn
        if event.verdict in {ON_TIME, "illegal"}:
            answered = event.turn if event.answers is None else event.answers
            if answered < self.first:
                raise UsageError(
                    f"turn {self.first}: an answer of seat {self._seat} to turn {answered} was on its way,"
                    " which cannot be played again: name another turn"
                )
            self.answers[answered] = event
            turn, began_ns = self._task
            if self.tick_ns is not None and before is not None and turn == answered < event.turn:
                ready_ns = before.at_ns - event.spent_ns  # it was made after the seat's turn before
                if ready_ns > began_ns:
                    self.inits[turn] = max(self.inits.get(turn, ready_ns), ready_ns)


class _Playing:
    """Plays a seat from its record; times are on the clock of the loop."""

    def __init__(self, seat: HostSeat, record: _Record) -> None:
        self._seat = seat
        self._record = record
        self._taken = self._answered = -1
        # When the match began, as far as the turn that was taken last tells.
        self._origin_ns = 0
        # The answer that is due: its value, the number of what it answers, and its time.
        self._answer: tuple[Any, int, float] | None = None
        self._has_begun = trio.Event()

    async def play(self) -> None:
        """Play to the end of the match.

        Raises:
            AgentFault: the seat was disqualified here, or the record has no such turn.
            trio.EndOfChannel: the match is over.
        """
        seat, incidents = self._seat, self._record.incidents
        await seat.agent.turn()
        seat.on_resume = self._begin
        seat.agent.reply()
        await self._has_begun.wait()
        while True:
            due_ns = self._incident_due_ns()
            if self._answer is not None and self._answer[2] <= due_ns:
                value, number, at_ns = self._answer
                await self._sleep_until(at_ns)
                self._answer, self._answered = None, number
                seat.agent.reply(value, number)
            elif due_ns < inf and (due_ns <= seat.now() or self._answer or self._is_out or self._is_busy):
                await self._sleep_until(due_ns)
                await self._repeat(incidents.popleft())
            else:
                with trio.move_on_at(due_ns / S):
                    self._take(await seat.agent.turn())

    async def end(self) -> None:
        """Reply, break down and end after the match as the agent did."""
        while self._record.incidents:
            incident = self._record.incidents.popleft()
            await self._sleep_until(self._origin_ns + incident.at_ns)
            await self._repeat(incident)
        await self._sleep_until(self._origin_ns + self._record.ended_ns)

    async def _sleep_until(self, at_ns: float) -> None:
        if at_ns > self._seat.now():  # what happens at once comes before anything else
            await trio.sleep_until(at_ns / S)

    def _begin(self) -> None:
        """Go on at the time of the turn before."""
        self._origin_ns = self._seat.now() - self._record.at_ns
        before = self._record.before
        if before is not None:
            is_answered = before.why == "double"
            self._seat.recall(before.turn, is_answered=is_answered)
            self._taken, self._answered = before.turn, before.turn if is_answered else -1
        self._choose_phases()
        self._has_begun.set()

    @property
    def _is_out(self) -> bool:
        """Return whether nothing of the seat is recorded any more but its disqualification."""
        seat, record = self._seat, self._record
        incidents, last = record.incidents, record.last
        is_last = self._taken >= last or seat.turn_number > last
        if record.late_ns is not None and seat.turn_number == last and not seat.is_asked:
            is_last |= self._origin_ns + record.late_ns <= seat.now()  # others have it still to play
        return bool(incidents) and isinstance(incidents[-1], SeatDisqualified) and is_last

    @property
    def _is_open(self) -> bool:
        """Return whether the turn that was taken last is still to be answered."""
        return self._taken == self._seat.turn_number and self._seat.is_asked

    @property
    def _is_busy(self) -> bool:
        """Return whether the agent replied once more before it took another turn."""
        return any(
            isinstance(incident, ReplyDropped) and incident.turn == self._taken
            for incident in self._record.incidents
        )

    def _is_busy_at(self, turn: int, at_ns: int) -> bool:
        """Return whether the agent was busy with an older turn than one of a number."""
        return any(
            isinstance(incident, ReplyDropped) and incident.turn < turn and incident.at_ns > at_ns
            for incident in self._record.incidents
        )

    def _incident_due_ns(self) -> float:
        """Return when the next incident is due; infinite where something else comes before."""
        seat, incidents = self._seat, self._record.incidents
        last, taken = self._record.last, self._taken
        if not incidents:
            return inf
        incident = incidents[0]
        due_ns = self._origin_ns + incident.at_ns
        if isinstance(incident, SeatDisqualified):
            waits = not self._is_out and (incident.reason != "late" or not seat.is_asked)
        elif incident.why == "unasked":
            waits = False
        else:
            is_early = self._is_open and incident.why == "stale" and due_ns <= seat.now()
            waits = is_early or (self._record.first <= incident.turn <= last and taken < incident.turn)
        return inf if waits else due_ns

    async def _repeat(self, incident: ReplyDropped | SeatDisqualified) -> None:
        if isinstance(incident, SeatDisqualified):
            if incident.reason != "late":  # as of an agent that broke down, after the turns of this moment
                for _ in range(_SETTLING_PASSES):
                    await cancel_shielded_checkpoint()
            if self._record.late_ns == incident.at_ns:
                self._seat.fire(self._seat.now())  # the limit of its last turn came first
            self._seat.report(incident.reason, incident.detail)
            return
        number = incident.turn if incident.why != "unasked" or incident.turn >= 0 else MAX_NAMED_TURN + 1
        if incident.why == "double" and self._answered != number:  # the reply before has no record
            if self._is_open:
                self._seat.agent.reply(None, number)
            else:
                self._seat.recall(number, is_answered=True)
        self._seat.agent.reply(None, number)
        self._answered = number

    def _take(self, envelope: Envelope) -> None:
        """Set the answer to an envelope."""
        seat, record, number = self._seat, self._record, envelope.number
        if envelope.phase == "act":
            turn, answer = record.turns.get(number), record.answers.get(number)
            if turn is None and answer is None and number > record.last:
                raise AgentFault("gone", f"the record of this seat ends before turn {number}")
            self._taken = number
            if turn is not None and turn.verdict not in OUT_VERDICTS and record.tick_ns is None:
                self._origin_ns = seat.taken_ns - _began_ns(turn)
            if turn is not None and turn.note is not None:
                seat.agent.note(turn.note)
            if answer is not None:
                self._answer = self._action(answer), number, seat.taken_ns + answer.spent_ns
        elif envelope.phase == "init":
            ready_ns = record.inits.get(seat.turn_number, 0)
            self._answer = None, number, self._origin_ns + ready_ns
        else:
            ends = [end for turn, end in record.results if turn == seat.turn_number]
            told = ends[0].answers.get(seat.number) if ends else None
            self._answer = told, number, self._origin_ns + ends[0].at_ns if ends else -inf
        self._choose_phases()

    def _action(self, record: TurnPlayed) -> Any:
        """Return a recorded action as the task takes it."""
        if record.verdict == "illegal":
            return _with_text(record.refused or "")
        assert self._seat.task is not None
        rules = TaskRules.of(self._seat.task)
        legal = (form for form in forms_of(record.action) if rules.legal(self._seat.number, form))
        return next(legal, record.action)

    def _choose_phases(self) -> None:
        """Be asked in the phases that the agent has taken its time for, as far as that is recorded."""
        after = max(self._taken + 1, self._seat.turn_number)
        ends = next((end for turn, end in self._record.results if turn >= after), None)
        wants = {"act"}
        ready = next((item for item in self._record.inits.items() if item[0] >= after), None)
        is_asked = ready is not None and not self._is_busy_at(*ready)
        if is_asked or (self._is_out and self._record.ends_in_init):
            wants.add("init")
        if ends is not None:
            breaks_down = self._is_out and self._record.incidents[-1].at_ns <= ends.at_ns
            if breaks_down or self._seat.number in ends.answers:
                wants.add("result")
        self._seat.agent.wants = wants


def _began_ns(turn: TurnPlayed) -> int:
    return turn.at_ns - turn.spent_ns - turn.credit_ns


def _with_text(text: str) -> Any:
    """Return a value that `safe_repr` shows as a text, as far as there is one."""
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return literal_eval(text)
    return type(text.strip("<>") or "object", (), {})()
