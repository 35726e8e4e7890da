"""Periodic wake-ups of a parked thread, which distinguish a stopped process from one that sleeps.

A thread that blocks and a process that is stopped as a whole (SIGSTOP, a frozen cgroup, a debugger, a paused
virtual machine) look alike to the clocks of that thread: no CPU time, no waiting for a
CPU, one voluntary context switch. So a second thread sits in a read that never ends, and a POSIX timer sends
that thread a signal every `PERIOD_NS`. The signal's handler does nothing, the kernel resumes the read by
itself: no Python code runs and the GIL is not needed, so the wake-ups go on whatever the other threads do.
While the process is stopped there are none. The kernel counts them (`/proc/self/task/TID/schedstat`), so the
count is read only when a long wait or step must be judged.

A SIGCONT to a process that is not stopped wakes no thread, so it changes nothing here.

To start that thread and to end it took half of the time of a short match, so a process has one (`shared`).
Its timer runs while a meter needs it; otherwise the thread costs nothing. As a daemon it holds up no exit.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Final

from flagfall.timing.durations import MS

PERIOD_NS: Final = 5 * MS
"""Time between two wake-ups: 200 a second, some microseconds each; a stop is measured to within two of
them."""

_SIGEV_THREAD_ID: Final = 4
_SIG_DFL: Final = 0
_SCHEDSTAT_BYTES: Final = 128  # three numbers of at most 20 digits
_STAT_BYTES: Final = 128  # the number of the thread, its name (at most 64 bytes) and its state come first
_LOOK_AGAIN_SECONDS: Final = 0.0002


class _SigEvent(ctypes.Structure):
    """`struct sigevent` of Linux, with its thread id; the kernel reads 64 bytes of it."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signo", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread_id", ctypes.c_int),
        ("padding", ctypes.c_int * 13),
    )


class _TimerSpec(ctypes.Structure):
    """`struct itimerspec`."""

    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("first_s", ctypes.c_long),
        ("first_ns", ctypes.c_long),
    )


class Heartbeat:
    """A parked thread that the kernel wakes every `PERIOD_NS`, from `start` to `rest`.

    Raises:
        OSError: this system has no such timer, no free signal, or does not count wake-ups (only Linux does).
        RuntimeError: there are no more threads.
    """

    def __init__(self) -> None:
        self._signal = _claimed_signal()
        read_fd, self._write_fd = os.pipe()
        self._thread = threading.Thread(
            target=self._park, args=(read_fd,), name="flagfall heartbeat", daemon=True
        )
        self._timer = ctypes.c_void_p()
        self._fd = self._stat_fd = -1
        try:
            self._thread.start()
        except RuntimeError:
            os.close(read_fd)
            os.close(self._write_fd)
            raise
        try:
            self._fd = open_schedstat(self._thread.native_id or 0)
            self._stat_fd = os.open(
                f"/proc/self/task/{self._thread.native_id}/stat", os.O_RDONLY | os.O_CLOEXEC
            )
            self._make_timer()
        except OSError:
            self.close()
            raise

    def start(self) -> None:
        """Begin to wake the thread."""
        self._wake_every(PERIOD_NS)

    def rest(self) -> None:
        """Leave the thread alone until `start`."""
        self._wake_every(0)

    def owns_signal(self) -> bool:
        """Return whether its signal is still its own; the program may have set a handler while it rested."""
        return _claim(self._signal)

    def beats(self) -> tuple[int, int]:
        """Return how often the thread was woken, and for how many nanoseconds it waited for a CPU in all."""
        _, waited_ns, beats = read_schedstat(self._fd)
        return beats, waited_ns

    def delay_when_it_has_run(self, patience_ns: int) -> int:
        """Return for how many nanoseconds the thread waited for a CPU in all, a wait that is on included.

        Such a wait is counted when it is over, so this waits for it.

        Args:
            patience_ns: how long at most. A longer one counts as twice that, since it had begun before.
        """
        first, began_ns = self.beats(), time.perf_counter_ns()
        while self._is_waiting_for_cpu() and self.beats()[0] == first[0]:
            if time.perf_counter_ns() - began_ns > patience_ns:
                return self.beats()[1] + 2 * patience_ns
            time.sleep(_LOOK_AGAIN_SECONDS)
        return self.beats()[1]

    def _is_waiting_for_cpu(self) -> bool:
        stat = os.pread(self._stat_fd, _STAT_BYTES, 0)
        return stat[stat.rindex(b")") + 2 :].startswith(b"R")

    def close(self) -> None:
        """Stop the timer and end the thread."""
        if self._timer.value is not None:
            _libc.timer_delete(self._timer)
        os.close(self._write_fd)  # the read ends
        self._thread.join()
        for fd in (self._fd, self._stat_fd):
            if fd >= 0:
                os.close(fd)

    def _park(self, read_fd: int) -> None:
        others = signal.valid_signals() - {self._signal}  # they are for the threads of the program
        signal.pthread_sigmask(signal.SIG_SETMASK, others)
        with suppress(OSError):
            os.read(read_fd, 1)
        os.close(read_fd)

    def _make_timer(self) -> None:
        event = _SigEvent(None, self._signal, _SIGEV_THREAD_ID, self._thread.native_id)
        if _libc.timer_create(time.CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(self._timer)) != 0:
            raise OSError(ctypes.get_errno(), "no timer for the heartbeat")

    def _wake_every(self, period_ns: int) -> None:
        spec = _TimerSpec(0, period_ns, 0, period_ns)
        _libc.timer_settime(self._timer, 0, ctypes.byref(spec), None)


class SharedHeartbeat:
    """The heartbeat of this process, started for the first meter that needs one, and kept at rest later."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, in a process that a fork has made without the thread."""
        self._lock = threading.Lock()  # event loops may run in several threads
        self._heartbeat: Heartbeat | None = None
        self._users = 0

    def take(self) -> Heartbeat:
        """Return the heartbeat, which beats until each user has given it back.

        Raises:
            OSError: see `Heartbeat`.
            RuntimeError: see `Heartbeat`.
        """
        with self._lock:
            if self._users == 0:
                if self._heartbeat is not None and not self._heartbeat.owns_signal():
                    self._close()
                self._heartbeat = self._heartbeat or Heartbeat()
                self._heartbeat.start()
            self._users += 1
            assert self._heartbeat is not None
            return self._heartbeat

    def give_back(self, heartbeat: Heartbeat) -> None:
        """Count a user less; one of before a fork counts for nothing."""
        with self._lock:
            if heartbeat is self._heartbeat:
                self._users -= 1
                if self._users == 0:
                    heartbeat.rest()

    def close_if_idle(self) -> None:
        """End the thread unless it is in use: before a fork, as Python warns of those beside threads."""
        if self._lock.acquire(blocking=False):  # a signal handler may fork while this thread has the lock
            try:
                if self._users == 0 and self._heartbeat is not None:
                    self._close()
            finally:
                self._lock.release()

    def _close(self) -> None:
        assert self._heartbeat is not None
        self._heartbeat.close()
        self._heartbeat = None


shared: Final = SharedHeartbeat()
"""That of this process."""


def open_schedstat(thread_id: int) -> int:
    """Return a descriptor of the scheduler's counters of a thread of this process.

    Raises:
        OSError: this kernel does not keep them.
    """
    fd = os.open(f"/proc/self/task/{thread_id}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    if not read_schedstat(fd)[2]:
        os.close(fd)
        raise OSError("the kernel does not count the wake-ups of threads")
    return fd


def read_schedstat(fd: int) -> tuple[int, int, int]:
    """Return a thread's time on a CPU, its time of waiting for one (both in ns), and how often it got one.

    The meaning of the three numbers: the Linux kernel's Documentation/scheduler/sched-stats.rst.
    """
    ran_ns, waited_ns, times = os.pread(fd, _SCHEDSTAT_BYTES, 0).split()
    return int(ran_ns), int(waited_ns), int(times)


def _claimed_signal() -> int:
    """Return a real-time signal whose handler does nothing: one that no other code of this process uses.

    Raises:
        OSError: all of them are in use.
    """
    if sys.platform != "linux":
        raise OSError("only Linux counts the wake-ups of a thread")
    # Those at the ends are the first choice of other programs.
    for number in range(signal.SIGRTMAX - 6, signal.SIGRTMIN, -1):
        if _claim(number):
            return number
    raise OSError("no free real-time signal")


def _claim(number: int) -> bool:
    """Set the handler that does nothing, and return whether no other code of this process has set one."""
    before = _libc.signal(number, _DO_NOTHING) or _SIG_DFL
    is_free = before in {_SIG_DFL, _DO_NOTHING.value}
    if not is_free:
        _libc.signal(number, before)
    return is_free


_libc = ctypes.CDLL(None, use_errno=True)
_libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
_libc.signal.restype = ctypes.c_void_p
# A handler must be machine code that needs no Python. This one takes the signal's number, returns it, and
# touches nothing. `signal` of the C library asks the kernel to resume the interrupted read (SA_RESTART).
_DO_NOTHING = ctypes.cast(_libc.abs, ctypes.c_void_p)
os.register_at_fork(before=shared.close_if_idle, after_in_child=shared.forget)


_CERTAIN_NS: Final = 3 * PERIOD_NS
"""Wake-ups that must be missing beyond those that the load explains, before a process counts as stopped: one
may fall on either end of the span, and one may come late."""

_PATIENCE_NS: Final = 30_000_000
"""The wait for a heartbeat that waits for a CPU, to know whether that explains what is missing: the
longest that threads were seen to wait beside three busy programs on two CPUs."""

_OF_A_STOP_NS: Final = 2 * PERIOD_NS
"""A stop wakes the thread once when it begins and once when it ends, which is no beat of the timer."""


class HostMeter:
    """Counters of the current thread and of a heartbeat, compared with those of the last sample.

    Where the system does not keep such counters (it is not Linux), nothing counts as taken.
    """

    def __init__(self, now_ns: int) -> None:
        self._fd = -1
        self._heartbeat: Heartbeat | None = None
        try:
            self._fd = open_schedstat(threading.get_native_id())
            self._heartbeat = shared.take()
        except (OSError, RuntimeError):  # the load alone can be measured, or nothing
            pass
        self.sampled_ns: int = now_ns
        self._counters = self._read()

    def sample(self, now_ns: int) -> None:
        """Measure from now on."""
        self.sampled_ns = now_ns
        self._counters = self._read()

    def taken(self, now_ns: int) -> tuple[int, int]:
        """Return what the host took since the last sample, in nanoseconds.

        Returns:
            For how long the thread could have run and was not run, as other programs had the CPUs; and for
            how long the whole process was stopped.
        """
        span_ns = now_ns - self.sampled_ns
        waited, beats, delays = self._counters
        waited_now, beats_now, delays_now = self._read()
        load_ns = min(span_ns, waited_now - waited)
        if self._heartbeat is None:
            return load_ns, 0
        missing_ns = span_ns - (beats_now - beats) * PERIOD_NS
        if missing_ns - (delays_now - delays) < _CERTAIN_NS:
            return load_ns, 0
        # The heartbeat's delay is counted when it is over; it may be waiting for a CPU now.
        delays_now = self._heartbeat.delay_when_it_has_run(_PATIENCE_NS)
        if missing_ns - (delays_now - delays) < _CERTAIN_NS:
            return load_ns, 0
        return load_ns, min(span_ns - load_ns, missing_ns + _OF_A_STOP_NS)

    def close(self) -> None:
        """End the measurement."""
        if self._heartbeat is not None:
            shared.give_back(self._heartbeat)
        if self._fd >= 0:
            os.close(self._fd)

    def _read(self) -> tuple[int, int, int]:
        waited_ns = read_schedstat(self._fd)[1] if self._fd >= 0 else 0
        return (waited_ns, *(self._heartbeat.beats() if self._heartbeat is not None else (0, 0)))
