"""How late this machine wakes who sleeps: no limit can be kept more exactly than that."""

from __future__ import annotations

__all__ = ["TIGHT", "HostLag", "measure_lag", "tight_limits"]

from collections.abc import Iterator
from time import perf_counter_ns
from typing import Final

import attrs
import trio

from flagfall.timing.durations import format_duration
from flagfall.tournament.plan.model import Plan

TIGHT: Final = 5
"""A limit below so many times the 99th percentile of the lag is too tight: one turn in a hundred would lose a
fifth of its time to the machine."""

SLEEPS: Final = 200
SLEEP_SECONDS: Final = 0.001


@attrs.frozen
class HostLag:
    """How much later than asked a sleeping program runs.

    Attributes:
        p50_ns: half of the times it was no more.
        p99_ns: 99 of 100 times it was no more.
    """

    p50_ns: int
    p99_ns: int

    def __str__(self) -> str:
        return f"p50 {_short(self.p50_ns)}, p99 {_short(self.p99_ns)}"


async def measure_lag() -> HostLag:
    """Sleep some hundred times for a millisecond in the running loop; takes half a second."""
    late_ns = []
    for _ in range(SLEEPS):
        began_ns = perf_counter_ns()
        await trio.sleep(SLEEP_SECONDS)
        late_ns.append(max(0, perf_counter_ns() - began_ns - int(SLEEP_SECONDS * 1e9)))
    late_ns.sort()
    return HostLag(late_ns[SLEEPS // 2], late_ns[SLEEPS * 99 // 100])


def tight_limits(plan: Plan, lag: HostLag) -> Iterator[str]:
    """What to tell of limits that are too tight for this machine, a line each."""
    for task in plan.tasks:
        limits = {
            "act": task.control.act,
            "act_abort": task.control.act_abort,
            "act_hard": task.control.act_hard,
            "increment": task.control.increment,
        }
        for name, limit_ns in limits.items():
            if limit_ns is not None and 0 < limit_ns < TIGHT * lag.p99_ns:
                yield (
                    f"task {task.name}: {name}={format_duration(limit_ns)} is less than {TIGHT} times what"
                    f" this machine's timer lags ({lag}): who is late there may have the machine to thank"
                )


def _short(ns: int) -> str:
    return format_duration(round(ns, -3))
