"""The script of a match: the order of its tasks and turns as a plain generator, without a clock.

The script makes requests, and is sent the answers. A pair (observation, reward) is a turn: it is sent the
actions. Everything else is a request object. The kernel drives the script with agents and deadlines,
`flagfall.recording.verify` with recorded actions, `run_plain` with function calls, so all three play
the same match by construction. This file knows neither clock nor event loop.
"""

from __future__ import annotations

__all__ = ["match_script", "run_plain"]

from collections.abc import Callable, Generator
from math import isfinite
from typing import Any

import attrs

from flagfall.errors import HostFault
from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.requests import MatchCut, NextTask, PhaseRequest, RunTask, TaskTimeout
from flagfall.kernel.roles import SchedulerRole, TaskRole
from flagfall.kernel.seeding import derive_seed


def match_script(seed: int) -> Generator[Any, Any, None]:  # noqa: C901, PLR0912 - the plot of a match, on one page
    """Play tasks until there are no more.

    Args:
        seed: the root seed of the match; task number i is reset with `derive_seed(seed, "task", i)`.
    """
    owed: Any = 0
    outcome: Outcome | None = None
    index = 0
    while True:
        task_seed = derive_seed(seed, "task", index)
        task: TaskRole | None = yield NextTask(outcome, index, task_seed, owed)
        if task is None:
            return
        observation = task.reset(task_seed)
        steps, earned, ended = 0, 0.0, "finished"
        reward = owed
        try:
            if not task.continuous:
                yield PhaseRequest("init", observation)
            if getattr(task, "run", None) is not None:
                steps, earned, ended, reward = yield RunTask(task, owed)
                observation = None
                if not isfinite(earned):
                    raise HostFault(f"task {task.id}: its rewards add up to {earned!r}; they must be finite")
            else:
                step = task.step
                while True:
                    action = yield observation, reward
                    observation, reward, terminated, truncated, _info = step(action)
                    steps += 1
                    earned += reward if type(reward) is not dict else sum(reward.values())
                    if earned - earned:  # not a number, for an infinite sum too; cheaper than `isfinite`
                        raise HostFault(f"task {task.id}: its reward was {reward!r}; rewards must be finite")
                    if terminated or truncated:
                        ended = "finished" if terminated else "truncated"
                        break
        except TaskTimeout:
            ended = "time"
        except MatchCut:
            ended = "cut"
        outcome = Outcome(
            task=task.id,
            index=index,
            result=None if ended == "cut" else task.result(),
            reward=earned,
            steps=steps,
            ended=ended,  # type: ignore[arg-type]  # one of the four by construction
            metrics=task.metrics(),
        )
        owed = 0
        if task.continuous:
            owed = reward if ended != "cut" else 0
        elif ended != "cut":
            try:
                answers = yield PhaseRequest("result", observation, reward)
                outcome = attrs.evolve(outcome, answers=answers or {})
            except MatchCut:
                pass
        index += 1


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
            request = send(task)
        else:
            request = send(None)
