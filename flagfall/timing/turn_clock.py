"""The clock of a turn: the time that an agent has used, the time credited to it, and the next limit.

It is started when a turn is taken (or posted to a busy agent), and read when the turn is answered or its time
has come. It measures and nothing else: it knows no envelope and no referee. The verdict is a pure function of
its reading and of the limits (`verdict_of`).

Two spans are measured. The *turn* lasts from its start to its answer. The agent is *busy* from the start of a
turn until it answers it or asks for another: if it is late and is asked the next turn meanwhile, the clock of
the new turn starts, while the hard limit goes on counting from the older one.

Rule 1: a turn is reckoned without what others lost it, see `flagfall.timing.stalls`. The ledger's sum of
    losses is noted when a span starts; what was added since is the credit.
Rule 2: before `fast_path_until_ns` a reply is on time without any arithmetic: the span on the wall alone is
    shorter than every limit.
"""

from __future__ import annotations

__all__ = ["Reading", "TurnClock", "verdict_of"]

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from trio.lowlevel import current_task

from flagfall.events import ON_TIME, Verdict
from flagfall.timing.budget import Budget, is_late
from flagfall.timing.callbacks import ignore
from flagfall.timing.deadlines import Deadline
from flagfall.timing.durations import NEVER_NS
from flagfall.timing.grace import GRACE_NS, Grace
from flagfall.timing.stalls import STALL_NS, Place

if TYPE_CHECKING:
    from flagfall.timing.clocks import NowNs
    from flagfall.timing.control import TimeControl
    from flagfall.timing.phases import Phase
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


class Reading(NamedTuple):
    """Reading of the clock of a turn, in nanoseconds.

    Attributes:
        spent_ns: time used of the turn.
        credit_ns: time that the host lost while the turn ran; not in `spent_ns`.
        busy_ns: for how long the agent has been busy without an answer.
        grace_ns: grace period for an answer whose arrival is unknown, on a host that stalled; else 0.
    """

    spent_ns: int
    credit_ns: int = 0
    busy_ns: int = 0
    grace_ns: int = 0


class Limits(NamedTuple):
    """The limits of a turn, in nanoseconds; `NEVER_NS` for none.

    Attributes:
        soft_ns: time from which an answer is late.
        busy_ns: time of being busy after which the agent is disqualified.
        hard_ns: the same for this turn alone.
        abort_ns: time from which the episode is aborted; until then a late turn stays open.
    """

    soft_ns: int = NEVER_NS
    busy_ns: int = NEVER_NS
    hard_ns: int = NEVER_NS
    abort_ns: int = NEVER_NS


def verdict_of(reading: Reading, limits: Limits, *, abortable: bool) -> Verdict:
    """Judge a turn by the clock. Pure.

    Args:
        reading: the reading of the clock.
        limits: the limits of the turn.
        abortable: the task has an action that aborts its episode.

    Returns:
        `on time`, `late`, `overrun` or `disqualified`. Exactly a limit is over it.
    """
    grace_ns = reading.grace_ns
    if is_late(reading.busy_ns, limits.busy_ns + grace_ns):
        return "disqualified"
    if not is_late(reading.spent_ns, limits.soft_ns + grace_ns):
        return ON_TIME
    if limits.soft_ns >= limits.hard_ns:  # to be late is to be disqualified
        return "disqualified"
    if not is_late(reading.spent_ns, limits.abort_ns + grace_ns):
        return "late"
    return "overrun" if abortable else "disqualified"


class TurnClock(Deadline):
    """The clock of one seat; as a deadline it fires when a limit seems to be reached.

    Args:
        rank: the rank among deadlines of one moment.
        control: the time control.
        keeper: the timekeeper of the event loop.
        when_due: called with the present time when a limit seems to be reached.

    Attributes:
        budget: the remaining time under the time control.
        is_flat: the limits never change, and nothing need be charged.
        is_overrun: the agent is busy with a turn that was aborted.
        phase: the phase of the last request.
        limit_ns: the soft limit of that request.
        started_ns: time at which the clock of the turn started; `None` while it does not run.
        busy_since_ns: time since which the agent is busy; `None` while it is not.
        fast_path_until_ns: a reply before this moment is on time.
        grace: the grace period of the turn.
        timer: the agent's view of this clock.
        cpu_clock: returns the CPU time of the agent, for time controls on the CPU clock; set by its host.
        place: where the agent runs.
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
        "_busy_cpu_ns",
        "_busy_hard_ns",
        "_busy_mark_ns",
        "_cpu_ns",
        "_deadlines",
        "_first_ns",
        "_hard_ns",
        "_keeper",
        "_ledger",
        "_mark_ns",
        "_now",
        "_overrun_hard_ns",
        "_used_ns",
        "_when_due",
        "abort_ns",
        "agent_times",
        "alarm",
        "answer_age",
        "budget",
        "busy_since_ns",
        "cpu_clock",
        "fast_path_until_ns",
        "grace",
        "is_flat",
        "is_overrun",
        "limit_ns",
        "load_seen_ns",
        "not_lost_ns",
        "phase",
        "place",
        "sent_ns",
        "started_ns",
        "timer",
    )

    def __init__(
        self, rank: int, control: TimeControl, keeper: Timekeeper, when_due: Callable[[int], None]
    ) -> None:
        super().__init__(rank)
        self.budget: Budget = Budget(control)
        self.is_flat: bool = self.budget.flat
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
        self._now = keeper.now
        self._deadlines = keeper.deadlines
        self._ledger = keeper.ledger
        self.phase: Phase | None = None
        self.limit_ns: int = NEVER_NS
        self.abort_ns: int = NEVER_NS
        self._hard_ns = self._first_ns = NEVER_NS
        # The turn: its start, the ledger's sum and the CPU time then, and what was used of it before.
        self.started_ns: int | None = None
        self._mark_ns = self._cpu_ns = self._used_ns = 0
        self.fast_path_until_ns: int = 0
        # The span for which the agent is busy: the same of its first turn, and that turn's hard limit.
        self.busy_since_ns: int | None = None
        self._busy_mark_ns = self._busy_cpu_ns = 0
        self._busy_hard_ns = NEVER_NS
        # The hard limit of a turn that was aborted, while the agent is busy with it.
        self._overrun_hard_ns: int | None = None
        self.is_overrun: bool = False

    # Set by the host of the agent.

    def use_times(self, agent_times: Callable[[int], tuple[int | None, int | None]]) -> None:
        """Judge an agent in a thread by its own times; delays of the loop are not the agent's.

        Args:
            agent_times: as the attribute.
        """
        self.agent_times = agent_times
        self.place = "thread"

    def use_arrivals(self, answer_age: Callable[[], int | None]) -> None:
        """Judge an agent outside the process by when its answers arrive, not by when the loop reads them.

        Args:
            answer_age: as the attribute.
        """
        self.answer_age = answer_age
        self.place = "outside"

    # The limits.

    def set_limits(self, phase: Phase, *, paced: bool = False, extended_until_ns: int = 0) -> None:
        """Look up the limits of the next request.

        Args:
            phase: the phase of that request.
            paced: the tick is the limit, at real-time pace.
            extended_until_ns: time until which it is not late in any case; 0 for none.
        """
        self.phase = phase
        self.limit_ns, self._hard_ns, self.abort_ns = self.budget.limits(phase)
        if paced:
            self.limit_ns = self.abort_ns = NEVER_NS
        if extended_until_ns:
            self.limit_ns = max(self.limit_ns, extended_until_ns - self._now())
            self._hard_ns = max(self._hard_ns, self.limit_ns)
        self._first_ns = min(self.limit_ns, self._hard_ns)

    @property
    def limits(self) -> Limits:
        """Return the limits of the open turn."""
        return Limits(self.limit_ns, self._current_hard_ns, self._hard_ns, self.abort_ns)

    # Starting and stopping.

    @property
    def clock_began_ns(self) -> int:
        """Time at which the clock of the open turn began; `NEVER_NS` while it does not run."""
        return NEVER_NS if self.started_ns is None else self.started_ns

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
            mark_ns += self._lost_before(now_ns)
        self._mark_ns = mark_ns
        if self.cpu_clock is not None:
            self._cpu_ns = self.cpu_clock()
        if self.busy_since_ns is None:
            self.busy_since_ns = now_ns
            self._busy_mark_ns = mark_ns
            self._busy_cpu_ns, self._busy_hard_ns = self._cpu_ns, self._hard_ns
            due_ns = now_ns + self._first_ns
        else:
            due_ns = min(now_ns + self.limit_ns, self.busy_since_ns + self._busy_hard_ns)
        self.due_ns: int = due_ns
        self.fast_path_until_ns = due_ns if self.is_flat and self.cpu_clock is None else 0
        if due_ns < self.armed_ns:
            self._deadlines.arm(self)

    def resume(self, now_ns: int) -> None:
        """Start the clock of the turn that waits, with the time used before it was paused."""
        self.start(now_ns - self._used_ns)

    def pause(self, now_ns: int, number: int) -> None:
        """Stop the clock of a turn that was not taken yet, and remember the time used of it."""
        used_ns = 0 if self.started_ns is None else self.spent(now_ns, number)[0]
        self.reset()
        self._used_ns = used_ns

    def reset(self) -> None:
        """Stop: the agent waits for a turn, of which no time is used."""
        self.started_ns = self.busy_since_ns = None
        self.due_ns = NEVER_NS
        self._used_ns = 0

    def end_busy(self) -> None:
        """End the span for which the agent is busy; nothing is due."""
        self.busy_since_ns = None
        self.due_ns = NEVER_NS

    def rest(self, *, is_running: bool) -> None:
        """End being busy with an old turn: the hard limit counts from the newer one, if that runs."""
        self.grace.forget()
        self.busy_since_ns = None
        if not is_running or self.started_ns is None:
            self.due_ns = NEVER_NS
            return
        self.busy_since_ns, self._busy_mark_ns = self.started_ns, self._mark_ns
        self._busy_cpu_ns, self._busy_hard_ns = self._cpu_ns, self._hard_ns
        self.put_off(self.started_ns + self._first_ns)

    def overrun(self) -> None:
        """Go on after the abort of a turn: only its hard limit counts, until `end_overrun`."""
        self._overrun_hard_ns, self.started_ns = self._current_hard_ns, None
        self.is_overrun = True

    def end_overrun(self) -> None:
        """End being busy with a turn that was aborted; the next request has its full time."""
        self._overrun_hard_ns = None
        self.is_overrun = False
        self.reset()

    def put_off(self, due_ns: int) -> None:
        """Fire at this moment, unless another limit comes before."""
        self.due_ns = due_ns
        self.arm()

    def arm(self) -> None:
        """Make sure that it fires when it is due."""
        if self.due_ns < self.armed_ns:
            self._deadlines.arm(self)

    def close(self) -> None:
        """Fire no more; a place left behind in the queue of deadlines keeps nothing of the match alive."""
        self.due_ns = self.armed_ns = NEVER_NS
        self._when_due = ignore

    def fire(self, now_ns: int) -> None:
        """Report that a limit seems to be reached."""
        self._when_due(now_ns)

    # Reading.

    def read(self, now_ns: int, number: int, busy_since_ns: int) -> Reading:
        """Read the clock when the open turn is answered.

        Args:
            now_ns: the present time.
            number: the number of the turn.
            busy_since_ns: since when the agent was busy.
        """
        arrived_ns, is_known = self._arrival(now_ns, self.started_ns)
        spent_ns, credit_ns = self.spent(now_ns, number, arrived_ns)
        busy_ns = spent_ns if busy_since_ns == self.started_ns else self._busy(arrived_ns, busy_since_ns)[0]
        is_over = is_late(spent_ns, self.limit_ns) or is_late(busy_ns, self._busy_hard_ns)
        is_unsure = is_over and not is_known and self.may_lie_unheard(now_ns, credit_ns)
        return Reading(spent_ns, credit_ns, busy_ns, GRACE_NS if is_unsure else 0)

    def read_stale(self, now_ns: int) -> int:
        """Return for how long the agent was busy, if that is too long, when it answers a turn that is over.

        It is 0 if it was not too long.

        Args:
            now_ns: the present time.
        """
        since_ns = self.busy_since_ns
        if since_ns is None:
            return 0
        arrived_ns, is_known = self._arrival(now_ns, since_ns)
        busy_ns, credit_ns = self._busy(arrived_ns, since_ns)
        grace_ns = 0 if is_known or not self.may_lie_unheard(now_ns, credit_ns) else GRACE_NS
        return busy_ns if is_late(busy_ns, self._current_hard_ns + grace_ns) else 0

    def read_when_due(self, now_ns: int, number: int | None) -> tuple[Reading, int, int]:
        """Read the clock when a limit seems to be reached.

        Args:
            now_ns: the present time.
            number: the number of the open turn; `None` where none is open, and only the hard limit counts.

        Returns:
            What it shows, the time left until the next limit (0 or less: it is reached), and the time left
            until the hard limit.
        """
        started_ns, busy_since_ns = self.started_ns, self.busy_since_ns
        if number is None or started_ns is None or busy_since_ns != started_ns:
            busy_ns, credit_ns = self._busy(now_ns, now_ns if busy_since_ns is None else busy_since_ns)
            hard_left_ns = self._current_hard_ns - busy_ns
            if number is None or started_ns is None:
                return Reading(0, credit_ns, busy_ns), hard_left_ns, hard_left_ns
            spent_ns, credit_ns = self.spent(now_ns, number)
        else:  # one span: by an agent's own times, too
            spent_ns, credit_ns = self.spent(now_ns, number)
            busy_ns, hard_left_ns = spent_ns, self._current_hard_ns - spent_ns
        # With `act_abort` a late turn stays open until that limit.
        limit_ns = self.limit_ns if self.abort_ns >= NEVER_NS else max(self.limit_ns, self.abort_ns)
        return Reading(spent_ns, credit_ns, busy_ns), min(hard_left_ns, limit_ns - spent_ns), hard_left_ns

    def spent(self, now_ns: int, number: int, arrived_ns: int | None = None) -> tuple[int, int]:
        """Return the time that a turn has cost the agent so far, and the time that the host lost of it.

        Args:
            now_ns: the present time.
            number: the number of the turn.
            arrived_ns: when its answer arrived, from an agent outside; `None` if there is none yet.
        """
        since_ns = now_ns if self.started_ns is None else self.started_ns
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

    @property
    def _current_hard_ns(self) -> int:
        return self._busy_hard_ns if self._overrun_hard_ns is None else self._overrun_hard_ns

    def _arrival(self, now_ns: int, since_ns: int | None) -> tuple[int, bool]:
        """Return when the answer that was read now has arrived, and whether that is known; if not, it is now.

        An answer from before its turn began shows that the system keeps no such time here, or that its clock
        was set.

        Args:
            now_ns: the present time.
            since_ns: when its turn began; `None` for this moment.
        """
        if self.place != "outside" or self.answer_age is None:
            return now_ns, True
        since_ns = now_ns if since_ns is None else since_ns
        age_ns = self.answer_age()
        if age_ns is None or age_ns > now_ns - since_ns + ARRIVAL_ERROR_NS:
            return now_ns, False
        return min(now_ns, max(since_ns, now_ns - age_ns)), True

    def _busy(self, now_ns: int, since_ns: int) -> tuple[int, int]:
        """Return for how long the agent has been busy, and the time that the host lost of that."""
        return self._cost(now_ns, since_ns, self._busy_mark_ns, self._busy_cpu_ns)

    def _cost(self, now_ns: int, since_ns: int, mark_ns: int, cpu_ns: int) -> tuple[int, int]:
        wall_ns = now_ns - since_ns
        credit_ns = self._credit(now_ns, wall_ns, mark_ns)
        if self.cpu_clock is not None:
            return max(self.cpu_clock() - cpu_ns, (wall_ns - credit_ns) // CPU_WALL_FACTOR), 0
        return wall_ns - credit_ns, credit_ns

    def _credit(self, now_ns: int, wall_ns: int, mark_ns: int) -> int:
        """Return the part of a span of wall-clock time that ends now which the host lost."""
        ledger = self._ledger
        if ledger.load_ns > self.load_seen_ns and ledger.owner_of(task := current_task()) is self:
            ledger.credit_load(self, task)  # what held up the step that runs; at its end it would be too late
        lost_ns = ledger.lost_ns - self.not_lost_ns - mark_ns
        if now_ns - ledger.step_began_ns > STALL_NS:
            # The step that runs now is not in the ledger yet. What it took itself is its agent's own doing,
            # so only what the host took of it is credited.
            step = self._keeper.cost_of_this_step(now_ns)
            lost_ns += step.stopped_ns + (step.load_ns if self.place == "loop" else 0)
        # A loss that overlaps the span only in part may be more than the span.
        return max(0, min(wall_ns, lost_ns))

    def _lost_before(self, now_ns: int) -> int:
        """Return the part of the running step that will be booked as lost, but preceded the start."""
        cost = self._keeper.cost_of_this_step(now_ns)
        owner = self._ledger.owner_of(current_task())
        if owner is self:
            return cost.stopped_ns + (cost.load_ns if self.place == "loop" else 0)
        self.load_seen_ns = self._ledger.load_ns + cost.load_ns
        is_felt = self.place == "loop" or (self.place == "thread" and owner is not None)
        return cost.stopped_ns + (cost.own_ns if is_felt else 0)
