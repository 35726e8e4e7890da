"""The script of a match: the order of its tasks and turns as a plain generator, without a clock.

The script makes requests, and is sent the answers. A pair (observation, reward) is a turn: it is sent the
actions. Everything else is a request object. The kernel drives the script with agents and deadlines,
`flagfall.recording.verify` with recorded actions, `run_plain` with function calls, so all three play
the same match by construction. This file knows neither clock nor event loop.
"""

from __future__ import annotations

__all__ = ["match_script", "run_plain"]

from collections.abc import Callable, Generator
from contextlib import suppress
from itertools import count
from math import isfinite
from typing import Any

import attrs

from flagfall.errors import HostFault
from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.requests import MatchCut, NextTask, PhaseRequest, RunTask, TaskTimeout
from flagfall.kernel.roles import SchedulerRole, TaskRole, complete_task
from flagfall.kernel.seeding import derive_seed


def match_script(seed: int) -> Generator[Any, Any, None]:
    """Play tasks until there are no more.

    Args:
        seed: the root seed of the match; task number i is reset with `derive_seed(seed, "task", i)`.
    """
    outcome: Outcome | None = None
    owed: Any = 0
    for index in count():
        task_seed = derive_seed(seed, "task", index)
        task: TaskRole | None = yield NextTask(outcome, index, task_seed, owed)
        if task is None:
            return
        outcome, owed = yield from _episode(task, index, task_seed, owed)


def _episode(task: TaskRole, index: int, seed: int, owed: Any) -> Generator[Any, Any, tuple[Outcome, Any]]:
    """Play one episode; return its outcome, and a reward that is owed with the next observation."""
    observation = task.reset(seed)
    reward, steps, earned, ended = owed, 0, 0.0, "finished"
    try:
        if not task.continuous:
            yield PhaseRequest("init", observation)
        if task.run is not None:
            steps, earned, ended, reward = yield RunTask(task, owed)
            observation = None
            if not isfinite(earned):
                raise HostFault(f"task {task.id}: its rewards add up to {earned!r}; they must be finite")
        else:
            step, done = task.step, False
            while not done:
                action = yield observation, reward
                observation, reward, terminated, truncated, _info = step(action)
                steps += 1
                earned += reward if type(reward) is not dict else sum(reward.values())
                if earned - earned:  # not a number, for an infinite sum too; cheaper than `isfinite`
                    raise HostFault(f"task {task.id}: its reward was {reward!r}; rewards must be finite")
                done = terminated or truncated
            ended = "finished" if terminated else "truncated"
    except TaskTimeout:
        ended = "time"
    except MatchCut:
        ended = "cut"
    is_cut = ended == "cut"
    result = None if is_cut else task.result()
    outcome = Outcome(task.id, index, result, earned, steps, ended, task.metrics())  # type: ignore[arg-type]
    if is_cut:
        return outcome, 0
    if task.continuous:
        return outcome, reward
    with suppress(MatchCut):
        answers = yield PhaseRequest("result", observation, reward)
        outcome = attrs.evolve(outcome, answers=answers or {})
    return outcome, 0


def run_plain(
    scheduler: SchedulerRole,
    act: Callable[[Any, Any], Any],
    *,
    seed: int = 0,
    steps: int | None = None,
    report: Callable[[Outcome], None] | None = None,
) -> int:
    """Play a match as a plain loop: no clock, no actors, no record. For training and for baselines.

    Args:
        scheduler: gives the tasks; none of them an actor.
        act: called with (observation, reward), gives the action (mappings for several players).
        seed: the root seed; the same seed gives the same tasks as in the kernel.
        steps: number of turns after which to stop; `None` to play to the end.
        report: called with every outcome.

    Returns:
        The number of turns that were played.
    """
    scheduler.set_seed(derive_seed(seed, "scheduler"))
    script = match_script(seed)
    send = script.send
    request = next(script)
    left = -1 if steps is None else steps
    turns = 0
    while True:
        while type(request) is tuple:
            if turns == left:
                script.close()
                return turns
            action = act(*request)
            turns += 1
            request = send(action)
        if isinstance(request, NextTask):
            if request.outcome is not None:
                scheduler.report(request.outcome)
                if report is not None:
                    report(request.outcome)
            task = scheduler.next_task()
            if task is None:
                script.close()
                return turns
            request = send(complete_task(task))
        else:
            request = send(None)
