"""Replays a match event by event and reports the first mismatch. Pure.

The match itself is `flagfall.kernel.script`, as when it was played; the actions are the recorded ones.

Rule 1: a turn's actions are given to the task only when the next event has come. In a match that was cut,
    the last turn may or may not have moved its task; the recorded number of steps of the task decides.
Rule 2: decisions by the clock (times, verdicts, dropped replies, stalls) are taken from the record. They are
    checked for being possible, not for being right.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.events import (
    Event,
    MatchEnded,
    MatchStarted,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    StallSeen,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
)
from flagfall.kernel.outcomes import derive_seed
from flagfall.kernel.referee.task_rules import TaskRules
from flagfall.kernel.roles import SchedulerRole, TaskRole, complete_task
from flagfall.kernel.script import MatchCut, NextTask, PhaseRequest, RunTask, TaskTimeout, match_script
from flagfall.recording.actor_replay import ActorReplay
from flagfall.recording.journal.format import Digest, digest_of, encode
from flagfall.recording.turn_limits import are_close, are_same, forms_of, shown
from flagfall.timing.deadlines import ignore

_FIRST_WITH_WITHDRAWN: Final = 3
"""The first schema in which a turn that was withdrawn keeps its number."""


class Different(Exception):
    """The record and the replay differ.

    Attributes:
        expected: the value of the replay, as text; empty if there is nothing to compare.
        found: the value in the journal, as text.
        seat: index of the seat that it belongs to; `None` if it belongs to none.
    """

    def __init__(self, what: str, expected: str = "", found: str = "", seat: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.expected = expected
        self.found = found
        self.seat = seat


class NotRepeatable(Exception):
    """Part of the match cannot be executed again."""


class Rerun:
    """The replay of one match.

    Args:
        scheduler: its scheduler, newly built; the caller closes it.

    Attributes:
        turn: number of turns that were compared so far.
        rounded: number of values that differ from the recorded ones by the rounding of floats.
        task: the task that was started last; it stays after its end, until the next one is asked for.
        observation: the newest observation that was compared, as the replay made it.
        action: the action of that turn, as the task takes it.
        on_phase: called with each request for a phase, before it gets its recorded answers.
    """

    def __init__(self, header: MatchStarted, scheduler: SchedulerRole) -> None:
        self.turn: int = 0
        self.tasks: int = 0
        self.rounded: int = 0
        self.over: bool = False
        self.task: TaskRole | None = None
        self.observation: Any = None
        self.action: Any = None
        self.on_phase: Callable[[PhaseRequest], None] = ignore
        self._header = header
        self._scheduler = scheduler
        self._seats = len(header.agents)
        self._solo = self._seats == 1
        scheduler.set_seed(derive_seed(header.settings_at(0).seed, "scheduler"))
        self._script = match_script(lambda: header.settings_at(self.turn).seed)
        self._request: Any = next(self._script)
        # The task that runs according to the record, and the steps that it has taken here.
        self._task: TaskRole | None = None
        self._rules = TaskRules()
        self._steps = 0
        # The task, if it is an actor; the time of the newest record of its turn, and of its beginning.
        self._actor: ActorReplay | None = None
        self._turn_ns = self._began_ns = 0
        self._is_turn_skipped = False
        # The current turn: seats whose record is to come, with their observations; the actions played.
        self._due: list[tuple[int, Any, Any]] = []
        self._played: dict[int, Any] = {}
        self._unplayed: dict[int, Any] = {}
        self._ready: set[int] = set()
        self._judged_out: set[int] = set()
        self._disqualified: set[int] = set()
        self._latest_ns = header.at_ns
        self._lanes: dict[int, int] = {}

    def take(self, event: Event) -> None:
        """Compare the next event.

        Raises:
            Different: the event differs from the replay, which cannot go on.
            NotRepeatable: nothing can be compared from this event on.
            UsageError: the scheduler cannot build the task that is due.
        """
        if self.over:
            raise Different(f"{_name(event)} follows the end of the match")
        self._check_time(event)
        _TAKE.get(type(event), Rerun._take_other)(self, event)

    def _compare(self, what: str, expected: Any, found: Any, seat: int | None = None) -> None:
        """Compare what a task computed, possibly in floats on another processor."""
        if not are_same(expected, found):
            if not are_close(expected, found):
                raise Different(what, shown(expected), shown(found), seat)
            self.rounded += 1

    def advance(self, steps: int | None = None) -> tuple[Generator[Any, Any, None], Any]:
        """Give the task the actions of the newest turn; return the script, and what it requests then.

        Args:
            steps: number of turns after which the match ends; the task does not get the actions of the last.

        Raises:
            Different: the record of that turn is incomplete, or the task fails.
            NotRepeatable: the task is an actor, whose state is not in the script.
        """
        if self._actor is not None:
            raise NotRepeatable("its task is an actor, which cannot be left in the middle of its episode")
        if self._due:
            raise Different(f"record of turn {self.turn}", f"one for seat {self._due[0][0]}", "none")
        if self._played and (steps is None or self.turn < steps):
            self._step()
        return self._script, self._request

    def close(self) -> None:
        """End the replay at its present point."""
        self._script.close()
        if self._actor is not None:
            self._actor.close()

    # Times.

    def _check_time(self, event: Event) -> None:
        """Check that times grow for one actor, and that the seats of a turn come in order."""
        at_ns = event.at_ns
        if at_ns < 0:
            raise Different(f"{_name(event)} before the match began", "at least 0 ns", f"{at_ns} ns")
        if type(event) is MatchEnded:
            earliest_ns = self._latest_ns
        elif isinstance(event, MatchStarted | SeatReady | TaskStarted | TurnPlayed | TaskEnded):
            lane = event.seat if type(event) is TurnPlayed and not self._solo else -1
            earliest_ns = self._lanes.get(lane, 0)
            self._lanes[lane] = at_ns
        else:
            earliest_ns = 0
        if at_ns < earliest_ns:
            raise Different(f"time of {_name(event)}", f"at least {earliest_ns} ns", f"{at_ns} ns")
        self._latest_ns = max(self._latest_ns, at_ns)

    # Turns.

    def _take_turn(self, event: TurnPlayed) -> None:
        if not self._due:
            self._open_turn(event.at_ns)
        self._turn_ns = max(self._turn_ns, event.at_ns)
        _same("number of the turn", self.turn, event.turn)
        seat, observation, reward = self._due.pop(0)
        self.observation = observation
        _same("seat", seat, event.seat)
        long = type(event.observation) is Digest
        seen = digest_of(encode(observation)) if long else observation
        self._compare("observation", seen, event.observation, seat)
        self._compare("reward", reward, event.reward, seat)
        self._played[seat] = self.action = self._checked_action(event)
        if not self._due:
            self.turn += 1

    def _open_turn(self, at_ns: int) -> None:
        self._move_on()
        request = self._request if self._actor is None else self._asked_by_actor(self._actor, at_ns)
        if type(request) is not tuple:
            raise Different("what comes next", _described(request), "a turn")
        self._skip_turns(0)
        if self._header.steps is not None and self.turn >= self._header.steps:
            raise Different("number of turns", f"no more than {self._header.steps}", "one more")
        observation, reward = request
        if self._solo:
            self._due = [(0, observation, reward)]
        else:
            players = list(self._playing().players)
            rewards = reward if isinstance(reward, Mapping) else {}
            shown = sorted((players.index(player), player) for player in observation)
            self._due = [(seat, observation[player], rewards.get(player, 0)) for seat, player in shown]

    def _asked_by_actor(self, actor: ActorReplay, at_ns: int) -> Any:
        """Return the turn that a task that is an actor has open at the time of its record."""
        with _task_errors():
            turn = actor.turn_at(at_ns)
        if turn is None:
            return self._request
        self._skip_turns(turn.unrecorded)
        return turn.observation, turn.reward

    def _skip_turns(self, unrecorded: int) -> None:
        """Count turns without a record; one that was withdrawn counts when another one follows."""
        if self._header.schema >= _FIRST_WITH_WITHDRAWN:
            self.turn += unrecorded + self._is_turn_skipped
        self._is_turn_skipped = False

    def _checked_action(self, event: TurnPlayed) -> Any:
        """Return the action of a recorded turn as the task took it."""
        task, seat = self._playing(), event.seat
        if event.spent_ns < 0 or event.credit_ns < 0:
            raise Different("time that the turn took", "at least 0 ns", "less", seat)
        if event.answers is not None and (self._header.tick_ns is None or event.answers >= event.turn):
            raise Different("turn that was answered", "this one", str(event.answers), seat)
        if event.verdict != "on time":
            if event.verdict == "disqualified":
                self._judged_out.add(seat)
            overrun = event.verdict == "overrun"
            if overrun and self._rules.abort is None:
                raise Different("verdict on a task that cannot be aborted", "another one", "overrun", seat)
            played = self._rules.abort if overrun else task.nil_action
            _same(f"action played for a seat that is {event.verdict}", played, event.action, seat)
            return played
        if seat in self._judged_out:
            raise Different("verdict on a disqualified seat", "absent", event.verdict, seat)
        for form in forms_of(event.action):
            if self._rules.legal(seat, form):
                return form
        raise Different("action that was played", "a legal one", shown(event.action), seat)

    def _move_on(self, answers: Mapping[int, Any] | None = None) -> None:
        """Advance to the next request of the match; requests for a phase get the recorded answers."""
        if self._due:
            raise Different(f"record of turn {self.turn}", f"one for seat {self._due[0][0]}", "none")
        if self._played:
            self._step()
        while isinstance(self._request, PhaseRequest):
            self.on_phase(self._request)
            self._send(answers or {})
        # A turn in which no seat is asked leaves no record.
        while type(self._request) is tuple and not self._solo and not self._request[0]:
            if self._header.steps is not None and self.turn >= self._header.steps:
                return
            self.turn += 1
            self._step()

    def _step(self) -> None:
        played, self._played = self._played, {}
        self._steps += 1
        actions = self._by_player(self._playing(), played)
        if self._actor is None:
            self._send(actions)
        else:
            with _task_errors():
                self._actor.answer(actions, self._turn_ns)

    def _by_player(self, task: TaskRole, played: Mapping[int, Any]) -> Any:
        if self._solo:
            return played[0]
        return {task.players[seat]: action for seat, action in sorted(played.items())}

    def play_unplayed(self) -> None:
        """Give the task the actions of the last turn of a match that was cut, which it did not get then.

        Raises whatever the task raises.
        """
        played, self._unplayed = self._unplayed, {}
        if played and self.task is not None:
            self.task.step(self._by_player(self.task, played))

    def _send(self, what: Any) -> None:
        with _task_errors():
            self._request = self._script.send(what)
            if isinstance(self._request, RunTask):
                task, owed = self._request.task, self._request.owed
                skipped, self._is_turn_skipped = self._is_turn_skipped, False
                self._actor = ActorReplay(task, owed, self._began_ns, solo=self._solo, is_withdrawn=skipped)

    def _end_actor(self, actor: ActorReplay, event: TaskEnded) -> None:
        """Let a task that is an actor run to its end."""
        if self._played and event.steps > actor.steps:  # turns that asked no player may follow
            self._step()
        self._played = {}
        if self._due:
            raise Different("what comes next", f"the record of seat {self._due[0][0]}", "the end of the task")
        with _task_errors():
            result = actor.finish(event.at_ns)
        self._skip_turns(actor.unrecorded)
        self._is_turn_skipped = actor.is_withdrawn
        actor.close()
        self._actor = None
        self._send(result)

    def _playing(self) -> TaskRole:
        if self._task is None:
            raise Different("what comes next", _described(self._request), "a turn")
        return self._task

    # Tasks.

    def _take_start(self, event: TaskStarted) -> None:
        if self._task is not None:
            raise Different("what comes next", f"the end of task {self._task.id}", "a start")
        task = self._next_task()
        if task is None:
            raise Different("what comes next", "the end of the match: there are no more tasks", "a start")
        _same("task", task.id, event.task)
        _same("number of the task", self._request.index, event.index)
        _same("seed of the task", self._request.seed, event.seed)
        _same("number of seats", len(task.players), self._seats)
        self.task = self._task = task
        self._rules, self._steps = TaskRules.of(task), 0
        self.tasks += 1
        self._began_ns = event.at_ns
        why = task.follow_rules(self._header.rules)
        if why is not None:
            raise NotRepeatable(f"task {task.id}: {why}")
        self._send(task)
        if task.not_repeatable is not None:
            raise NotRepeatable(f"task {task.id}: {task.not_repeatable}")

    def _next_task(self) -> TaskRole | None:
        try:
            task = self._scheduler.next_task()
        except UsageError:
            raise
        except Exception as error:
            raise Different("the task scheduler", "as recorded", f"now it raises {error!r}") from error
        if hasattr(task, "__await__"):
            task.close()  # type: ignore[union-attr]  # a coroutine that will not be awaited
            raise NotRepeatable("its task scheduler waits for real things")
        return None if task is None else complete_task(task)

    def _take_end(self, event: TaskEnded) -> None:
        task = self._playing()
        if task.run is not None and self._actor is None and (event.ended != "cut" or event.reward):
            self._move_on()  # it ran, though no turn of it was recorded
        if self._actor is not None:
            self._end_actor(self._actor, event)
            self._move_on(event.answers)
        elif event.ended == "cut":
            self._cut(event)
        else:
            if event.ended == "time":
                self._time_up(event)
            self._move_on(getattr(event, "answers", None))
        if not isinstance(self._request, NextTask) or self._request.outcome is None:
            raise Different("what comes next", _described(self._request), f"the end of task {task.id}")
        outcome = self._request.outcome
        for field in ("task", "index", "result", "reward", "steps", "ended", "metrics"):
            self._compare(f"{field} of task {task.id}", getattr(outcome, field), getattr(event, field))
        if event.rewards:
            self._compare(f"rewards of task {task.id}", outcome.rewards, event.rewards)
        self._task = None
        try:
            self._scheduler.report(attrs.evolve(outcome, at_ns=event.at_ns))
        except Exception as error:
            raise Different("the task scheduler", "as recorded", f"now it raises {error!r}") from error

    def _cut(self, event: TaskEnded) -> None:
        if self._played and event.steps == self._steps + 1:
            self._step()
        self._unplayed, self._played = self._played, {}
        if not isinstance(self._request, tuple | PhaseRequest) or self._due:
            raise Different("what comes next", _described(self._request), "the task is cut short")
        self._request = self._script.throw(MatchCut)

    def _time_up(self, event: TaskEnded) -> None:
        """Check that the clock ended the task in place of its next turn."""
        task = self._playing()
        if self._played:
            self._step()
        until_ns = task.play_until_ns
        if type(self._request) is not tuple or self._due:
            raise Different("what comes next", _described(self._request), f"the time of task {task.id} is up")
        if event.at_ns < until_ns:
            raise Different(f"end of task {task.id} by time", f"at {until_ns} ns", f"at {event.at_ns} ns")
        self._request = self._script.throw(TaskTimeout)

    # The match.

    def _take_over(self, event: MatchEnded) -> None:
        void = event.reason == "void"
        self._check_turns(event, void=void)
        if event.reason == "finished":
            if self._task is not None:
                raise Different("what comes next", f"the end of task {self._task.id}", _name(event))
            if self._next_task() is not None:
                raise Different("what comes next", "another task", _name(event))
            self._compare("reward owed at the end", self._request.owed, event.reward)
        elif not void:
            _same("reward owed at the end", 0, event.reward)
        if event.reason == "steps":
            _same("number of turns", self._header.steps, event.turns)
            if self._task is not None:
                raise Different("what comes next", f"the end of task {self._task.id}", _name(event))
        self._check_disqualified(event.reason)
        for part in event.printed:
            self._check_seat(part.seat)
        self.over = True

    def _check_turns(self, event: MatchEnded, *, void: bool) -> None:
        if event.turns > self.turn and event.reason != "finished":
            self._skip_turns(0)  # the match ended in the turn after one that was withdrawn
        if not (void and event.turns == self.turn - 1):  # the record of a turn may be what failed
            _same("number of turns", self.turn, event.turns)

    def _check_disqualified(self, reason: str) -> None:
        """Check at the end that every disqualification is recorded, and that the reason of the end fits."""
        recorded = shown(sorted(self._disqualified))
        if reason != "void" and self._judged_out - self._disqualified:
            raise Different("seats that are disqualified", shown(sorted(self._judged_out)), recorded)
        if reason == "seats" and len(self._disqualified) < self._seats:
            raise Different("seats that are disqualified", "all", recorded)

    # Decisions of the clock.

    def _take_ready(self, event: SeatReady) -> None:
        self._check_seat(event.seat)
        if event.seat in self._ready or self.tasks:
            raise Different("start of a seat", "once, before the first task", "another", event.seat)
        self._ready.add(event.seat)

    def _take_disqualified(self, event: SeatDisqualified) -> None:
        self._check_seat(event.seat)
        if event.seat in self._disqualified:
            raise Different("disqualification of a seat", "once", "again", event.seat)
        self._disqualified.add(event.seat)

    def _take_drop(self, event: ReplyDropped) -> None:
        self._check_seat(event.seat)
        # A reply to no turn has the number that the agent made up. With several seats there may be turns
        # in which no agent is asked; they leave no record, so the newest turn's number is not known here.
        # Neither is that of a turn that was withdrawn, until the next one is recorded.
        latest = self.turn + self._is_turn_skipped
        if event.why != "unasked" and self._solo and self._actor is None and event.turn > latest:
            raise Different("dropped reply", f"to turn {self.turn} or before", f"to {event.turn}", event.seat)

    def _take_stall(self, event: StallSeen) -> None:
        self._take_other(event)
        if event.lost_ns < 0:
            raise Different("time that was lost", "at least 0 ns", f"{event.lost_ns} ns")

    def _take_other(self, event: Event) -> None:
        seat = event.facts().get("seat")
        if seat is not None:
            self._check_seat(seat)

    def _check_seat(self, seat: int) -> None:
        if not 0 <= seat < self._seats:
            raise Different("seat", f"0 to {self._seats - 1}", str(seat))

    def _take_header(self, _event: MatchStarted) -> None:
        raise Different("what comes next", _described(self._request), "a second beginning of the match")


_TAKE: Final[Mapping[type[Event], Callable[[Rerun, Any], None]]] = {
    MatchStarted: Rerun._take_header,  # noqa: SLF001 - the table belongs to the class
    SeatReady: Rerun._take_ready,  # noqa: SLF001
    TaskStarted: Rerun._take_start,  # noqa: SLF001
    TurnPlayed: Rerun._take_turn,  # noqa: SLF001
    ReplyDropped: Rerun._take_drop,  # noqa: SLF001
    SeatDisqualified: Rerun._take_disqualified,  # noqa: SLF001
    StallSeen: Rerun._take_stall,  # noqa: SLF001
    TaskEnded: Rerun._take_end,  # noqa: SLF001
    MatchEnded: Rerun._take_over,  # noqa: SLF001
}


@contextmanager
def _task_errors() -> Iterator[None]:
    """Turn whatever a task raises into a difference."""
    try:
        yield
    except Exception as error:
        raise Different("the task", "as recorded", f"now it raises {error!r}") from error


def _same(what: str, expected: Any, found: Any, seat: int | None = None) -> None:
    if not are_same(expected, found):
        raise Different(what, shown(expected), shown(found), seat)


def _name(event: Event) -> str:
    return {
        TurnPlayed: "a turn",
        TaskStarted: "the start of a task",
        TaskEnded: "the end of a task",
        MatchEnded: "the end of the match",
    }.get(type(event), f"a {type(event).__name__}")


def _described(request: Any) -> str:
    """Describe the next request of the re-execution."""
    if type(request) is tuple or isinstance(request, RunTask):
        return "a turn"
    if isinstance(request, NextTask) and request.outcome is not None:
        return f"the end of task {request.outcome.task}, or the next task"
    return "the start of a task" if isinstance(request, NextTask) else f"the {request.phase} of a task"
