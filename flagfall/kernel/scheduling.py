"""The task scheduler of a match: plain calls of one that answers at once, an actor for one that waits.

A scheduler whose methods are plain answers in the call, so it needs no actor of its own: it is asked in the
environment's. The first task that has to be awaited makes it an actor. Outcomes and tasks travel over memory
channels from then on, and it may wait for anything while the environment waits for it.
"""

from __future__ import annotations

__all__ = ["Scheduling"]

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.roles import RequiredTask, SchedulerRole
from flagfall.timing.callbacks import ignore


class Scheduling:
    """Asks the scheduler of one match for its tasks.

    Args:
        scheduler: the scheduler.
        failed: called with an error of the scheduler; it stops the match.

    Attributes:
        is_cut: the last call of `next_task` has no answer: the scheduler failed, or `cancel` was called.
    """

    __slots__ = ("_assignments", "_failed", "_outcomes", "_scheduler", "_scope", "is_cut")

    def __init__(self, scheduler: SchedulerRole, failed: Callable[[Exception | SystemExit], None]) -> None:
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
            self._failed(error)

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
            self._failed(error)
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
            self._failed(error)
