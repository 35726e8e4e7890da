"""The environment, an actor that drives the script of a match.

The environment hosts the tasks one after another. It passes the requests of the script to the referee (turns
and phases), to the task scheduler (the next task) or to a task that is an actor. It books outcomes, and
closes everything at the end.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs
import trio
from msgspec.structs import replace

from flagfall.errors import HostFault, UsageError
from flagfall.events import SCHEMA, Event, MatchEnded, MatchStarted, SeatReady, TaskEnded, TaskStarted
from flagfall.kernel.continuation import Continuation
from flagfall.kernel.dispatcher import EventDispatcher, Sink, WritingSink, is_writing_sink
from flagfall.kernel.hosting import AgentHost, is_sharing
from flagfall.kernel.notes import TurnNotes
from flagfall.kernel.outcomes import MatchResult, Outcome, SeatReport, TaskStats, derive_seed, lost_by
from flagfall.kernel.referee.async_referee import AsyncReferee
from flagfall.kernel.referee.state_machine import Referee
from flagfall.kernel.referee.task_rules import Pace
from flagfall.kernel.rehearsal import Rehearsal
from flagfall.kernel.roles import SchedulerRole, TaskRole, complete_task, is_task
from flagfall.kernel.scheduling import ActorTurns, Scheduling, Seating, run_actor
from flagfall.kernel.script import (
    Actions,
    ActorResult,
    MatchCut,
    NextTask,
    Pause,
    PhaseRequest,
    Request,
    RunTask,
    Stop,
    TaskExpired,
    TaskTimeout,
    match_script,
)
from flagfall.kernel.spaces import describe_task, spaces_of
from flagfall.timing import TimeControl, Timekeeper

if TYPE_CHECKING:
    from flagfall.timing.latency import SeatLatency


@attrs.frozen
class MatchSetup:
    """The parts and rules of one match; see `flagfall.kernel.match.play_match`."""

    scheduler: SchedulerRole
    hosts: Sequence[AgentHost]
    control: TimeControl
    seed: int
    steps: int | None
    tick_ns: int | None
    sinks: Sequence[Sink]
    think: Sequence[SeatLatency | None] = ()
    continuation: Continuation | None = None


class Environment:
    """The actor that hosts the tasks of one match.

    Args:
        setup: the parts and rules of the match.
        keeper: the timekeeper of the event loop.
    """

    __slots__ = (
        "_control_text",
        "_dispatcher",
        "_fault",
        "_keeper",
        "_origin_ns",
        "_referee",
        "_scheduling",
        "_seating",
        "_setup",
        "_task_id",
        "_task_stats",
        "_turns",
        "_turns_before",
        "_writers",
    )

    def __init__(self, setup: MatchSetup, keeper: Timekeeper) -> None:
        self._setup = setup
        self._keeper = keeper
        self._origin_ns = keeper.now() - (0 if setup.continuation is None else setup.continuation.at_ns)
        self._fault: HostFault | UsageError | None = None
        self._task_stats: dict[str, TaskStats] = {}
        self._task_id = ""
        self._writers = tuple(sink for sink in setup.sinks if is_writing_sink(sink))
        seats, tick_ns = len(setup.hosts), setup.tick_ns
        self._dispatcher = EventDispatcher(
            setup.sinks, self._origin_ns, solo=seats == 1, paced=tick_ns is not None
        )
        if setup.sinks:
            self._dispatcher.sink_failed = self._sink_failed
        failed = self._failed  # one object, however many parts hold it
        self._referee = Referee(self._dispatcher, keeper.now, origin_ns=self._origin_ns, steps=setup.steps)
        if tick_ns is not None:  # a tick comes after the limits of all seats
            self._referee.pace = pace = Pace(tick_ns, keeper.deadlines, seats, self._referee.tick)
            pace.on_error = failed
        self._turns = AsyncReferee(self._referee)
        self._control_text = str(setup.control)
        self._seating = Seating(
            setup.hosts,
            setup.control,
            self._control_text,
            setup.seed,
            keeper,
            self._referee,
            failed,
        )
        for seat, model in zip(self._seating.seats, setup.think, strict=False):
            if model is not None and keeper.virtual_clock is not None:
                seat.delay_turns(model, setup.seed, keeper, keeper.virtual_clock)
        notes = TurnNotes(self._dispatcher)
        for seat in self._seating.seats:
            seat.notes = notes
            seat.clock.on_error = failed
        self._scheduling = Scheduling(setup.scheduler, failed)
        # The number of turns before the last task, -1 before the first.
        self._turns_before = -1

    # The match.

    async def play(self, stop: trio.Event | None, header: dict[str, Any]) -> MatchResult:
        """Play the match to its end.

        Args:
            stop: when it is set, the match ends before the next turn, with reason `stopped`.
            header: fields of `MatchStarted` from which the match can be built again.

        Raises:
            HostFault: something other than an agent failed; the records so far stay.
            UsageError: a host cannot play its agent as asked, or a sink takes no match any more.
        """
        try:
            self._attach_sinks()
            if self._writers:
                async with trio.open_nursery() as writers:
                    reason = await self._play(stop, header, writers)
            else:
                reason = await self._play(stop, header, None)
            if self._fault is not None:
                raise self._fault
            return self._result(reason)
        finally:
            self._release()

    async def _play(
        self, stop: trio.Event | None, header: dict[str, Any], writers: trio.Nursery | None
    ) -> str:
        """Play the match, and return why it ended."""
        reason = "stopped"
        owed: Any = 0
        try:
            if writers is not None:
                for sink in self._writers:
                    writers.start_soon(self._write, sink)
            if self._dispatcher.has_sinks or header:  # fields that do not exist are an error in any case
                self._dispatcher.dispatch(MatchStarted(0, **self._header(header)))
            if self._setup.continuation is not None:
                await self._repeat(self._setup.continuation)
            reason, owed = await self._play_with_agents(stop)
        except Exception as error:  # noqa: BLE001 - agents are dealt with: whatever it is, it is the host's
            self._failed(error, "the match")
        finally:
            self._close(reason, owed)
        return reason

    async def _play_with_agents(self, stop: trio.Event | None) -> tuple[str, Any]:
        async with trio.open_nursery() as nursery:
            recorded = self._setup.continuation
            self._seating.start(nursery, () if recorded is None else recorded.seats)
            if stop is not None:
                nursery.start_soon(self._stop_when, stop)
            try:
                if recorded is None:
                    self._scheduling.set_seed(derive_seed(self._setup.seed, "scheduler"))
                return await self._run_script(nursery)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - kept, and raised when everything is closed
                self._task_failed(error)
                return "void", 0
            finally:
                await self._seating.close(nursery)
        raise HostFault("an agent in the event loop cancelled the nursery of its match")

    # The script.

    async def _run_script(self, nursery: trio.Nursery) -> tuple[str, Any]:  # noqa: C901 - a branch for each request
        """Answer the script's requests until there are no more tasks or the match is stopped.

        Returns:
            Why the match ended, and the reward that is owed then.
        """
        started = await self._start_seats()
        if isinstance(started, Stop):
            return started.reason, 0
        script, request = await self._begin_script()
        try:
            while True:
                await self._drain_if_asked()  # before another task, too
                if type(request) is tuple:
                    request = await self._turns.play_turns(script.send, request)
                elif isinstance(request, NextTask):
                    task = await self._next_task(request, nursery)
                    if isinstance(task, Stop):
                        return task.reason, 0
                    if task is None:
                        await self._pay_at_the_end(request.owed)
                        return "finished", request.owed
                    request = script.send(task)
                elif isinstance(request, Pause):
                    await self._drain()
                    request = request.request
                elif isinstance(request, TaskExpired):
                    request = script.throw(TaskTimeout)
                elif isinstance(request, RunTask):
                    request = script.send(await self._run_actor(request))
                else:
                    answers = await self._turns.ask_all(request)
                    request = answers if isinstance(answers, Stop) else script.send(answers)
                if isinstance(request, Stop):
                    self._cut_task(script)
                    return request.reason, 0
        finally:
            script.close()

    async def _repeat(self, recorded: Continuation) -> None:
        """Pass the recorded events on to the sinks."""
        for event in recorded.events:
            self._dispatcher.repeat(event)
            await self._drain_if_asked()

    async def _begin_script(self) -> tuple[Generator[Any, Any, None], Request]:
        """Return a new script with its first request, or go on with those of a recorded match."""
        recorded = self._setup.continuation
        if recorded is None:
            script = match_script(self._setup.seed)
            return script, next(script)
        pairs = list(zip(self._seating.seats, recorded.seats, strict=True))
        try:
            for seat, state in pairs:
                if seat.disqualified is None:
                    await Rehearsal(seat, self._referee).play(state.rehearse())
        except UsageError as error:
            self._failed(error)
        self._origin_ns = self._keeper.now() - recorded.at_ns
        self._dispatcher.resume(self._origin_ns, recorded.at_ns, recorded.incidents)
        notices = {seat.number: state.notice for seat, state in pairs if state.notice is not None}
        self._referee.resume(self._origin_ns, recorded.turn, recorded.phases, notices)
        for seat, state in pairs:
            seat.resume(state.budget)
        self._task_stats = {stats.task: stats for stats in recorded.tasks}
        self._task_id = recorded.task.id
        self._referee.set_task(recorded.task)
        if self._referee.pace is not None:  # it keeps its rate
            self._referee.pace.due_ns = self._keeper.now()
        return recorded.script, recorded.request

    async def _start_seats(self) -> Mapping[int, Any] | Stop:
        recorded = self._setup.continuation
        tasks = getattr(self._setup.scheduler, "tasks", ()) if recorded is None else [recorded.task]
        if isinstance(tasks, Sequence) and tasks and is_task(tasks[0]):
            task = complete_task(tasks[0])
            self._show(task)
            if any(host.kind in {"process", "remote"} for host in self._setup.hosts):
                with suppress(Exception):  # it comes again when they are sent, and is reported then
                    describe_task(task, 0, spaces_of(task, 0).action)  # what that imports is no agent's time
        for seat, host in zip(self._seating.seats, self._setup.hosts, strict=True):
            if seat.disqualified is None and is_sharing(host):
                with self._keeper.real_work():
                    await host.warm_up()
        answers = await self._turns.ask_all(PhaseRequest("start"))
        if not isinstance(answers, Stop) and recorded is None:
            for seat, host in zip(self._seating.seats, self._setup.hosts, strict=True):
                if seat.disqualified is None:
                    self._record(SeatReady, seat.number, seat.stats.start_ns, host.kind)
        return answers

    async def _next_task(self, request: NextTask, nursery: trio.Nursery) -> TaskRole | Stop | None:
        outcome = None if request.outcome is None else self._book(request.outcome)
        if self._turns_before == self._referee.turns:
            await trio.lowlevel.checkpoint()  # so tasks that ask for no turn let the loop run
        self._turns_before = self._referee.turns
        if self._referee.stopped is not None:
            return self._referee.stopped
        given = await self._scheduling.next_task(outcome, nursery)
        if self._scheduling.is_cut:
            return self._referee.stopped
        if given is None:
            return None
        if all(seat.disqualified for seat in self._seating.seats):
            self._referee.stop("seats")
            return self._referee.stopped
        task = complete_task(given)
        self._begin(task, request)
        return task

    def _begin(self, task: TaskRole, request: NextTask) -> None:
        self._task_id = task.id
        seats = len(self._setup.hosts)
        if len(task.players) != seats:
            raise UsageError(f"it seats {len(task.players)} agents, and {seats} are here")
        recorded = self._setup.continuation
        if recorded is not None and (why := task.follow_rules(recorded.rules)):
            raise HostFault(f"task {task.id}: {why}")
        self._referee.set_task(task)
        self._show(task)
        self._record(TaskStarted, task.id, request.index, request.seed)

    def _show(self, task: TaskRole) -> None:
        for seat in self._seating.seats:
            seat.task = task

    async def _run_actor(self, request: RunTask) -> ActorResult:
        """Run a task that is an actor: here, in the environment's own actor, which parks between turns."""
        return await run_actor(request.task, ActorTurns(self._play_turn, request.owed))

    async def _play_turn(self, observation: Any, reward: Any) -> Actions:
        await self._drain_if_asked()
        return await self._turns.ask(observation, reward)

    def _cut_task(self, script: Any) -> None:
        """End the script in the middle of a task, and book what was played of it."""
        try:
            request = script.throw(MatchCut)
        except MatchCut:
            return
        if isinstance(request, NextTask) and request.outcome is not None:
            self._book(request.outcome)

    async def _pay_at_the_end(self, owed: Any) -> None:
        """Show the agents the reward for their last action, for which no observation follows."""
        if owed:
            await self._turns.ask_all(PhaseRequest("result", None, owed))

    # Records.

    def _record(self, kind: type[Event], *args: Any) -> None:
        if self._dispatcher.has_sinks:
            self._dispatcher.dispatch(kind(self._keeper.now() - self._origin_ns, *args))

    def _book(self, outcome: Outcome) -> Outcome:
        """Count and record the outcome of a task; return it with its time."""
        at_ns = self._keeper.now() - self._origin_ns
        values = (
            outcome.task,
            outcome.index,
            outcome.result,
            outcome.reward,
            outcome.steps,
            outcome.ended,
            outcome.metrics,
            outcome.answers,
        )
        outcome = Outcome(*values, at_ns, outcome.rewards)
        for seat, paid in zip(self._seating.seats, outcome.rewards or (outcome.reward,), strict=True):
            seat.stats.add_rewards(paid, is_cut=outcome.ended == "cut")
        self._task_stats.setdefault(outcome.task, TaskStats(outcome.task)).add(outcome)
        if self._dispatcher.has_sinks:
            rewards = [outcome.rewards] if outcome.rewards else []
            self._dispatcher.dispatch(TaskEnded(at_ns, *values, *rewards))
        return outcome

    def _header(self, header: dict[str, Any]) -> dict[str, Any]:
        setup = self._setup
        elapsed = timedelta(microseconds=(self._keeper.now() - self._origin_ns) // 1000)
        begun = (datetime.now(UTC) - elapsed).isoformat(timespec="microseconds")
        return {
            "schema": SCHEMA,
            "flagfall": header.pop("flagfall", ""),
            "tasks": header.pop("tasks", ()),
            "scheduler": header.pop("scheduler", type(setup.scheduler).__name__),
            "agents": [host.name for host in setup.hosts],
            "seed": setup.seed,
            "time_control": self._control_text,
            "clock": "virtual" if self._keeper.virtual else "wall",
            "tick_ns": setup.tick_ns,
            "steps": setup.steps,
            "begun": None if self._keeper.virtual else begun,
            **({"think": [str(model or "") for model in setup.think]} if any(setup.think) else {}),
            **header,
        }

    def _attach_sinks(self) -> None:
        """Prepare the sinks; where one refuses, or fails, none of them gets anything of the match."""
        try:
            for sink in self._writers:
                sink.attach(self._dispatcher.ask_for_pause, self._keeper.real_work)
        except UsageError:
            raise
        except Exception as error:
            raise HostFault(f"a sink failed: {error!r}") from error
        self._dispatcher.begin()

    async def _write(self, sink: WritingSink) -> None:
        """Run a writer, shielded: what was recorded is written even when the match is cancelled."""
        with trio.CancelScope(shield=True):
            try:
                await sink.run()
            except HostFault as fault:
                self._failed(fault)
            except Exception as error:  # noqa: BLE001 - the same, without a name
                self._sink_failed(error)

    async def _drain_if_asked(self) -> None:
        if self._dispatcher.is_pause_asked:
            self._dispatcher.is_pause_asked = False
            await self._drain()

    async def _drain(self) -> None:
        for sink in self._writers:
            await sink.drain()
        await trio.lowlevel.checkpoint()

    # The end.

    async def _stop_when(self, stop: trio.Event) -> None:
        await stop.wait()
        self._stop()

    def _stop(self) -> None:
        self._referee.stop("stopped")
        self._scheduling.cancel()

    def _sink_failed(self, error: BaseException) -> None:
        self._failed(error, "" if isinstance(error, HostFault) else "a sink failed")

    def _task_failed(self, error: Exception | SystemExit) -> None:
        if not isinstance(error, HostFault):
            self._failed(error, f"task {self._task_id}")
        elif self._fault is None:
            self._fault = error

    def _failed(self, error: BaseException, where: str = "") -> None:
        """End the match as void, for the first fault (see `flagfall.kernel.scheduling.Failed`)."""
        if self._fault is not None:
            return
        if where or not isinstance(error, HostFault | UsageError):
            self._fault = HostFault(f"{where}: {type(error).__name__}: {error}")
            self._fault.__cause__ = error
        else:
            self._fault = error
        self._stop()

    def _close(self, reason: str, owed: Any) -> None:
        """Close the scheduler with its tasks, and end the record."""
        try:
            self._setup.scheduler.close()
        except Exception as error:  # noqa: BLE001 - a task's or the scheduler's
            self._failed(error, "closing the tasks")
        self._dispatcher.flush()
        if self._fault is not None:
            reason = "void"
        for seat in self._seating.seats:
            if seat.hold is not None:  # its host cannot tell by which turn it was printed, but by now
                seat.printed = tuple(replace(part, turn=self._referee.turns) for part in seat.printed)
        printed = tuple(part for seat in self._seating.seats for part in seat.printed)
        self._record(MatchEnded, reason, self._referee.turns, owed, str(self._fault or ""), printed)
        self._dispatcher.close()
        for sink in self._writers:
            sink.finish()

    def _release(self) -> None:
        """Undo the links between the parts, so that they are freed at once and not by the collector."""
        if self._referee.pace is not None:
            self._referee.pace.on_error = None
        self._seating.release()
        self._turns.release()
        self._scheduling.release()

    def _result(self, reason: str) -> MatchResult:
        seats = zip(self._seating.seats, self._setup.hosts, strict=True)
        return MatchResult(
            reason=reason,
            turns=self._referee.turns,
            seats=tuple(
                SeatReport(
                    host.name,
                    seat.disqualified,
                    seat.reason_detail,
                    seat.stats,
                    seat.printed,
                    lost_by(reason, seat.disqualified, has_missed=seat.stats.has_missed),
                )
                for seat, host in seats
            ),
            tasks=tuple(self._task_stats.values()),
            elapsed_ns=self._keeper.now() - self._origin_ns,
        )
