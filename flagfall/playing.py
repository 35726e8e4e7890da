"""`play` and `run`: a match from tasks, agents and texts, without knowing what is wired to what."""

from __future__ import annotations

__all__ = [
    "HostKind",
    "TaskSetup",
    "build_scheduler",
    "default_policy",
    "host_agent",
    "is_endless",
    "play",
    "rebuild",
    "run",
    "seats_of",
]

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import trio

from flagfall.agents.hosts.in_loop import LoopHost
from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.thread import ThreadHost
from flagfall.agents.process.isolation import USUAL_ISOLATION, Isolation, IsolationKind
from flagfall.agents.process.visible import code_of, refuse_private
from flagfall.agents.registry import agent_name, is_human, is_sample, load_agent, make_human
from flagfall.agents.spec import is_command, is_foreign, is_network, is_track_client
from flagfall.errors import UsageError
from flagfall.events import MatchStarted
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.kernel.safe_values import safe_repr
from flagfall.kernel.sinks import Sink
from flagfall.recording.journal.writer import Journal
from flagfall.tasks.adapters.imports import check_imports
from flagfall.tasks.catalog import make_task
from flagfall.tasks.configs import parse_config
from flagfall.tasks.rule_revisions import REVISIONS
from flagfall.tasks.scheduler_text import ConsecutiveTaskScheduler, TaskScheduler, parse_policy
from flagfall.tasks.task import Task
from flagfall.timing import TimeControl, VirtualClock

if TYPE_CHECKING:
    from flagfall.agents.wire.admission import Joining

HostKind: TypeAlias = Literal["task", "thread", "process"]


@runtime_checkable
class TaskSetup(Protocol):
    """What makes tasks and their scheduler, such as a `flagfall.tasks.configs.Config`."""

    def build(self) -> SchedulerRole:
        """A task scheduler with new tasks."""

    def header(self) -> dict[str, Any]:
        """The fields of `MatchStarted` from which it can be built again."""


MAX_TASKS: Final = 10_000
"""Tasks of a recorded match: each is made before the first is played."""

DEFAULT_TIME_CONTROL = "start=10s init=5s act=1s/5s result=5s"


async def play(
    tasks: str | Task | Iterable[str | Task] | SchedulerRole | TaskSetup,
    agents: Any | Sequence[Any],
    *,
    scheduler: str | None = None,
    time_control: str | TimeControl = DEFAULT_TIME_CONTROL,
    host: HostKind | None = None,
    isolation: Isolation | IsolationKind = USUAL_ISOLATION,
    seed: int = 0,
    steps: int | None = None,
    tick_ns: int | None = None,
    journal: str | PathLike[str] | Journal | None = None,
    sinks: Sequence[Sink] = (),
    stop: trio.Event | None = None,
) -> MatchResult:
    """Play one match in the running event loop.

    Args:
        tasks: ids such as `micro1`, task objects, a task scheduler of one's own, or a configuration
            (`flagfall.tasks.configs.load_config`).
        agents: one agent for each seat (a single one needs no list): an object of any kind that
            `flagfall.agents.agent` tells of, a text such as `random` or `bot.py:Bot`, or a host.
        scheduler: the text of a policy, such as `consecutive:5` (`flagfall.tasks.scheduler_text`). By default
            the tasks come once each, or round and round where `steps` says when to stop.
        time_control: a `TimeControl` or its text, such as `act=40ms/1s`.
        host: where agents run. By default agents given as objects and the samples run in the event
            loop, and agents named by file or module in processes of their own.
        isolation: how agents in processes are kept apart: `none`, `process`, `sandbox`, or with limits of
            your own an `Isolation` (`flagfall.agents.process.isolation`).
        seed: the root seed; everything random derives from it.
        steps: the match ends after so many turns.
        tick_ns: real-time pace: the world moves every so many nanoseconds, and takes each agent's newest
            action. `None`: lock-step pace, the world waits for the agents, within their time.
        journal: a file to record the match in; `.zst` at its end compresses it. Or a `Journal`, which
            may keep long observations whole.
        sinks: functions that get every event.
        stop: set it to end the match before its next turn.

    Raises:
        UsageError: something that was asked for cannot be; nothing was played or written.
        HostFault: a task, a sink or the disk failed; what was recorded until then stays.
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
    """Play one match, for programs without an event loop.

    Args:
        args: as for `play`.
        clock: `wall`, or `virtual`: waiting takes no time, and the same seed gives the same journal.
        options: as for `play`.
    """
    return trio.run(partial(play, *args, **options), clock=VirtualClock() if clock == "virtual" else None)


def build_scheduler(
    tasks: str | Task | Iterable[str | Task] | SchedulerRole | TaskSetup,
    scheduler: str | None,
    steps: int | None,
) -> tuple[SchedulerRole, dict[str, Any]]:
    """The task scheduler that the arguments of `play` mean, and what a journal must say to build it again."""
    if isinstance(tasks, TaskSetup):
        if scheduler is not None:
            raise UsageError("a configuration says itself which scheduler it has")
        return tasks.build(), tasks.header()
    if hasattr(tasks, "next_task"):
        if scheduler is not None:
            raise UsageError("give a task scheduler of your own or the name of one, not both")
        return tasks, {"scheduler": type(tasks).__name__}  # type: ignore[return-value]  # it has the role's method
    given = [tasks] if isinstance(tasks, str | Task) else list(tasks)
    made = [make_task(task) if isinstance(task, str) else task for task in given]
    text = scheduler or default_policy(steps)
    return parse_policy(text, made), {"scheduler": text, "tasks": [task.id for task in made]}


def default_policy(steps: int | None) -> str:
    """The policy where none is named: every task once, or round and round where `steps` says when to stop."""
    return "sequential" if steps is not None else "sequential:1"


def seats_of(ids: Sequence[str]) -> int:
    """How many agents every one of the tasks seats.

    Args:
        ids: of tasks, at least one.

    Raises:
        UsageError: there is no such task, or they seat different numbers.
    """
    seats: dict[int, str] = {}
    for task_id in ids:
        task = make_task(task_id)
        seats.setdefault(len(task.players), task_id)
        task.close()
    if len(seats) > 1:
        told = ", ".join(f"{task_id} seats {count}" for count, task_id in seats.items())
        raise UsageError(f"tasks of one match must seat equally many agents: {told}")
    return next(iter(seats))


def is_endless(tasks: Sequence[str] | TaskSetup, scheduler: str | None, steps: int | None) -> bool:
    """Whether only a signal ends a match.

    The length of `consecutive` has no bound, but an end: when the last task is learned.

    Raises:
        UsageError: the text of the scheduler means nothing.
    """
    built, _ = build_scheduler(tasks, scheduler, steps)
    policy = getattr(built, "policy", built)
    try:
        return (
            steps is None
            and isinstance(policy, TaskScheduler)
            and policy.length == inf
            and not isinstance(policy, ConsecutiveTaskScheduler)
        )
    finally:
        built.close()


def rebuild(header: MatchStarted, *, trust: bool = False) -> SchedulerRole:
    """Return the task scheduler of a recorded match, with new tasks.

    Args:
        header: what its journal begins with.
        trust: import the modules that its tasks name, such as `gym:my_module:Game-v0`. Without it only what
            comes with flagfall is made, and environments that an installed library registers by itself.

    Raises:
        UntrustedImportError: a task names a module, and `trust` is not given; nothing was imported.
        UsageError: it was played with tasks of the user's own, or the header is damaged.
    """
    if header.config is not None:
        from flagfall.tasks.vgdl.learning_track_tasks import TrackSetup  # noqa: PLC0415 - few matches are tracks

        track = TrackSetup.from_config(header.config)
        if track is not None:
            return track.build()
        _refuse_python(header.config)
        return parse_config(header.config, name="the configuration in the journal", folder=None).build()
    if len(header.tasks) > MAX_TASKS:
        raise UsageError(f"{len(header.tasks)} tasks; {MAX_TASKS} are the most")
    if not trust:
        for task in header.tasks:
            check_imports(task)
    return build_scheduler(header.tasks, header.scheduler, header.steps)[0]


def _refuse_python(config: str) -> None:
    with suppress(ValueError, RecursionError):
        said = json.loads(config)
        if isinstance(said, dict) and "python" in said:
            source = said["python"] if isinstance(said["python"], str) else safe_repr(said["python"])
            raise UsageError(f"its tasks were made by {source}, which must be given to make them again")


def host_agent(
    agent: Any,
    kind: HostKind | None = None,
    name: str | None = None,
    isolation: Isolation = USUAL_ISOLATION,
    joining: Joining | None = None,
) -> AgentHost:
    """A host for an agent; see the arguments `agents`, `host` and `isolation` of `play`.

    Args:
        agent: see there; likewise the next.
        kind: where it runs.
        name: for tables and records.
        isolation: how it is kept apart in a process.
        joining: who may play where an agent connects over a network; by default anybody on this machine.
    """
    if hasattr(agent, "kind") and hasattr(agent, "run") and hasattr(agent, "name"):
        return agent  # type: ignore[no-any-return]  # a host already
    if isinstance(agent, str):
        name = name or agent_name(agent)
        if is_foreign(agent):
            return _foreign_host(agent, kind, name, isolation, joining)
        if is_human(agent):
            if kind not in {None, "task"}:
                raise UsageError(f"{agent}: a human plays in the event loop, with host task")
            return HumanHost(make_human(agent), name)
        if kind == "process" or (kind is None and not is_sample(agent)):
            return ProcessHost(agent, name, isolation)
        agent = load_agent(agent)
    elif kind == "process":
        raise UsageError(f"a process needs an agent named by file or module, not {agent!r}")
    name = name or getattr(agent, "__name__", None) or type(agent).__name__
    return ThreadHost(agent, name) if kind == "thread" else LoopHost(agent, name)


class HumanHost(LoopHost):
    """A human at the terminal; `human.stop` may be set, and `human.notice` is a sink."""

    def __init__(self, human: Any, name: str) -> None:
        super().__init__(human, name)
        self.human = human


def _foreign_host(
    agent: str, kind: HostKind | None, name: str, isolation: Isolation, joining: Joining | None
) -> AgentHost:
    if is_track_client(agent):
        raise UsageError(
            f"{agent}: a GVGAI client plays the learning track only: use `flagfall gvgai train` or `contest`,"
            " or a tournament plan with `track`"
        )
    if kind not in {None, "process"}:
        what = "a program" if is_command(agent) else "a remote learner"
        raise UsageError(f"{agent}: {what} is a process, and lives in real time")
    if is_command(agent):
        from flagfall.agents.hosts.command import CommandHost  # noqa: PLC0415 - few programs have one

        return CommandHost(agent, name, isolation)
    if is_network(agent):
        from flagfall.agents.hosts.network import ANYBODY, parse_network  # noqa: PLC0415 - likewise

        return parse_network(agent, joining or ANYBODY, name)
    from flagfall.agents.zmq.host import parse_remote  # noqa: PLC0415 - likewise

    return parse_remote(agent, name=name, token="" if joining is None else joining.token)
