"""Measurement of what the host took from the thread of an event loop: waits for a CPU, and stops."""

from __future__ import annotations

__all__ = ["HostMeter"]

import os
import threading
from typing import Final

from flagfall.timing.heartbeat import PERIOD_NS, Heartbeat, open_schedstat, read_schedstat

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
            self._heartbeat = Heartbeat()
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
        """End the heartbeat."""
        if self._heartbeat is not None:
            self._heartbeat.close()
        if self._fd >= 0:
            os.close(self._fd)

    def _read(self) -> tuple[int, int, int]:
        waited_ns = read_schedstat(self._fd)[1] if self._fd >= 0 else 0
        return (waited_ns, *(self._heartbeat.beats() if self._heartbeat is not None else (0, 0)))
