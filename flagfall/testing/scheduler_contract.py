"""`check_scheduler`: the contract of task schedulers as assertions for tests; each rule is a function."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import trio

from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.roles import SchedulerRole, TaskRole, is_task
from flagfall.testing.contracts import violation_of

MakeScheduler: TypeAlias = Callable[[], SchedulerRole]

TASKS: Final = 60
"""Number of tasks that are requested."""


def check_scheduler(make_scheduler: MakeScheduler) -> None:
    """Check that a task scheduler keeps its contract (`flagfall.kernel.roles.SchedulerRole`).

    Args:
        make_scheduler: returns a new scheduler, with new tasks, from each call.

    Raises:
        AssertionError: a rule is violated; the message has its name and the reason.
    """
    for rule in SCHEDULER_RULES:
        if (violation := violation_of(rule, make_scheduler)) is not None:
            raise violation


def gives_tasks_until_it_is_done(make_scheduler: MakeScheduler) -> None:
    """Check that `next_task` returns tasks, then only `None`, and that any outcome may be reported."""
    scheduler = make_scheduler()
    scheduler.set_seed(0)
    for seed in range(4):
        _play(scheduler, seed)
    scheduler.close()


def decides_by_seed_and_outcomes_alone(make_scheduler: MakeScheduler) -> None:
    """Check that seed and outcomes alone decide on the tasks, and no global random generator."""
    for seed in (0, 1, 2**63 - 1):
        chosen = []
        for noise in (1, 2):
            random.seed(noise)
            scheduler = make_scheduler()
            scheduler.set_seed(seed)
            chosen.append(_play(scheduler, seed))
            scheduler.close()
        assert chosen[0] == chosen[1], (
            f"decides_by_seed_and_outcomes_alone: with seed {seed} it chose {chosen[0]}, then {chosen[1]}"
        )


def waits_for_outcomes(make_scheduler: MakeScheduler) -> None:
    """Check that the first task comes before any report, and that a scheduler may be closed at once."""
    make_scheduler().close()
    scheduler = make_scheduler()
    scheduler.set_seed(3)
    task = _next(scheduler)
    assert task is None or is_task(task), f"waits_for_outcomes: next_task returned {task!r}"
    scheduler.close()


def closes_what_it_gave(make_scheduler: MakeScheduler) -> None:
    """Check that `close` closes every task that was returned, once."""
    scheduler = make_scheduler()
    scheduler.set_seed(0)
    closed: dict[int, int] = {}
    given: list[TaskRole] = []
    for _ in range(TASKS):
        task = _next(scheduler)
        if task is None:
            break
        if not any(task is other for other in given):
            given.append(task)
            _count_closing(task, closed)
        scheduler.report(Outcome(task.id, len(given), True, 1.0, 1))
    scheduler.close()
    for task in given:
        times = closed[id(task)]
        assert times == 1, f"closes_what_it_gave: {task.id} was closed {times} times"


SCHEDULER_RULES: Final = (
    gives_tasks_until_it_is_done,
    decides_by_seed_and_outcomes_alone,
    waits_for_outcomes,
    closes_what_it_gave,
)
"""Rules, in order."""


def _count_closing(task: Any, closed: dict[int, int]) -> None:
    close = task.close
    closed[id(task)] = 0

    def counting() -> None:
        closed[id(task)] += 1
        close()

    task.close = counting


def _next(scheduler: SchedulerRole) -> TaskRole | None:
    task: Any = scheduler.next_task()
    if inspect.isawaitable(task):

        async def awaited() -> Any:
            return await task

        task = trio.run(awaited)
    return task  # type: ignore[no-any-return]  # the caller looks


def _play(scheduler: SchedulerRole, seed: int) -> list[str]:
    """Request tasks, report outcomes of all kinds, and return the ids of the tasks."""
    dice = random.Random(seed)
    chosen: list[str] = []
    for index in range(TASKS):
        task = _next(scheduler)
        if task is None:
            assert _next(scheduler) is None, "gives_tasks_until_it_is_done: after None came a task"
            break
        assert is_task(task), f"gives_tasks_until_it_is_done: next_task returned {task!r}"
        chosen.append(task.id)
        result = dice.choice([True, True, False, None])
        ended = "finished" if result is not None else dice.choice(["finished", "truncated", "cut"])
        scheduler.report(Outcome(task.id, index, result, dice.random(), dice.randrange(50), ended))  # type: ignore[arg-type]  # one of the three
    return chosen
