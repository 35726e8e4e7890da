"""Clocks in whole nanoseconds: the wall's, the CPU's, and a virtual one.

The clock of the running event loop decides which it is. Under trio's own clock time is the wall's. Under
a `VirtualClock` it is virtual: it stands still while any task can run, and jumps to the next deadline
when none can. Everything in such a loop lives in virtual time, `trio.sleep` included.

Agents outside of the loop live in real time, and a virtual clock stands still for them (`ClockHold`). What
waits for the real world in a loop takes its limits from `real_limit` and `real_sleep`, which count real time
under every clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from math import inf
from types import TracebackType
from typing import Any, Final, TypeAlias, TypeVar

import trio
from trio.lowlevel import current_clock

from flagfall.errors import UsageError
from flagfall.timing.deadlines import Deadline, DeadlineQueue
from flagfall.timing.durations import NEVER_NS

NowNs: TypeAlias = Callable[[], int]
"""Returns the time in nanoseconds since some fixed moment."""

T = TypeVar("T")

_NS = 1_000_000_000

GUARD_SECONDS: Final = 60.0
"""Real time that a virtual clock stands still for one agent at a time, at most: its start, or one answer."""

STOPPED_NS: Final = 100_000_000
"""A guard that comes later than this by the wall gives the agent its whole time again."""

MAX_RENEWALS: Final = 3
"""The most times that it does so for one answer: an agent can hold up the loop by messages that take long to
read, and could put off its guard by that as often as it likes."""

PATIENT_SECONDS: Final = 5.0
"""Least real time, under a virtual clock, for what decides about a record; half of the guard's if that is
less. Equal matches must have equal records, so none may depend on how busy the machine is."""


class _LoopWatch(trio.abc.Instrument):
    """What has happened in the loop since no task could run.

    Attributes:
        runnable: the number of tasks that wait to run.
        is_shared: more than one task has run.
        trio_due_ns: when the next deadline of trio comes, as far as that is known; 0 where it is not.
    """

    def __init__(self) -> None:
        self.begin()  # of what ran before nothing is known, so there is no jump before the loop is idle

    def begin(self) -> None:
        """Begin anew: no task can run, and the next deadline of trio may be the one that comes now."""
        self.runnable: int = 0
        self.is_shared: bool = False
        self.trio_due_ns: int = 0
        self._last: trio.lowlevel.Task | None = None

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - trio's contract
        """Count a task that can run."""
        self.runnable += 1

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note which task runs."""
        self.runnable -= 1
        if task is not self._last:
            self.is_shared = self._last is not None
            self._last = task


class VirtualClock(trio.abc.Clock):
    """A clock for `trio.run(..., clock=VirtualClock())` on which waiting takes no time.

    It knows the deadlines of the loop, so waking one sleeper costs one pass of trio's loop, not a
    cancel scope and an idle pass as with `trio.testing.MockClock`. It wakes one deadline at a
    time: what falls due at one moment happens in the order in which it was armed.

    It stands still while agents in threads, in processes or on other machines start or compute, so that
    takes no time.

    Args:
        guard_seconds: real time for which it stands still for one agent at a time. An agent that takes longer
            to start or to answer is disqualified as `unresponsive`. `inf` for no limit.

    Raises:
        UsageError: the limit is not more than 0.
    """

    def __init__(self, guard_seconds: float = GUARD_SECONDS) -> None:
        if not guard_seconds > 0:
            raise UsageError(f"guard_seconds={guard_seconds!r}: write a number of seconds, more than 0")
        self.guard_seconds: float = guard_seconds
        self.deadlines: DeadlineQueue = DeadlineQueue()
        self.real_deadlines: DeadlineQueue = DeadlineQueue()  # by `time.perf_counter_ns`
        self.now_ns: int = 0
        self._seconds = 0.0
        self._held = 0
        self._jumpers = 0
        self._watch: _LoopWatch | None = None

    def now(self) -> int:
        """Return the virtual nanoseconds since the loop began."""
        return self.now_ns

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let no time pass inside the context: for real work, such as writing a file."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    def hold_for_agent(self, on_guard: Callable[[], None]) -> ClockHold | None:
        """Return what holds the clock while an agent computes elsewhere; see `ClockHold`."""
        return ClockHold(self, on_guard)

    def real_limit(self, seconds: float, *, patient: bool) -> AbstractContextManager[trio.CancelScope, bool]:
        """Return a cancel scope with a deadline in real time; see `real_limit`."""
        least = min(PATIENT_SECONDS, self.guard_seconds / 2) if patient else 0
        return _RealLimit(self, max(seconds, least))

    @contextmanager
    def jumping(self) -> Iterator[None]:
        """Let `jump` work inside the context; it costs each step of each task two calls."""
        self._jumpers += 1
        if self._watch is None:
            self._watch = _LoopWatch()
            trio.lowlevel.add_instrument(self._watch)
        try:
            yield
        finally:
            self._jumpers -= 1
            if not self._jumpers:
                trio.lowlevel.remove_instrument(self._watch)
                self._watch = None

    def jump(self, until_ns: int, own_scopes: bool = True) -> bool:
        """Let the time until a moment pass at once, if that is the same as to sleep until then.

        It is where no other task can run, nothing falls due until then, and nothing else ran since the loop
        was idle: so the deadlines of trio are known, and those that the running task has set since are in its
        own scopes. What it does to the deadlines of scopes of other tasks is noticed when the loop runs.

        Args:
            own_scopes: the running task may be in scopes that it has opened since the loop was idle.

        Returns:
            Whether time has passed; otherwise the caller has to sleep.
        """
        watch = self._watch
        if watch is None or watch.runnable or watch.is_shared or self._held:
            return False
        if until_ns >= watch.trio_due_ns or self.deadlines.is_due_by(until_ns):
            return False
        if own_scopes and trio.current_effective_deadline() * _NS < until_ns + 1:
            return False
        self.now_ns = until_ns
        if (seconds := until_ns / _NS) > self._seconds:
            self._seconds = seconds
        return True

    def restart(self) -> bool:
        """Set the time back to zero, if no deadline of this clock is pending; return whether it was done.

        The caller makes sure that no task of the loop sleeps: its deadline would keep its old time.
        """
        if self._held or self.deadlines.next_due_ns() != NEVER_NS:
            return False
        self.now_ns = 0  # the queue stays, since the timekeeper of the loop has it
        self._seconds = 0.0
        return True

    def start_clock(self) -> None:
        """Do nothing: there is nothing to start (trio's contract)."""

    def current_time(self) -> float:
        """Return the virtual seconds since the loop began (trio's contract)."""
        return self._seconds

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Jump to what is due next; called by trio when no task can run (trio's contract).

        While the clock is held, return the seconds until the next limit in real time.
        """
        watch = self._watch
        if watch is not None:
            watch.begin()
        real_ns, wait = self.real_deadlines.next_due_ns(), inf
        if real_ns < NEVER_NS:
            now_ns = time.perf_counter_ns()
            if self.real_deadlines.fire_next(now_ns):
                return 0
            wait = (real_ns - now_ns) / _NS
        if self._held:
            return wait
        due_ns = self.deadlines.next_due_ns()
        if deadline == inf and due_ns == NEVER_NS:
            return wait
        # Equal to the nanosecond is equal, whatever rounding trio's float has behind it: then those who
        # sleep go first.
        at_ns = NEVER_NS if deadline == inf else round(deadline * _NS)
        if at_ns <= due_ns and deadline != inf:
            self._advance(max(self.now_ns, at_ns), deadline)
            return 0
        if watch is not None:
            watch.trio_due_ns = at_ns
        self._advance(max(self.now_ns, due_ns), due_ns / _NS)
        self.deadlines.fire_next(due_ns)
        return 0

    def stall(self, lost_ns: int) -> None:
        """Let time pass at once, as if the program was stopped: no task runs, and no deadline fires."""
        self._advance(self.now_ns + lost_ns, (self.now_ns + lost_ns) / _NS)

    def _advance(self, now_ns: int, seconds: float) -> None:
        self.now_ns = now_ns
        # trio compares its own deadlines with this float: never let rounding keep it below one.
        self._seconds = max(self._seconds, seconds)


class ClockHold(Deadline):
    """Real work of one agent, for which a virtual clock stands still, with a guard for work that never ends.

    Args:
        on_guard: called when the clock has stood still for its `guard_seconds` since `begin` or `renew`.
    """

    __slots__ = ("_clock", "_holds", "_on_guard", "_renewals")

    def __init__(self, clock: VirtualClock, on_guard: Callable[[], None]) -> None:
        super().__init__()
        self._clock = clock
        self._holds = False
        self._on_guard = on_guard
        self._renewals = 0

    def begin(self) -> None:
        """Let the clock stand still from now on."""
        if not self._holds:
            self._holds = True
            self._clock._held += 1  # noqa: SLF001 - they belong together
        self.renew()

    def renew(self) -> None:
        """Give the work, which is the next answer, the whole time of the guard from now on."""
        self._renewals = 0
        self._arm()

    def _arm(self) -> None:
        seconds = self._clock.guard_seconds
        self.due_ns = NEVER_NS if seconds == inf else time.perf_counter_ns() + round(seconds * _NS)
        self._clock.real_deadlines.arm(self)

    def end(self) -> None:
        """Let the clock go on, as far as this work is concerned."""
        if self._holds:
            self._holds = False
            self._clock._held -= 1  # noqa: SLF001
        self.due_ns = NEVER_NS

    async def release(self, wait: Coroutine[Any, Any, T]) -> T:
        """Wait for something that takes virtual time, and let the clock go on meanwhile."""
        self.end()
        try:
            return await wait
        finally:
            self.begin()

    def fire(self, now_ns: int) -> None:
        """Report that the work takes too long, unless the loop was blocked, or the program stopped."""
        # If late, the agent may have been stopped, too, or its answer is unread.
        if now_ns - self.due_ns > STOPPED_NS and self._renewals < MAX_RENEWALS:
            self._renewals += 1
            self._arm()
        else:
            self._on_guard()


class _RealLimit(Deadline):
    """A cancel scope with a deadline in real time, under a virtual clock; gives the scope."""

    __slots__ = ("_clock", "_scope")

    def __init__(self, clock: VirtualClock, seconds: float) -> None:
        super().__init__()
        self.due_ns = time.perf_counter_ns() + round(seconds * _NS)
        self._clock = clock
        self._scope = trio.CancelScope()

    def __enter__(self) -> trio.CancelScope:
        self._clock.real_deadlines.arm(self)
        return self._scope.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.due_ns = NEVER_NS
        return self._scope.__exit__(kind, error, trace)

    def fire(self, now_ns: int) -> None:  # noqa: ARG002 - the scope knows no time
        self._scope.cancel()


def real_limit(seconds: float, *, patient: bool = False) -> AbstractContextManager[trio.CancelScope, bool]:
    """Return a cancel scope with a deadline in real time, as of `trio.move_on_after`, under every clock.

    A virtual clock does not stand still for it: for that there is `ClockHold`.

    Args:
        patient: what happens until the deadline decides about a record: on a virtual clock that is at least
            `PATIENT_SECONDS`.
    """
    clock = current_clock()
    if isinstance(clock, VirtualClock):
        return clock.real_limit(seconds, patient=patient)
    return trio.move_on_after(seconds)


async def real_sleep(seconds: float) -> None:
    """Sleep in real time, whatever the clock of the loop."""
    with real_limit(seconds):
        await trio.sleep_forever()


def time_source() -> NowNs:
    """Return the clock of the running event loop, in whole nanoseconds."""
    clock = current_clock()
    if isinstance(clock, VirtualClock):
        return clock.now
    if type(clock).__module__.startswith("trio._core._run"):
        return time.perf_counter_ns  # what trio's own clock counts, without the detour over floats
    return lambda: round(clock.current_time() * _NS)


def process_cpu_clock(pid: int) -> NowNs:
    """Return the clock of the CPU time of a process of this machine, all its threads together.

    Raises:
        UsageError: this system has no such clock; only Linux has.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("clock=cpu for an agent process needs Linux; use clock=wall")
    # clock_getcpuclockid(3) of the C library, which Python does not offer: MAKE_PROCESS_CPUCLOCK(pid, SCHED)
    return clock_of((~pid << 3) | 2)


def thread_cpu_clock(ident: int) -> NowNs:
    """Return the clock of the CPU time of a thread of this process.

    Raises:
        UsageError: this system has no such clock; only Linux has.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("clock=cpu for an agent in a thread needs Linux; use clock=wall")
    return clock_of(time.pthread_getcpuclockid(ident))


def clock_of(clock_id: int) -> NowNs:
    """Return the CPU clock of a number; it stands still when its owner has ended."""
    last = 0

    def used() -> int:
        nonlocal last
        with suppress(OSError):
            last = time.clock_gettime_ns(clock_id)
        return last

    return used


# The CPU time of one actor in an event loop: the steps of its task and of the tasks below it, added up.
#
# A step is counted by the CPU clock of the loop's thread, so what other processes and threads use is not in
# it. It costs a system call before and after each step, and is installed only where a time control asks for
# it.


class StepClock(trio.abc.Instrument):
    """Counts the CPU time of a task and of the tasks below it."""

    def __init__(self, task: trio.lowlevel.Task) -> None:
        self._task = task
        self._used_ns = 0
        self._began_ns: int | None = None

    def used_ns(self) -> int:
        """Return what they have used, the step that runs included."""
        if self._began_ns is None:
            return self._used_ns
        return self._used_ns + time.thread_time_ns() - self._began_ns

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Start counting, if the step is one of theirs."""
        if self._owns(task):
            self._began_ns = time.thread_time_ns()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - trio's contract
        """Stop counting at the end of a step."""
        if self._began_ns is not None:
            self._used_ns += time.thread_time_ns() - self._began_ns
            self._began_ns = None

    def _owns(self, task: trio.lowlevel.Task | None) -> bool:
        while task is not None:
            if task is self._task:
                return True
            nursery = task.parent_nursery
            task = None if nursery is None else nursery.parent_task
        return False


@contextmanager
def counting_steps() -> Iterator[StepClock]:
    """Return a clock of what the current task uses of the CPU from now on."""
    clock = StepClock(trio.lowlevel.current_task())
    clock.before_task_step(trio.lowlevel.current_task())
    trio.lowlevel.add_instrument(clock)
    try:
        yield clock
    finally:
        trio.lowlevel.remove_instrument(clock)
