"""Playing one match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import trio

from flagfall.errors import UsageError
from flagfall.kernel.continuation import Continuation
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.environment import Environment, MatchSetup
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.timing import TimeControl, timekeeper_of_loop


async def play_match(
    scheduler: SchedulerRole,
    hosts: Sequence[AgentHost],
    *,
    control: TimeControl,
    seed: int = 0,
    steps: int | None = None,
    tick_ns: int | None = None,
    sinks: Sequence[Sink] = (),
    stop: trio.Event | None = None,
    header: Mapping[str, Any] | None = None,
    continuation: Continuation | None = None,
) -> MatchResult:
    """Play one match to its end.

    Cancelling it stops every agent; the sinks are finished, so what was recorded is written.

    Args:
        scheduler: gives the tasks; it is closed at the end, and its tasks with it.
        hosts: one for each seat.
        control: the time control of every seat.
        seed: the root seed.
        steps: the match is cut after this many turns, at least 1; `None` for no limit.
        tick_ns: real-time pace: the time between two moves of the world, at least 1. `None`: lock-step pace.
        sinks: get every event.
        stop: when it is set, the match ends before the next turn, with reason `stopped`.
        header: fields of `MatchStarted` that say how to build the match again.
        continuation: the recorded match from which it goes on, whose scheduler this is; `None` for a new one.

    Raises:
        UsageError: the match cannot be played as asked.
        HostFault: something that is not an agent failed; what was recorded stays. The match is void.
    """
    keeper = timekeeper_of_loop()
    keeper.enter()
    try:
        _check(hosts, control, virtual=keeper.virtual)
        _check_count("steps", steps)
        _check_count("tick_ns", tick_ns)
        setup = MatchSetup(scheduler, hosts, control, seed, steps, tick_ns, sinks, continuation)
        return await Environment(setup, keeper).play(stop, dict(header or {}))
    finally:
        keeper.leave()


def _check(hosts: Sequence[AgentHost], control: TimeControl, *, virtual: bool) -> None:
    if virtual and any(host.kind != "task" for host in hosts):
        raise UsageError(
            "the virtual clock takes only agents in the event loop: a thread or a process lives in"
            " real time; use host task, or the wall clock"
        )
    if virtual and control.clock == "cpu":
        raise UsageError("clock=cpu counts real time: it needs the wall clock, not the virtual one")
    if not hosts:
        raise UsageError("a match needs at least one agent")


def _check_count(name: str, value: Any) -> None:
    if value is not None and (type(value) is bool or not isinstance(value, Integral) or int(value) < 1):
        raise UsageError(f"{name}={value!r}: it must be a whole number, at least 1, or None")
