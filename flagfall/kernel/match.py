"""Playing one match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import trio

from flagfall.errors import UsageError
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.environment import Environment, MatchSetup
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.timing import TimeControl, timekeeper_of_loop

if TYPE_CHECKING:
    from flagfall.timing.latency import SeatLatency


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
    think: Sequence[SeatLatency | None] = (),
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
        think: the model of latency of each seat, `None` for none; empty if no seat has one. Only on the
            virtual clock.

    Raises:
        UsageError: the match cannot be played as asked.
        HostFault: something that is not an agent failed; what was recorded stays. The match is void.
    """
    keeper = timekeeper_of_loop()
    keeper.enter()
    try:
        _check(hosts, control, think, virtual=keeper.virtual)
        _check_count("steps", steps)
        _check_count("tick_ns", tick_ns)
        setup = MatchSetup(scheduler, hosts, control, seed, steps, tick_ns, sinks, think)
        environment = Environment(setup, keeper)
        if keeper.virtual_clock is None or not any(think):
            return await environment.play(stop, dict(header or {}))
        with keeper.virtual_clock.jumping():
            return await environment.play(stop, dict(header or {}))
    finally:
        keeper.leave()


def _check(
    hosts: Sequence[AgentHost], control: TimeControl, think: Sequence[SeatLatency | None], *, virtual: bool
) -> None:
    if any(think) and not virtual:
        raise UsageError(
            "a model of latency (think) needs the virtual clock, on which nothing else takes time"
        )
    if think and len(think) != len(hosts):
        raise UsageError(f"{len(think)} models of latency for {len(hosts)} seats: one for each, or none")
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
