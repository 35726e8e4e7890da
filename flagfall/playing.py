"""`play` and `run`: one match from tasks, agents and texts."""

from __future__ import annotations

__all__ = ["DEFAULT_TIME_CONTROL", "play", "run"]

from collections.abc import Iterable, Sequence
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

import trio
from trio.lowlevel import in_trio_run, in_trio_task

from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation, IsolationKind
from flagfall.agents.process.visible import code_of, refuse_private
from flagfall.agents.registry import check_agent_file
from flagfall.errors import UsageError
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
"""The time control of matches that name none."""


async def play(
    tasks: str | Task | type[Task] | Iterable[str | Task | type[Task]] | SchedulerRole | TaskSetup,
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
        tasks: ids such as `micro1`, task objects or their classes, a task scheduler, or a configuration
            (`flagfall.tasks.configs.load_config`).
        agents: one agent for each seat (a single one needs no list): an object of any kind described
            in `flagfall.agents.agent`, a text such as `random` or `bot.py:Bot` (`flagfall.agents.spec`), or a
            host.
        scheduler: the text of a task scheduler, such as `consecutive:5` (`flagfall.tasks.scheduler_text`). By
            default every task is played once, or all in rotation if `steps` ends the match.
        time_control: a `TimeControl` or its text, such as `act=40ms/1s`.
        host: where agents run. By default agents given as objects and the samples run in the event
            loop, and agents named by file or module in processes of their own.
        isolation: the isolation of agents in processes: `none`, `process`, `sandbox`, or an `Isolation` with
            other limits (`flagfall.agents.process.isolation`).
        seed: the root seed; everything random derives from it.
        steps: the most turns of the match, at least 1.
        tick_ns: real-time pace: the environment moves at this interval in nanoseconds, and takes each agent's
            newest action. `None`: lock-step pace, the environment waits for the agents, within their time.
        journal: a file to record the match in, compressed if its name ends in `.zst`; or a `Journal`, which
            may keep long observations whole.
        sinks: functions that are called with every event.
        stop: set it to end the match before its next turn.

    Raises:
        UsageError: an argument is invalid, or the event loop is not trio's; nothing was played or written.
        HostFault: a task, a sink or the disk failed; what was recorded until then stays.
    """
    if not in_trio_task():
        raise UsageError(
            "flagfall.play needs the event loop of trio; in asyncio, write:"
            " await asyncio.to_thread(flagfall.run, ...)"
        )
    control = time_control if isinstance(time_control, TimeControl) else TimeControl.parse(time_control)
    built, header = build_scheduler(tasks, scheduler, steps)
    virtual = isinstance(trio.lowlevel.current_clock(), VirtualClock)
    kept = isolation if isinstance(isolation, Isolation) else Isolation(isolation)
    several = isinstance(agents, Sequence) and not isinstance(agents, str)
    for agent in agents if several else [agents]:
        if isinstance(agent, str):
            check_agent_file(agent)
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
        header={"flagfall": _own_version(), "rules": dict(REVISIONS), **header},
    )


def run(*args: Any, clock: Literal["wall", "virtual"] = "wall", **options: Any) -> MatchResult:
    """Play one match, for programs without an event loop.

    Args:
        args: as for `play`.
        clock: `wall`, or `virtual`: waiting takes no time, and the same seed gives the same journal.
        options: as for `play`.

    Raises:
        UsageError: an argument is invalid, or an event loop runs already in this thread.
    """
    if in_trio_run() or in_trio_task():
        raise UsageError(
            "flagfall.run starts an event loop of its own; in one, write: await flagfall.play(...)"
        )
    return trio.run(partial(play, *args, **options), clock=VirtualClock() if clock == "virtual" else None)


@cache
def _own_version() -> str:
    """Return the version of this package; reading its metadata costs more than a short match."""
    from importlib.metadata import version  # noqa: PLC0415 - takes as long as all of this file's imports

    return version("flagfall")
