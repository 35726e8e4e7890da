"""Time in which an event loop could not run, and the agents that are credited with it.

In one loop all wait while one runs. A turn must not be charged with that time unless the agent that has the
turn is the one that ran. The time between two looks at the clock (a step of a task, a wait, what trio does
between them) is divided, where it was long, by the host's own counters (`flagfall.timing.heartbeat`):

- The process was stopped: lost for every agent.
- The thread could run and was not run, because the machine is loaded: lost for the agents in the loop whose
  tasks run next, because those were ready and waited. An agent that had nothing to do then has lost nothing;
  if each such delay were credited to all, the deadlines of a loaded machine would move on with every delay.
- The rest of a step is its task's own doing: lost for every other agent in the loop or in a thread, which may
  have waited for the GIL. The rest of a wait that ended too late is the host's doing: lost for every agent in
  the loop.

An agent outside the process goes on meanwhile. What delays it is the delivery of its turn and the reading of
its answer, which its clock leaves out (`flagfall.timing.turn_clock`).
"""

from __future__ import annotations

from collections import deque
from math import isfinite
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

import trio

from flagfall.timing.clocks import NowNs
from flagfall.timing.durations import MS, NEVER_NS, S
from flagfall.timing.heartbeat import HostMeter

STALL_NS: Final = 2_000_000
"""The shortest time that counts as a stall. Polling waits in whole milliseconds, so one too many is
normal."""

_SAMPLE_NS: Final = 5_000_000
"""The greatest age of counters before they are read again, which takes 2 us."""

_LOADED_NS: Final = S
"""For so long after a delay by load the machine counts as loaded."""

_RECENT_STALLS: Final = 64
"""At most this many are kept one by one: more than there are while an answer of a thread is on its way
(each takes 2 ms)."""


Place: TypeAlias = Literal["loop", "thread", "outside"]
"""Place of an agent, which decides what delays it: the event loop, another thread of the process, or outside
of the process."""


class Blockable(Protocol):
    """The agent of a seat, as the ledger needs it: it can be held up, or hold up the loop."""

    not_lost_ns: int
    """Time to be subtracted from the ledger's `lost_ns`: the sum of the stalls that it caused itself, less
    the sum of the delays by load that held it up."""

    load_seen_ns: int
    """The ledger's `load_ns` up to which that is reckoned."""

    place: Place
    """Its place."""

    alarm: tuple[int, int]
    """The `id` of its task that ran last on a loaded machine, and the time at which that wakes by itself."""

    @property
    def clock_began_ns(self) -> int:
        """Time at which the clock of its turn began; `NEVER_NS` while it has none."""


class StepCost(NamedTuple):
    """Division of the step that runs now, in nanoseconds."""

    own_ns: int = 0
    """The task's own doing."""

    stopped_ns: int = 0
    """The process was stopped."""

    load_ns: int = 0
    """The thread waited for a CPU; 0 where that was shorter than a stall."""


NO_COST: Final = StepCost()


class StallLedger:
    """The time that the loop could not run, in all and by agent.

    Attributes:
        lost_ns: the sum of all stalls so far.
        load_ns: the sum of all delays by load so far.
        load_ended_ns: when the latest of them ended.
        delay_ended_ns: when the loop could run again after whatever delayed it last.
        load_floor_ns: the delays up to here are credited; later ones will be, to each agent whose task runs.
        last: the agent of the latest one; `None` for the host.
        step_began_ns: when the step that runs now began, which is when the step or wait before it ended, so
            that no time is left out between them; `NEVER_NS` where there is no watch.
    """

    def __init__(self) -> None:
        self.lost_ns: int = 0
        self.load_ns: int = 0
        self.load_ended_ns: int = 0
        self.delay_ended_ns: int = 0
        self.load_floor_ns: int = 0
        self.step_began_ns = NEVER_NS
        self.last: Blockable | None = None
        self._owners: dict[trio.lowlevel.Task, Blockable] = {}
        self._recent: deque[tuple[int, int, Blockable | None]] = deque(maxlen=_RECENT_STALLS)
        self._looked_up: tuple[trio.lowlevel.Task | None, Blockable | None] = (None, None)

    def register(self, task: trio.lowlevel.Task, agent: Blockable) -> None:
        """Blame the steps of `task`, and of tasks started below it, on `agent`."""
        self._owners[task] = agent
        self._looked_up = None, None

    def forget(self, task: trio.lowlevel.Task) -> None:
        """Forget a task that has ended."""
        self._owners.pop(task, None)
        self._looked_up = None, None

    def owner_of(self, task: trio.lowlevel.Task | None) -> Blockable | None:
        """Return the agent whose task this is, or was started from; `None` for the host."""
        if task is self._looked_up[0]:  # the timekeeper asks for each deadline of a batch
            return self._looked_up[1]
        owner, above = None, task
        while above is not None and (owner := self._owners.get(above)) is None:
            nursery = above.parent_nursery
            above = nursery.parent_task if nursery is not None else None
        self._looked_up = task, owner
        return owner

    def book(self, lost_ns: int, agent: Blockable | None, now_ns: int, *, stopped: bool = False) -> None:
        """Enter a stall that is over now.

        Args:
            agent: the agent that caused it; `None` for the host.
            stopped: the whole process was stopped, not the loop alone.
        """
        self.lost_ns += lost_ns
        self.delay_ended_ns = now_ns
        self.last = agent
        if agent is not None:
            agent.not_lost_ns += lost_ns
        # An agent that blocks may hold the GIL, and so hold up threads as well.
        if stopped or agent is not None:
            self._recent.append((now_ns - lost_ns, now_ns, agent))
        for owner in self._owners.values():
            if owner is not agent and not _is_delayed(owner, agent, stopped=stopped):
                owner.not_lost_ns += lost_ns

    def lost_between(self, began_ns: int, ended_ns: int, agent: Blockable) -> int:
        """Return what an agent with times of its own lost in a span that is not long ago.

        Args:
            agent: the agent; its own stalls do not count.
        """
        return sum(
            max(0, min(until_ns, ended_ns) - max(since_ns, began_ns))
            for since_ns, until_ns, cause in self._recent
            if cause is not agent and _is_delayed(agent, cause, stopped=cause is None)
        )

    def book_load(self, load_ns: int, now_ns: int) -> None:
        """Enter a delay by load that is over now."""
        self.load_ns += load_ns
        self.load_ended_ns = self.delay_ended_ns = now_ns
        self.last = None

    def credit_load(self, agent: Blockable, task: trio.lowlevel.Task) -> None:
        """Credit an agent whose task runs with the delays that it has waited for in its turn.

        Args:
            task: its task that runs. If that slept meanwhile, it waited from the end of its sleep on.
        """
        held_up_ns = self.load_ns - max(agent.load_seen_ns, self.load_floor_ns)
        if held_up_ns > 0 and agent.place == "loop":
            sleeper, woken_ns = agent.alarm
            ready_ns = woken_ns if sleeper == id(task) and woken_ns < self.load_ended_ns else 0
            waited_ns = self.load_ended_ns - max(ready_ns, agent.clock_began_ns)
            agent.not_lost_ns -= max(0, min(held_up_ns, waited_ns))
        agent.load_seen_ns = max(agent.load_seen_ns, self.load_ns)


def _is_delayed(agent: Blockable, cause: Blockable | None, *, stopped: bool) -> bool:
    """Return whether a stall delays an agent: a stop, or what another agent or the host (`None`) does."""
    return stopped or agent.place == "loop" or (agent.place == "thread" and cause is not None)


class StallMonitor(trio.abc.Instrument):
    """Instrument that watches every step and every wait of a loop, and enters the long ones in a ledger."""

    def __init__(self, now: NowNs, ledger: StallLedger, meter: HostMeter) -> None:
        self._now = now
        self._ledger = ledger
        self._meter = meter
        self.begin()

    def begin(self) -> None:
        """Measure from now on, with counters that are no older than they may be in a match."""
        now_ns = self._now()
        ledger = self._ledger
        self._load_before_ns = ledger.load_floor_ns = ledger.load_ns
        self._is_loaded = False
        is_short = 0 <= now_ns - ledger.step_began_ns <= STALL_NS
        if not is_short or now_ns - self._meter.sampled_ns > _SAMPLE_NS:
            self._meter.sample(now_ns)
        ledger.step_began_ns = now_ns

    def __dir__(self) -> tuple[str, ...]:
        """Return the hooks, and not forty names: trio looks up each of them when a match begins."""
        return ("after_io_wait", "after_task_step")

    def after_io_wait(self, timeout: float) -> None:
        """Enter what was lost in a wait that is over: it was stopped, or ended later than it should."""
        now_ns = self._now()
        ledger = self._ledger
        if self._is_loaded:
            # A delay holds up the tasks that were ready, or became ready, in the pass in which it fell: those
            # run in that pass or in the next one.
            ledger.load_floor_ns, self._load_before_ns = self._load_before_ns, ledger.load_ns
            self._is_loaded = ledger.load_ns > ledger.load_floor_ns
        waited_ns = now_ns - ledger.step_began_ns
        if waited_ns > STALL_NS:
            load_ns, stopped_ns = self._taken(now_ns, waited_ns)
            over_ns = waited_ns - int(timeout * 1e9) - load_ns - stopped_ns
            self._enter(over_ns if over_ns > STALL_NS else 0, None, load_ns, now_ns)
            self._enter_stop(stopped_ns, now_ns)
            now_ns = self._enter_measurement(now_ns, stopped_ns)
            self._meter.sample(now_ns)
        elif now_ns - self._meter.sampled_ns > _SAMPLE_NS:
            self._meter.sample(now_ns)
        ledger.step_began_ns = now_ns

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Enter a step that was long, and credit its agent with what held it up before."""
        now_ns = self._now()
        ledger = self._ledger
        spent_ns = now_ns - ledger.step_began_ns
        if spent_ns > STALL_NS:
            cost = self._cost(now_ns, spent_ns)
            own_ns = cost.own_ns if cost.own_ns > STALL_NS else 0
            self._enter(own_ns, ledger.owner_of(task), cost.load_ns, now_ns)
            self._enter_stop(cost.stopped_ns, now_ns)
            now_ns = self._enter_measurement(now_ns, cost.stopped_ns)
            self._meter.sample(now_ns)
        if now_ns - ledger.load_ended_ns < _LOADED_NS and (owner := ledger.owner_of(task)) is not None:
            if self._is_loaded:
                ledger.credit_load(owner, task)
            if getattr(task.coro, "cr_frame", None) is not None:  # it has not ended, and is a plain coroutine
                left = trio.current_effective_deadline() - trio.current_time()
                owner.alarm = id(task), now_ns + int(left * S) if isfinite(left) else NEVER_NS
        ledger.step_began_ns = now_ns

    def cost_of_this_step(self, now_ns: int) -> StepCost:
        """Return the division of the step that runs now; of a short one, nothing."""
        spent_ns = now_ns - self._ledger.step_began_ns
        return self._cost(now_ns, spent_ns) if spent_ns > STALL_NS else NO_COST

    def close(self) -> None:
        """End the measurement."""
        self._meter.close()

    def _cost(self, now_ns: int, spent_ns: int) -> StepCost:
        load_ns, stopped_ns = self._taken(now_ns, spent_ns)
        return StepCost(spent_ns - load_ns - stopped_ns, stopped_ns, load_ns)

    def _taken(self, now_ns: int, span_ns: int) -> tuple[int, int]:
        """Return what the host took of the span that ends now: load (if that was a stall) and stops."""
        load_ns, stopped_ns = self._meter.taken(now_ns)
        stopped_ns = min(span_ns, stopped_ns)
        load_ns = min(span_ns - stopped_ns, load_ns)
        return (load_ns if load_ns > STALL_NS else 0), stopped_ns

    def _enter(self, lost_ns: int, agent: Blockable | None, load_ns: int, now_ns: int) -> None:
        if load_ns:
            self._ledger.book_load(load_ns, now_ns)
            self._is_loaded = True
        if lost_ns:
            self._ledger.book(lost_ns, agent, now_ns)

    def _enter_measurement(self, began_ns: int, stopped_ns: int) -> int:
        """Enter what a measurement itself took, and return the present time.

        It waits for a heartbeat that waits for a CPU, and the process may be stopped meanwhile. Left out,
        such a stop would be charged to every agent that has a turn.

        Args:
            stopped_ns: the stop that it found, which is entered.
        """
        now_ns = self._now()
        if now_ns - began_ns <= STALL_NS:
            return now_ns
        _, stopped_in_all_ns = self._meter.taken(now_ns)
        now_ns = self._now()
        took_ns = now_ns - began_ns
        stopped_meanwhile_ns = min(took_ns, max(0, stopped_in_all_ns - stopped_ns))
        self._enter(0, None, took_ns - stopped_meanwhile_ns, now_ns)
        self._enter_stop(stopped_meanwhile_ns, now_ns)
        return now_ns

    def _enter_stop(self, stopped_ns: int, now_ns: int) -> None:
        if stopped_ns:
            self._ledger.book(stopped_ns, None, now_ns, stopped=True)


# The one grace period of a turn: on a host that stalled, a late verdict waits for an answer unheard.
#
# Rule 1: at most one grace period per turn. What is lost while it lasts does not begin another.
# Rule 2: it ends `GRACE_NS` after the deadline, and not before the loop has run `HEARING_PASSES` more times:
#     an answer that is there when the loop wakes late is heard, however late that is.

GRACE_NS: Final = 5 * MS
"""The time after a deadline in which an answer may still be read where the host stalled: a few time slices of
a busy machine, since an idle one does not stall."""

HEARING_PASSES: Final = 3
"""The least number of passes of the loop: one reads what lies ready, two more bring it through tasks of an
agent's own that pass it on."""

NEXT_PASS_NS: Final = 1_000

_NOTHING: Final = object()


class Grace:
    """The grace period of a turn.

    It keeps what it was begun for, so that it costs a turn nothing that does not need it.
    """

    __slots__ = ("_passes", "_until_ns", "_what")

    def __init__(self) -> None:
        self._until_ns = self._passes = 0
        self._what: object = _NOTHING

    def forget(self) -> None:
        """Begin anew the next time."""
        self._what = _NOTHING

    def put_off(self, now_ns: int, due_ns: int, what: object) -> int:
        """Return until when a late verdict waits; 0 when it is given now.

        Args:
            what: the envelope whose deadline it is; `None` for the hard limit of one that is not open any
                more.
        """
        # By identity, not by number: the hard limit of a turn that is over (`None`) has a grace period too.
        if what is not self._what:
            self._what = what
            self._until_ns = due_ns + GRACE_NS
            self._passes = HEARING_PASSES
        if now_ns < self._until_ns:
            return self._until_ns
        if self._passes == 0:
            return 0
        # The time is over, but a loop that was held up all the while has not looked for the answer once.
        self._passes -= 1
        return now_ns + NEXT_PASS_NS
