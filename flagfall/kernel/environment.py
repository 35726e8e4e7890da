"""The scheduler actor: gives tasks for outcomes, over memory channels."""

from __future__ import annotations

__all__ = ["schedule"]

import inspect
from typing import Any

import trio

from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.roles import SchedulerRole, TaskRole


async def schedule(
    scheduler: SchedulerRole,
    outcomes: trio.abc.ReceiveChannel[Outcome | None],
    assignments: trio.abc.SendChannel[TaskRole | None],
) -> None:
    """Answer every outcome with the next task, `None` when there are no more.

    The first thing received is `None`: nothing has been played yet. A scheduler that has something to
    wait for gives `async next_task`, else everything is a plain call.
    """
    async with outcomes, assignments:
        async for outcome in outcomes:
            if outcome is not None:
                scheduler.report(outcome)
            task: Any = scheduler.next_task()
            await assignments.send(await task if inspect.isawaitable(task) else task)
