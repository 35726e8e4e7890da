"""A seat of a match, at the end of its agent's host and of the referee.

The agent's end is `flagfall.kernel.agent_seat.Seat`. A seat consists of a turn channel and a turn clock.

Rule 1: a turn's clock starts when the agent takes the turn, or when it is posted if the agent is not waiting
    for it (still busy, or computing). Waiting in a queue of the host is not charged.
Rule 2: a turn is judged by the clock when the reply arrives, or when its deadline comes. Exactly on the
    deadline is late.
Rule 3: a reply belongs to the envelope that it answers. If that is no longer open, the reply is dropped.
Rule 4: an agent busy with one envelope up to its hard limit is disqualified, whatever it is asked meanwhile.
Rule 5: with a limit `act_abort`, a turn stays open until that limit, which aborts the episode. The agent is
    then busy with an old turn: the clock of its next request starts when it takes that.
Rule 6: time lost to others is not charged. If a turn seems late on a host that stalled meanwhile, the verdict
    waits once for an answer that may lie unread (`flagfall.timing.stalls`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import trio

from flagfall.errors import UNRESPONSIVE
from flagfall.events import ON_TIME, Verdict
from flagfall.kernel.agent_seat import Seat
from flagfall.kernel.channels.turn_channel import Envelope, open_turn_channel
from flagfall.kernel.outcomes import SeatStats
from flagfall.kernel.spaces import describe_observation, describe_task, spaces_of
from flagfall.kernel.turn_delay import TurnDelay
from flagfall.timing import NEVER_NS, ElapsedTimer
from flagfall.timing.budget import verdict_of
from flagfall.timing.deadlines import ignore
from flagfall.timing.turn_clock import ClockState, TurnClock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagfall.errors import AgentFault
    from flagfall.events import Printed
    from flagfall.kernel.channels.turn_channel import LateNotice
    from flagfall.kernel.notes import TurnNotes
    from flagfall.kernel.referee.task_rules import RefereePort
    from flagfall.kernel.roles import TaskRole
    from flagfall.kernel.spaces import Spaces, TaskDescription
    from flagfall.timing import Budget, NowNs, TimeControl, Timekeeper, VirtualClock
    from flagfall.timing.clocks import ClockHold
    from flagfall.timing.control import Phase
    from flagfall.timing.latency import SeatLatency
    from flagfall.timing.rates import Rate

MAX_NAMED_TURN: Final = 2**53
"""The largest number of an unasked turn that is recorded as the agent sent it: every JSON parser reads it
exactly. An agent may send a number of a million digits, which no journal can hold."""

MAX_DETAIL_CHARS: Final = 4_000
"""A traceback of about forty lines, enough for an author to see why an agent was disqualified."""

UNDER_WAY_NS: Final = 500_000
"""Wait for an answer that is being delivered, before looking again; the loop receives it on its arrival."""


_WAITING, _PAUSED, _RUNNING, _BUSY, _OVERRUN = ClockState


class HostSeat:
    """The other end of a seat, for the host of its agent and for the referee.

    Args:
        number: zero-based index of the seat in the match.
        keeper: the timekeeper of the event loop.
        referee: notified of the events of the seat.

    Attributes:
        number: zero-based index of the seat in the match.
        clock: measures the time that the agent uses.
        budget: what is left of the time control.
        stats: counts and times for the report.
        disqualified: the reason why the seat is disqualified, or `None`.
        reason_detail: details of that for the agent's author.
        printed: what the agent printed; set by a host that has it.
        absence: explains why there is no agent yet, when the time for `start` runs out; set by a host that
            waits for agents to connect. `None`, or if it returns `None`: the agent is merely late.
        task: the task whose turns it plays; before the first one begins, the first that is known, or `None`.
        now: the clock by which it is judged, in nanoseconds.
        taken_ns: when the clock of the turn that was taken last began.
        has_own_scopes: cancel scopes of the agent may surround its waiting for a turn; `False` is set by a
            host that waits for it.
        notes: takes the notes of the agent; set by the environment.
        on_resume: called where the match goes on from a recorded one, before the first turn.
        delay: delays its turns on the virtual clock, if it has a model of latency; else `None`.
        agent_scope: cancelled when the seat is disqualified: that of the agent's task, while it runs.
        hold: holds the virtual clock, on which the match is played, while an agent outside of the event loop
            has a turn; else `None`.
    """

    __slots__ = (
        "_channel",
        "_late",
        "_referee",
        "absence",
        "agent",
        "agent_scope",
        "budget",
        "clock",
        "delay",
        "disqualified",
        "has_own_scopes",
        "hold",
        "notes",
        "now",
        "number",
        "on_resume",
        "printed",
        "reason_detail",
        "stats",
        "taken_ns",
        "task",
    )

    def __init__(self, number: int, control: TimeControl, keeper: Timekeeper, referee: RefereePort) -> None:
        self.number: int = number
        self.stats: SeatStats = SeatStats()
        self.disqualified: str | None = None
        self.reason_detail: str = ""
        self.printed: Sequence[Printed] = ()
        self.task: TaskRole | None = None
        self.absence: Callable[[], AgentFault | None] | None = None
        self.now: NowNs = keeper.now
        self.taken_ns: int = keeper.now()
        self.has_own_scopes: bool = True
        self._late: LateNotice | None = None
        self.delay: TurnDelay | None = None
        self.notes: TurnNotes | None = None
        self.agent_scope: trio.CancelScope | None = None
        self.hold: ClockHold | None = None
        self.on_resume: Callable[[], None] = ignore
        self._referee = referee
        self._channel = open_turn_channel(self)
        self.clock: TurnClock = TurnClock(number, control, keeper, self.fire)
        self.budget: Budget = self.clock.budget
        self.agent: Seat = Seat._create(  # noqa: SLF001 - the two ends belong together
            number,
            ElapsedTimer(self.now, self.time_of_turn, self.look_up_left),
            self.take_turn,
            self._channel.reply,
            self.take_note,
            self.leave,
        )

    def __repr__(self) -> str:
        return f"<HostSeat {self.number}: {self._channel.statistics()}>"

    # For hosts.

    @property
    def limit_ns(self) -> int:
        """Return how long what was asked last may take before it is late."""
        return self.clock.limit_ns

    @property
    def wants(self) -> frozenset[str]:
        """Return the phases that the agent wants to be asked in."""
        return self.agent.wants

    @property
    def turn_number(self) -> int:
        """Return the number of the match's open turn, or of the next one."""
        return self._referee.turns

    @property
    def delay_ns(self) -> int:
        """Return the time of the turn that passed before the agent saw it; its timer leaves that out."""
        return 0 if self.delay is None else self.delay.delay_ns

    @property
    def rate(self) -> Rate | None:
        """Return the rate by which the agent's work takes time; `None` if its work is not measured."""
        return None if self.delay is None else self.delay.rate

    @property
    def most_ns(self) -> int:
        """Return how long the agent may be busy until it is disqualified; 100 years where it never is."""
        envelope = self._channel.open_envelope
        return self.clock.read_when_due(self.now(), None if envelope is None else envelope.number)[2]

    async def spend(self, time_ns: int) -> None:
        """Let think time pass that was measured, before the answer. Only for a seat with a rate."""
        wait = None if self.delay is None else self.delay.spend(time_ns, self.has_own_scopes)
        if wait is not None:
            await (wait if self.hold is None else self.hold.release(wait))

    @property
    def is_asked(self) -> bool:
        """Return whether a turn waits for its answer, taken or not."""
        return self._channel.open_envelope is not None

    @property
    def held_up_loop(self) -> bool:
        """Return whether it was this seat's agent that held up the event loop last."""
        return self.clock.held_up_loop

    def delay_turns(self, model: SeatLatency, seed: int, keeper: Timekeeper, clock: VirtualClock) -> None:
        """Delay the turns as a model of latency draws it from the seed of the match."""
        self.delay = TurnDelay(self.clock, self._channel, model, seed, keeper, clock)

    def look_up_spaces(self) -> Spaces | None:
        """Return the spaces of the task; `None` if no task is known yet."""
        return None if self.task is None else spaces_of(self.task, self.number)

    def look_up_task(self) -> TaskDescription | None:
        """Return what the agent is told of the task; `None` if no task is known yet, or it is continuous."""
        if self.task is None:
            return None
        return describe_task(self.task, self.number, spaces_of(self.task, self.number).action)

    def look_up_text(self) -> str:
        """Return the observation of the turn that the agent has taken, as text; empty if it has none."""
        envelope = self._channel.taken
        if self.task is None or envelope is None:
            return ""
        return describe_observation(self.task, self.number, envelope.observation)

    def look_up_noted(self) -> Any:
        """Return the agent's note on the recorded turn that it has taken; `None` in any other turn."""
        return getattr(self._channel.taken, "noted", None)

    def look_up_left(self) -> tuple[int | None, int | None]:
        """Return what is left of the budgets of tokens and of cost."""
        return self.budget.left

    def is_closed(self) -> bool:
        """Return whether there will be no more turns for the agent."""
        return self._channel.closed

    # What the agent's end is made of.

    def time_of_turn(self) -> tuple[int, int, LateNotice | None]:
        """Return the start of the turn that was taken last, its limit, and the notice that came with it."""
        return self.taken_ns + self.delay_ns, self.clock.limit_ns, self._late

    async def take_turn(self) -> Envelope:
        """Take the newest turn; see `Seat.turn`."""
        clock = self.clock
        if clock.state is _OVERRUN:
            self._end_overrun()
        elif clock.state is _BUSY:
            self._fire_if_due(self.now())
        envelope = self._channel.take()
        if envelope is None:
            envelope = await self._wait()
        elif self.hold is not None:
            self.hold.renew()
        if clock.state is not _RUNNING:
            clock.take(self.now())
        self.taken_ns = clock.started_ns
        self._late = envelope.late
        delay = self.delay
        if delay is not None and not delay.passes_at_once(envelope, self.has_own_scopes):
            await (delay.sleep(envelope) if self.hold is None else self.hold.release(delay.sleep(envelope)))
        return envelope

    def take_note(self, value: Any) -> None:
        """Take a note of the agent; see `Seat.note`."""
        if self.notes is not None and not self._channel.closed:
            self.notes.take(self.number, self.stats, self.budget, value)

    def leave(self) -> None:
        """Disqualify the seat as `gone`; see `Seat.close`."""
        if not self._channel.closed:
            self.report("gone", "the agent closed its seat")

    def report(self, reason: str, detail: str = "") -> None:
        """Have the seat disqualified; see `Referee.disqualified`."""
        self._referee.disqualified(self, reason, detail)

    async def _wait(self) -> Envelope:
        """Wait for a turn; meanwhile no time of the agent is used."""
        channel, clock = self._channel, self.clock
        channel.start_receiving()  # raises where another task waits: the clock is that task's
        try:
            self._pause_clock()
            return await (
                channel.receive_next() if self.hold is None else self.hold.release(channel.receive_next())
            )
        except trio.Cancelled:
            # The turn waits and the agent does something else: its clock goes on.
            if channel.waiting is not None and not clock.is_running:
                clock.resume(self.now())
            raise
        finally:
            channel.is_receiving = False

    def _pause_clock(self) -> None:
        """Stop the clock while the agent waits for a turn.

        What it used of the turn that waits for it counts; and if it has taken the open turn and asks
        for another without an answer, the clock of that turn goes on.
        """
        channel, clock = self._channel, self.clock
        if channel.waiting is None and channel.open_envelope is not None:
            return
        if channel.waiting is not None and clock.is_running:
            now_ns = self.now()
            self._fire_if_due(now_ns)  # the timekeeper must not find a paused clock; that may post the next
            if clock.state is not _WAITING and channel.waiting is not None:  # else it is over
                clock.pause(now_ns, channel.waiting.number)
                return
        clock.reset()

    def _fire_if_due(self, now_ns: int) -> None:
        """Judge a turn whose time is over, for which the timekeeper has not run since.

        So whether the agent can still take it does not depend on who runs first at that moment.
        """
        if now_ns >= self.clock.due_ns:
            self.fire(now_ns)

    def _end_overrun(self) -> None:
        self.clock.reset()
        if self._channel.waiting is not None:  # posted meanwhile, with what was left of the time then
            self._set_limits(self._channel.waiting.phase)

    # Replies, from the channel (see `flagfall.kernel.channels.turn_channel.ReplyHandler`).

    def answered(self, envelope: Envelope, value: Any) -> None:
        """Judge the reply to the open turn, and report it."""
        clock = self.clock
        now_ns = self.now()
        verdict: Verdict
        if now_ns < clock.fast_path_until_ns:
            # Before every limit: on time, whatever the host lost. This is the path of nearly every reply, so
            # it leaves out what can change nothing: the ledger, the reading, the verdict's arithmetic.
            spent_ns, credit_ns = now_ns - clock.started_ns, 0
            verdict = ON_TIME
        else:
            reading = clock.read(now_ns, envelope.number)
            spent_ns, credit_ns = reading.spent_ns, reading.credit_ns
            verdict = verdict_of(reading, clock.limits, abortable=self._referee.abortable)
        clock.stop()
        self._referee.replied(self, envelope, value, now_ns, spent_ns, credit_ns, verdict)

    def answered_stale(self, envelope: Envelope, value: Any) -> None:
        """Report the reply to a turn that is not open any more, unless it comes past its hard limit."""
        now_ns = self.now()
        busy_ns = self.clock.read_stale(now_ns)
        if busy_ns:  # its deadline is still to be fired: the agent held up the loop, or it is this moment's
            self._referee.disqualified(self, "late", f"busy for {busy_ns / 1e6:.1f} ms")
            return
        self._referee.replied_stale(self, envelope, value, now_ns, now_ns - self.taken_ns)
        self.clock.end_older(is_open=self._channel.waiting is not None)
        self._fire_if_due(now_ns)

    def answered_nothing(self, number: object) -> None:
        """Report a reply that answers no turn that was taken."""
        last = self._channel.last_answered
        answers = last if number is None else number
        if type(answers) is not int or not -MAX_NAMED_TURN <= answers <= MAX_NAMED_TURN:
            self._referee.dropped(self, -1, "unasked")
        elif not self._referee.has_asked(answers):
            self._referee.dropped(self, answers, "unasked")
        else:
            self._referee.dropped(self, answers, "double" if answers == last else "stale")

    # The clock's deadline.

    def fire(self, now_ns: int) -> None:
        """Judge the turn whose time has come, or so it seemed.

        A deadline is set on the wall, when a turn starts. What the host lost since puts it off, so the clock
        is read again here, and the deadline moved if there is time left. Then the verdict waits once, if an
        answer may lie unread. Only then the turn is judged.
        """
        channel, clock = self._channel, self.clock
        if channel.closed or clock.state is _WAITING or clock.state is _PAUSED:
            return
        taken, open_envelope = channel.taken, channel.open_envelope
        # A thread notes when it has made an answer. One that was made in time must not be overtaken by its
        # own delivery, and one that was not is late by what it took, not by when it was heard.
        if (
            clock.agent_times is not None
            and taken is not None
            and clock.is_answer_under_way(now_ns, taken.number)
        ):
            clock.put_off(now_ns + UNDER_WAY_NS)
            return
        number = None if open_envelope is None else open_envelope.number
        reading, left_ns, hard_left_ns = clock.read_when_due(now_ns, number)
        if left_ns > 0:  # the host lost some of it, or the CPU's time runs slower
            clock.look_again_in(left_ns, now_ns)
            return
        # Credit comes before grace: the grace period is counted from a deadline that stalls have moved on,
        # and is given once for it. In the other order each stall would begin another one.
        if clock.may_lie_unheard(now_ns, reading.credit_ns) and (
            until_ns := clock.grace.put_off(now_ns, clock.due_ns, open_envelope)
        ):
            clock.put_off(until_ns)
            return
        verdict = verdict_of(reading, clock.limits, abortable=self._referee.abortable)
        if verdict != "late" and verdict != "overrun":  # noqa: PLR1714 - narrows the type
            self._referee.disqualified(self, "late", f"busy for {reading.busy_ns / 1e6:.1f} ms")
            return
        # The clock is set before the referee is told, which may post the next turn before it returns: that
        # turn starts the clock of an agent that is busy with this one.
        self.expire()
        if not channel.is_receiving:  # it is still busy: its hard limit comes next
            clock.due_ns = now_ns + hard_left_ns
            if verdict == "overrun":
                clock.overrun()
        self._referee.deadline(self, verdict, reading.spent_ns, reading.credit_ns)
        clock.arm()  # here, since the next turn that was posted meanwhile has an earlier limit in most cases

    # The referee's side.

    def answer_to(self, referee: RefereePort) -> None:
        """Report to another referee from now on."""
        self._referee = referee

    def resume(self, budget: Budget) -> None:
        """Go on from a recorded match, with what was left of the time."""
        self.budget = self.clock.budget = budget
        self.clock.phase = None  # the limits were those of another budget
        self.on_resume()

    def recall(self, number: int, *, is_answered: bool) -> None:
        """Be as the agent of a recorded match was: done with a turn that is over, or still busy with it."""
        if is_answered:
            self._channel.taken, self._channel.last_answered = None, number
            return
        self._channel.taken = Envelope(number)
        self._set_limits("act")
        self.clock.start(self.now())
        self.clock.expire()

    def post(self, envelope: Envelope, now_ns: int) -> None:
        """Ask the agent; whatever it was asked before and has not taken is replaced.

        Args:
            envelope: what it is asked.
        """
        channel, clock = self._channel, self.clock
        if channel.waiting is not None:
            self.stats.skipped += 1
        if clock.phase != envelope.phase or not self.budget.flat:
            self._set_limits(envelope.phase)
        if channel.is_receiving:  # its clock starts when it takes the turn: until then it waits for the loop
            clock.reset()
        elif clock.state is not _OVERRUN:  # it computes on its own account, and finds the turn when it asks
            clock.start(now_ns)
        channel.send_nowait(envelope)

    def _set_limits(self, phase: Phase) -> None:
        referee = self._referee
        least_ns = max(0, referee.result_until_ns - self.now()) if phase == "result" else 0
        self.clock.set_limits(phase, paced=referee.is_paced(phase), least_ns=least_ns)

    def expire(self) -> None:
        """End the open turn, which was judged: it is not shown any more, and an answer to it is stale."""
        if self._channel.waiting is not None:
            self.stats.skipped += 1
        self._channel.retract()
        self._expire_clock()

    def _expire_clock(self) -> None:
        self.clock.expire()
        if self._channel.is_receiving:  # it took the turn, and asks for another: it is busy with nothing
            self.clock.end_busy()

    def withdraw(self) -> None:
        """End what is open, without a verdict."""
        channel = self._channel
        if channel.waiting is not None and channel.taken is channel.under_way is None:
            self.clock.end_busy()
        else:
            self._expire_clock()
        channel.retract()

    def is_untouched(self, now_ns: int, reason: str) -> bool:
        """Return whether the seat is disqualified for something that came before the open turn.

        It never took that turn, and lost no time on it; so it makes no difference which came first.
        """
        if self._channel.waiting is None:
            return False
        return reason != "late" or self.clock.clock_began_ns in {NEVER_NS, now_ns}

    def disqualify(self, reason: str, detail: str) -> str:
        """Close the seat for good.

        Args:
            reason: see `flagfall.events.SeatDisqualified`.
            detail: details for the agent's author; its end is kept.

        Returns:
            The reason that counts: of an agent that is late for `start` because it never came, that one.
        """
        if reason in {"late", UNRESPONSIVE} and self.clock.phase == "start" and self.absence is not None:
            fault = self.absence()
            if fault is not None:
                reason, detail = fault.reason, fault.detail
        self.disqualified = reason
        self.reason_detail = detail[-MAX_DETAIL_CHARS:]
        self.end()
        if self.agent_scope is not None:
            self.agent_scope.cancel()
        return reason

    def end(self) -> None:
        """End the turns: the agent's next call of `turn` ends."""
        self._channel.close()
        self.clock.close()
        self.agent.closed = True

    def release(self) -> None:
        """Take no more replies: the match is over, and its result is made.

        The agent may keep its end, which leads here; so this end lets go of it.
        """
        self._channel.release()
        self.clock.on_error = self.hold = self.delay = None
        del self.agent
