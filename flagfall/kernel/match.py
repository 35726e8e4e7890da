"""Playing a match: the environment actor and what it returns."""

from __future__ import annotations

__all__ = ["AgentHost", "Briefing", "MatchResult", "SeatReport", "TaskTally", "WritingSink", "play_match"]

import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Final, Literal, Protocol, runtime_checkable

import attrs
import trio

from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.events import (
    SCHEMA,
    Event,
    MatchEnded,
    MatchStarted,
    SeatReady,
    TaskEnded,
    TaskStarted,
)
from flagfall.kernel.channels import open_handoff_channel
from flagfall.kernel.requests import Choose, CutShort, EndOfMatch, Handover, Notice, Pause, Stop
from flagfall.kernel.roles import Outcome, SchedulerRole, Sink, TaskRole
from flagfall.kernel.scheduler import schedule
from flagfall.kernel.script import match_script
from flagfall.kernel.seat import Seat, SeatTally
from flagfall.kernel.seeding import derive_seed
from flagfall.kernel.stage import Stage
from flagfall.timing import TimeControl, Timekeeper, timekeeping

CLOSE_SECONDS: Final = 1.0
"""How long agents have to close when the match is over; then they are stopped."""


@attrs.frozen
class Briefing:
    """What an agent may know before it plays.

    Attributes:
        seat: the number of its seat.
        seats: how many seats there are.
        seed: a seed of its own, derived from the match's.
        time_control: text form.
    """

    seat: int
    seats: int
    seed: int
    time_control: str


class AgentHost(Protocol):
    """Runs one agent for one match, somewhere."""

    @property
    def name(self) -> str:
        """The agent's name in tables and records."""

    @property
    def kind(self) -> Literal["task", "thread", "process"]:
        """Where the agent runs."""

    async def run(self, seat: Seat, briefing: Briefing) -> None:
        """Play the seat until `seat.turn` says that the match is over, then close the agent.

        Cancelling it stops the agent by whatever means there are; it returns when the agent is gone.

        Raises:
            AgentFault: the agent broke down; its seat is out.
        """


@runtime_checkable
class WritingSink(Protocol):
    """A sink that writes: an actor of its own, which may ask the match to wait for it between turns."""

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks."""

    def attach(
        self, pause: Callable[[], None], real_work: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """The match begins.

        Args:
            pause: asks the match to wait for `drain` before the next turn.
            real_work: goes around waiting for a disk or a thread: no virtual time passes meanwhile.
        """

    async def run(self) -> None:
        """Write until `finish` was called and everything is written; raises HostFault if it cannot."""

    async def drain(self) -> None:
        """Wait until there is room again."""

    def finish(self) -> None:
        """There will be no more events."""


@attrs.define
class TaskTally:
    """How the instances of one task went, in counts.

    Attributes:
        task: its id.
        played: instances that ended.
        solved: with result `True`.
        failed: with result `False`.
        steps: in all.
        reward: in all.
    """

    task: str
    played: int = 0
    solved: int = 0
    failed: int = 0
    steps: int = 0
    reward: float = 0

    def add(self, outcome: Outcome) -> None:
        """One more instance."""
        self.played += outcome.ended != "cut"
        self.solved += outcome.result is True
        self.failed += outcome.result is False
        self.steps += outcome.steps
        self.reward += outcome.reward


@attrs.frozen
class SeatReport:
    """What became of a seat.

    Attributes:
        agent: the agent's name.
        fell: why it is out, or `None`.
        detail: what to show the agent's author of that.
        tally: what it did, in counts and nanoseconds.
    """

    agent: str
    fell: str | None
    detail: str
    tally: SeatTally


@attrs.frozen
class MatchResult:
    """What `play` returns.

    Attributes:
        reason: why the match ended; see `flagfall.events.MatchEnded`.
        turns: how many were played.
        seats: one report for each seat.
        tasks: one tally for each task that was played, in the order of their first instance.
        elapsed_ns: from the first event to the last.
    """

    reason: str
    turns: int
    seats: tuple[SeatReport, ...]
    tasks: tuple[TaskTally, ...]
    elapsed_ns: int


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
) -> MatchResult:
    """Play one match to its end.

    Args:
        scheduler: gives the tasks; it is closed at the end, and its tasks with it.
        hosts: one for each seat.
        control: the time control of every seat.
        seed: the root seed.
        steps: the match is cut after so many turns.
        tick_ns: real-time pace: the world moves every so many nanoseconds. `None`: lock-step pace.
        sinks: get every event.
        stop: when it is set, the match ends before the next turn, with reason `stopped`.
        header: fields of `MatchStarted` that say how to build the match again.

    Raises:
        UsageError: the match cannot be played as asked.
        HostFault: something that is no agent failed; what was recorded stays. The match is void.

    Cancelling it stops every agent; the sinks are finished, so what was recorded is written.
    """
    async with timekeeping() as keeper:
        environment = _Environment(scheduler, hosts, control, seed, keeper, sinks, tick_ns, steps)
        return await environment.play(stop, dict(header or {}))


class _Environment:
    """The actor that hosts the tasks, seats the agents, and closes everything."""

    def __init__(
        self,
        scheduler: SchedulerRole,
        hosts: Sequence[AgentHost],
        control: TimeControl,
        seed: int,
        keeper: Timekeeper,
        sinks: Sequence[Sink],
        tick_ns: int | None,
        steps: int | None,
    ) -> None:
        if keeper.virtual and any(host.kind != "task" for host in hosts):
            raise UsageError(
                "the virtual clock takes only agents in the event loop: a thread or a process lives in"
                " real time; use host task, or the wall clock"
            )
        if not hosts:
            raise UsageError("a match needs at least one agent")
        self._scheduler = scheduler
        self._hosts = hosts
        self._seed = seed
        self._steps = steps
        self._tick_ns = tick_ns
        self._control = control
        self._keeper = keeper
        self._sinks = sinks
        self._fault: HostFault | None = None
        self._tallies: dict[str, TaskTally] = {}
        self._task_id = ""
        self._agents_left = len(hosts)
        self._agents_gone = trio.Event()
        self._scopes: dict[int, trio.CancelScope] = {}
        self._stage = Stage(len(hosts), control, keeper, _one_sink(sinks), tick_ns, steps)
        self._stage.abandon = self._abandon
        self._stage.sink_failed = self._sink_failed

    # Events.

    def _tell(self, kind: type[Event], *args: Any, **fields: Any) -> None:
        self._stage.tell(kind(self._keeper.now() - self._stage.origin_ns, *args, **fields))

    def _sink_failed(self, error: Exception) -> None:
        self._void(f"a sink failed: {error!r}", error)

    def _void(self, what: str, error: BaseException) -> None:
        if self._fault is None:
            self._fault = HostFault(what)
            self._fault.__cause__ = error
            self._stage.stop("stopped")

    # The match.

    async def play(self, stop: trio.Event | None, header: dict[str, Any]) -> MatchResult:
        reason = "stopped"
        owed: Any = 0
        try:
            async with trio.open_nursery() as writers:
                for sink in self._sinks:
                    if isinstance(sink, WritingSink):
                        sink.attach(self._stage.pause, self._keeper.real_work)
                        writers.start_soon(self._write, sink)
                try:
                    self._tell(MatchStarted, **self._header(header))
                    reason, owed = await self._play_with_agents(stop)
                finally:
                    self._stage.flush()
                    if self._fault is not None:
                        reason = "void"
                    detail = str(self._fault or "")
                    self._tell(MatchEnded, reason, self._stage.turns, owed, detail)
                    for sink in self._sinks:
                        if isinstance(sink, WritingSink):
                            sink.finish()
        finally:
            self._scheduler.close()
        if self._fault is not None:
            raise self._fault
        return self._result(reason)

    async def _write(self, sink: WritingSink) -> None:
        """Run a writer, shielded: what was recorded is written even when the match is cancelled."""
        with trio.CancelScope(shield=True):
            try:
                await sink.run()
            except HostFault as fault:
                self._void(str(fault), fault)

    def _header(self, header: dict[str, Any]) -> dict[str, Any]:
        begun = None if self._keeper.virtual else datetime.now(UTC).isoformat(timespec="microseconds")
        return {
            "schema": SCHEMA,
            "flagfall": header.pop("flagfall", ""),
            "tasks": header.pop("tasks", ()),
            "scheduler": header.pop("scheduler", type(self._scheduler).__name__),
            "agents": [host.name for host in self._hosts],
            "seed": self._seed,
            "time_control": str(self._control),
            "clock": "virtual" if self._keeper.virtual else "wall",
            "tick_ns": self._tick_ns,
            "steps": self._steps,
            "begun": begun,
            **header,
        }

    async def _play_with_agents(self, stop: trio.Event | None) -> tuple[str, Any]:
        async with trio.open_nursery() as nursery:
            for seat, host in zip(self._stage.seats, self._hosts, strict=True):
                nursery.start_soon(self._host, seat, host, name=f"seat {seat.number}: {host.name}")
            if stop is not None:
                nursery.start_soon(self._stop_when, stop)
            outcomes: trio.abc.SendChannel[Outcome | None]
            given: trio.abc.SendChannel[TaskRole | None]
            outcomes, asked = open_handoff_channel()
            given, assignments = open_handoff_channel()
            self._scheduler.set_seed(derive_seed(self._seed, "scheduler"))
            nursery.start_soon(schedule, self._scheduler, asked, given)
            try:
                return await self._run_script(outcomes, assignments)
            except HostFault:  # kept in self._fault, and raised when everything is closed
                return "void", 0
            finally:
                for seat in self._stage.seats:
                    seat.close()
                with trio.move_on_after(CLOSE_SECONDS):
                    await self._agents_gone.wait()
                nursery.cancel_scope.cancel()

    async def _stop_when(self, stop: trio.Event) -> None:
        await stop.wait()
        self._stage.stop("stopped")

    async def _host(self, seat: Seat, host: AgentHost) -> None:
        """Run one agent; whatever it does, only its own seat falls."""
        task = trio.lowlevel.current_task()
        self._keeper.ledger.register(task, seat)
        try:
            with trio.CancelScope() as self._scopes[seat.number]:
                await host.run(seat, self._briefing(seat))
        except AgentFault as fault:
            self._stage.fell(seat, fault.reason, fault.detail)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an agent never crashes a match
            self._stage.fell(seat, "crashed", "".join(traceback.format_exception(error)))
        else:
            if not seat.closed:
                self._stage.fell(seat, "gone", "the agent returned before the match was over")
        finally:
            self._keeper.ledger.forget(task)
            self._agents_left -= 1
            if self._agents_left == 0:
                self._agents_gone.set()

    def _briefing(self, seat: Seat) -> Briefing:
        seed = derive_seed(self._seed, "seat", seat.number)
        return Briefing(seat.number, len(self._hosts), seed, str(self._control))

    def _abandon(self, seat: Seat) -> None:
        if (scope := self._scopes.get(seat.number)) is not None:
            scope.cancel()

    async def _run_script(
        self,
        outcomes: trio.abc.SendChannel[Outcome | None],
        assignments: trio.abc.ReceiveChannel[TaskRole | None],
    ) -> tuple[str, Any]:
        """Give the script what it asks for, until there are no more tasks or the match is stopped."""
        stage = self._stage
        started = await self._start_seats()
        if isinstance(started, Stop):
            return started.reason, 0
        script = match_script(self._seed)
        request = next(script)
        try:
            while True:
                if type(request) is tuple:
                    request = await self._turns(script.send, request)
                elif isinstance(request, Choose):
                    task = await self._next_task(request, outcomes, assignments)
                    if task is None:
                        await self._last_words(request.owed)
                        return "finished", request.owed
                    request = script.send(task)
                elif isinstance(request, Notice):
                    answers = await stage.notify(request)
                    request = answers if isinstance(answers, Stop) else script.send(answers)
                elif isinstance(request, Handover):
                    request = script.send(await self._hand_over(request))
                elif isinstance(request, Pause):
                    await self._drain()
                    request = request.request
                if isinstance(request, Stop):
                    self._cut_short(script)
                    return request.reason, 0
        finally:
            script.close()

    async def _start_seats(self) -> Mapping[int, Any] | Stop:
        answers = await self._stage.notify(Notice("start"))
        if not isinstance(answers, Stop):
            for seat, host in zip(self._stage.seats, self._hosts, strict=True):
                if seat.out is None:
                    self._tell(SeatReady, seat.number, seat.tally.start_ns, host.kind)
        return answers

    async def _turns(self, send: Any, request: Any) -> Any:
        try:
            return await self._stage.pump(send, request)
        except Exception as error:
            raise self._task_fault(error) from error

    def _task_fault(self, error: BaseException) -> HostFault:
        fault = HostFault(f"task {self._task_id}: {type(error).__name__}: {error}")
        self._fault = fault
        fault.__cause__ = error
        return fault

    async def _next_task(
        self,
        request: Choose,
        outcomes: trio.abc.SendChannel[Outcome | None],
        assignments: trio.abc.ReceiveChannel[TaskRole | None],
    ) -> TaskRole | None:
        if request.outcome is not None:
            self._note(request.outcome)
        await outcomes.send(request.outcome)
        task = await assignments.receive()
        if task is not None:
            if len(task.players) != len(self._hosts):
                raise self._task_fault(
                    UsageError(f"it seats {len(task.players)} agents, and {len(self._hosts)} are here")
                )
            self._task_id = task.id
            self._stage.give_to(task)
            self._tell(TaskStarted, task.id, request.index, request.seed)
        return task

    def _note(self, outcome: Outcome) -> None:
        tally = self._tallies.setdefault(outcome.task, TaskTally(outcome.task))
        tally.add(outcome)
        self._tell(
            TaskEnded,
            outcome.task,
            outcome.index,
            outcome.result,
            outcome.reward,
            outcome.steps,
            outcome.ended,
            outcome.metrics,
        )

    async def _hand_over(self, request: Handover) -> tuple[int, float, str, Any]:
        """Run a task that waits for real things; gives its steps, its rewards, how it ended, what it owes."""
        stage = self._stage
        steps, earned = stage.turns, sum(seat.tally.reward for seat in stage.seats)
        ended = "finished"
        try:
            await request.task.run(stage)  # type: ignore[attr-defined]  # the script looked
        except EndOfMatch:
            ended = "cut"
        except Exception as error:
            raise self._task_fault(error) from error
        earned = sum(seat.tally.reward for seat in stage.seats) - earned
        return stage.turns - steps, earned, ended, 0

    def _cut_short(self, script: Any) -> None:
        """The match ends in the middle of a task: book what was played of it."""
        try:
            request = script.throw(CutShort)
        except CutShort:
            return
        if isinstance(request, Choose) and request.outcome is not None:
            self._note(request.outcome)

    async def _last_words(self, owed: Any) -> None:
        """Tell the agents the reward for their last action, for which no observation follows."""
        if owed:
            await self._stage.notify(Notice("result", None, owed))

    async def _drain(self) -> None:
        for sink in self._sinks:
            if isinstance(sink, WritingSink):
                await sink.drain()

    def _result(self, reason: str) -> MatchResult:
        return MatchResult(
            reason=reason,
            turns=self._stage.turns,
            seats=tuple(
                SeatReport(host.name, seat.out, seat.out_detail, seat.tally)
                for seat, host in zip(self._stage.seats, self._hosts, strict=True)
            ),
            tasks=tuple(self._tallies.values()),
            elapsed_ns=self._keeper.now() - self._stage.origin_ns,
        )


def _one_sink(sinks: Sequence[Sink]) -> Sink | None:
    """All sinks as one; a single one needs nothing around it."""
    if len(sinks) <= 1:
        return sinks[0] if sinks else None

    def all_of_them(event: Event) -> None:
        for sink in sinks:
            sink(event)

    return all_of_them
