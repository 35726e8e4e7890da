"""A seat: the agent's end of the wire, and the clock that runs while the agent has a turn.

Rule 1: a turn's clock starts when the agent takes the turn, or when it is posted if the agent is not
    there to take it (still busy, or gone to think). Waiting in a queue of the host is not charged.
Rule 2: a turn is judged by the clock when the reply is there, or when its time has come. Exactly on the
    deadline is late.
Rule 3: a reply belongs to the envelope it answers. If that is not open any more, it is dropped.
Rule 4: an agent busy with one envelope up to its hard limit is out, whatever it is asked meanwhile.
Rule 5: with a limit `act_abort`, a turn stays open until that limit, which aborts the episode. The agent is
    then busy with an old turn: the clock of whatever it is asked next starts when it takes that.
Rule 6: a turn is reckoned without what others lost it. If it seems late on a host that stalled meanwhile, the
    verdict waits for one grace period, and for no second one (`flagfall.kernel.grace`).
"""

from __future__ import annotations

__all__ = ["Seat"]

from typing import TYPE_CHECKING, Any

import trio
from trio.lowlevel import Abort, current_task, reschedule, wait_task_rescheduled

from flagfall.events import ON_TIME, Verdict
from flagfall.kernel.bounds import (
    BURST_TURNS,
    CPU_WALL_FACTOR,
    HEARING_NS,
    LOOK_AGAIN_NS,
    MAX_NAMED_TURN,
    UNDER_WAY_NS,
)
from flagfall.kernel.grace import GRACE_NS, Grace
from flagfall.kernel.outcomes import SeatStats
from flagfall.timing import NEVER_NS, Budget, Deadline, ElapsedTimer, TimeControl
from flagfall.timing.budget import is_late
from flagfall.timing.stalls import STALL_NS

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagfall.errors import AgentFault
    from flagfall.kernel.channels.envelope import Envelope
    from flagfall.kernel.referee import Referee
    from flagfall.kernel.roles import TaskRole
    from flagfall.timing import NowNs, Timekeeper
    from flagfall.timing.phases import Phase


class Seat(Deadline):
    """The agent's end of the wire.

    An agent that is a full actor gets it as `run(seat)`:

        async for turn in seat:
            seat.reply(choose(turn.observation))

    Attributes:
        number: which seat of the match it is, from 0.
        timer: the clock of the turn that the agent has.
        wants: the phases that the agent wants to be asked in; the others are answered for it.
        out: why the seat is out, or `None`.
        reason_detail: what to show the agent's author of that.
        stderr_tail: the newest of what the agent wrote to its standard error; set by a host that has it.
        closed: there will be no more turns for it.
        phase: what it was asked last.
        limit_ns: how long that may take before it is late.
        now: the clock that it is judged by, in nanoseconds.
        cpu_clock: on the CPU clock, what the agent has used; set by its host.
        absence: explains why there is no agent yet, when the time for `start` runs out; set by a host that
            waits for agents to connect. `None`, or if it returns `None`: the agent is merely late.
        task: the task whose turns it plays; before the first one begins, the first that is known, or `None`.
        not_lost_ns: what of the ledger's stalls this agent did not lose (kept by the ledger).
        load_seen_ns: the ledger's sum of delays by load up to which that is reckoned.
        feels_loop: whether it is held up by what delays the loop alone.
        agent_times: for an agent that lives by this process's clock (in a thread), its host's function that
            returns when it took the turn of a number and when its answer was made, each `None` if it has not.
            The turn is judged by these, and by when the answer was heard only where they are not known.
    """

    __slots__ = (
        "_abort_ns",
        "_answered",
        "_asking",
        "_burst",
        "_busy_cpu_ns",
        "_busy_hard_ns",
        "_busy_mark_ns",
        "_busy_since_ns",
        "_cpu_ns",
        "_deadlines",
        "_grace",
        "_hard_ns",
        "_keeper",
        "_ledger",
        "_mark_ns",
        "_now",
        "_open",
        "_overran_hard_ns",
        "_posted",
        "_quick_due_ns",
        "_quick_ns",
        "_sleeper",
        "_stage",
        "_started_ns",
        "_taken",
        "_used_ns",
        "absence",
        "agent_times",
        "budget",
        "closed",
        "cpu_clock",
        "feels_loop",
        "flat",
        "limit_ns",
        "load_seen_ns",
        "not_lost_ns",
        "now",
        "number",
        "out",
        "phase",
        "reason_detail",
        "stats",
        "stderr_tail",
        "task",
        "timer",
        "wants",
    )

    def __init__(self, number: int, control: TimeControl, keeper: Timekeeper, stage: Referee) -> None:
        super().__init__(rank=number)
        self.number = number
        self.budget = Budget(control)
        self.flat = self.budget.flat
        self.timer = ElapsedTimer(keeper.now)
        self.stats = SeatStats()
        self.wants: frozenset[str] = frozenset({"act"})
        self.out: str | None = None
        self.reason_detail = ""
        self.stderr_tail = ""
        self.task: TaskRole | None = None
        self.not_lost_ns = self.load_seen_ns = 0
        self.feels_loop = True
        self.agent_times: Callable[[int], tuple[int | None, int | None]] | None = None
        self.cpu_clock: NowNs | None = None
        self.absence: Callable[[], AgentFault | None] | None = None
        self._stage = stage
        self._keeper = keeper
        self._now = self.now = keeper.now
        self._deadlines = keeper.deadlines
        self._ledger = keeper.ledger
        # What was asked: newest not yet taken; being worked on; not yet judged; number answered last.
        self._posted: Envelope | None = None
        self._taken: Envelope | None = None
        self._open: Envelope | None = None
        self._answered: int | None = None
        # Where the agent is: waiting for a turn (perhaps asleep), or busy since when.
        self._asking = False
        self._sleeper: trio.lowlevel.Task | None = None
        self._burst = 0
        self.closed = False
        self._busy_since_ns: int | None = None
        self._busy_mark_ns = self._busy_cpu_ns = 0
        self._busy_hard_ns = NEVER_NS  # perhaps that of an earlier phase
        # The clock of the open envelope. `_quick_due_ns`: before it a reply is on time, no questions asked.
        self.phase: Phase | None = None
        self.limit_ns = self._hard_ns = self._quick_ns = self._abort_ns = NEVER_NS
        # The hard limit of a turn that was aborted, while the agent is busy with it.
        self._overran_hard_ns: int | None = None
        self._started_ns: int | None = None
        self._used_ns = 0
        self._mark_ns = self._cpu_ns = 0
        self._quick_due_ns = 0
        self._grace = Grace()

    # The agent's side.

    def __aiter__(self) -> Seat:
        return self

    async def __anext__(self) -> Envelope:
        try:
            return await self.turn()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None

    async def turn(self) -> Envelope:
        """The newest turn that waits for an answer; waits until there is one.

        Turns that were judged before the agent asked for them are not shown. If it is cancelled, nothing
        was taken: the next call gets the turn.

        Raises:
            trio.EndOfChannel: the match is over, or the seat is out.
        """
        if self._overran_hard_ns is not None:
            self._come_back()
        envelope = self._posted
        if envelope is None or self._burst >= BURST_TURNS:
            envelope = await self._wait()
        else:
            self._burst += 1
        self._posted = None
        self._taken = envelope
        timer = self.timer
        if self._started_ns is None:
            self._start_clock(self._now() - self._used_ns)
        timer.started_ns = self._started_ns  # type: ignore[assignment]  # the line above set it
        timer.late = envelope.late
        return envelope

    def reply(self, action: Any = None, number: int | None = None) -> None:
        """Answer the turn that was taken last, or the one with this number.

        Never blocks, and never raises for a reply that comes too late: such a reply is dropped and
        counted. The world may move on inside this call.
        """
        taken = self._taken
        if taken is None or (number is not None and number != taken.number):
            self._drop(number)
            return
        self._taken = None
        self._answered = taken.number
        busy_since_ns, self._busy_since_ns = self._busy_since_ns, None
        now_ns = self._now()
        if taken is not self._open:
            self._grace.forget()
            self._stage.answered_old(self, taken, action, now_ns)
            self._rest()
            return
        if now_ns < self._quick_due_ns:
            spent_ns = now_ns - self._started_ns  # type: ignore[operator]  # it runs: the turn was taken
            credit_ns = 0
            verdict: Verdict = ON_TIME
        else:
            spent_ns, credit_ns = self._spent(now_ns)
            since_ns = now_ns if busy_since_ns is None else busy_since_ns
            verdict = self._judge(now_ns, since_ns, spent_ns, credit_ns)
        self._open = None
        self.due_ns = NEVER_NS
        self._stage.answered(self, taken, action, now_ns, spent_ns, credit_ns, verdict)

    async def _wait(self) -> Envelope:
        """Wait for a turn."""
        self._burst = 0
        self._asking = True
        self._stop_clock()
        try:
            if self._posted is not None:
                await trio.lowlevel.checkpoint()
            while self._posted is None:
                if self.closed:
                    raise trio.EndOfChannel
                self._sleeper = current_task()
                await wait_task_rescheduled(self._forget_sleeper)
        except trio.Cancelled:
            if self._posted is not None and self._started_ns is None:
                self._start_clock(self._now() - self._used_ns)
            raise
        finally:
            self._asking = False
        return self._posted

    def _come_back(self) -> None:
        """The agent is done with a turn that was aborted: what it is asked next has its full time."""
        self._overran_hard_ns = self._busy_since_ns = None
        self.due_ns = NEVER_NS
        if self._posted is not None:
            self._set_limits(self._posted.phase)

    def _stop_clock(self) -> None:
        """The agent asks for a turn: none of its time is used while it waits for it.

        What it used of the turn that waits for it counts; and if it has taken the open turn and asks
        for another without an answer, the clock of that turn goes on.
        """
        if self._posted is None and self._open is not None:
            return
        if self._started_ns is not None and self._posted is not None:
            now_ns = self._now()
            if now_ns >= self.due_ns:
                self.fire(now_ns)  # it came too late for this one; that may post the next
            if self._started_ns is not None:
                self._used_ns = self._spent(now_ns)[0]
        self._started_ns = self._busy_since_ns = None
        self.due_ns = NEVER_NS

    def _forget_sleeper(self, _raise_cancel: Any) -> Abort:
        self._sleeper = None
        return Abort.SUCCEEDED

    def _drop(self, number: int | None) -> None:
        answers = self._answered if number is None else number
        if type(answers) is not int or not -MAX_NAMED_TURN <= answers <= MAX_NAMED_TURN:
            self._stage.dropped(self, -1, "unasked")
        elif not self._stage.has_asked(answers):
            self._stage.dropped(self, answers, "unasked")
        else:
            self._stage.dropped(self, answers, "double" if answers == self._answered else "stale")

    # The clock.

    @property
    def clock_began_ns(self) -> int:
        """Time at which the clock of the open turn began; `NEVER_NS` while it does not run."""
        return NEVER_NS if self._started_ns is None else self._started_ns

    def use_times(self, agent_times: Callable[[int], tuple[int | None, int | None]]) -> None:
        """Judge by the agent's own times, see `agent_times`; delays of the loop are not the agent's."""
        self.agent_times = agent_times
        self.feels_loop = False

    def _start_clock(self, now_ns: int) -> None:
        self._started_ns = now_ns
        ledger = self._ledger
        mark_ns = ledger.lost_ns - self.not_lost_ns
        if now_ns - ledger.step_began_ns > STALL_NS:
            mark_ns += self._lost_before(now_ns)
        self._mark_ns = mark_ns
        if self.cpu_clock is not None:
            self._cpu_ns = self.cpu_clock()
        if self._busy_since_ns is None:
            self._busy_since_ns = now_ns
            self._busy_mark_ns = mark_ns
            self._busy_cpu_ns, self._busy_hard_ns = self._cpu_ns, self._hard_ns
            due_ns = now_ns + self._quick_ns
        else:
            due_ns = min(now_ns + self.limit_ns, self._busy_since_ns + self._busy_hard_ns)
        self.due_ns = due_ns
        self._quick_due_ns = due_ns if self.flat and self.cpu_clock is None else 0
        if due_ns < self.armed_ns:
            self._deadlines.arm(self)

    def _lost_before(self, now_ns: int) -> int:
        """What of the step that runs will be booked as lost, though it was over when the clock started."""
        cost = self._keeper.cost_of_this_step(now_ns)
        owner = self._ledger.owner_of(current_task())
        if owner is self:
            return cost.stopped_ns + (cost.load_ns if self.feels_loop else 0)
        self.load_seen_ns = self._ledger.load_ns + cost.load_ns
        is_felt = self.feels_loop or owner is not None
        return cost.stopped_ns + (cost.own_ns if is_felt else 0)

    def _spent(self, now_ns: int) -> tuple[int, int]:
        """What the open turn has cost the agent so far, and what the host lost of it."""
        since_ns = now_ns if self._started_ns is None else self._started_ns
        if self.agent_times is not None and self.cpu_clock is None and self._open is not None:
            return self._spent_there(now_ns, since_ns, self._open.number)
        return self._cost(now_ns, since_ns, self._mark_ns, self._cpu_ns)

    def _spent_there(self, now_ns: int, since_ns: int, number: int) -> tuple[int, int]:
        """The same by the agent's own times: how long a turn or an answer is on its way does not count."""
        assert self.agent_times is not None
        took_ns, made_ns = self.agent_times(number)
        began_ns = since_ns if took_ns is None else max(since_ns, took_ns)
        ended_ns = now_ns if made_ns is None or now_ns - made_ns > HEARING_NS else max(began_ns, made_ns)
        outside_ns = self._ledger.lost_between(since_ns, began_ns, self)
        outside_ns += self._ledger.lost_between(ended_ns, now_ns, self)
        return self._cost(ended_ns, began_ns, self._mark_ns + outside_ns, 0)

    def _is_answer_under_way(self, now_ns: int) -> bool:
        """Return whether an agent with times of its own has made the answer that is waited for."""
        if self.agent_times is None or self._taken is None:
            return False
        made_ns = self.agent_times(self._taken.number)[1]
        return made_ns is not None and now_ns - made_ns <= HEARING_NS

    def _busy(self, now_ns: int, since_ns: int) -> tuple[int, int]:
        """How long the agent has been busy without an answer, and what the host lost of it."""
        return self._cost(now_ns, since_ns, self._busy_mark_ns, self._busy_cpu_ns)

    def _cost(self, now_ns: int, since_ns: int, mark_ns: int, cpu_ns: int) -> tuple[int, int]:
        wall_ns = now_ns - since_ns
        if self.cpu_clock is not None:
            return max(self.cpu_clock() - cpu_ns, wall_ns // CPU_WALL_FACTOR), 0
        if self._ledger.load_ns > self.load_seen_ns and self._ledger.owner_of(current_task()) is self:
            self._ledger.credit_load(self)  # what held up the step that runs; at its end it would be too late
        lost_ns = self._ledger.lost_ns - self.not_lost_ns - mark_ns
        step = self._keeper.cost_of_this_step(now_ns)
        lost_ns += step.stopped_ns + (step.load_ns if self.feels_loop else 0)
        credit_ns = max(0, min(wall_ns, lost_ns))
        return wall_ns - credit_ns, credit_ns

    def _judge(self, now_ns: int, since_ns: int, spent_ns: int, credit_ns: int) -> Verdict:
        if not is_late(spent_ns, self.limit_ns):
            return ON_TIME
        grace_ns = GRACE_NS if self._may_lie_unheard(now_ns, credit_ns) else 0
        if not is_late(spent_ns, self.limit_ns + grace_ns):
            return ON_TIME
        busy_ns = spent_ns if since_ns == self._started_ns else self._busy(now_ns, since_ns)[0]
        if is_late(busy_ns, self._busy_hard_ns + grace_ns):
            return "disqualified"
        if not is_late(spent_ns, self._abort_ns + grace_ns):
            return "late"
        return "overrun" if self._stage.abortable else "disqualified"

    def _may_lie_unheard(self, now_ns: int, credit_ns: int) -> bool:
        """Return whether the host stalled in the open turn and may hear an answer later than it came."""
        if self.agent_times is not None or self.cpu_clock is not None:
            return False  # it is known when it came, or it makes no difference
        if credit_ns or self._ledger.load_ended_ns > self.clock_began_ns:
            return True
        return self._keeper.cost_of_this_step(now_ns).load_ns > 0

    def _rest(self) -> None:
        """The agent is done with an old turn: its hard limit counts from the newer one, if any runs."""
        if self._posted is None or self._started_ns is None:
            self.due_ns = NEVER_NS
            return
        self._busy_since_ns, self._busy_mark_ns = self._started_ns, self._mark_ns
        self._busy_cpu_ns, self._busy_hard_ns = self._cpu_ns, self._hard_ns
        self._arm(self._started_ns + self._quick_ns)

    def _arm(self, due_ns: int) -> None:
        self.due_ns = due_ns
        self._deadlines.arm(self)

    def fire(self, now_ns: int) -> None:
        """The time of the open turn has come, or that of the hard limit, or so it seemed."""
        if self.closed or self._busy_since_ns is None:
            return
        if self._is_answer_under_way(now_ns):  # it is judged when it is heard, by when it was made
            self._arm(now_ns + UNDER_WAY_NS)
            return
        busy_ns, credit_ns = self._busy(now_ns, self._busy_since_ns)
        hard_ns = self._busy_hard_ns if self._overran_hard_ns is None else self._overran_hard_ns
        left_ns = hard_left_ns = hard_ns - busy_ns
        aborts = self._abort_ns < NEVER_NS
        spent_ns = 0
        is_running = self._open is not None and self._started_ns is not None
        if is_running:
            spent_ns, credit_ns = self._spent(now_ns)
            if self._busy_since_ns == self._started_ns:
                busy_ns, hard_left_ns = spent_ns, hard_ns - spent_ns
            left_ns = min(hard_left_ns, (self._abort_ns if aborts else self.limit_ns) - spent_ns)
        if left_ns > 0:  # it was put off by what the host lost, or the CPU's time runs slower
            self._arm(now_ns + max(LOOK_AGAIN_NS, left_ns))
            return
        if self._may_lie_unheard(now_ns, credit_ns) and (
            until_ns := self._grace.put_off(now_ns, self.due_ns, self._open)
        ):
            self._arm(until_ns)
            return
        is_last = self.limit_ns >= self._hard_ns or (aborts and not self._stage.abortable)
        if hard_left_ns <= 0 or is_last:  # to be late is to be out
            self._stage.fell(self, "late", f"busy for {busy_ns / 1e6:.1f} ms")
            return
        self.expire()
        if self._asking:  # it took the turn, and asks for another: it is busy with nothing
            self._busy_since_ns = None
            self.due_ns = NEVER_NS
        else:
            self._arm(now_ns + hard_left_ns)
            if aborts:
                self._overran_hard_ns, self._started_ns = hard_ns, None
        settle = self._stage.overran if aborts else self._stage.overdue
        settle(self, spent_ns, credit_ns)

    # The stage's side.

    def post(self, envelope: Envelope, now_ns: int) -> None:
        """Ask the agent; whatever it was asked before and has not taken is forgotten."""
        if self._posted is not None:
            self.stats.skipped += 1
        self._posted = self._open = envelope
        if self.phase != envelope.phase or not self.flat:
            self._set_limits(envelope.phase)
        self._used_ns = 0
        if self._asking:
            self._started_ns = self._busy_since_ns = None
            self.due_ns = NEVER_NS
            if self._sleeper is not None:
                sleeper, self._sleeper = self._sleeper, None
                reschedule(sleeper)
        elif self._overran_hard_ns is None:
            self._start_clock(now_ns)

    def _set_limits(self, phase: Phase) -> None:
        self.phase = phase
        self.limit_ns = self.budget.limit(phase)
        self._hard_ns = self.budget.hard_limit(phase)
        self._abort_ns = NEVER_NS if self._stage.paced(phase) else self.budget.abort_limit(phase)
        if self._stage.paced(phase):
            self.limit_ns = NEVER_NS  # the tick is the limit
        if phase == "result" and (until_ns := self._stage.result_until_ns):
            self.limit_ns = max(self.limit_ns, until_ns - self._now())
            self._hard_ns = max(self._hard_ns, self.limit_ns)
        self._quick_ns = min(self.limit_ns, self._hard_ns)
        self.timer.limit_ns = self.limit_ns

    def expire(self) -> None:
        """What is open was judged: it is not shown any more, and an answer to it is an old one."""
        if self._posted is not None:
            self._posted = None
            self.stats.skipped += 1
        self._open = None

    def withdraw(self) -> None:
        """What is open is not asked any more."""
        if self._posted is not None and self._taken is None:
            self._busy_since_ns = None
            self.due_ns = NEVER_NS
        self._posted = self._open = None

    def fell_before(self, now_ns: int, reason: str) -> bool:
        """Whether the seat, falling now, falls for something that came before the open turn.

        It never took that turn, and lost no time on it; so it makes no difference which came first.
        """
        if self._posted is None:
            return False
        return reason != "late" or self._started_ns is None or self._started_ns == now_ns

    def close(self) -> None:
        """No more turns: the agent's next call of `turn` ends."""
        self.closed = True
        self._posted = self._open = None
        self.due_ns = NEVER_NS
        if self._sleeper is not None:
            sleeper, self._sleeper = self._sleeper, None
            reschedule(sleeper)
