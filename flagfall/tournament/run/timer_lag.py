"""Timer latency of this machine: limits cannot be enforced more precisely than timers fire."""

from __future__ import annotations

__all__ = ["TIGHT", "TimerLatency", "measure_latency", "warn_tight_limits"]

from collections.abc import Iterator
from time import perf_counter_ns
from typing import Final

import attrs
import trio

from flagfall.timing.durations import format_duration
from flagfall.tournament.model import TournamentPlan

TIGHT: Final = 5
"""A limit below this multiple of the 99th percentile of the latency is too tight: one turn in a hundred
would lose a fifth of its time to the machine."""

SLEEPS: Final = 200
SLEEP_SECONDS: Final = 0.001


@attrs.frozen
class TimerLatency:
    """Distribution of the time between a timer's deadline and the program's running.

    Attributes:
        p50_ns: median.
        p99_ns: 99th percentile.
    """

    p50_ns: int
    p99_ns: int

    def __str__(self) -> str:
        return f"p50 {_short(self.p50_ns)}, p99 {_short(self.p99_ns)}"


async def measure_latency() -> TimerLatency:
    """Measure the latency by `SLEEPS` short sleeps in the running loop; takes half a second."""
    late_ns = []
    for _ in range(SLEEPS):
        began_ns = perf_counter_ns()
        await trio.sleep(SLEEP_SECONDS)
        late_ns.append(max(0, perf_counter_ns() - began_ns - int(SLEEP_SECONDS * 1e9)))
    late_ns.sort()
    return TimerLatency(late_ns[SLEEPS // 2], late_ns[SLEEPS * 99 // 100])


def warn_tight_limits(plan: TournamentPlan, latency: TimerLatency) -> Iterator[str]:
    """Yield a warning for each limit that is too tight for this machine.

    Args:
        plan: the plan of the tournament.
        latency: the latency of this machine.
    """
    for task in plan.tasks:
        for name, limit_ns in task.control.turn_durations().items():
            if 0 < limit_ns < TIGHT * latency.p99_ns:
                yield (
                    f"task {task.name}: {name}={format_duration(limit_ns)} is less than {TIGHT} times"
                    f" this machine's timer latency ({latency}): late turns there may be caused"
                    " by this machine, not by the agent"
                )


def _short(ns: int) -> str:
    return format_duration(round(ns, -3))
