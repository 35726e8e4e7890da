"""The referee between a task and its seats: what completes a turn also moves the world on.

Rule 1: an error in the world never reaches the agent whose reply completed the turn. It goes to the
    environment, which ends the match.
Rule 2: with several seats, records of one turn come in seat order; a dropped reply is recorded when time has
    moved on. So the journal does not depend on the order in which the loop runs its tasks.
"""

from __future__ import annotations

__all__ = ["Referee"]

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from outcome import Error, Outcome, Value
from trio.lowlevel import Abort, Task, checkpoint, current_task, reschedule, wait_task_rescheduled

from flagfall.events import ON_TIME, ReplyDropped, SeatDisqualified, StallSeen, TurnPlayed, Verdict
from flagfall.kernel.bounds import MAX_DETAIL_CHARS, MAX_DROPPED_RECORDS
from flagfall.kernel.channels.envelope import Envelope, LateNotice
from flagfall.kernel.dispatcher import HELD_VALUES, EventDispatcher
from flagfall.kernel.requests import (
    Actions,
    EndOfMatch,
    Pause,
    PendingAction,
    PhaseRequest,
    Request,
    Stop,
    TaskExpired,
    added,
)
from flagfall.kernel.safe_values import safe_repr, to_recordable
from flagfall.kernel.seat import Seat
from flagfall.kernel.task_rules import TaskRules
from flagfall.timing import NEVER_NS, Deadline
from flagfall.timing.phases import Phase

if TYPE_CHECKING:
    from flagfall.kernel.roles import TaskRole
    from flagfall.kernel.sinks import Sink
    from flagfall.timing import TimeControl, Timekeeper


class Referee(Deadline):
    """One match's exchanges with its seats.

    Args:
        agents: how many seats there are.
        control: the time control of every seat.
        keeper: the deadlines of the event loop.
        sinks: take every event.
        tick_ns: the length of a tick at real-time pace; `None` for lock-step pace.
        steps: the match is cut after so many turns; `None` for no limit.

    Attributes:
        seats: in seat order.
        turns: how many turns are complete.
        origin_ns: when the match began, on the keeper's clock.
        abandon: called with a seat that fell, to stop its agent.
        records: where the events go.
        owed: a reward that was earned before, and is paid with the next exchange.
        stopped: why the match was ended early, if it was.
        catch_up: waits for those who record the match.
        play_until_ns: on the keeper's clock, when the task's time is up.
        result_until_ns: likewise, until when agents may think of its result, whatever the time control says.
    """

    def __init__(
        self,
        agents: int,
        control: TimeControl,
        keeper: Timekeeper,
        sinks: Sequence[Sink] = (),
        tick_ns: int | None = None,
        steps: int | None = None,
    ) -> None:
        super().__init__(rank=agents)  # a tick comes after the limits of all seats
        self.turns = 0
        self.owed: Any = 0
        self.stopped: Stop | None = None
        self.origin_ns = keeper.now()
        self.abandon: Callable[[Seat], None] = lambda _seat: None
        self.catch_up: Callable[[], Awaitable[None]] = checkpoint
        self.play_until_ns, self.result_until_ns = NEVER_NS, 0
        self._solo, self._in_play = agents == 1, agents
        self._keeper, self._now = keeper, keeper.now
        records = EventDispatcher(sinks, self.origin_ns, solo=self._solo, paced=tick_ns is not None)
        self.records, self._held = records, records.held
        self._looked_at, self._watched = records.looked_at, records.watched
        self._tick_ns, self._steps = tick_ns, NEVER_NS if steps is None else steps
        self._rules = TaskRules()
        # The open request.
        self._notices = self._waiting = self._first_turn = 0
        self._observation: Any = None
        self._reward: Any = 0
        self._asked: list[Seat] = []
        self._answers: dict[int, Any] = {}
        self._offers: dict[int, PendingAction] = {}
        self._late: dict[int, LateNotice] = {}
        # What happens when it is complete.
        self._settled: Callable[[], None] = self._turn_over if self._solo else self._all_settled
        self._then: Callable[[], None] = self._hand_answers
        self._send: Callable[[Actions], Request] = lambda _actions: None
        self._parked: Task | None = None
        self._handed: Outcome[Any] | None = None
        self._pumped = self._paused = False
        self.seats = [Seat(number, control, keeper, self) for number in range(agents)]

    # The environment's side.

    def set_task(self, task: TaskRole) -> None:
        """From now on the turns belong to this task."""
        self._rules = TaskRules.of(task)
        self._offers.clear()
        self._first_turn = self.turns
        self.play_until_ns = self.origin_ns + getattr(task, "play_until_ns", NEVER_NS)
        self.result_until_ns = self.origin_ns + getattr(task, "result_until_ns", 0)

    async def ask(self, observation: Any, reward: Any = 0) -> Actions:
        """One turn: show the observation, and wait for the actions that are to be played.

        With several players the arguments and the result are mappings from player; only the players
        in `observation` are asked. Cancelling it withdraws the turn.

        Raises:
            EndOfMatch: the match was stopped, reached its last step, or has no seat left.
        """
        if self._paused:
            self._paused = False
            await self.catch_up()
        if self.owed:
            reward, self.owed = added(reward, self.owed), 0
        self._then = self._hand_actions
        self._open_turn(observation, reward)
        result = await self._until_handed()
        if isinstance(result, Stop):
            raise EndOfMatch(result)
        return result

    async def play_turns(self, send: Callable[[Actions], Request], request: Request) -> Request:
        """Play turns with a script until it asks for something else.

        Args:
            send: gives the script the actions, and returns its next request.
            request: the pair (observation, reward) that it asked for last.

        Returns:
            The script's next request that is no turn, or a `Stop`, or a `Pause` with the turn to go on
            with, or `TaskExpired`. Whatever the script raises is raised.
        """
        self._then = self._advance
        self._send = send
        self._pumped = True
        self._open_turn(*request)
        return await self._until_handed()

    async def ask_all(self, notice: PhaseRequest) -> dict[int, Any] | Stop:
        """Ask all seats that want to be asked in this phase; returns their answers by seat number."""
        if self.stopped is not None:
            return self.stopped
        self._then = self._hand_answers
        self._notices += 1
        self._observation, self._reward = notice.observation, notice.reward
        phase = notice.phase
        for seat in self.seats:
            seat.stats.reward += self._shown_to(seat)[1]
        asked = [s for s in self.seats if s.out is None and (phase == "start" or phase in s.wants)]
        self._ask(asked, -self._notices, phase)
        answers: dict[int, Any] | Stop = await self._until_handed()
        return answers

    def stop(self, reason: Literal["steps", "seats", "stopped"]) -> None:
        """End the match now; the open turn is withdrawn."""
        if self.stopped is None:
            self.stopped = Stop(reason)
        self._close_turn()
        self._hand(Value(self.stopped))

    def pause(self) -> None:
        """Let `play_turns` return before the next turn is opened, so that no clock runs meanwhile."""
        self._paused = True

    async def _until_handed(self) -> Any:
        if self._handed is None:
            self._parked = current_task()
            await wait_task_rescheduled(self._withdraw)
        handed, self._handed = self._handed, None
        return self.stopped or handed.unwrap()  # type: ignore[union-attr]  # somebody handed it

    def _withdraw(self, _raise_cancel: Any) -> Abort:
        self._parked = None
        self._close_turn()
        return Abort.SUCCEEDED

    def _close_turn(self) -> None:
        """Nothing is asked any more, and nothing is waited for."""
        self._asked, self._waiting = [], 0
        self.records.forget_turn()
        self.due_ns = NEVER_NS
        for seat in self.seats:
            seat.withdraw()

    def _hand(self, result: Outcome[Any]) -> None:
        self._handed = result
        if self._parked is not None:
            parked, self._parked = self._parked, None
            reschedule(parked)

    # Out to the seats.

    def _open_turn(self, observation: Any, reward: Any) -> None:
        if self.stopped is not None or not self._in_play:
            self.stop("seats")
            return
        self._observation = observation
        self._reward = reward
        if self._solo:
            self._waiting = 1
            seat = self.seats[0]
            seat.stats.reward += reward
            late = self._late.pop(0, None) if self._late else None
            now_ns = self._now()
            if self._tick_ns is not None:
                self._asked = self.seats
                self._waiting = 2  # for the seat and for the tick
                self._arm_tick(now_ns)
            seat.post(Envelope(self.turns, observation, reward, "act", late), now_ns)
            return
        asked = [self.seats[self._rules.players.index(player)] for player in observation]
        if self._tick_ns is None and not any(seat.out is None for seat in asked):
            # Nobody to wait for. So that many such turns neither pile up calls nor hold up the loop, each
            # comes from the environment.
            if not self._pumped and self._then == self._advance:
                self._hand(Value(Pause((observation, reward))))
                return
            self._pumped = False
        for player, paid in reward.items() if isinstance(reward, Mapping) else ():
            self.seats[self._rules.players.index(player)].stats.reward += paid
        self._ask(asked, self.turns, "act")

    def _ask(self, asked: list[Seat], number: int, phase: Phase) -> None:
        now_ns = self._now()
        self._asked = asked
        self._waiting = len(asked)
        self._answers = {}
        if self.paced(phase):
            self._waiting += 1  # for the tick
            self._arm_tick(now_ns)
        for seat in asked:
            if seat.out is None:
                shown, paid = self._shown_to(seat)
                late = self._late.pop(seat.number, None)
                seat.post(Envelope(number, shown, paid, phase, late), now_ns)
        if not self._waiting:
            self._complete(phase)
        for seat in asked:
            if seat.out is not None and phase == "act":
                seat.stats.absent += 1
                self._settle(seat, self._rules.nil, "absent", now_ns)

    def _shown_to(self, seat: Seat) -> tuple[Any, Any]:
        return self._rules.share_of(seat.number, self._observation, self._reward)

    # Back from the seats (called by them).

    def answered(
        self,
        seat: Seat,
        envelope: Envelope,
        action: Any,
        now_ns: int,
        spent_ns: int,
        credit_ns: int,
        verdict: Verdict,
    ) -> None:
        """A seat answered what is open; `verdict` is the clock's, `on time`, `late` or `disqualified`."""
        if envelope.phase != "act":
            self._noted(seat, envelope.phase, action, spent_ns, verdict)
        elif self._tick_ns is not None:
            self._offers[seat.number] = PendingAction(action, envelope.number, now_ns, spent_ns, credit_ns)
        elif verdict == ON_TIME:
            if self._rules.legal(seat.number, action):
                self._settle(seat, action, ON_TIME, now_ns, spent_ns, credit_ns)
            else:
                self._refuse(seat, action, now_ns, spent_ns, credit_ns)
        elif verdict == "late":
            self.overdue(seat, spent_ns, credit_ns)
        elif verdict == "overrun":
            self.overran(seat, spent_ns, credit_ns)
        else:
            self.fell(seat, "late", f"answered after {spent_ns / 1e6:.1f} ms")

    def answered_old(self, seat: Seat, envelope: Envelope, action: Any, now_ns: int) -> None:
        """A seat answered what is not open any more. At real-time pace it is the newest it has to say."""
        if self.paced(envelope.phase) and envelope.number >= self._first_turn:
            spent_ns = now_ns - seat.timer.started_ns
            self._offers[seat.number] = PendingAction(action, envelope.number, now_ns, spent_ns, 0)
        else:
            self.dropped(seat, envelope.number, "stale")

    def has_asked(self, number: int) -> bool:
        """Whether there was an envelope of this number."""
        return -self._notices <= number <= self.turns

    def dropped(self, seat: Seat, number: int, why: Literal["stale", "double", "unasked"]) -> None:
        """A seat said something that answers no open turn."""
        seat.stats.dropped += 1
        if seat.stats.dropped <= MAX_DROPPED_RECORDS:
            self.records.note(ReplyDropped(self._now() - self.origin_ns, seat.number, number, why))

    @property
    def abortable(self) -> bool:
        """Return whether the episode can be aborted by an action."""
        return self._rules.abort is not None

    def overdue(self, seat: Seat, spent_ns: int, credit_ns: int) -> None:
        """The soft limit of the open turn has passed, and the hard one has not."""
        self._play_for(seat, self._rules.nil, "late", spent_ns, credit_ns)

    def overran(self, seat: Seat, spent_ns: int, credit_ns: int) -> None:
        """Abort the episode: the open turn took longer than `act_abort`."""
        self._play_for(seat, self._rules.abort, "overrun", spent_ns, credit_ns)

    def _play_for(
        self, seat: Seat, action: Any, verdict: Literal["late", "overrun"], spent_ns: int, credit_ns: int
    ) -> None:
        now_ns = self._now()
        by_ns = max(0, spent_ns - seat.limit_ns)
        seat.stats.late += 1
        self._late[seat.number] = LateNotice(self.turns, verdict, action, by_ns)
        self._settle(seat, action, verdict, now_ns, spent_ns, credit_ns)

    def fell(self, seat: Seat, reason: str, detail: str = "") -> None:
        """A seat is out from now on; whatever it was asked is answered for it."""
        if seat.out is not None:
            return
        if reason == "late" and seat.phase == "start" and seat.absence is not None:
            absent = seat.absence()
            if absent is not None:
                reason, detail = absent.reason, absent.detail
        now_ns = self._now()
        seat.out = reason
        seat.reason_detail = detail[-MAX_DETAIL_CHARS:]
        self._in_play -= 1
        if reason == "late":
            seat.stats.late += 1
        self.records.note(SeatDisqualified(now_ns - self.origin_ns, seat.number, reason, seat.reason_detail))
        owed = self._owes(seat)
        before = seat.fell_before(now_ns, reason)
        seat.close()
        self.abandon(seat)
        if owed == "act" and before:
            self._fell_before(seat, now_ns)
        elif owed == "act":
            self._settle(seat, self._rules.nil, "disqualified", now_ns)
        elif owed is not None:
            self._waiting -= 1
            if self._waiting == 0:
                self._complete(owed)

    def _fell_before(self, seat: Seat, now_ns: int) -> None:
        """The seat was out before it took the open turn: as if that had been opened a moment later."""
        if not self._in_play:
            self.stop("seats")
            return
        seat.stats.absent += 1
        self._settle(seat, self._rules.nil, "absent", now_ns)

    def _owes(self, seat: Seat) -> Phase | None:
        """In which phase the seat is being waited for, if it is."""
        if self._waiting == 0:
            return None
        asked = self._solo or (seat in self._asked and seat.number not in self._answers)
        return seat.phase if asked else None

    def paced(self, phase: Phase) -> bool:
        """Whether the world waits for the tick in this phase, and not for the agent."""
        return self._tick_ns is not None and phase == "act"

    def _noted(self, seat: Seat, phase: Phase, answer: Any, spent_ns: int, verdict: Verdict) -> None:
        if verdict != ON_TIME:
            self.fell(seat, "late", f"`{phase}` took {spent_ns / 1e6:.1f} ms")
            return
        seat.budget.charge(phase, spent_ns)
        if phase == "start":
            seat.stats.start_ns = spent_ns
        self._answers[seat.number] = to_recordable(answer)
        self._waiting -= 1
        if self._waiting == 0:
            self._complete(phase)

    def _refuse(self, seat: Seat, action: Any, now_ns: int, spent_ns: int, credit_ns: int) -> None:
        seat.stats.illegal += 1
        self._late[seat.number] = LateNotice(self.turns, "illegal", self._rules.nil)
        refused = safe_repr(action) if self._looked_at else None
        self._settle(seat, self._rules.nil, "illegal", now_ns, spent_ns, credit_ns, refused=refused)

    def _settle(
        self,
        seat: Seat,
        action: Any,
        verdict: Verdict,
        now_ns: int,
        spent_ns: int = 0,
        credit_ns: int = 0,
        answers: int | None = None,
        refused: str | None = None,
    ) -> None:
        """This is what is played for the seat in this turn."""
        stats = seat.stats
        stats.turns += 1
        stats.think_ns += spent_ns
        if spent_ns > stats.think_max_ns:  # noqa: PLR1730 - a call of max costs five comparisons
            stats.think_max_ns = spent_ns
        if not seat.flat:
            seat.budget.charge("act", spent_ns)
        if credit_ns:
            self._note_credit(seat, now_ns, credit_ns)
        held = self._held
        if held is not None:
            numbers = type(action) is type(self._observation) is int
            if numbers and verdict == ON_TIME and not credit_ns:
                if not held:
                    self.records.first_held = self.turns
                held += (now_ns, self._observation, self._reward, action, spent_ns)
                if len(held) >= HELD_VALUES:
                    self.records.hand_over()
            else:
                held = None  # it is told at once: what is no number may be changed by its owner
        if self._watched or (held is None and self._looked_at):
            (shown, paid), at_ns, place = self._shown_to(seat), now_ns - self.origin_ns, seat.number
            said = (action, spent_ns, place, verdict, credit_ns, answers, refused)
            self.records.add(TurnPlayed(at_ns, self.turns, shown, paid, *said), held=held is not None)
        self._answers[seat.number] = action
        self._waiting -= 1
        if self._waiting == 0:
            self._settled()

    def _note_credit(self, seat: Seat, now_ns: int, credit_ns: int) -> None:
        seat.stats.credit_ns += credit_ns
        number = next((other.number for other in self.seats if other is self._keeper.ledger.last), None)
        self.records.note(StallSeen(now_ns - self.origin_ns, credit_ns, number))

    # Completion.

    def _complete(self, phase: Phase) -> None:
        if phase == "act":
            self._settled()
        elif self._in_play:
            self._then()
        else:
            self.stop("seats")

    def _all_settled(self) -> None:
        self.records.tell_turn()
        self._turn_over()

    def _turn_over(self) -> None:
        self.turns += 1
        if self.turns >= self._steps:
            self.stop("steps")
        elif self._in_play:
            self._then()
        else:
            self.stop("seats")

    def _actions(self) -> Actions:
        if self._solo:
            return self._answers[0]
        return {self._rules.players[number]: self._answers[number] for number in sorted(self._answers)}

    def _advance(self) -> None:
        try:
            request = self._send(self._answers[0] if self._solo else self._actions())
            if type(request) is not tuple:
                self._hand(Value(request))
            elif self.play_until_ns < NEVER_NS and self._now() >= self.play_until_ns:
                self._hand(Value(TaskExpired()))
            elif self._paused:
                self._paused = False
                self._hand(Value(Pause(request)))
            else:
                self._open_turn(request[0], request[1])
        except BaseException as error:  # noqa: BLE001 - rule 1: it is the environment's, whoever ran into it
            self._hand(Error(error))

    def _hand_actions(self) -> None:
        self._hand(Value(self._actions()))

    def _hand_answers(self) -> None:
        self._hand(Value(dict(sorted(self._answers.items()))))

    # Real-time pace.

    def _arm_tick(self, now_ns: int) -> None:
        """The next tick keeps the rate; ticks that the host missed are left out, not made up for."""
        tick_ns = self._tick_ns or 0
        planned_ns = self.due_ns + tick_ns if self.due_ns < NEVER_NS else now_ns + tick_ns
        self.due_ns = planned_ns if planned_ns > now_ns else now_ns + tick_ns
        self._keeper.deadlines.arm(self)

    def fire(self, now_ns: int) -> None:
        """A tick: the newest action that came before it is played, or NIL."""
        tick_at_ns = self.due_ns
        for seat in list(self._asked):
            if seat.out is not None or (not self._solo and seat.number in self._answers):
                continue
            offer = self._offers.get(seat.number)
            seat.expire()
            if offer is None or offer.at_ns >= tick_at_ns:
                self.overdue(seat, 0, 0)
            elif not self._rules.legal(seat.number, offer.action):
                del self._offers[seat.number]
                self._refuse(seat, offer.action, now_ns, offer.spent_ns, offer.credit_ns)
            else:
                del self._offers[seat.number]
                older = offer.number if offer.number != self.turns else None
                self._settle(seat, offer.action, ON_TIME, now_ns, offer.spent_ns, offer.credit_ns, older)
        if self._waiting == 1:  # for the tick; for nothing, if somebody stopped the match
            self._waiting = 0
            self._complete("act")
