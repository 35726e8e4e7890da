"""The referee between a task and its seats, as a state machine: no event loop, no clock of its own.

The environment requests turns and phases (`play_turns`, `ask_all`). Inputs are calls: a seat replied,
its deadline came, a tick came, a seat must be disqualified, the turn is withdrawn. The result of a request is
a value, which the environment takes when the state is `COMPLETE` or the match is stopped.

The other outputs are calls: the action that is played (into the script of the match), the records (to the
dispatcher), the next request to a seat (`post`). Values that the caller applies, as a parser of a protocol
returns its events, would be made, returned through the seat and told apart again in each turn. The call that
completes a turn also steps the task, without a switch to another actor.

Rule 1: every turn is settled exactly once for each seat that is asked.
Rule 2: the action played for a turn answers it; at real-time pace, it is the seat's newest in this task.
Rule 3: a seat that is disqualified stays so. NIL is played for it, and it is not asked again.
Rule 4: an error of the task is raised in the environment, never for the agent that completed the turn.
Rule 5: with several seats, records of one turn come in seat order (`flagfall.kernel.dispatcher`).
Rule 6: a turn that is withdrawn keeps its number, so an answer on its way is not one to the next turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from outcome import Error, Outcome, Value

from flagfall.events import ON_TIME, ReplyDropped, SeatDisqualified, StallSeen, TurnPlayed, Verdict
from flagfall.kernel.channels.turn_channel import Envelope, LateNotice
from flagfall.kernel.dispatcher import HELD_VALUES, MAX_DROPPED_RECORDS, EventDispatcher
from flagfall.kernel.referee.task_rules import RefereeState, TaskRules
from flagfall.kernel.safe_values import to_recordable
from flagfall.kernel.script import Actions, Pause, PendingAction, PhaseRequest, Request, Stop, TaskExpired
from flagfall.timing import NEVER_NS

if TYPE_CHECKING:
    from flagfall.kernel.referee.task_rules import Pace, SeatPort
    from flagfall.kernel.roles import TaskRole
    from flagfall.timing import NowNs
    from flagfall.timing.control import Phase


# Names of their own: Python 3.11 finds a member of an enumeration in ten times the time.
_IDLE, _ASKING, _AWAITING_TICK, _COMPLETE, _STOPPED = RefereeState


class Referee:
    """The state of one match between its task and its seats.

    Args:
        now: the present time in nanoseconds.
        origin_ns: time at which the match began, on that clock.
        steps: the match is cut after this many turns; `None` for no limit.

    Attributes:
        state: what it waits for.
        turns: the number of turns that are over, and so the number of the next one.
        stopped: the reason why the match was ended early; `None` otherwise.
        pace: the ticks, at real-time pace; `None` at lock-step pace.
        on_result: called when a request is complete, or the match is to be stopped.
    """

    # More attributes than Python keeps fast without slots.
    # fmt: off
    __slots__ = (
        "_answers", "_dispatcher", "_first_turn", "_in_play", "_is_solo", "_notices", "_now", "_observation",
        "_origin_ns", "_pending", "_phase", "_phases", "_result", "_reward", "_rules", "_script", "_seats",
        "_skips_number", "_steps", "_waited_for", "on_result", "pace", "state", "stopped",
        "turns",
    )
    # fmt: on

    def __init__(
        self, dispatcher: EventDispatcher, now: NowNs, *, origin_ns: int, steps: int | None = None
    ) -> None:
        self.state: RefereeState = _IDLE
        self.turns: int = 0
        self.stopped: Stop | None = None
        self.pace: Pace | None = None
        self.on_result: Callable[[], None] = lambda: None
        self._dispatcher, self._now, self._origin_ns = dispatcher, now, origin_ns
        self._steps = NEVER_NS if steps is None else steps
        self._rules = TaskRules()
        self._seats: Sequence[SeatPort] = ()
        self._is_solo, self._in_play = False, 0
        # The open request: what is shown, the answers, and by number the seats that have not answered. At
        # lock-step pace, a turn of one seat keeps no such table: the state says as much, for less.
        self._phase: Phase = "act"
        self._phases = self._first_turn = 0
        self._observation: Any = None
        self._reward: Any = 0
        self._answers: dict[int, Any] = {}
        self._waited_for: dict[int, SeatPort] = {}
        # By seat: the newest answer at real-time pace; the notice that goes out with its next envelope.
        self._pending: dict[int, PendingAction] = {}
        self._notices: dict[int, LateNotice] = {}
        # The receiver of completed turns (`None`: they are handed over), and the result that is handed over.
        self._script: Callable[[Actions], Request] | None = None
        self._result: Outcome[Any] | None = None
        # The number `turns` was given to a turn that was withdrawn (rule 6). It is skipped when another turn
        # is opened, and not before: at the end of the match a withdrawn turn does not count.
        self._skips_number = False

    # Requests, from the environment.

    def seat_all(self, seats: Sequence[SeatPort]) -> None:
        """Take the seats of the match, in their order."""
        self._seats = seats
        self._is_solo = len(seats) == 1
        self._in_play = len(seats)

    def resume(self, origin_ns: int, turns: int, phases: int, notices: Mapping[int, LateNotice]) -> None:
        """Go on with a recorded match; seats that are disqualified already stay so."""
        self._origin_ns, self.turns, self._phases = origin_ns, turns, phases
        self._notices |= notices
        self._in_play = sum(seat.disqualified is None for seat in self._seats)
        if turns >= self._steps:
            self.stop("steps")

    def set_task(self, task: TaskRole) -> None:
        """Begin a task: from now on the turns belong to it."""
        self._rules = TaskRules.of(task)
        self._pending.clear()
        self._first_turn = self.turns + self._skips_number

    def play_turns(self, script: Callable[[Actions], Request] | None, observation: Any, reward: Any) -> None:
        """Play turns with a script until it asks for something else, or one turn without a script.

        The result is the script's next request that is not a turn, or a `Stop`, or a `Pause` with the turn to
        go on with, or `TaskExpired`; without a script the actions, or a `Stop`. Whatever the script raises is
        raised.

        Args:
            script: takes the actions of a turn, and returns the next request; `None` for one turn.
            observation: what the seats are shown in the first turn.
            reward: the reward that comes with it.
        """
        self._script = script
        if self._skips_number:  # rule 6: now it counts
            self._skips_number = False
            self.turns += 1
            if self.turns >= self._steps:
                self.stop("steps")
                return
        self._open_turn(observation, reward, is_first=True)

    def ask_all(self, request: PhaseRequest) -> None:
        """Ask all seats that want it in a phase; the result is their answers by number, or a `Stop`."""
        if self.stopped is not None:
            return
        self._phases += 1
        self._observation, self._reward = request.observation, request.reward
        phase = request.phase
        asked = [s for s in self._seats if s.disqualified is None and (phase == "start" or phase in s.wants)]
        self._ask(asked, -self._phases, phase)

    def stop(self, reason: Literal["steps", "seats", "stopped"]) -> None:
        """End the match; what is open is withdrawn when the result is taken, as a sink may fail in a turn."""
        self.stopped = self.stopped or Stop(reason)
        if self.state is not _ASKING and self.state is not _AWAITING_TICK:
            self.state = _STOPPED
        self.on_result()

    @property
    def is_complete(self) -> bool:
        """Return whether the result of the last request is there, or the match is stopped."""
        return self.state is _COMPLETE or self.stopped is not None

    def take_result(self) -> Any:
        """Return the result of the last request, once; or why the match is stopped.

        Raises:
            Exception: whatever the script raised.
        """
        result, self._result = self._result, None
        if self.stopped is not None:
            self._close_request()
            return self.stopped
        assert result is not None
        self.state = _IDLE
        return result.unwrap()

    # Inputs, from the seats, the ticks and the environment.

    def replied(
        self,
        seat: SeatPort,
        envelope: Envelope,
        action: Any,
        now_ns: int,
        spent_ns: int,
        credit_ns: int,
        verdict: Verdict,
    ) -> None:
        """Take the reply of a seat to the open request.

        `spent_ns` is the time that the seat used of it, and `credit_ns` what the host lost meanwhile; the
        verdict is that of the clock: `on time`, `late`, `overrun` or `disqualified`.
        """
        if envelope.phase != "act":
            self._take_answer(seat, envelope.phase, action, spent_ns, verdict)
        elif self.pace is not None:
            self._pending[seat.number] = PendingAction(action, envelope.number, now_ns, spent_ns, credit_ns)
        elif verdict == ON_TIME:
            if self._rules.legal(seat.number, action):
                self._settle(seat, action, ON_TIME, now_ns, spent_ns, credit_ns)
            else:
                self._refuse(seat, action, now_ns, spent_ns, credit_ns, None)
        elif verdict == "late" or verdict == "overrun":  # noqa: PLR1714 - narrows the type
            self.deadline(seat, verdict, spent_ns, credit_ns)
        else:
            self.disqualified(seat, "late", f"answered after {spent_ns / 1e6:.1f} ms")

    def replied_stale(
        self, seat: SeatPort, envelope: Envelope, action: Any, now_ns: int, spent_ns: int
    ) -> None:
        """Take the reply of a seat to a request that is no longer open; the arguments are as for `replied`.

        At real-time pace it is the seat's newest answer. Otherwise it is dropped.
        """
        if self.is_paced(envelope.phase) and envelope.number >= self._first_turn:
            self._pending[seat.number] = PendingAction(action, envelope.number, now_ns, spent_ns, 0)
        else:
            self.dropped(seat, envelope.number, "stale")

    def dropped(self, seat: SeatPort, number: int, why: Literal["stale", "double", "unasked"]) -> None:
        """Count and record a reply that answers no open turn."""
        seat.stats.dropped += 1
        if seat.stats.dropped <= MAX_DROPPED_RECORDS:
            at_ns = self._now() - self._origin_ns
            self._dispatcher.add_incident(ReplyDropped(at_ns, seat.number, number, why))

    def deadline(
        self, seat: SeatPort, verdict: Literal["late", "overrun"], spent_ns: int, credit_ns: int
    ) -> None:
        """Play NIL for a seat whose time for a turn is over, or the action that aborts if it is `overrun`."""
        action = self._rules.abort if verdict == "overrun" else self._rules.nil
        late_by_ns = max(0, spent_ns - seat.limit_ns)
        seat.stats.late += 1
        self._notices[seat.number] = LateNotice(self.turns, verdict, action, late_by_ns)
        self._settle(seat, action, verdict, self._now(), spent_ns, credit_ns)

    def disqualified(self, seat: SeatPort, reason: str, detail: str = "") -> None:
        """Disqualify a seat, and answer its open request for it.

        Args:
            seat: the seat; nothing happens if it is disqualified already.
            reason: see `flagfall.events.SeatDisqualified`.
            detail: details for the agent's author.
        """
        if seat.disqualified is not None:
            return
        now_ns = self._now()
        self._in_play -= 1
        is_waited_for, is_untouched = self._is_waited_for(seat), seat.is_untouched(now_ns, reason)
        reason = seat.disqualify(reason, detail)
        if reason == "late":
            seat.stats.late += 1
        at_ns = now_ns - self._origin_ns
        self._dispatcher.add_incident(SeatDisqualified(at_ns, seat.number, reason, seat.reason_detail))
        if not is_waited_for:
            return
        if self._phase != "act":
            self._wait_no_more(seat)
        elif not is_untouched:
            seat.stats.is_cut = True
            self._settle(seat, self._rules.nil, "disqualified", now_ns)
        elif self._in_play:  # as if the turn had been opened a moment later
            seat.stats.absent += 1
            self._settle(seat, self._rules.nil, "absent", now_ns)
        else:
            self.stop("seats")

    def tick(self, now_ns: int, tick_at_ns: int) -> None:
        """End a turn at real-time pace: the newest action that came before the tick is played, or NIL."""
        for seat in list(self._waited_for.values()):
            if seat.disqualified is not None:
                continue
            pending = self._pending.get(seat.number)
            seat.expire()
            if pending is None or pending.at_ns >= tick_at_ns:
                self.deadline(seat, "late", 0, 0)
                continue
            del self._pending[seat.number]
            times = (now_ns, pending.spent_ns, pending.credit_ns)
            older = pending.number if pending.number != self.turns else None
            if self._rules.legal(seat.number, pending.action):
                self._settle(seat, pending.action, ON_TIME, *times, older)
            else:
                self._refuse(seat, pending.action, *times, older)
        if self.state is _AWAITING_TICK:
            self._end_turn()

    def withdrawn(self) -> None:
        """Withdraw the open request: its result is not awaited any more."""
        is_open, turns = self._phase == "act" and self.state in {_ASKING, _AWAITING_TICK}, self.turns
        self._close_request()
        self._skips_number = is_open and self.turns == turns

    @property
    def abortable(self) -> bool:
        """Return whether the episode can be aborted by an action."""
        return self._rules.abort is not None

    @property
    def result_until_ns(self) -> int:
        """Return the time until which agents may answer a result in any case; 0 for none."""
        until_ns = self._rules.result_until_ns
        return self._origin_ns + until_ns if until_ns else 0

    def is_paced(self, phase: Phase) -> bool:
        """Return whether the world waits for the tick in this phase, and not for the agent."""
        return self.pace is not None and phase == "act"

    def has_asked(self, number: int) -> bool:
        """Return whether there was an envelope of this number."""
        return -self._phases <= number <= self.turns

    def _open_turn(self, observation: Any, reward: Any, *, is_first: bool = False) -> None:
        if self.stopped is not None or not self._in_play:
            self.stop("seats")
            return
        self._phase = "act"
        self._observation = observation
        self._reward = reward
        if self._is_solo:
            seat = self._seats[0]
            notice = self._notices.pop(0, None) if self._notices else None
            now_ns = self._now()
            self.state = _ASKING
            if self.pace is not None:
                self._waited_for[0] = seat
                self.pace.start_turn(now_ns)
            seat.post(Envelope(self.turns, observation, reward, "act", notice), now_ns)
            return
        players = self._rules.players
        asked = [self._seats[players.index(player)] for player in observation]
        waits = self.pace is not None or any(seat.disqualified is None for seat in asked)
        if not waits and self._script is not None and not is_first:
            # No agent to wait for, so this turn is over at once, and so may be the next. In order that many
            # of them neither pile up calls nor hold up the loop, each comes from the environment.
            self._hand_over(Value(Pause((observation, reward))))
            return
        self._ask(asked, self.turns, "act")

    def _ask(self, asked: list[SeatPort], number: int, phase: Phase) -> None:
        now_ns = self._now()
        self.state = _ASKING
        self._phase = phase
        self._answers = {}
        self._waited_for = {seat.number: seat for seat in asked}
        if self.pace is not None and phase == "act":
            self.pace.start_turn(now_ns)
        for seat in asked:
            if seat.disqualified is None:
                shown, paid = self._rules.share_of(seat.number, self._observation, self._reward)
                notice = self._notices.pop(seat.number, None)
                seat.post(Envelope(number, shown, paid, phase, notice), now_ns)
        if not asked:
            self._end_request()
        elif phase == "act":
            for seat in asked:
                if seat.disqualified is not None:
                    seat.stats.absent += 1
                    self._settle(seat, self._rules.nil, "absent", now_ns)

    def _is_waited_for(self, seat: SeatPort) -> bool:
        if self._is_solo and self.pace is None:
            return self.state is _ASKING
        return seat.number in self._waited_for

    def _take_answer(
        self, seat: SeatPort, phase: Phase, answer: Any, spent_ns: int, verdict: Verdict
    ) -> None:
        """Take the answer to a phase outside the turns, where to be late is to be disqualified."""
        if verdict != ON_TIME:
            self.disqualified(seat, "late", f"`{phase}` took {spent_ns / 1e6:.1f} ms")
            return
        seat.budget.charge(phase, spent_ns)
        if phase == "start":
            seat.stats.start_ns = spent_ns
        self._answers[seat.number] = to_recordable(answer)
        self._wait_no_more(seat)

    def _wait_no_more(self, seat: SeatPort) -> None:
        del self._waited_for[seat.number]
        if not self._waited_for:
            self._end_request()

    def _refuse(
        self, seat: SeatPort, action: Any, now_ns: int, spent_ns: int, credit_ns: int, older: int | None
    ) -> None:
        """Play NIL in place of an action that is not in the action space."""
        refused, legal = self._rules.refuse(seat, action, self.turns)
        self._notices[seat.number] = LateNotice(self.turns, "illegal", self._rules.nil)
        self._settle(seat, self._rules.nil, "illegal", now_ns, spent_ns, credit_ns, older, refused, legal)

    def _settle(
        self,
        seat: SeatPort,
        action: Any,
        verdict: Verdict,
        now_ns: int,
        spent_ns: int = 0,
        credit_ns: int = 0,
        answers: int | None = None,
        refused: str | None = None,
        legal: str | None = None,
    ) -> None:
        """Decide what is played for a seat in this turn, book it and record it; the last seat ends the turn.

        It runs once for each seat and turn, on the path of every reply: plain statements cost less here than
        calls. `answers`, `refused` and `legal`: see `TurnPlayed`.
        """
        dispatcher = self._dispatcher
        stats = seat.stats
        stats.turns += 1
        stats.think_ns += spent_ns
        if spent_ns > stats.think_max_ns:  # noqa: PLR1730 - a call of max costs five comparisons
            stats.think_max_ns = spent_ns
        if not seat.budget.flat:
            seat.budget.charge("act", spent_ns)
        if credit_ns:
            stats.credit_ns += credit_ns
            stall = StallSeen(now_ns - self._origin_ns, credit_ns, self._blocker())
            dispatcher.add_incident(stall)
        # A plain turn on time becomes an event only where a sink asks for one: to create and encode that
        # takes a fifth of a turn's time. Its values go into a list, of which 256 turns make one event.
        held = dispatcher.held
        if held is not None:
            numbers = type(action) is type(self._observation) is int
            if numbers and verdict == ON_TIME and not credit_ns:
                if not held:
                    dispatcher.first_held = self.turns
                held += (now_ns, self._observation, self._reward, action, spent_ns)
                if len(held) >= HELD_VALUES:
                    dispatcher.flush_held()
            else:
                held = None  # it is recorded at once: a value other than a number may be changed by its owner
        if dispatcher.has_event_sinks or (held is None and dispatcher.has_sinks):
            at_ns, place = now_ns - self._origin_ns, seat.number
            shown, paid = self._rules.share_of(place, self._observation, self._reward)
            rest = (action, spent_ns, place, verdict, credit_ns, answers, refused, legal)
            record = TurnPlayed(at_ns, self.turns, shown, paid, *rest)
            dispatcher.add_turn(record, held=held is not None)
        self._answers[seat.number] = action
        if self._is_solo and self.pace is None:  # no one else is waited for, and no table says so
            self._end_turn()
        else:
            self._wait_no_more(seat)

    def _blocker(self) -> int | None:
        return next((seat.number for seat in self._seats if seat.held_up_loop), None)

    def _end_request(self) -> None:
        if self._phase == "act" and self.pace is not None:
            self.state = _AWAITING_TICK
        elif self._phase == "act":
            self._end_turn()
        elif self._in_play or self._phase == "result":  # after a result there may be nothing more to play
            self._hand_over(Value(dict(sorted(self._answers.items()))))
        else:
            self.state = _IDLE
            self.stop("seats")

    def _end_turn(self) -> None:
        """Complete a turn: its actions go into the script, and the next turn is opened.

        It runs within the last reply, so what it raises must not reach the agent (rule 4).
        """
        dispatcher, until_ns = self._dispatcher, self._rules.play_until_ns
        self.state = _IDLE
        if not self._is_solo:
            dispatcher.end_turn()
        self.turns += 1
        if self.turns >= self._steps:
            self.stop("steps")
        elif not self._in_play:
            self.stop("seats")
        elif self._script is None:
            self._hand_over(Value(self._actions()))
        else:
            try:
                request = self._script(self._answers[0] if self._is_solo else self._actions())
                if type(request) is not tuple:
                    self._hand_over(Value(request))
                elif until_ns < NEVER_NS and self._now() - self._origin_ns >= until_ns:
                    self._hand_over(Value(TaskExpired()))
                elif dispatcher.is_pause_asked:
                    dispatcher.is_pause_asked = False
                    self._hand_over(Value(Pause(request)))
                else:
                    self._open_turn(request[0], request[1])
            except BaseException as error:  # noqa: BLE001 - rule 4: it is the environment's
                self._hand_over(Error(error))

    def _actions(self) -> Actions:
        if self._is_solo:
            return self._answers[0]
        return {self._rules.players[number]: self._answers[number] for number in sorted(self._answers)}

    def _close_request(self) -> None:
        """Withdraw what is open.

        A turn of one seat that only waits for its tick counts: it is recorded. That of several seats is not,
        for its records come when it is complete.
        """
        if self.state is _AWAITING_TICK and self._is_solo:
            self.turns += 1
        self.state = _IDLE if self.stopped is None else _STOPPED
        self._waited_for = {}
        self._dispatcher.forget_turn()
        if self.pace is not None:
            self.pace.stop()
        for seat in self._seats:
            seat.withdraw()

    def _hand_over(self, result: Outcome[Any]) -> None:
        self._result = result
        self.state = _COMPLETE if self.stopped is None else _STOPPED
        self.on_result()
