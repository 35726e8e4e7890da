"""The clock of a turn: the time that an agent has used, the time credited to it, and the next limit.

It is started when a turn is taken (or posted to a busy agent), and read when the turn is answered or its time
has come. It measures and nothing else: it knows no envelope and no referee. The verdict is a pure function of
its reading and of the limits (`flagfall.timing.budget.verdict_of`).

Two spans are measured. The *turn* lasts from its start to its answer. The agent is *busy* from the start of a
turn until it answers it or asks for another: if it is late and is asked the next turn meanwhile, the clock of
the new turn starts, while the hard limit goes on counting from the older one.

Rule 1: a turn is reckoned without what others lost it, see `flagfall.timing.stalls`. The ledger's sum of
    losses is noted when a span starts; what was added since is the credit.
Rule 2: before `fast_path_until_ns` a reply is on time without any arithmetic: the span on the wall alone is
    shorter than every limit.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from trio.lowlevel import current_task

from flagfall.timing.budget import Budget, Limits, PhaseLimits, Reading, is_late, request_limits
from flagfall.timing.deadlines import Deadline, ignore
from flagfall.timing.durations import NEVER_NS
from flagfall.timing.stalls import GRACE_NS, STALL_NS, Grace, Place

if TYPE_CHECKING:
    from flagfall.timing.clocks import NowNs
    from flagfall.timing.control import Phase, TimeControl
    from flagfall.timing.timekeeper import Timekeeper

CPU_WALL_FACTOR: Final = 10
"""On the CPU clock, a turn is over after this many times its limit in wall-clock time, without the time that
the host lost: an agent that sleeps uses no CPU time, and must not stop the match."""

HEARING_NS: Final = 1_000_000_000
"""Maximum time from the moment when an answer was made, or arrived, to its reading; one that is read later
counts from its reading. It takes a few passes of the loop."""

ARRIVAL_ERROR_NS: Final = 20_000_000
"""The most by which the kernel's time of an arrival is too early: its coarse clock is behind by a tick of at
most 10 ms, and on an idle machine by some ticks."""

_NO_ALARM: Final = (0, NEVER_NS)

LOOK_AGAIN_NS: Final = 1_000
"""CPU time passes more slowly than wall-clock time, so the agent may have some left: look again, without
spinning."""


class ClockState(Enum):
    """What the clock of a seat does."""

    WAITING = auto()
    """Nothing: the agent has answered, or waits for a turn, of which it has used no time."""

    PAUSED = auto()
    """Nothing, while the agent waits in turn for a turn that lies ready, of which it has used some time."""

    RUNNING = auto()
    """It measures the newest turn, with which alone the agent is busy."""

    BUSY = auto()
    """It measures for how long the agent is busy with an older turn, and the newest one, if that is open."""

    OVERRUN = auto()
    """It measures for how long the agent is busy with a turn that was aborted; no other turn runs."""


# Names of their own: Python 3.11 finds a member of an enumeration in ten times the time.
_WAITING, _PAUSED, _RUNNING, _BUSY, _OVERRUN = ClockState


class Span(NamedTuple):
    """The time for which an agent is busy, and where it is measured from.

    Attributes:
        mark_ns: what the agent had lost until then, by the ledger.
        cpu_ns: the CPU time that the agent had used until then.
    """

    since_ns: int
    mark_ns: int
    cpu_ns: int
    hard_ns: int


class TurnClock(Deadline):
    """The clock of one seat; as a deadline it fires when a limit seems to be reached.

    Args:
        when_due: called with the present time when a limit seems to be reached.

    Attributes:
        started_ns: time at which the clock of the newest turn began.
        fast_path_until_ns: a reply before this moment is on time.
        cpu_clock: returns the CPU time of the agent, for time controls on the CPU clock; set by its host.
        agent_times: for an agent that uses this process's clock (in a thread), its host's function that
            returns when it took the turn of a number and when its answer was made, each `None` if it has not.
            The turn is judged by these times, or by when the answer is read where they are unknown.
        answer_age: for an agent outside the process, its host's function that returns how many nanoseconds
            ago the answer that was read last has arrived, `None` if that is unknown.
        sent_ns: when the host of an agent outside the process sent it the turn; earlier for a turn that was
            not sent at once, because the agent was busy with another.
        not_lost_ns: the part of the ledger's stalls that this agent did not lose (kept by the ledger).
        load_seen_ns: the ledger's sum of delays by load that is taken into account in `not_lost_ns`.
        alarm: when the agent's task wakes by itself (kept by the watch, on a loaded machine).
    """

    __slots__ = (
        "_cpu_ns",
        "_keeper",
        "_ledger",
        "_limits",
        "_mark_ns",
        "_older",
        "_used_ns",
        "_when_due",
        "agent_times",
        "alarm",
        "answer_age",
        "budget",
        "cpu_clock",
        "fast_path_until_ns",
        "grace",
        "load_seen_ns",
        "not_lost_ns",
        "phase",
        "place",
        "sent_ns",
        "started_ns",
        "state",
    )

    def __init__(
        self, rank: int, control: TimeControl, keeper: Timekeeper, when_due: Callable[[int], None]
    ) -> None:
        super().__init__(rank)
        self.budget: Budget = Budget(control)
        self.grace: Grace = Grace()
        self.cpu_clock: NowNs | None = None
        self.place: Place = "loop"
        self.agent_times: Callable[[int], tuple[int | None, int | None]] | None = None
        self.answer_age: Callable[[], int | None] | None = None
        self.sent_ns: int = 0
        self.not_lost_ns: int = 0
        self.load_seen_ns: int = 0
        self.alarm: tuple[int, int] = _NO_ALARM
        self._when_due = when_due
        self._keeper = keeper
        self._ledger = keeper.ledger
        self.phase: Phase | None = None
        self._limits: PhaseLimits = NEVER_NS, NEVER_NS, NEVER_NS
        self.state: ClockState = _WAITING
        # The newest turn: its start, the ledger's sum and the CPU time then, and what was used of it before.
        self.started_ns: int = 0
        self._mark_ns = self._cpu_ns = self._used_ns = 0
        self.fast_path_until_ns: int = 0
        # The older turn with which the agent is busy; `None` where it is not, or is busy with the newest one.
        self._older: Span | None = None

    # Set by the host of the agent.

    def use_times(self, agent_times: Callable[[int], tuple[int | None, int | None]]) -> None:
        """Judge an agent in a thread by its own times; delays of the loop are not the agent's."""
        self.agent_times = agent_times
        self.place = "thread"

    def use_arrivals(self, answer_age: Callable[[], int | None]) -> None:
        """Judge an agent outside the process by when its answers arrive, not by when the loop reads them."""
        self.answer_age = answer_age
        self.place = "outside"

    # The limits.

    def set_limits(self, phase: Phase, *, paced: bool = False, least_ns: int = 0) -> None:
        """Look up the limits of the next request.

        Args:
            paced: the tick is the limit, at real-time pace.
            least_ns: time in which it is not late in any case.
        """
        self.phase = phase
        self._limits = request_limits(self.budget.limits(phase), paced=paced, least_ns=least_ns)

    @property
    def limit_ns(self) -> int:
        """Return how long the last request may take before it is late."""
        return self._limits[0]

    @property
    def limits(self) -> Limits:
        """Return the limits of the open turn."""
        soft_ns, hard_ns, abort_ns = self._limits
        return Limits(soft_ns, self._busy_span().hard_ns, hard_ns, abort_ns)

    # Starting and stopping.

    @property
    def is_running(self) -> bool:
        """Return whether the clock of a turn runs."""
        return self.state is _RUNNING or self.state is _BUSY

    @property
    def clock_began_ns(self) -> int:
        """Time at which the clock of the open turn began; `NEVER_NS` while it does not run."""
        return self.started_ns if self.is_running else NEVER_NS

    @property
    def held_up_loop(self) -> bool:
        """Return whether it was this agent that held up the event loop last."""
        return self._ledger.last is self

    def start(self, now_ns: int) -> None:
        """Start the clock of a turn: it is taken, or posted to an agent that is busy."""
        self.started_ns = now_ns
        ledger = self._ledger
        mark_ns = ledger.lost_ns - self.not_lost_ns
        if now_ns - ledger.step_began_ns > STALL_NS:
            # The step that runs is booked when it ends, with what it lost before this turn began.
            mark_ns += self._lost_before(now_ns)
        self._mark_ns = mark_ns
        if self.cpu_clock is not None:
            self._cpu_ns = self.cpu_clock()
        soft_ns, hard_ns, _ = self._limits
        if self._older is None:
            self.state = _RUNNING
            due_ns = now_ns + (soft_ns if soft_ns < hard_ns else hard_ns)  # noqa: FURB136 - a call of min costs more
        else:
            due_ns = min(now_ns + soft_ns, self._older.since_ns + self._older.hard_ns)
        self.due_ns: int = due_ns
        # What the host lost is left out there: it could only make a reply earlier. A budget that is charged
        # has to know it, and CPU time runs apart from the wall.
        self.fast_path_until_ns = due_ns if self.budget.flat and self.cpu_clock is None else 0
        if due_ns < self.armed_ns:
            self._keeper.deadlines.arm(self)

    def resume(self, now_ns: int) -> None:
        """Start the clock of the turn that waits, with the time used before it was paused."""
        self.start(now_ns - self._used_ns)

    def pause(self, now_ns: int, number: int) -> None:
        """Stop the clock of a turn that was not taken yet, and remember the time used of it."""
        used_ns = self.spent(now_ns, number)[0]
        self.reset()
        self.state, self._used_ns = _PAUSED, used_ns

    def stop(self) -> None:
        """Stop: the turn is answered."""
        self.state = _WAITING
        self.due_ns = NEVER_NS

    def reset(self) -> None:
        """Stop: the agent waits for a turn, of which no time is used."""
        self.state, self._older = _WAITING, None
        self.due_ns = NEVER_NS
        self._used_ns = 0

    def expire(self) -> None:
        """Go on without an open turn: it is over, and the agent is still busy with it or an older one."""
        if self.state is _RUNNING:
            self.state, self._older = _BUSY, self._busy_span()

    def end_busy(self) -> None:
        """End the span for which the agent is busy; nothing is due."""
        if self.state is not _OVERRUN:
            self.state, self._older = _WAITING, None
        self.due_ns = NEVER_NS

    def take(self, now_ns: int) -> None:
        """Run for the newest turn alone, which the agent takes: it has left whatever came before."""
        if self.state is _BUSY:
            self.end_older(is_open=True)
        else:
            self.resume(now_ns)

    def end_older(self, *, is_open: bool) -> None:
        """End being busy with an old turn: the hard limit counts from the newer one, if one is open."""
        self.grace.forget()
        if self.state is not _BUSY or not is_open:
            self.end_busy()
            return
        # The limits have not changed: those of a newer turn were looked up when it was posted.
        self.state, self._older = _RUNNING, None
        self.put_off(self.started_ns + min(self._limits[:2]))

    def overrun(self) -> None:
        """Go on after the abort of a turn: only its hard limit counts, until the agent asks for another."""
        self.state = _OVERRUN

    def put_off(self, due_ns: int) -> None:
        """Fire at this moment, unless another limit comes before."""
        self.due_ns = due_ns
        self.arm()

    def arm(self) -> None:
        """Make sure that it fires when it is due."""
        if self.due_ns < self.armed_ns:
            self._keeper.deadlines.arm(self)

    def close(self) -> None:
        """Fire no more; a place left behind in the queue of deadlines keeps nothing of the match alive."""
        self.due_ns = self.armed_ns = NEVER_NS
        self._when_due = ignore

    def fire(self, now_ns: int) -> None:
        """Report that a limit seems to be reached."""
        self._when_due(now_ns)

    # Reading.

    def read(self, now_ns: int, number: int) -> Reading:
        """Read the clock when the open turn is answered."""
        arrived_ns, is_known = self._arrival(now_ns, self.started_ns)
        spent_ns, credit_ns = self.spent(now_ns, number, arrived_ns)
        is_over = is_late(spent_ns, min(self._limits[:2]))
        is_unsure = is_over and not is_known and self.may_lie_unheard(now_ns, credit_ns)
        return Reading(spent_ns, credit_ns, spent_ns, GRACE_NS if is_unsure else 0)

    def read_stale(self, now_ns: int) -> int:
        """Return for how long the agent was busy, if that is too long, when it answers a turn that is over.

        It is 0 if it was not too long.
        """
        if self.state is _WAITING or self.state is _PAUSED:
            return 0
        span = self._busy_span()
        arrived_ns, is_known = self._arrival(now_ns, span.since_ns)
        busy_ns, credit_ns = self._busy(arrived_ns, span)
        grace_ns = 0 if is_known or not self.may_lie_unheard(now_ns, credit_ns) else GRACE_NS
        return busy_ns if is_late(busy_ns, span.hard_ns + grace_ns) else 0

    def read_when_due(self, now_ns: int, number: int | None) -> tuple[Reading, int, int]:
        """Read the clock when a limit seems to be reached.

        Args:
            number: the number of the open turn; `None` where none is open, and only the hard limit counts.

        Returns:
            What it shows, the time left until the next limit (0 or less: it is reached), and the time left
            until the hard limit.
        """
        soft_ns, hard_ns, abort_ns = self._limits
        if self.state is _RUNNING and number is not None:  # one span: by an agent's own times, too
            spent_ns, credit_ns = self.spent(now_ns, number)
            busy_ns, hard_left_ns = spent_ns, hard_ns - spent_ns
        else:
            span = self._busy_span()
            busy_ns, credit_ns = self._busy(now_ns, span)
            hard_left_ns = span.hard_ns - busy_ns
            if number is None or self.state is _OVERRUN:
                return Reading(0, credit_ns, busy_ns), hard_left_ns, hard_left_ns
            spent_ns, credit_ns = self.spent(now_ns, number)
        # With `act_abort` a late turn stays open until that limit.
        limit_ns = soft_ns if abort_ns >= NEVER_NS else max(soft_ns, abort_ns)
        return Reading(spent_ns, credit_ns, busy_ns), min(hard_left_ns, limit_ns - spent_ns), hard_left_ns

    def spent(self, now_ns: int, number: int, arrived_ns: int | None = None) -> tuple[int, int]:
        """Return the time that a turn has cost the agent so far, and the time that the host lost of it.

        Args:
            arrived_ns: when its answer arrived, from an agent outside; `None` if there is none yet.
        """
        since_ns = self.started_ns
        if self.place == "loop" or self.cpu_clock is not None:
            return self._cost(now_ns, since_ns, self._mark_ns, self._cpu_ns)
        took_ns, made_ns = self.agent_times(number) if self.agent_times else (self.sent_ns, arrived_ns)
        began_ns = since_ns if took_ns is None else max(since_ns, took_ns)
        ended_ns = now_ns if made_ns is None or now_ns - made_ns > HEARING_NS else max(began_ns, made_ns)
        outside_ns = self._ledger.lost_between(since_ns, began_ns, self)
        outside_ns += self._ledger.lost_between(ended_ns, now_ns, self)
        return self._cost(ended_ns, began_ns, self._mark_ns + outside_ns, 0)

    def look_again_in(self, left_ns: int, now_ns: int) -> None:
        """Fire again when the remaining time will be over, at the earliest by wall-clock time."""
        self.put_off(now_ns + max(LOOK_AGAIN_NS, left_ns))

    def may_lie_unheard(self, now_ns: int, credit_ns: int) -> bool:
        """Return true if the host stalled in the open turn, so an answer may be ready but not received."""
        if self.place == "thread" or self.cpu_clock is not None:
            return False  # it is known whether it was made, or it makes no difference
        ledger = self._ledger
        is_outside = self.place == "outside"  # it goes on while another agent holds up the loop
        if credit_ns or (ledger.delay_ended_ns if is_outside else ledger.load_ended_ns) > self.clock_began_ns:
            return True
        if now_ns - ledger.step_began_ns <= STALL_NS:
            return False
        return is_outside or self._keeper.cost_of_this_step(now_ns).load_ns > 0

    def is_answer_under_way(self, now_ns: int, number: int) -> bool:
        """Return whether an agent with times of its own has made the answer that is waited for."""
        if self.agent_times is None:
            return False
        made_ns = self.agent_times(number)[1]
        return made_ns is not None and now_ns - made_ns <= HEARING_NS

    def _busy_span(self) -> Span:
        """Return the span for which the agent is busy: that of an older turn, or else of this one."""
        return self._older or Span(self.started_ns, self._mark_ns, self._cpu_ns, self._limits[1])

    def _arrival(self, now_ns: int, since_ns: int) -> tuple[int, bool]:
        """Return when the answer that was read now has arrived, and whether that is known; if not, it is now.

        An answer from before its turn began shows that the system keeps no such time here, or that its clock
        was set.
        """
        if self.place != "outside" or self.answer_age is None:
            return now_ns, True
        age_ns = self.answer_age()
        if age_ns is None or age_ns > now_ns - since_ns + ARRIVAL_ERROR_NS:
            return now_ns, False
        return min(now_ns, max(since_ns, now_ns - age_ns)), True

    def _busy(self, now_ns: int, span: Span) -> tuple[int, int]:
        """Return for how long the agent has been busy, and the time that the host lost of that."""
        return self._cost(now_ns, span.since_ns, span.mark_ns, span.cpu_ns)

    def _cost(self, now_ns: int, since_ns: int, mark_ns: int, cpu_ns: int) -> tuple[int, int]:
        wall_ns = now_ns - since_ns
        credit_ns = self._credit(now_ns, wall_ns, mark_ns)
        if self.cpu_clock is not None:
            return max(self.cpu_clock() - cpu_ns, (wall_ns - credit_ns) // CPU_WALL_FACTOR), 0
        return wall_ns - credit_ns, credit_ns

    def _credit(self, now_ns: int, wall_ns: int, mark_ns: int) -> int:
        """Return the part of a span of wall-clock time that ends now which the host lost."""
        ledger = self._ledger
        # Losses are booked when the step or wait in which they fell has ended. A turn that ends within a step
        # cannot wait for that, so what the step has lost so far is reckoned here, and not booked.
        if ledger.load_ns > self.load_seen_ns and ledger.owner_of(task := current_task()) is self:
            ledger.credit_load(self, task)  # what held up the step that runs; at its end it would be too late
        lost_ns = ledger.lost_ns - self.not_lost_ns - mark_ns
        if now_ns - ledger.step_began_ns > STALL_NS:
            # What the step took itself is its agent's own doing, so only what the host took is credited.
            step = self._keeper.cost_of_this_step(now_ns)
            lost_ns += step.stopped_ns + (step.load_ns if self.place == "loop" else 0)
        # A loss that overlaps the span only in part may be more than the span.
        return max(0, min(wall_ns, lost_ns))

    def _lost_before(self, now_ns: int) -> int:
        """Return the part of the running step that will be booked as lost, but preceded the start."""
        cost = self._keeper.cost_of_this_step(now_ns)
        owner = self._ledger.owner_of(current_task())
        # The booking at the step's end credits the whole step to those that it held up. The part before this
        # turn is added to the mark now, which takes it from the credit again: by the rules of the ledger for
        # this agent, or the two would not cancel out.
        if owner is self:
            return cost.stopped_ns + (cost.load_ns if self.place == "loop" else 0)
        self.load_seen_ns = self._ledger.load_ns + cost.load_ns
        is_felt = self.place == "loop" or (self.place == "thread" and owner is not None)
        return cost.stopped_ns + (cost.own_ns if is_felt else 0)
