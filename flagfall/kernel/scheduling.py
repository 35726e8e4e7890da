"""Actors beside the environment's: the task scheduler, a task that waits between its turns, and the agents.

A scheduler whose methods are plain answers in the call, so it needs no actor of its own: it is asked in the
environment's. The first task that has to be awaited makes it an actor. Outcomes and tasks travel over memory
channels from then on, and it may wait for anything while the environment waits for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any, Final, Protocol

import trio

from flagfall.errors import UNRESPONSIVE, AgentFault, HostFault, UsageError
from flagfall.kernel.continuation import SeatState
from flagfall.kernel.hosting import AgentHost, Briefing
from flagfall.kernel.outcomes import Outcome, derive_seed
from flagfall.kernel.referee.state_machine import Referee
from flagfall.kernel.roles import AskTurns, RequiredTask, SchedulerRole, TaskRole
from flagfall.kernel.script import Actions, ActorResult, EndOfMatch, add_rewards
from flagfall.kernel.seat import HostSeat
from flagfall.kernel.tracebacks import agent_traceback
from flagfall.kernel.usage import Usage
from flagfall.timing import TimeControl, Timekeeper
from flagfall.timing.clocks import real_limit
from flagfall.timing.deadlines import ignore
from flagfall.timing.rates import Tokens


class Failed(Protocol):
    """Ends a match as void."""

    def __call__(self, error: BaseException, where: str = "", /) -> None:
        """Take what failed; `where` is "" for a `HostFault` or `UsageError` that names the place itself."""


class Scheduling:
    """Asks the scheduler of one match for its tasks.

    Args:
        failed: called with an error of the scheduler, and its place; it stops the match.

    Attributes:
        is_cut: the last call of `next_task` has no answer: the scheduler failed, or `cancel` was called.
    """

    __slots__ = ("_assignments", "_failed", "_outcomes", "_scheduler", "_scope", "is_cut")

    def __init__(self, scheduler: SchedulerRole, failed: Failed) -> None:
        self._scheduler = scheduler
        self._failed = failed
        self.is_cut: bool = False
        # The ends of the environment, once the scheduler is an actor.
        self._outcomes: trio.MemorySendChannel[Outcome] | None = None
        self._assignments: trio.MemoryReceiveChannel[RequiredTask | None] | None = None
        # Around the wait for it.
        self._scope: trio.CancelScope | None = None

    def set_seed(self, seed: int) -> None:
        """Set the seed of the scheduler."""
        try:
            self._scheduler.set_seed(seed)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a scheduler does, no agent pays for it
            self._failed(error, "task scheduler")

    async def next_task(self, outcome: Outcome | None, nursery: trio.Nursery) -> RequiredTask | None:
        """Report the last outcome, and return the next task; a checkpoint only if the scheduler waits.

        Args:
            outcome: the outcome of the last task; `None` before the first.
            nursery: gets the actor of a scheduler that waits.

        Returns:
            The task; `None` if there are no more, or if `is_cut`.
        """
        if self._outcomes is not None:
            return await self._exchange(outcome)
        try:
            if outcome is not None:
                self._scheduler.report(outcome)
            task: Any = self._scheduler.next_task()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as for `set_seed`
            self._failed(error, "task scheduler")
            self.is_cut = True
            return None
        if not inspect.isawaitable(task):
            return task  # type: ignore[no-any-return]  # checked where it begins
        self._outcomes, outcomes = trio.open_memory_channel[Outcome](0)
        assignments, self._assignments = trio.open_memory_channel[RequiredTask | None](0)
        nursery.start_soon(self._run, task, outcomes, assignments, name="task scheduler")
        return await self._exchange(None)

    def release(self) -> None:
        """Let go of the match, which is over."""
        self._failed = ignore

    def cancel(self) -> None:
        """Wait no longer for the scheduler: the match is over."""
        if self._scope is not None:
            self._scope.cancel()

    async def _exchange(self, outcome: Outcome | None) -> RequiredTask | None:
        assert self._outcomes is not None
        assert self._assignments is not None
        with trio.CancelScope() as self._scope:
            try:
                if outcome is not None:
                    await self._outcomes.send(outcome)
                return await self._assignments.receive()
            except (trio.BrokenResourceError, trio.EndOfChannel):
                await trio.sleep_forever()  # it broke down: `_run` says why, which ends this
        self.is_cut = True
        return None

    async def _run(
        self,
        first: Awaitable[RequiredTask | None],
        outcomes: trio.MemoryReceiveChannel[Outcome],
        assignments: trio.MemorySendChannel[RequiredTask | None],
    ) -> None:
        """Answer every outcome with the next task: the scheduler actor."""
        scheduler = self._scheduler
        try:
            async with outcomes, assignments:
                await assignments.send(await first)
                async for outcome in outcomes:
                    scheduler.report(outcome)
                    task: Any = scheduler.next_task()
                    await assignments.send(await task if inspect.isawaitable(task) else task)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as for `set_seed`
            self._failed(error, "task scheduler")


# Turns of a task that is an actor: asks for them one at a time, pays what is owed, and counts.
#
# The kernel runs such a task with agents, a replay with recorded actions. Both use this file, so both count
# alike.


class ActorTurns(AskTurns):
    """The turns of one episode.

    Args:
        play_turn: plays one turn with an observation and a reward, and returns the actions; raises
            `EndOfMatch`.
        owed: a reward from before, which comes with the first turn.

    Attributes:
        steps: the number of turns whose actions the task got.
        earned: the sum of the rewards it paid, over all players.
        owed: what is still owed from before.
        paid: what it paid to each of several players, by name.
    """

    def __init__(self, play_turn: Callable[[Any, Any], Awaitable[Actions]], owed: Any = 0) -> None:
        self.steps: int = 0
        self.earned: float = 0.0
        self.owed: Any = owed
        self.paid: Any = {}
        self._play_turn = play_turn
        self._is_asking = False

    async def ask(self, observation: Any, reward: Any = 0) -> Actions:
        """Play one turn; see `flagfall.kernel.roles.AskTurns`.

        Raises:
            EndOfMatch: the match is over.
            trio.BusyResourceError: another turn is open.
        """
        if self._is_asking:
            raise trio.BusyResourceError("a task asks for one turn at a time, and one is open")
        if isinstance(reward, Mapping):
            self.earned += sum(reward.values())
            self.paid = add_rewards(self.paid, reward)
        else:
            self.earned += reward
        if self.owed:
            reward, self.owed = add_rewards(reward, self.owed), 0
        self._is_asking = True
        try:
            actions = await self._play_turn(observation, reward)
        finally:
            self._is_asking = False
        self.steps += 1
        return actions


async def run_actor(task: TaskRole, turns: ActorTurns) -> ActorResult:
    """Run the episode of a task that is an actor, to its end or to that of the match.

    Raises:
        Exception: whatever the task raises, but `EndOfMatch`.
    """
    try:
        await task.run(turns)  # type: ignore[misc]  # it is an actor, so it has one
    except Exception as error:
        if not _is_end_of_match(error):
            raise
        return ActorResult(turns.steps, turns.earned, "cut", turns.owed, turns.paid)
    return ActorResult(turns.steps, turns.earned, "finished", turns.owed, turns.paid)


def _is_end_of_match(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_end_of_match, error.exceptions))
    return isinstance(error, EndOfMatch)


CLOSE_SECONDS: Final = 1.0
"""Maximum time for agents to close when the match is over; then they are stopped."""

_QUICK_PASSES: Final = 2
"""Passes of the loop in which agents that wait for a turn end; only after these the wait needs a limit."""


class Seating:
    """Runs one actor for each agent.

    Args:
        control: the time control of every seat.
        seed: the root seed of the match.
        keeper: the deadlines of the event loop, and what it has lost.
        referee: notified of the seats that must be disqualified.
        failed: called with the fault of a host that is no fault of its agent; it stops the match.

    Attributes:
        seats: in seat order.
    """

    __slots__ = (
        "_agents_gone",
        "_agents_left",
        "_control_text",
        "_failed",
        "_hosts",
        "_keeper",
        "_seed",
        "_states",
        "seats",
    )

    def __init__(
        self,
        hosts: Sequence[AgentHost],
        control: TimeControl,
        control_text: str,
        seed: int,
        keeper: Timekeeper,
        referee: Referee,
        failed: Failed,
    ) -> None:
        self._hosts = hosts
        self._control_text = control_text
        self._seed = seed
        self._keeper = keeper
        self._failed = failed
        self._agents_left = len(hosts)
        self._agents_gone: trio.Event | None = None
        self._states: Sequence[SeatState] = ()
        self.seats: list[HostSeat] = [
            HostSeat(number, control, keeper, referee) for number in range(len(hosts))
        ]
        referee.seat_all(self.seats)

    def start(self, nursery: trio.Nursery, states: Sequence[SeatState] = ()) -> None:
        """Start the agents in a nursery, but those of seats that are disqualified.

        Args:
            states: those of the seats in a recorded match; empty for a new one.
        """
        self._states = states
        for seat, state in zip(self.seats, states, strict=False):
            seat.stats = state.stats
            if state.disqualified is not None:
                seat.disqualify(state.disqualified.reason, state.disqualified.detail)
                self._agents_left -= 1
        for seat, host in zip(self.seats, self._hosts, strict=True):
            if seat.disqualified is not None:
                continue
            nursery.start_soon(self._run, seat, host, name=f"seat {seat.number}: {host.name}")

    async def close(self, nursery: trio.Nursery) -> None:
        """End the turns of every seat, give the agents `CLOSE_SECONDS` to end, and stop what is left.

        Args:
            nursery: the nursery of the agents, and of helpers which end with them.
        """
        for seat in self.seats:
            seat.end()
        try:
            await self._wait_for_agents()
        finally:
            if nursery.child_tasks:
                nursery.cancel_scope.cancel()

    def release(self) -> None:
        """Let go of the match, which is over."""
        self._failed = ignore
        for seat in self.seats:
            seat.release()

    async def _wait_for_agents(self) -> None:
        # An agent that waits for its next turn ends within the next pass of the loop.
        for _ in range(_QUICK_PASSES):
            if self._agents_left == 0:
                return
            await trio.lowlevel.checkpoint()
        if self._agents_left:
            self._agents_gone = trio.Event()
            with trio.move_on_after(CLOSE_SECONDS):
                await self._agents_gone.wait()

    async def _run(self, seat: HostSeat, host: AgentHost) -> None:
        """Run one agent; whatever it does, only its own seat is disqualified."""
        task = trio.lowlevel.current_task()
        self._keeper.ledger.register(task, seat.clock)
        try:
            if host.kind not in {"task", "wasm"}:
                self._hold_clock(seat)
            with trio.CancelScope() as scope:
                seat.agent_scope = scope
                try:
                    await host.run(seat, self._briefing(seat))
                finally:
                    seat.agent_scope = None
        except (HostFault, UsageError) as fault:  # the host cannot play the agent: not the agent's doing
            self._failed(fault)
        except AgentFault as fault:
            seat.report(fault.reason, fault.detail)
        except BaseException as error:  # noqa: BLE001 - an agent never crashes a match
            passing, own = _parted(error)
            if own is not None:
                seat.report("crashed", agent_traceback(own))
            if passing is not None:
                raise passing from None
        else:
            if not seat.is_closed():
                seat.report("gone", "the agent returned before the match was over")
        finally:
            self._keeper.ledger.forget(task)
            self._count_as_gone(seat)

    def _count_as_gone(self, seat: HostSeat) -> None:
        if seat.hold is not None:
            seat.hold.end()
        self._agents_left -= 1
        if self._agents_left == 0 and self._agents_gone is not None:
            self._agents_gone.set()

    def _hold_clock(self, seat: HostSeat) -> None:
        """Hold the virtual clock for an agent elsewhere whenever it does not wait for a turn.

        So all that its host does takes no virtual time: starting it, its answers, its end.
        """

        def end(seconds: float) -> None:
            what = f"it took {seconds:g} s of real time, for which the virtual clock stood still"
            seat.report(UNRESPONSIVE, what)

        hold = seat.hold = self._keeper.hold_for_agent(end)
        if hold is not None:
            hold.on_error = self._failed
            hold.begin()

    def _briefing(self, seat: HostSeat) -> Briefing:
        return Briefing(
            seat.number,
            len(self._hosts),
            derive_seed(self._seed, "seat", seat.number),
            self._control_text,
            seat.look_up_spaces,
            seat.agent.note,
            seat.look_up_task,
            seat.look_up_text,
            self._states[seat.number].transcript if self._states else (),
            seat.look_up_noted,
            partial(_think, seat, self._failed),
            self._real_time,  # type: ignore[arg-type]  # it swallows its own cancellation
            rate=seat.rate,
        )

    @contextmanager
    def _real_time(self, seconds: float) -> Iterator[trio.CancelScope]:
        """Let the virtual clock stand still; see `flagfall.kernel.hosting.Briefing.real_time`."""
        with self._keeper.real_work(), real_limit(seconds) as limit:
            yield limit


async def _think(seat: HostSeat, failed: Failed, usage: Usage) -> None:
    """Take the report of a seat's agent, and let the think time pass that follows from it.

    Args:
        failed: ends the match as void: a rate needs numbers that are not reported.
    """
    if seat.notes is not None and not seat.is_closed():
        seat.notes.use(seat.number, seat.stats, seat.budget, usage)
    if not isinstance(seat.rate, Tokens):
        return
    time_ns = usage.time_ns(seat.rate)
    if time_ns is not None:
        await seat.spend(time_ns)
        return
    failed(
        HostFault(
            f"seat {seat.number}: {seat.rate} needs the tokens of each answer, and they are not known: if the"
            " server of llm reports none, add the option tokenizer=FILE"
        )
    )


def _parted(error: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """Split an agent's error into what is trio's or the user's to stop it, and the agent's own doing."""
    passing: tuple[type[BaseException], ...] = (trio.Cancelled, KeyboardInterrupt)
    if trio.current_effective_deadline() != -inf:
        passing = (KeyboardInterrupt,)  # it is not cancelled, so this Cancelled is the agent's own
    if isinstance(error, BaseExceptionGroup):
        return error.split(passing)
    return (error, None) if isinstance(error, passing) else (None, error)
