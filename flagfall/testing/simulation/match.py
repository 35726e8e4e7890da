"""A match under a fault schedule, simulated: `simulate`.

The match, its hosts, the wire sessions, the admission of agents that connect, their client and the writer of
the journal are the real ones. Connections and the disk are simulated, in one event loop on a virtual clock,
so that nothing depends on anything but the request, the seed and the schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Final

import attrs
import trio
from trio.lowlevel import current_statistics

from flagfall.agents.hosts.registry import Player
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.process.isolation import DEFAULT_ISOLATION
from flagfall.agents.registry import load_agent
from flagfall.errors import UsageError
from flagfall.events import Event, MatchEnded
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.playing import MatchRequest, play_request
from flagfall.recording.journal.writer import Journal
from flagfall.tasks.building import build_scheduler
from flagfall.testing.faults import Fault, FaultSchedule, Host, Place
from flagfall.testing.simulation.agents import FaultyAgent
from flagfall.testing.simulation.hosts import SimulatedNetworkHost, SimulatedProcessHost
from flagfall.testing.simulation.injection import Injection
from flagfall.testing.simulation.seat_log import LoggedHost, SeatLog
from flagfall.testing.simulation.storage import SimulatedDisk
from flagfall.timing import NEVER_NS, Timekeeper, VirtualClock, timekeeper_of_loop
from flagfall.timing.clocks import ClockHold

_JOURNAL: Final = Path("match.jsonl")


class InjectedFailure(Exception):
    """What a sink or a task raises by a fault."""


@attrs.frozen
class SimulatedRun:
    """What came of a simulated match.

    Attributes:
        request: what was played, with its seed.
        schedule: the faults.
        events: the events of the match, in order, as its sinks got them.
        result: the result; `None` if the match is void or could not be played.
        error: what the match raised: a `HostFault` if it is void, a `Standstill` if it waits for good for an
            agent without a limit, another exception if flagfall is at fault.
        happened: how often each kind of fault has struck, by name.
        logs: what passed the agents' ends of the seats, one for each.
        missed: the faults of the schedule that have not.
        journal: the bytes of the journal.
        others: the matches that were played in the same loop, without faults.
        left: what the matches have left in the loop: `connections`, `tasks` and `deadlines`, with their
            number; 0 unless flagfall is at fault.
        ended_ns: the virtual time at which all of it was over, in nanoseconds.
    """

    request: MatchRequest
    schedule: FaultSchedule
    events: Sequence[Event]
    result: MatchResult | None
    error: BaseException | None
    happened: Mapping[str, int]
    logs: Sequence[SeatLog]
    missed: Sequence[Fault]
    journal: bytes
    others: tuple[SimulatedRun, ...] = ()
    left: Mapping[str, int] = attrs.field(factory=dict)
    ended_ns: int = 0


class Standstill(Exception):
    """Every task of a simulation waits, and nothing is due: it would wait for good."""


class SimulatedClock(VirtualClock):
    """A virtual clock of a loop in which everything is simulated: nothing there is work in real time.

    Attributes:
        playing: cancelled when nothing can happen any more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.playing: trio.CancelScope = trio.CancelScope()

    def hold_for_agent(self, on_guard: Callable[[], None]) -> ClockHold | None:
        """Return nothing: an agent takes the virtual time that it needs."""

    def real_limit(self, seconds: float, *, patient: bool) -> AbstractContextManager[trio.CancelScope, bool]:  # noqa: ARG002
        """Return a cancel scope with a deadline in virtual time."""
        return trio.move_on_after(seconds)

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Jump to what is due next; if there is nothing, end the simulation."""
        seconds = super().deadline_to_sleep_time(deadline)
        if seconds < inf or self.playing.cancel_called:
            return seconds
        self.playing.cancel()
        return 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let time pass, for what waits is simulated, too."""
        yield


def simulate(
    request: MatchRequest,
    faults: FaultSchedule | str = "",
    *,
    seed: int | None = None,
    beside: int = 0,
) -> SimulatedRun:
    """Play a match under a fault schedule, in an event loop of its own on a virtual clock.

    The same request, seed and schedule give the same run. Agents run as their `Player` says: with the host
    `task` in the loop, with `process` at the other end of a simulated pipe, and without one at the other end
    of a simulated network, from where they come back after a loss. An agent takes the virtual time that it
    sleeps.

    Args:
        request: the match; its tasks and agents must be fit to be played again, as ids, classes and functions
            are. Its journal, if it has one, is kept in memory (`SimulatedRun.journal`).
        faults: the schedule, or its text.
        seed: the seed of the match, instead of that of the request.
        beside: play as many more matches of the request in the same loop at the same time, without faults
            and sinks.

    Raises:
        UsageError: the request is invalid, or a fault cannot strike this match; nothing was played.
    """
    matches = _prepared(request, faults, seed, beside)
    left: dict[str, int] = {}
    clock = SimulatedClock()
    try:
        trio.run(_play_all, matches, left, None, clock=clock)
    except trio.TrioInternalError as error:
        for match in matches:
            match.error = match.error or error
    return _joined(matches, left, clock)


async def simulate_here(
    request: MatchRequest, faults: FaultSchedule | str = "", *, stop: trio.Event | None = None
) -> SimulatedRun:
    """Play a match as `simulate` does, in the running event loop, whose clock is a `SimulatedClock`.

    Args:
        stop: set it to end the match before its next turn.
    """
    matches = _prepared(request, faults, None, 0)
    left: dict[str, int] = {}
    await _play_all(matches, left, stop)
    return _joined(matches, left, _clock())


def _clock() -> SimulatedClock:
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, SimulatedClock)
    return clock


def _prepared(
    request: MatchRequest, faults: FaultSchedule | str, seed: int | None, beside: int
) -> list[_Match]:
    """Return the matches of a simulation: the one under faults first."""
    schedule = FaultSchedule.parse(faults) if isinstance(faults, str) else faults
    wanted = attrs.evolve(request, clock="virtual", seed=request.seed if seed is None else seed)
    hosts = check_match(wanted, schedule)
    alone = attrs.evolve(wanted, sinks=())
    return [
        _Match(wanted, schedule, hosts),
        *(_Match(alone, FaultSchedule(), hosts) for _ in range(beside)),
    ]


def _joined(matches: Sequence[_Match], left: Mapping[str, int], clock: SimulatedClock) -> SimulatedRun:
    runs = [match.run() for match in matches]
    if isinstance(runs[0].error, UsageError) and not runs[0].events:
        raise runs[0].error
    return attrs.evolve(runs[0], others=tuple(runs[1:]), left=left, ended_ns=clock.now_ns)


def hosts_of(players: Sequence[Player]) -> list[Host]:
    """Return where each agent of a match is simulated to run.

    Raises:
        UsageError: an agent cannot be simulated: a person, or a program that is no Python.
    """
    return [_host_of(player) for player in players]


def _host_of(player: Player) -> Host:
    spec = player.spec
    if spec is not None and spec.scheme not in {"sample", "python"}:
        raise UsageError(f"{spec.text}: it cannot be simulated; write a sample, or file.py:Name")
    if player.host == "thread" or player.host == "wasm":  # noqa: PLR1714 - narrows the type
        raise UsageError(
            f"{player.label}: no {player.host} is simulated: write host task or process, or leave it out"
        )
    if player.isolation != DEFAULT_ISOLATION:
        raise UsageError(f"{player.label}: it is simulated in this program, without isolation: ask for none")
    if player.think is not None and player.think.rate is not None and player.host != "task":
        raise UsageError(
            f"{player.label}: {player.think.rate} is simulated in the event loop: write host task"
        )
    return player.host or "remote"


def check_match(request: MatchRequest, schedule: FaultSchedule) -> list[Host]:
    """Check that a match can be simulated under a schedule; return where its agents run.

    Raises:
        UsageError: it cannot, or a fault cannot strike it; the message names that and says why.
    """
    hosts = hosts_of(request.agents)
    if request.time_control.clock == "cpu":
        raise UsageError("clock=cpu counts real time, and in a simulation all time is virtual")
    if request.goes_on_from is not None:
        raise UsageError("a match that goes on from a recorded one cannot be simulated")
    for fault in schedule:
        row = fault.row
        if row.is_of_tournament:
            raise UsageError(f"fault {str(fault)!r}: it strikes tournaments, not matches")
        if fault.seat is None:
            continue
        if fault.seat >= len(hosts):
            raise UsageError(f"fault {str(fault)!r}: the match has seats 0 to {len(hosts) - 1}")
        if hosts[fault.seat] not in row.hosts:
            found = hosts[fault.seat]
            raise UsageError(
                f"fault {str(fault)!r}: seat {fault.seat} plays with host {found}, and {row.name} strikes"
                f" only agents with host {' or '.join(sorted(row.hosts))} (remote: without --host)"
            )
    return hosts


@attrs.define(eq=False)
class _Match:
    """A match that is simulated."""

    _request: MatchRequest
    _schedule: FaultSchedule
    _hosts: Sequence[Host]
    error: BaseException | None = None
    _events: list[Event] = attrs.field(factory=list)
    _result: MatchResult | None = None
    _logs: list[SeatLog] = attrs.field(factory=list)
    _file: Path = _JOURNAL
    _files: dict[Path, bytearray] = attrs.field(factory=dict)
    _failing: dict[Place, Fault] = attrs.field(factory=dict)
    _injection: Injection = attrs.field(init=False)  # from `play` on

    async def play(self, keeper: Timekeeper, programs: trio.Nursery, stop: trio.Event | None) -> None:
        """Play it; what it raises is kept."""
        injection = self._injection = Injection(self._schedule, keeper)
        disk = SimulatedDisk(injection.count)
        self._files = disk.files
        injection.actions = {
            "host": partial(self._stall, keeper),
            "disk": disk.break_down,
            "sink": self._let_fail,
            "task": self._let_fail,
        }
        injection.begin()
        try:
            request = attrs.evolve(
                self._request,
                tasks=_FaultyTasks(self._request, self),
                scheduler=None,
                agents=tuple(
                    Player(self._host(player, seat, programs), think=player.think)
                    for seat, player in enumerate(self._request.agents)
                ),
                journal=self._journal(disk),
                sinks=(*self._request.sinks, self._take),
            )
            injection.reach("start")
            self._result = await play_request(request, stop)
        except Exception as error:  # noqa: BLE001 - it is what the run shows
            self.error = error
        finally:
            injection.end()

    def _journal(self, disk: SimulatedDisk) -> Journal:
        journal = self._request.journal or _JOURNAL
        recorder = journal.stored_in(disk) if isinstance(journal, Journal) else Journal(journal, storage=disk)
        self._file = recorder.path
        return recorder

    def _host(self, player: Player, seat: int, programs: trio.Nursery) -> AgentHost:
        spec = player.spec
        agent = player.agent if spec is None else load_agent(spec)
        if getattr(agent, "loop", None) == "asyncio":
            raise UsageError(f"{player.label} is written for asyncio (its loop): it cannot be simulated")
        if self._injection.pending:
            agent = FaultyAgent(agent, seat, self._injection)
        if self._hosts[seat] == "task":
            host: AgentHost = LoopHost(agent, player.label)
        else:
            kind = SimulatedProcessHost if self._hosts[seat] == "process" else SimulatedNetworkHost
            host = kind(agent, player.label, seat, self._injection, programs)
        self._logs.append(SeatLog())
        return LoggedHost(host, self._logs[-1])

    def run(self) -> SimulatedRun:
        """Return what came of it."""
        return SimulatedRun(
            self._request,
            self._schedule,
            self._events,
            self._result,
            self.error,
            self._injection.happened,
            self._logs,
            self._injection.missed(),
            bytes(self._files.get(self._file, b"")),
        )

    def stand_still(self) -> None:
        """Note that it would wait for good, if it was not over."""
        if self._result is None and self.error is None:
            what = "for an agent without a limit, or for something that is not simulated"
            self.error = Standstill(f"the match waits for good: {what}")

    def open_connections(self) -> int:
        """Return how many connections the host of an agent has not closed."""
        return sum(not end.is_closed() for end in self._injection.hosts_ends)

    # The faults that strike no agent.

    def _stall(self, keeper: Timekeeper, fault: Fault) -> None:
        self._injection.count(fault)
        clock = _clock()
        clock.stall(fault.amount)
        keeper.ledger.book(fault.amount, None, clock.now_ns, stopped=True)

    def _take(self, event: Event) -> None:
        """Keep an event; a sink of the match."""
        if isinstance(event, MatchEnded):
            self._injection.reach("end")
        self._events.append(event)
        self.fail("sink")

    def _let_fail(self, fault: Fault) -> None:
        self._failing[fault.row.place] = fault

    def fail(self, place: Place) -> None:
        """Raise if the sink or the task is to fail now."""
        if (fault := self._failing.pop(place, None)) is not None:
            self._injection.count(fault)
            raise InjectedFailure(str(fault))


class _FaultyTasks:
    """The tasks of a request as a `TaskSetup`, whose steps may raise."""

    def __init__(self, request: MatchRequest, match: _Match) -> None:
        self._scheduler, self._header = build_scheduler(request.tasks, request.scheduler, request.steps)
        self._match = match

    def build(self) -> SchedulerRole:
        return _FaultyScheduler(self._scheduler, self._match)

    def header(self) -> dict[str, Any]:
        return self._header


class _Faulty:
    """A scheduler or a task, all of whose members are those of another one unless they are defined here."""

    def __init__(self, sound: Any, match: _Match) -> None:
        self._sound = sound
        self._match = match

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sound, name)


class _FaultyScheduler(_Faulty):
    def next_task(self) -> Any:
        task = self._sound.next_task()
        return None if task is None else _FaultyTask(task, self._match)


class _FaultyTask(_Faulty):
    def step(self, action: Any) -> Any:
        self._match.fail("task")
        return self._sound.step(action)


async def _play_all(matches: Sequence[_Match], left: dict[str, int], stop: trio.Event | None) -> None:
    """Play matches at once; note in `left` what they leave behind."""
    keeper, clock = timekeeper_of_loop(), _clock()
    clock.playing = trio.CancelScope()
    tasks = current_statistics().tasks_living
    async with trio.open_nursery() as programs:
        with clock.playing:
            async with trio.open_nursery() as playing:
                for match in matches:
                    playing.start_soon(match.play, keeper, programs, stop)
        if clock.playing.cancelled_caught:
            for match in matches:
                match.stand_still()
        left["connections"] = sum(match.open_connections() for match in matches)
        programs.cancel_scope.cancel()
    left["tasks"] = current_statistics().tasks_living - tasks
    left["deadlines"] = int(keeper.deadlines.next_due_ns() < NEVER_NS)
