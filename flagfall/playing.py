"""One match: `MatchRequest` says what is played and checks that it can be, `play_request` plays it.

`play` and `run` take the fields of a request as arguments; command lines and plans fill them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs
import trio
from trio.lowlevel import in_trio_run, in_trio_task

from flagfall.agents.hosts.registry import Named, Player
from flagfall.agents.process.isolation import (
    DEFAULT_ISOLATION,
    Isolation,
    IsolationKind,
    code_of,
    refuse_private,
)
from flagfall.agents.registry import check_agent_file
from flagfall.errors import UsageError
from flagfall.events import MatchStarted
from flagfall.kernel.continuation import Continuation
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MAX_SEED, MatchResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.recording.branching import BranchPoint
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.journal.writer import Journal
from flagfall.tasks.building import TaskSetup, build_scheduler
from flagfall.tasks.task import REVISIONS, Task
from flagfall.timing import NEVER_NS, TimeControl, VirtualClock

if TYPE_CHECKING:
    from flagfall.timing.latency import SeatLatency

DEFAULT_TIME_CONTROL: Final = "start=10s init=5s act=1s/5s result=5s"
"""The time control of matches that name none."""

Tasks: TypeAlias = str | Task | type[Task] | Iterable[str | Task | type[Task]] | SchedulerRole | TaskSetup
"""What is played, see `play`."""


def _control(given: TimeControl | str | None) -> TimeControl:
    return given if isinstance(given, TimeControl) else TimeControl.parse(given or DEFAULT_TIME_CONTROL)


@attrs.frozen(kw_only=True, eq=False)
class MatchRequest:
    """A match to be played.

    Attributes:
        tasks: what is played, see `play`.
        scheduler: the text of a task scheduler; `None` for the default, or if `tasks` has one.
        time_control: of every seat, as a value or a text; `None` for the default.
        clock: `virtual`: waiting takes no time, and the same seed gives the same journal.
        steps: the most turns of the match, at least 1.
        tick_ns: real-time pace: the time of a tick in nanoseconds, at least 1; `None` for lock-step pace.
        journal: the file to record the match in, or a `Journal`.
        goes_on_from: the turn of a recorded match from which this one goes on; it has the tasks and their
            scheduler, so these are left out then. `branch_request` fills in the rest from its header.
    """

    tasks: Tasks = ()
    agents: tuple[Player, ...]
    scheduler: str | None = None
    time_control: TimeControl = attrs.field(default=None, converter=_control)
    clock: Literal["wall", "virtual"] = "wall"
    seed: int = 0
    steps: int | None = None
    tick_ns: int | None = None
    journal: Path | Journal | None = None
    sinks: tuple[Sink, ...] = ()
    goes_on_from: BranchPoint | None = None

    def check(self, named: Named = str, *, private: Iterable[Path] = ()) -> None:
        """Check everything that can be known before tasks and hosts are made.

        Args:
            named: returns a field as the user of the caller writes it, such as `--steps`, for messages.
            private: further files that no agent may see.

        Raises:
            UsageError: a field is invalid; the message names it.
        """
        if not self.agents:
            raise UsageError(
                f"{named('agent')}: name at least one agent; `flagfall agents` lists the samples"
            )
        for field, value in (("steps", self.steps), ("tick_ns", self.tick_ns)):
            check_count(named(field), value)
        if self.tick_ns is not None and self.tick_ns >= NEVER_NS:  # a virtual clock would never get there
            raise UsageError(f"{named('tick_ns')} {self.tick_ns}: a tick is shorter than {NEVER_NS} ns")
        if not 0 <= self.seed <= MAX_SEED:
            raise UsageError(f"{named('seed')} {self.seed}: a seed is a whole number from 0 to {MAX_SEED}")
        virtual = self.clock == "virtual"
        if virtual and self.time_control.clock == "cpu":
            raise UsageError(f"{named('time_control')}: clock=cpu counts real time: it needs the wall clock")
        for player in self.agents:
            player.check(named, virtual=virtual)
        isolated = any(player.isolation != DEFAULT_ISOLATION for player in self.agents)
        if isolated and not any(player.isolates(virtual=virtual) for player in self.agents):
            who = "on the virtual clock agents" if virtual else "samples"
            raise UsageError(
                f"the settings of isolation ({named('isolation')}) apply only to agents in processes: {who}"
                f" run in the event loop; write {named('host')} process"
            )
        specs = [player.spec for player in self.agents]
        if len(specs) > 1 and any(spec is not None and spec.form.is_person for spec in specs):
            raise UsageError(
                f"{named('agent')}: a human needs the whole terminal: leave the other agents out"
            )
        self._check_records(private)

    def _check_records(self, private: Iterable[Path]) -> None:
        """Refuse sandboxes that show a record of their match, as it holds the seed."""
        parent = [] if self.goes_on_from is None else [self.goes_on_from.journal]
        records = [*([self.journal] if isinstance(self.journal, Path) else []), *parent, *private]
        for player in self.agents:
            if records and player.isolation.kind == "sandbox":
                code = code_of(player.agent) if isinstance(player.agent, str) else ()
                for file in records:
                    refuse_private([*player.isolation.readable, *code], file)

    def seated(self) -> MatchRequest:
        """Return the request with hosts as its agents, which may play several matches one after another.

        Raises:
            UsageError: there is no such agent, or it cannot run where it is to run.
        """
        virtual = self.clock == "virtual"
        hosts = tuple(Player(player.seated(virtual=virtual), think=player.think) for player in self.agents)
        return attrs.evolve(self, agents=hosts)


def check_count(field: str, value: Any) -> None:
    """Check a number that is at least 1, or `None`.

    Raises:
        UsageError: it is another value.
    """
    if value is not None and (type(value) is bool or not isinstance(value, Integral) or int(value) < 1):
        raise UsageError(f"{field} {value!r}: write a whole number, at least 1")


def branch_request(
    point: BranchPoint,
    agents: Sequence[Player],
    *,
    time_control: TimeControl | str | None = None,
    clock: Literal["wall", "virtual"] | None = None,
    seed: int | None = None,
    steps: int | None = None,
) -> MatchRequest:
    """Return the request for a match that goes on from a recorded one; what is `None` stays as it was there.

    Args:
        agents: one for each seat; a host `RecordedHost` plays on what is recorded, at the recorded times
            (`flagfall.recording.recorded_host`). On the virtual clock other agents without a model of latency
            get the recorded one of the seat, which draws anew from the turn on.
        time_control: from the turn on; the recorded times are charged to it.
        seed: the root seed of what begins from the turn on: tasks, and the agents' own seeds. The task
            scheduler and the task that runs have begun with that of the recorded match.

    Raises:
        UsageError: the number of agents is not that of the seats, the match is over by then, or a journal
            that a recorded model of latency names is not there or was changed.
    """
    header = point.header
    if len(agents) != len(header.agents):
        raise UsageError(
            f"{point.journal} has {len(header.agents)} seats, and {len(agents)} agents are given"
        )
    most = header.steps if steps is None else steps
    if most is not None and most <= point.turn:
        raise UsageError(f"steps {most}: {point.turn} turns are recorded; a match that goes on needs more")
    if clock is None:
        clock = "virtual" if header.clock == "virtual" else "wall"
    if header.think and clock == "virtual":
        agents = _with_recorded_models(agents, header.think)
    return MatchRequest(
        agents=tuple(agents),
        time_control=header.time_control if time_control is None else time_control,
        clock=clock,
        seed=header.seed if seed is None else seed,
        steps=most,
        tick_ns=header.tick_ns,
        goes_on_from=point,
    )


def repeat_request(
    journal: Path,
    agents: Sequence[Player],
    rebuild: Callable[[MatchStarted], SchedulerRole],
    rehearsed: Iterable[int] = (),
) -> MatchRequest:
    """Return the request for a recorded match that its agents are to play again, on the virtual clock.

    A match that goes on from a recorded one is played from that turn on.

    Args:
        agents: one for each seat; they get the recorded models of latency.
        rebuild: returns a task scheduler with new tasks for the header of the journal.
        rehearsed: seats whose agents play the turns of the earlier match, too, and must repeat their answers.

    Raises:
        UsageError: the match cannot come out as it was recorded, whatever its agents do; or as
            `branch_request` does.
    """
    from flagfall.tasks.vgdl.learning_track_setup import TrackSetup  # noqa: PLC0415 - few matches are tracks

    header = next(read_journal(journal))
    assert isinstance(header, MatchStarted)
    if header.clock != "virtual":
        raise UsageError(
            f"{journal}: it was played on the wall clock, whose times do not come again: agents play again"
            " only what was played on the virtual clock"
        )
    if dict(header.rules) != dict(REVISIONS):
        raise UsageError(
            f"{journal}: it was played by earlier rules of its tasks, which no agent can play now"
        )
    if header.config is not None and TrackSetup.from_config(header.config) is not None:
        raise UsageError(f"{journal}: matches of GVGAI's learning track are not played again")
    if header.parents:
        point = BranchPoint.find(journal, header.parents[-1].turn, rebuild)
        return branch_request(attrs.evolve(point, rehearsed=frozenset(rehearsed)), agents)
    return MatchRequest(
        tasks=rebuild(header),
        agents=tuple(_with_recorded_models(agents, header.think) if header.think else agents),
        time_control=header.time_control,
        clock="virtual",
        seed=header.seed,
        steps=header.steps,
        tick_ns=header.tick_ns,
    )


def _with_recorded_models(agents: Sequence[Player], texts: Sequence[str]) -> list[Player]:
    """Return the agents with the models of latency of their seats, where they have none and need one."""
    from flagfall.recording.recorded_host import RecordedHost  # noqa: PLC0415 - few matches need it

    models = models_of([text or "none" for text in texts], len(agents))
    return [
        player
        if player.think or isinstance(player.agent, RecordedHost)
        else attrs.evolve(player, think=model)
        for player, model in zip(agents, models, strict=True)
    ]


async def play_request(request: MatchRequest, stop: trio.Event | None = None) -> MatchResult:
    """Play a match in the running event loop; it must have the clock of the request.

    Args:
        stop: set it to end the match before its next turn.

    Raises:
        UsageError: a task, an agent or the journal is not as it has to be; nothing was played or written.
        HostFault: a task, a sink or the disk failed; what was recorded until then stays.
    """
    virtual, journal = request.clock == "virtual", request.journal
    hosts = [player.seated(virtual=virtual) for player in request.agents]
    continuation: Continuation | None = None
    if request.goes_on_from is None:
        scheduler, header = build_scheduler(request.tasks, request.scheduler, request.steps)
        header["rules"] = dict(REVISIONS)
    else:
        execute = request.goes_on_from.execute
        scheduler, continuation, header = execute(request.time_control, request.seed, request.steps)
    recorder = [] if journal is None else [journal if isinstance(journal, Journal) else Journal(journal)]
    return await play_match(
        scheduler,
        hosts,
        control=request.time_control,
        seed=request.seed,
        steps=request.steps,
        tick_ns=request.tick_ns,
        sinks=[*recorder, *request.sinks],
        stop=stop,
        header={"flagfall": _own_version(), **header},
        think=[player.think for player in request.agents],
        continuation=continuation,
    )


async def play(
    tasks: Tasks,
    agents: Any | Sequence[Any],
    *,
    scheduler: str | None = None,
    time_control: str | TimeControl = DEFAULT_TIME_CONTROL,
    host: LocalHostKind | None = None,
    isolation: Isolation | IsolationKind = DEFAULT_ISOLATION,
    seed: int = 0,
    steps: int | None = None,
    tick_ns: int | None = None,
    think: str | Sequence[str] = (),
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
        scheduler: the text of a task scheduler, such as `consecutive:5` (`flagfall.tasks.schedulers`). By
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
        think: models of latency as text, such as `lognormal(20ms, 0.8)`, for the virtual clock: one for all
            agents, or one for each, `none` for an agent that takes no time (`docs/time.md`).
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
    several = isinstance(agents, Sequence) and not isinstance(agents, str)
    kept = isolation if isinstance(isolation, Isolation) else Isolation(isolation)
    virtual = isinstance(trio.lowlevel.current_clock(), VirtualClock)
    seats = [*agents] if several else [agents]
    models = models_of([think] if isinstance(think, str) else think, len(seats))
    request = MatchRequest(
        tasks=tasks,
        agents=tuple(
            Player(agent, host, None, kept, think=model) for agent, model in zip(seats, models, strict=True)
        ),
        scheduler=scheduler,
        time_control=time_control,
        clock="virtual" if virtual else "wall",
        seed=seed,
        steps=steps,
        tick_ns=tick_ns,
        journal=Path(journal) if isinstance(journal, str | PathLike) else journal,
        sinks=tuple(sinks),
    )
    request.check()
    for player in request.agents:
        if isinstance(player.agent, str):
            check_agent_file(player.agent)
    return await play_request(request, stop)


def run(
    tasks: Tasks,
    agents: Any | Sequence[Any],
    *,
    clock: Literal["wall", "virtual"] = "wall",
    scheduler: str | None = None,
    time_control: str | TimeControl = DEFAULT_TIME_CONTROL,
    host: LocalHostKind | None = None,
    isolation: Isolation | IsolationKind = DEFAULT_ISOLATION,
    seed: int = 0,
    steps: int | None = None,
    tick_ns: int | None = None,
    think: str | Sequence[str] = (),
    journal: str | PathLike[str] | Journal | None = None,
    sinks: Sequence[Sink] = (),
    stop: trio.Event | None = None,
) -> MatchResult:
    """Play one match, for programs without an event loop. Its arguments are those of `play`, and `clock`.

    On the clock `virtual` waiting takes no time, and the same seed gives the same journal.

    Raises:
        UsageError: an argument is invalid, or an event loop runs already in this thread.
        HostFault: as for `play`.
    """
    if in_trio_run() or in_trio_task():
        raise UsageError(
            "flagfall.run starts an event loop of its own; in one, write: await flagfall.play(...)"
        )
    playing = partial(
        play,
        tasks,
        agents,
        scheduler=scheduler,
        time_control=time_control,
        host=host,
        isolation=isolation,
        seed=seed,
        steps=steps,
        tick_ns=tick_ns,
        think=think,
        journal=journal,
        sinks=sinks,
        stop=stop,
    )
    return trio.run(playing, clock=VirtualClock() if clock == "virtual" else None)


def models_of(texts: Sequence[str], agents: int, field: str = "think") -> Sequence[SeatLatency | None]:
    """Return the model of latency of each agent: see `flagfall.recording.latency.read_models`."""
    if not texts:
        return [None] * agents
    from flagfall.recording.latency import read_models  # noqa: PLC0415 - 10 ms, and few matches have a model

    return read_models(texts, agents, field)


@cache
def _own_version() -> str:
    """Return the version of this package; reading its metadata costs more than a short match."""
    from importlib.metadata import version  # noqa: PLC0415 - takes as long as all of this file's imports

    return version("flagfall")
