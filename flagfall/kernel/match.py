"""Playing a match: the environment actor and what it returns."""

from __future__ import annotations

__all__ = ["play_match"]

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from math import inf
from typing import Any, Final

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
from flagfall.kernel.environment import schedule
from flagfall.kernel.hosting import AgentHost, Briefing
from flagfall.kernel.outcomes import MatchResult, Outcome, SeatReport, TaskStats
from flagfall.kernel.referee import Referee
from flagfall.kernel.requests import (
    EndOfMatch,
    MatchCut,
    NextTask,
    Pause,
    PhaseRequest,
    RunTask,
    Stop,
    TaskExpired,
    TaskTimeout,
)
from flagfall.kernel.roles import SchedulerRole, TaskRole
from flagfall.kernel.script import match_script
from flagfall.kernel.seat import Seat
from flagfall.kernel.seeding import derive_seed
from flagfall.kernel.sinks import Sink, WritingSink
from flagfall.kernel.spaces import spaces_of
from flagfall.kernel.tracebacks import agent_traceback
from flagfall.timing import TimeControl, Timekeeper, timekeeping

CLOSE_SECONDS: Final = 1.0
"""How long agents have to close when the match is over; then they are stopped."""


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
        if keeper.virtual and control.clock == "cpu":
            raise UsageError("clock=cpu counts real time: it needs the wall clock, not the virtual one")
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
        self._fault: HostFault | UsageError | None = None
        self._tallies: dict[str, TaskStats] = {}
        self._task_id = ""
        self._agents_left = len(hosts)
        self._agents_gone = trio.Event()
        self._scopes: dict[int, trio.CancelScope] = {}
        self._stage = Referee(len(hosts), control, keeper, sinks, tick_ns, steps)
        self._stage.abandon = self._abandon
        self._stage.records.sink_failed = self._sink_failed
        self._stage.catch_up = self._drain
        self._hop: trio.CancelScope | None = None

    # Events.

    def _tell(self, kind: type[Event], *args: Any, **fields: Any) -> None:
        self._stage.records.tell(kind(self._keeper.now() - self._stage.origin_ns, *args, **fields))

    def _sink_failed(self, error: Exception) -> None:
        self._void(f"a sink failed: {error!r}", error)

    def _void(self, what: str, error: BaseException) -> None:
        fault = HostFault(what)
        fault.__cause__ = error
        self._void_for(fault)

    def _void_for(self, fault: HostFault | UsageError) -> None:
        if self._fault is None:
            self._fault = fault
            self._stop()

    def _stop(self) -> None:
        self._stage.stop("stopped")
        if self._hop is not None:  # a scheduler that waits for something is not waited for
            self._hop.cancel()

    # The match.

    async def play(self, stop: trio.Event | None, header: dict[str, Any]) -> MatchResult:
        reason = "stopped"
        owed: Any = 0
        async with trio.open_nursery() as writers:
            try:
                for sink in self._writing_sinks():
                    sink.attach(self._stage.pause, self._keeper.real_work)
                    writers.start_soon(self._write, sink)
                self._tell(MatchStarted, **self._header(header))
                reason, owed = await self._play_with_agents(stop)
            except Exception as error:  # noqa: BLE001 - agents are dealt with: whatever it is, it is the host's
                self._void(f"{type(error).__name__}: {error}", error)
            finally:
                self._close(reason, owed)
        if self._fault is not None:
            raise self._fault
        return self._result(reason)

    def _close(self, reason: str, owed: Any) -> None:
        """Close the scheduler with its tasks, and end the record."""
        try:
            self._scheduler.close()
        except Exception as error:  # noqa: BLE001 - a task's or the scheduler's
            self._void(f"closing the tasks: {type(error).__name__}: {error}", error)
        self._stage.records.flush()
        if self._fault is not None:
            reason = "void"
        self._tell(MatchEnded, reason, self._stage.turns, owed, str(self._fault or ""))
        for sink in self._writing_sinks():
            sink.finish()

    def _writing_sinks(self) -> list[WritingSink]:
        return [sink for sink in self._sinks if isinstance(sink, WritingSink)]

    async def _write(self, sink: WritingSink) -> None:
        """Run a writer, shielded: what was recorded is written even when the match is cancelled."""
        with trio.CancelScope(shield=True):
            try:
                await sink.run()
            except HostFault as fault:
                self._void(str(fault), fault)
            except Exception as error:  # noqa: BLE001 - the same, without a name
                self._sink_failed(error)

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
            nursery.start_soon(self._schedule, asked, given)
            try:
                return await self._run_script(outcomes, assignments)
            except Exception as error:  # noqa: BLE001 - kept, and raised when everything is closed
                self._task_failed(error)
                return "void", 0
            finally:
                for seat in self._stage.seats:
                    seat.close()
                with trio.move_on_after(CLOSE_SECONDS):
                    await self._agents_gone.wait()
                nursery.cancel_scope.cancel()

    async def _stop_when(self, stop: trio.Event) -> None:
        await stop.wait()
        self._stop()

    async def _schedule(
        self,
        outcomes: trio.abc.ReceiveChannel[Outcome | None],
        assignments: trio.abc.SendChannel[TaskRole | None],
    ) -> None:
        try:
            self._scheduler.set_seed(derive_seed(self._seed, "scheduler"))
            await schedule(self._scheduler, outcomes, assignments)
        except Exception as error:  # noqa: BLE001 - whatever a scheduler does, no agent pays for it
            self._void(f"task scheduler: {type(error).__name__}: {error}", error)

    async def _host(self, seat: Seat, host: AgentHost) -> None:
        """Run one agent; whatever it does, only its own seat falls."""
        task = trio.lowlevel.current_task()
        self._keeper.ledger.register(task, seat)
        try:
            await self._host_in_scope(seat, host)
        finally:
            self._keeper.ledger.forget(task)
            self._agents_left -= 1
            if self._agents_left == 0:
                self._agents_gone.set()

    async def _host_in_scope(self, seat: Seat, host: AgentHost) -> None:
        try:
            with trio.CancelScope() as self._scopes[seat.number]:
                await host.run(seat, self._briefing(seat))
        except HostFault as fault:
            self._void(str(fault), fault)
            return
        except UsageError as error:  # the host cannot play the agent as asked: no doing of the agent's
            self._void_for(error)
            return
        except AgentFault as fault:
            self._stage.fell(seat, fault.reason, fault.detail)
        except BaseException as error:  # noqa: BLE001 - an agent never crashes a match
            passing, own = _parted(error)
            if own is not None:
                self._stage.fell(seat, "crashed", agent_traceback(own))
            if passing is not None:
                raise passing from None
        if not seat.closed:
            self._stage.fell(seat, "gone", "the agent returned before the match was over")

    def _briefing(self, seat: Seat) -> Briefing:
        seed = derive_seed(self._seed, "seat", seat.number)
        return Briefing(
            seat.number,
            len(self._hosts),
            seed,
            str(self._control),
            lambda: None if seat.task is None else spaces_of(seat.task, seat.number),
        )

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
                    request = await stage.play_turns(script.send, request)
                elif isinstance(request, NextTask):
                    task = await self._next_task(request, outcomes, assignments)
                    if isinstance(task, Stop):
                        return task.reason, 0
                    if task is None:
                        await self._last_words(request.owed)
                        return "finished", request.owed
                    request = script.send(task)
                elif isinstance(request, Pause):
                    await self._drain()
                    request = request.request
                elif isinstance(request, TaskExpired):
                    request = script.throw(TaskTimeout)
                else:
                    request = await self._answer(script, request)
                if isinstance(request, Stop):
                    self._cut_short(script)
                    return request.reason, 0
        finally:
            script.close()

    async def _answer(self, script: Any, request: PhaseRequest | RunTask) -> Any:
        if isinstance(request, RunTask):
            return script.send(await self._hand_over(request))
        answers = await self._stage.ask_all(request)
        return answers if isinstance(answers, Stop) else script.send(answers)

    async def _start_seats(self) -> Mapping[int, Any] | Stop:
        tasks = getattr(self._scheduler, "tasks", ())
        if isinstance(tasks, Sequence) and tasks and isinstance(tasks[0], TaskRole):
            self._show(tasks[0])
            if any(host.kind == "process" for host in self._hosts):
                with suppress(Exception):  # whoever needs them is told
                    spaces_of(tasks[0], 0)  # what describing them imports is no agent's time
        answers = await self._stage.ask_all(PhaseRequest("start"))
        if not isinstance(answers, Stop):
            for seat, host in zip(self._stage.seats, self._hosts, strict=True):
                if seat.out is None:
                    self._tell(SeatReady, seat.number, seat.stats.start_ns, host.kind)
        return answers

    def _task_failed(self, error: Exception) -> None:
        if not isinstance(error, HostFault):
            self._void(f"task {self._task_id}: {type(error).__name__}: {error}", error)
        elif self._fault is None:
            self._fault = error

    async def _next_task(
        self,
        request: NextTask,
        outcomes: trio.abc.SendChannel[Outcome | None],
        assignments: trio.abc.ReceiveChannel[TaskRole | None],
    ) -> TaskRole | Stop | None:
        outcome = None if request.outcome is None else self._note(request.outcome)
        if self._stage.stopped is not None:
            return self._stage.stopped
        task: TaskRole | None = None
        with trio.CancelScope() as hop:
            self._hop = hop
            try:
                await outcomes.send(outcome)
                task = await assignments.receive()
            except (trio.BrokenResourceError, trio.EndOfChannel):
                await trio.sleep_forever()  # it broke down: `_schedule` says why, and ends this
        if hop.cancelled_caught:
            return self._stage.stopped
        if task is not None:
            self._task_id = task.id
            if len(task.players) != len(self._hosts):
                raise UsageError(f"it seats {len(task.players)} agents, and {len(self._hosts)} are here")
            self._stage.set_task(task)
            self._show(task)
            self._tell(TaskStarted, task.id, request.index, request.seed)
        return task

    def _show(self, task: TaskRole) -> None:
        for seat in self._stage.seats:
            seat.task = task

    def _note(self, outcome: Outcome) -> Outcome:
        """Book and record how a task went; gives it with its time."""
        outcome = attrs.evolve(outcome, at_ns=self._keeper.now() - self._stage.origin_ns)
        stats = self._tallies.setdefault(outcome.task, TaskStats(outcome.task))
        stats.add(outcome)
        ended = TaskEnded(
            outcome.at_ns,
            outcome.task,
            outcome.index,
            outcome.result,
            outcome.reward,
            outcome.steps,
            outcome.ended,
            outcome.metrics,
            outcome.answers,
        )
        self._stage.records.tell(ended)
        return outcome

    async def _hand_over(self, request: RunTask) -> tuple[int, float, str, Any]:
        """Run a task that waits for real things; gives its steps, its rewards, how it ended, what it owes."""
        stage = self._stage
        steps, before = stage.turns, sum(seat.stats.reward for seat in stage.seats)
        ended = "finished"
        stage.owed = request.owed
        try:
            await request.task.run(stage)  # type: ignore[attr-defined]  # the script looked
        except Exception as error:
            if not _is_end_of_match(error):
                raise
            ended = "cut"
        earned = sum(seat.stats.reward for seat in stage.seats) - before
        still_owed = stage.owed
        if not still_owed:
            earned -= sum(request.owed.values()) if isinstance(request.owed, Mapping) else request.owed
        stage.owed = 0
        return stage.turns - steps, earned, ended, still_owed

    def _cut_short(self, script: Any) -> None:
        """The match ends in the middle of a task: book what was played of it."""
        try:
            request = script.throw(MatchCut)
        except MatchCut:
            return
        if isinstance(request, NextTask) and request.outcome is not None:
            self._note(request.outcome)

    async def _last_words(self, owed: Any) -> None:
        """Tell the agents the reward for their last action, for which no observation follows."""
        if owed:
            await self._stage.ask_all(PhaseRequest("result", None, owed))

    async def _drain(self) -> None:
        for sink in self._writing_sinks():
            await sink.drain()
        await trio.lowlevel.checkpoint()

    def _result(self, reason: str) -> MatchResult:
        return MatchResult(
            reason=reason,
            turns=self._stage.turns,
            seats=tuple(
                SeatReport(host.name, seat.out, seat.reason_detail, seat.stats, seat.stderr_tail)
                for seat, host in zip(self._stage.seats, self._hosts, strict=True)
            ),
            tasks=tuple(self._tallies.values()),
            elapsed_ns=self._keeper.now() - self._stage.origin_ns,
        )


def _parted(error: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """What of an agent's error is trio's or the user's to stop it, and what is the agent's own doing."""
    passing: tuple[type[BaseException], ...] = (trio.Cancelled, KeyboardInterrupt)
    if trio.current_effective_deadline() != -inf:
        passing = (KeyboardInterrupt,)  # nobody has cancelled it
    if isinstance(error, BaseExceptionGroup):
        return error.split(passing)
    return (error, None) if isinstance(error, passing) else (None, error)


def _is_end_of_match(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_end_of_match, error.exceptions))
    return isinstance(error, EndOfMatch)
