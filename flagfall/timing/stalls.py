"""Who held up the event loop, and for how long.

In one loop everybody waits while one runs. A turn must not be charged with that time unless the agent
that has the turn is the one who ran. So each step of a task that takes long is booked on whoever took it,
and each wait that ends late is booked on the host.

A step may be long because the agent is slow, or because the machine did not run this thread. The
second shows in the CPU time (little was used) while the thread gave nothing up by itself (a sleep or a
blocking read is a voluntary context switch, being passed over is not). That is looked at only when a
step was long, so it costs nothing while all goes well.
"""

from __future__ import annotations

__all__ = ["STALL_NS", "Ledger", "StallWatch"]

import sys
import time
from typing import Final, Protocol

import trio

from flagfall.timing.clocks import NowNs
from flagfall.timing.units import NEVER_NS

STALL_NS: Final = 2_000_000
"""What counts as a stall. Polling waits in whole milliseconds, so one too many is normal."""

_SAMPLE_NS = 5_000_000
_BLOCKED_NS = 50_000


class Culprit(Protocol):
    """Who can be blamed for a stall."""

    own_stalls_ns: int
    """The sum of the stalls that it caused."""


class Ledger:
    """The time that the loop could not run, in all and by culprit.

    Attributes:
        lost_ns: the sum of all stalls so far.
        last: who caused the latest one; `None` for the host.
        last_ns: how long that was.
        last_began_ns: when it began, as far as that can be told; it may have been before.
        step_began_ns: when the step that runs now began; `NEVER_NS` where nobody watches.
    """

    def __init__(self) -> None:
        self.lost_ns = 0
        self.step_began_ns = NEVER_NS
        self.last: Culprit | None = None
        self.last_ns = self.last_began_ns = 0
        self._owners: dict[trio.lowlevel.Task, Culprit] = {}

    def register(self, task: trio.lowlevel.Task, culprit: Culprit) -> None:
        """Blame the steps of `task`, and of tasks started below it, on `culprit`."""
        self._owners[task] = culprit

    def forget(self, task: trio.lowlevel.Task) -> None:
        """The task has ended."""
        self._owners.pop(task, None)

    def owner_of(self, task: trio.lowlevel.Task | None) -> Culprit | None:
        """Whose task this is, or was started from."""
        while task is not None:
            if (owner := self._owners.get(task)) is not None:
                return owner
            nursery = task.parent_nursery
            task = nursery.parent_task if nursery is not None else None
        return None

    def book(self, lost_ns: int, culprit: Culprit | None, now_ns: int) -> None:
        """Enter a stall that is over now."""
        self.lost_ns += lost_ns
        self.last, self.last_ns, self.last_began_ns = culprit, lost_ns, now_ns - lost_ns
        if culprit is not None:
            culprit.own_stalls_ns += lost_ns


class StallWatch(trio.abc.Instrument):
    """Watches every step and every wait of a loop, and enters the long ones in a ledger."""

    def __init__(self, now: NowNs, ledger: Ledger) -> None:
        self._now = now
        self._ledger = ledger
        self._wait_began_ns = ledger.step_began_ns = now()
        self._sampled_ns = 0
        self._cpu_ns = 0
        self._switches = 0
        self._sample(self._wait_began_ns)

    def before_io_wait(self, timeout: float) -> None:  # noqa: ARG002 - trio's contract
        """A wait begins."""
        self._wait_began_ns = self._now()

    def after_io_wait(self, timeout: float) -> None:
        """A wait is over: did it end when it should?"""
        now_ns = self._now()
        waited_ns = now_ns - self._wait_began_ns
        if waited_ns > _BLOCKED_NS or timeout > 0:  # it may have given up the CPU, which is no agent's doing
            over_ns = waited_ns - int(timeout * 1e9)
            if over_ns > STALL_NS:
                self._ledger.book(over_ns, None, now_ns)
            self._sample(now_ns)
        elif now_ns - self._sampled_ns > _SAMPLE_NS:
            self._sample(now_ns)

    def before_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - trio's contract
        """A task begins to run."""
        self._ledger.step_began_ns = self._now()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """A task gave the loop back: did it keep it long?"""
        now_ns = self._now()
        spent_ns = now_ns - self._ledger.step_began_ns
        if spent_ns > STALL_NS:
            host_ns = self._lost_to_host(spent_ns)
            culprit = self._ledger.owner_of(task)
            if host_ns:
                self._ledger.book(host_ns, None, now_ns)
            if spent_ns > host_ns:
                self._ledger.book(spent_ns - host_ns, culprit, now_ns)
            self._sample(now_ns)

    def lost_in_this_step_ns(self, now_ns: int) -> int:
        """How much of the step that is running now the host took away."""
        spent_ns = now_ns - self._ledger.step_began_ns
        return self._lost_to_host(spent_ns) if spent_ns > STALL_NS else 0

    def _lost_to_host(self, spent_ns: int) -> int:
        cpu_ns, switches = _usage()
        used_ns = cpu_ns - self._cpu_ns
        gave_up_by_itself = switches > self._switches
        if gave_up_by_itself or used_ns * 2 > spent_ns:
            return 0
        return spent_ns - used_ns

    def _sample(self, now_ns: int) -> None:
        self._sampled_ns = now_ns
        self._cpu_ns, self._switches = _usage()


if sys.platform.startswith("linux"):
    import resource

    def _usage() -> tuple[int, int]:
        """CPU time of this thread in nanoseconds, and how often it gave up the CPU by itself."""
        return time.thread_time_ns(), resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

else:

    def _usage() -> tuple[int, int]:
        """Not told here; more with every call, so that every long step is taken for the agent's own."""
        return time.thread_time_ns(), time.perf_counter_ns()
