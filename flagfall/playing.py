"""`play` and `run`: one match from tasks, agents and texts."""

from __future__ import annotations

__all__ = ["DEFAULT_TIME_CONTROL", "play", "run"]

from collections.abc import Iterable, Sequence
from functools import partial
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

import trio

from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation, IsolationKind
from flagfall.agents.process.visible import code_of, refuse_private
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.kernel.sinks import Sink
from flagfall.recording.journal.writer import Journal
from flagfall.tasks.building import TaskSetup, build_scheduler
from flagfall.tasks.rule_revisions import REVISIONS
from flagfall.tasks.task import Task
from flagfall.timing import TimeControl, VirtualClock

DEFAULT_TIME_CONTROL: Final = "start=10s init=5s act=1s/5s result=5s"
"""Time control of matches without an explicit one."""


async def play(
    tasks: str | Task | Iterable[str | Task] | SchedulerRole | TaskSetup,
    agents: Any | Sequence[Any],
    *,
    scheduler: str | None = None,
    time_control: str | TimeControl = DEFAULT_TIME_CONTROL,
    host: LocalHostKind | None = None,
    isolation: Isolation | IsolationKind = DEFAULT_ISOLATION,
    seed: int = 0,
    steps: int | None = None,
    tick_ns: int | None = None,
    journal: str | PathLike[str] | Journal | None = None,
    sinks: Sequence[Sink] = (),
    stop: trio.Event | None = None,
) -> MatchResult:
    """Play one match in the running event loop.

    Args:
        tasks: ids such as `micro1`, task objects, a task scheduler, or a configuration
            (`flagfall.tasks.configs.load_config`).
        agents: one agent for each seat (a single one needs no list): an object of a kind described in
            `flagfall.agents.agent`, a text such as `random` or `bot.py:Bot`, or a host.
        scheduler: the text of a policy, such as `consecutive:5` (`flagfall.tasks.scheduler_text`). By default
            each task is played once, or in repeated rounds if `steps` limits the match.
        time_control: a `TimeControl` or its text, such as `act=40ms/1s`.
        host: where agents run. By default agents given as objects and samples run in the event loop, and
            agents named by file or module in one process each.
        isolation: isolation of agents in processes: `none`, `process`, `sandbox`, or an `Isolation` with
            limits (`flagfall.agents.process.isolation`).
        seed: root seed of all random numbers.
        steps: number of turns after which the match ends.
        tick_ns: interval of the real-time pace in nanoseconds: at each tick the environment takes the newest
            action of each agent. `None`: lock-step pace, the environment waits for the agents.
        journal: a file to record the match in; a name that ends in `.zst` compresses it. Or a `Journal`,
            which can keep long observations whole.
        sinks: called with every event.
        stop: ends the match before its next turn when it is set.

    Raises:
        UsageError: an argument is invalid; nothing was played or written.
        HostFault: a task, a sink or the disk failed; events recorded until then are kept.
    """
    control = time_control if isinstance(time_control, TimeControl) else TimeControl.parse(time_control)
    built, header = build_scheduler(tasks, scheduler, steps)
    virtual = isinstance(trio.lowlevel.current_clock(), VirtualClock)
    kept = isolation if isinstance(isolation, Isolation) else Isolation(isolation)
    several = isinstance(agents, Sequence) and not isinstance(agents, str)
    hosts = [
        host_agent(agent, "task" if virtual and host is None else host, isolation=kept)
        for agent in (agents if several else [agents])
    ]
    if kept.kind == "sandbox" and isinstance(journal, str | PathLike):
        specs = [agent for agent in (agents if several else [agents]) if isinstance(agent, str)]
        refuse_private([*kept.readable, *(path for spec in specs for path in code_of(spec))], Path(journal))
    recorder = [] if journal is None else [journal if isinstance(journal, Journal) else Journal(journal)]
    return await play_match(
        built,
        hosts,
        control=control,
        seed=seed,
        steps=steps,
        tick_ns=tick_ns,
        sinks=[*recorder, *sinks],
        stop=stop,
        header={"flagfall": version("flagfall"), "rules": dict(REVISIONS), **header},
    )


def run(*args: Any, clock: Literal["wall", "virtual"] = "wall", **options: Any) -> MatchResult:
    """Play one match in a new event loop.

    Args:
        args: as for `play`.
        clock: `wall`; or `virtual`, where waiting takes no time and the same seed gives the same journal.
        options: as for `play`.
    """
    return trio.run(partial(play, *args, **options), clock=VirtualClock() if clock == "virtual" else None)
