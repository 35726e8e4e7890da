"""`flagfall curriculum`: which tasks a byte agent learns, and in how many steps.

Each task is played on its own, by the rule of round 1: it is learned when it was solved a given number of
times in a row. Tasks and agents get the same seeds as in `flagfall run --scheduler consecutive:5`, so the
lesson of a fresh learner can be repeated and recorded under the kernel.
"""

from __future__ import annotations

import inspect
import traceback
from time import perf_counter_ns
from typing import TYPE_CHECKING, Annotated, Any

import attrs
from cyclopts import Parameter

from flagfall.cli.console.files import NO_LOG, Flag, LogOptions, Seed, TaskIds
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagfall.kernel.dispatcher import Sink
    from flagfall.tasks.task import Task


def curriculum(
    *,
    agent: Annotated[str, Parameter(name=["--agent", "-a"])],
    task: TaskIds = None,
    threshold: int = 5,
    limit: int = 100_000,
    seed: Seed = 0,
    go_on: Annotated[Flag, Parameter(name="--continue")] = False,
    json: Flag = False,
    logs: LogOptions = NO_LOG,
) -> None:
    """Let a byte agent learn one task after another, and print which it learned and in how many steps.

    This is a plain loop without clock, time limits and journal. The agent runs in this process.

    Args:
        agent: The agent: a sample (`flagfall agents`), `file.py:Name` or `package.module:Name`, with
            `reply(byte, reward)`.
        task: Ids of byte tasks, such as `micro1`; by default all of round 1.
        threshold: Number of successes in a row after which a task is learned.
        limit: Maximum number of steps for each task.
        seed: Root seed of all random numbers.
        go_on: Keep one learner for all tasks, instead of a fresh one for each.
        json: Print one JSON object instead of a table.
    """
    from flagfall.agents.registry import load_agent

    tasks = _tasks(task)
    given = load_agent(agent)
    for name, value in (("threshold", threshold), ("limit", limit)):
        if value < 1:
            raise UsageError(f"--{name} must be at least 1, got {value}")
    make = _maker(agent, given, seed)
    lessons: list[Lesson] = []
    with logs.opened("curriculum") as opened:
        try:
            reply = make()
            for number, lesson in enumerate(tasks):
                if number and not go_on:
                    reply = make()
                rules = {"threshold": threshold, "limit": limit, "seed": seed}
                sinks = opened.sinks(lesson.id)
                lessons.append(teach(lesson, reply, **rules, agent=agent, sinks=sinks))
        finally:  # after Ctrl-C too: print the results so far
            _report(lessons, json=json)


@attrs.frozen
class Lesson:
    """Result of one task.

    Attributes:
        passed: whether it was solved often enough in a row.
        steps: bytes exchanged until it was learned, or until the limit.
        instances: number of finished instances, whose rewards `reward` sums up.
        fault: the error of the agent that ended the lesson; empty if there was none.
    """

    task: str
    passed: bool
    steps: int
    instances: int
    solved: int
    reward: float
    fault: str = ""


class _Fault(Exception):
    """Fault of the agent; the message describes it."""


def teach(
    task: Task,
    reply: Callable[[int, float], int],
    *,
    threshold: int,
    limit: int,
    seed: int = 0,
    agent: str = "",
    sinks: Sequence[Sink] = (),
) -> Lesson:
    """Play one task until it is solved `threshold` times in a row, or for `limit` steps.

    Args:
        reply: called with each byte and reward; returns a whole number from 0 to 255.
        agent: name of the agent, for the sinks.
        sinks: take events as those of a match.
    """
    from flagfall.kernel.outcomes import derive_seed
    from flagfall.kernel.script import run_plain
    from flagfall.recording.match_logs import PlainEvents
    from flagfall.tasks.schedulers import ConsecutiveTaskScheduler

    scheduler = ConsecutiveTaskScheduler([task], threshold)
    instances = solved = steps = 0
    reward = 0.0

    def act(byte: int, reward: float) -> int:
        nonlocal steps
        steps += 1
        try:
            answer = reply(byte, reward)
        except Exception as error:
            inside = error.__traceback__ and error.__traceback__.tb_next  # without the frame of this file
            shown = traceback.format_exception(type(error), error, inside)
            raise _Fault("raised an error\n" + "".join(shown).rstrip()) from error
        if not task.is_legal(answer):
            raise _Fault(f"answered {answer!r}, which is not a whole number from 0 to 255")
        return answer

    def report(outcome: Any) -> None:
        nonlocal instances, solved, reward
        instances += 1
        solved += outcome.result is True
        reward += outcome.reward
        events.end_task(outcome)
        new_task.append(True)

    def act_and_report(byte: int, reward: float) -> int:
        if new_task:
            events.begin_task(task.id, instances, derive_seed(seed, "task", instances))
            new_task.clear()
        began_ns = perf_counter_ns()
        action = act(byte, reward)
        events.turn(byte, reward, action, perf_counter_ns() - began_ns)
        return action

    events = PlainEvents(sinks, [task.id], agent, seed, scheduler=f"consecutive:{threshold}")
    new_task = [True]
    fault = ""
    try:
        played = act_and_report if sinks else act
        run_plain(scheduler, played, seed=seed, steps=limit, report=report)
    except _Fault as failed:
        fault = str(failed)
    events.end("seats" if fault else "finished", fault)
    return Lesson(task.id, scheduler.length == 0, steps, instances, solved, reward, fault)


def _tasks(ids: Sequence[str] | None) -> list[Task]:
    """Return the tasks, which must be byte tasks."""
    from flagfall.tasks.catalog import make_task, task_ids
    from flagfall.tasks.commai.byte_task import ByteTask

    tasks = [
        make_task(known) for known in ids or [known for family, known in task_ids() if family == "commai"]
    ]
    for task in tasks:
        if not isinstance(task, ByteTask):
            raise UsageError(f"{task.id} is not a byte task; use `flagfall run`")
    return tasks


def _maker(spec: str, given: Any, seed: int) -> Callable[[], Callable[[int, float], int]]:
    """Return a function that makes a fresh agent, with its seed in a match, and returns its `reply`."""
    from flagfall.kernel.hosting import Briefing
    from flagfall.kernel.outcomes import derive_seed

    reply = getattr(given, "reply", None)
    if not callable(reply) or inspect.iscoroutinefunction(reply):
        raise UsageError(f"agent {spec}: a curriculum needs an agent with a plain method reply(byte, reward)")
    briefing = Briefing(0, 1, derive_seed(seed, "seat", 0), "")

    def make() -> Callable[[int, float], int]:
        agent: Any = given() if inspect.isclass(given) else given
        if callable(start := getattr(agent, "start", None)):
            start(briefing)
        made: Callable[[int, float], int] = agent.reply
        return made

    return make


def _report(lessons: Sequence[Lesson], *, json: bool) -> None:
    from flagfall.cli.console.output import number, print_json, print_table, table
    from flagfall.texts import sanitize_terminal

    if json:
        print_json({"lessons": [attrs.asdict(lesson) for lesson in lessons]})
        return
    rows = table("task", "passed", numbers=("steps", "instances", "solved"))
    for lesson in lessons:
        passed = "yes" if lesson.passed else "failed" if lesson.fault else "no"
        counts = (number(n) for n in (lesson.steps, lesson.instances, lesson.solved))
        rows.add_row(lesson.task, passed, *counts)
    print_table(rows)
    print(f"passed {sum(lesson.passed for lesson in lessons)} of {len(lessons)}")
    for lesson in lessons:
        if lesson.fault:
            print(f"\n{lesson.task}: the agent {sanitize_terminal(lesson.fault)}")
