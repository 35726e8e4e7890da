"""The timekeeper fires the deadlines of all matches of a loop, and keeps the time that the loop lost.

There is one timekeeper for a trio run, shared by its matches. On the wall clock it is a task that sleeps
until the earliest deadline; on the virtual clock the clock itself does that work.

It watches the loop as long as a match is open. Task, watch and the counters of the host, which take 0.3 ms to
start, stay for `LINGER_NS` after the last match, so that matches which follow each other share them.
"""

from __future__ import annotations

import gc
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import trio
from trio.lowlevel import (
    Abort,
    RunVar,
    checkpoint,
    current_clock,
    current_task,
    reschedule,
    wait_task_rescheduled,
)

from flagfall.timing.clocks import NowNs, VirtualClock, time_source
from flagfall.timing.deadlines import Deadline, DeadlineQueue
from flagfall.timing.durations import MS, NEVER_NS
from flagfall.timing.heartbeat import HostMeter
from flagfall.timing.stalls import NO_COST, STALL_NS, StallLedger, StallMonitor, StepCost

# Thresholds of Python's garbage collector that grow with the number of open matches.
#
# A turn that waits holds some thirty objects (frames, a cancel scope of trio), which are freed by their
# reference counts when it is over. With thousands of matches, more of them wait at a time than the collector
# leaves alone by default (700). So it goes through them, finds no garbage, and moves them to the oldest
# generation. It does not notice that they are freed there, and soon goes through all objects of the process:
# 0.6 s with 8,192 open matches, every few turns, in which no deadline is kept and no agent runs.
#
# With a threshold above the number of objects that wait, it runs when garbage was made, not when turns wait.
# The older generations are collected more often in return, so that what ended matches leave behind stays
# within a share of what the open ones need.
#
# Rule 1: the youngest generation's threshold is only ever raised. A collector that is switched off stays so.
# Rule 2: thresholds are lowered as matches end; with the last one, those of before are restored. Rule 3: if
# the program sets thresholds of its own meanwhile, those stay.

OBJECTS_PER_MATCH: Final = 64
"""The threshold per open match: twice what a waiting turn holds, and a third of what an open match does."""

_OLDER: Final = (1, 1)
"""Every second collection of the youngest generation includes the next one, and every second of those the
oldest. So the whole heap may be looked at after 256 new objects per match, as many as two matches have."""


class CollectorThresholds:
    """The thresholds of the garbage collector, set by the number of open matches of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # event loops may run in several threads
        self._open = 0
        self._before = self._ours = gc.get_threshold()

    def match_opened(self) -> None:
        """Count a match of any event loop."""
        with self._lock:
            self._open += 1
            if self._open == 1:
                self._before = self._ours = gc.get_threshold()
            self._set()

    def match_closed(self) -> None:
        """Count a match as ended."""
        with self._lock:
            self._open -= 1
            self._set()

    def _set(self) -> None:
        youngest = self._open * OBJECTS_PER_MATCH
        wanted = (youngest, *_OLDER) if 0 < self._before[0] < youngest else self._before
        if wanted != self._ours and gc.get_threshold() == self._ours:
            gc.set_threshold(*wanted)
            self._ours = wanted


thresholds: Final = CollectorThresholds()
"""Those of this process: there is one collector for all event loops."""


_NS = 1_000_000_000

LINGER_NS: Final = 100 * MS
"""Time after the last match of a loop until the timekeeper ends: where the next one starts later than that,
the 0.3 ms of starting anew are less than a hundredth of the time between them."""

SLICE_NS: Final = STALL_NS // 2
"""The time after which a batch of deadlines lets the rest of the loop run: some fifty late turns. A batch of
twice that would be a stall, which is credited to every agent, so that the deadlines about to fire move on."""


class Timekeeper:
    """The deadlines of one event loop.

    Attributes:
        ledger: the time that the loop could not run; stays empty on the virtual clock.
        virtual_clock: that clock, if the loop has one.
    """

    def __init__(self) -> None:
        clock = current_clock()
        self.now: NowNs = time_source()
        self.ledger: StallLedger = StallLedger()
        self.virtual: bool = isinstance(clock, VirtualClock)
        self._clock = clock
        self.virtual_clock: VirtualClock | None = clock if isinstance(clock, VirtualClock) else None
        self._users = 0
        self._keeping = False
        self._watch: StallMonitor | None = None
        self._linger = _Linger(self)
        self._scope = trio.CancelScope()
        self._wake_ns = NEVER_NS
        self.deadlines: DeadlineQueue = (
            clock.deadlines if isinstance(clock, VirtualClock) else DeadlineQueue(self._wake_earlier)
        )

    def cost_of_this_step(self, now_ns: int) -> StepCost:
        """Return the division of the step that runs now into the task's own doing and the host's."""
        watch = self._watch
        return NO_COST if watch is None else watch.cost_of_this_step(now_ns)

    def real_work(self) -> AbstractContextManager[None]:
        """Return a context for work in real time, such as writing a file: no virtual time passes in it."""
        return self._clock.hold() if isinstance(self._clock, VirtualClock) else nullcontext()

    def enter(self) -> None:
        """Start for the first match that uses it, and count it."""
        self._users += 1
        thresholds.match_opened()
        if self._users == 1 and not self.virtual:
            if self._watch is None:
                self._watch = StallMonitor(self.now, self.ledger, HostMeter(self.now()))
                trio.lowlevel.add_instrument(self._watch)
            else:
                self._watch.begin()
            if not self._keeping:
                self._keeping = True
                trio.lowlevel.spawn_system_task(self._run, name="flagfall timekeeper")

    def leave(self) -> None:
        """Count a match as ended; after the last one all ends `LINGER_NS` later, if no other match begins."""
        self._users -= 1
        thresholds.match_closed()
        if self._users == 0 and self._watch is not None:
            self._linger.due_ns = self.now() + LINGER_NS
            self.deadlines.arm(self._linger)

    def end_if_unused(self) -> None:
        """End the timekeeper's task, which calls this, and with it the counters of the host."""
        if not self._users:
            self._keeping = False

    def _stop_watching(self) -> None:
        if self._watch is not None:
            trio.lowlevel.remove_instrument(self._watch)
            self._watch.close()
            self._watch = None
            self.ledger.step_began_ns = NEVER_NS

    def _wake_earlier(self, due_ns: int) -> None:
        if due_ns < self._wake_ns:
            self._wake_ns = due_ns
            self._scope.deadline = self._trio_time(due_ns)

    def _trio_time(self, due_ns: int) -> float:
        return trio.current_time() + (due_ns - self.now()) / _NS

    async def _run(self) -> None:
        self._task = current_task()
        try:
            await self._keep()
        finally:  # the loop may end before its matches do
            self._keeping = False
            self._stop_watching()

    async def _keep(self) -> None:
        """Fire what is due, in slices between which the other tasks run.

        Beside tasks that are always ready a slice may take as long as they took since the one before, so that
        many deadlines do not wait for as many passes of the loop.
        """
        while self._keeping:
            due_ns, slice_ns = self.deadlines.next_due_ns(), SLICE_NS
            ended_ns = self.now()
            if due_ns > ended_ns:
                await self._sleep_until(due_ns)
            else:
                await checkpoint()
                slice_ns = max(SLICE_NS, self.now() - ended_ns)
            self._fire_due(slice_ns)

    def _fire_due(self, slice_ns: int) -> None:
        """Fire the deadlines that are due now; what becomes due meanwhile waits for the next pass.

        Args:
            slice_ns: time after which the rest waits for the next pass, too.
        """
        fire_next, now = self.deadlines.fire_next, self.now
        now_ns = now()
        until_ns = now_ns + slice_ns
        while fire_next(now_ns):
            if now() >= until_ns:
                break

    async def _sleep_until(self, due_ns: int) -> None:
        self._wake_ns = due_ns
        deadline = self._trio_time(due_ns) if due_ns < NEVER_NS else float("inf")
        with trio.CancelScope(deadline=deadline) as self._scope:
            await wait_task_rescheduled(self._wake)

    def _wake(self, _raise_cancel: Any) -> Abort:
        """Wake at the deadline of the scope without its exception, which costs a third of a wake-up."""
        if not self._scope.cancel_called:
            return Abort.SUCCEEDED  # the run ends
        reschedule(self._task)
        return Abort.FAILED


class _Linger(Deadline):
    """The end of a timekeeper that no match uses any more."""

    __slots__ = ("_keeper",)

    def __init__(self, keeper: Timekeeper) -> None:
        super().__init__()
        self._keeper = keeper

    def fire(self, now_ns: int) -> None:  # noqa: ARG002 - it is known to be late enough
        self._keeper.end_if_unused()


_keeper: RunVar[Timekeeper] = RunVar("flagfall_timekeeper")


def timekeeper_of_loop() -> Timekeeper:
    """Return the timekeeper of this event loop; it works between `enter` and `leave`."""
    try:
        return _keeper.get()
    except LookupError:
        keeper = Timekeeper()
        _keeper.set(keeper)
        return keeper


class timekeeping:  # noqa: N801 - used as a function: `async with timekeeping() as keeper`
    """Context in which the timekeeper of this event loop works; gives the timekeeper."""

    __slots__ = ("_keeper",)

    async def __aenter__(self) -> Timekeeper:
        self._keeper = timekeeper_of_loop()
        self._keeper.enter()
        return self._keeper

    async def __aexit__(self, *_error: object) -> None:
        self._keeper.leave()


class _Sleeper(Deadline):
    __slots__ = ("_task",)

    def __init__(self, due_ns: int) -> None:
        super().__init__(rank=-1)  # those who sleep go first, as those who sleep by trio do
        self.due_ns = due_ns
        self._task = current_task()

    def fire(self, now_ns: int) -> None:  # noqa: ARG002 - it is known to be late enough
        reschedule(self._task)

    def abort(self, _raise_cancel: Any) -> Abort:
        self.due_ns = NEVER_NS
        return Abort.SUCCEEDED


async def sleep_until_ns(keeper: Timekeeper, due_ns: int) -> None:
    """Sleep until a moment on the keeper's clock; a moment in the past is over at once.

    Cancelling it leaves nothing behind.
    """
    if due_ns <= keeper.now():
        await trio.lowlevel.checkpoint()
        return
    sleeper = _Sleeper(due_ns)
    keeper.deadlines.arm(sleeper)
    await wait_task_rescheduled(sleeper.abort)
