"""Configurations of round 1, in JSON and Python: their class paths, modules and tables.

The class paths are those of JSON configurations: `ORIGINAL_TASKS`, `ORIGINAL_WORLDS` and
`ORIGINAL_SCHEDULERS`. A task is made as in round 1: with its world as the only argument, or without one.
Configurations of the first revisions give `ENVIRONMENT` to tasks and worlds, before that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import attrs

from flagfall.code_loader import ModuleTable
from flagfall.configfile.converter import KeyPath, Problems, structure
from flagfall.errors import UsageError
from flagfall.kernel.safe_values import safe_repr
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.world import GridWorld
from flagfall.tasks.configs.config import TASK_TYPES, WORLDS, Config, ConfigTask
from flagfall.tasks.configs.parser import (
    MAX_LISTED,
    ORIGINAL_SCHEDULERS,
    ORIGINAL_TASKS,
    ORIGINAL_WORLDS,
    check_arguments,
    checked,
    world_of_task,
    world_type,
)
from flagfall.tasks.schedulers import POLICIES, UNLOCK_THRESHOLD, DependenciesTaskScheduler
from flagfall.tasks.task import Task

ENVIRONMENT: Final = object()
"""The argument of `create_tasks(env)`: tasks and worlds take it, and make nothing of it."""


@cache
def round1_modules() -> ModuleTable:
    """Return the modules of round 1 that a configuration may import, for `module_aliases`."""
    objects: dict[str, Any] = {path: _task_maker(path, task) for path, task in ORIGINAL_TASKS.items()}
    objects |= {path: _world_maker(WORLDS[name]) for path, name in ORIGINAL_WORLDS.items()}
    objects |= {path: POLICIES[name] for path, name in ORIGINAL_SCHEDULERS.items()}
    objects["core.scheduler.DependenciesTaskScheduler"] = _dependencies_scheduler
    modules: dict[str, dict[str, Any]] = {}
    for path, found in objects.items():
        module, _, name = path.rpartition(".")
        modules.setdefault(module, {})[name] = found
    return modules


def _task_maker(path: str, task_id: str) -> Callable[..., ByteTask]:
    kind = TASK_TYPES[task_id]
    name = path.rpartition(".")[2]

    def make(*given: Any, world: GridWorld | None = None) -> ByteTask:
        worlds = [argument for argument in (*given, world) if argument not in {None, ENVIRONMENT}]
        if len(worlds) > 1:
            raise UsageError(f"{name}: takes a world at most, got {len(worlds)} arguments")
        world = worlds[0] if worlds else None
        if world is not None and not kind.in_world:
            raise UsageError(f"{name}: this task is not played in a world; leave the argument out")
        return kind.make({}, world, None, False)  # as the original plays it

    make.__name__ = make.__qualname__ = name
    return make


def _world_maker(make_world: Callable[[], GridWorld]) -> Callable[..., GridWorld]:
    def make(environment: object = ENVIRONMENT) -> GridWorld:
        if environment is not ENVIRONMENT:
            raise UsageError(f"a world takes no argument, got {safe_repr(environment)}")
        return make_world()

    return make


def _dependencies_scheduler(
    tasks: Iterable[Task],
    tasks_dependencies: Iterable[Sequence[Task]],
    unlock_threshold: int = UNLOCK_THRESHOLD,
) -> DependenciesTaskScheduler:
    """Return a scheduler from pairs of tasks, where flagfall's takes pairs of ids."""
    pairs = [[task.id for task in pair] for pair in tasks_dependencies]
    return DependenciesTaskScheduler(tasks, pairs, unlock_threshold)


@attrs.frozen(kw_only=True)
class _TaskTable:
    type: str
    world: Any = None


@attrs.frozen(kw_only=True)
class _SchedulerTable:
    type: str
    args: dict[str, Any]


def parse_round1(data: Mapping[str, Any], problems: Problems) -> Config:
    """Make a configuration from tables in the form of round 1.

    Raises:
        UsageError: there are problems; the message has all of them.
    """
    problems.names(data, ("worlds", "tasks", "scheduler"), ())
    worlds = {
        name: kind
        for name, table in problems.table(data, "worlds", (), needed=True).items()
        if (kind := world_type(table, name, problems, ORIGINAL_WORLDS)) is not None
    }
    listed = problems.table(data, "tasks", (), needed=True)
    tasks = {
        name: task
        for name, table in listed.items()
        if (task := _task(table, name, worlds, problems)) is not None
    }
    scheduler = problems.table(data, "scheduler", (), needed=True)
    policy = _policy(scheduler, problems) if scheduler else None
    path: KeyPath = ("scheduler", "args")
    arguments = dict(problems.table(scheduler, "args", ("scheduler",)))
    for name, value in arguments.items():
        if name.startswith("tasks"):
            for place, task in _leaves(value, (*path, name)):
                if task not in listed:
                    problems.unknown(place, "task", task, listed)
    schedule = arguments.pop("tasks", None)
    if scheduler and (not isinstance(schedule, list) or not schedule):
        problems.add((*path, "tasks"), "required: write a list of at least one task")
    if policy is not None:
        check_arguments(policy, arguments, path, problems)
    flat = tuple(name for _, name in _leaves(schedule or [], ()))
    if max(len(flat), len(listed)) > MAX_LISTED:
        problems.add((*path, "tasks"), f"{max(len(flat), len(listed))} tasks; the limit is {MAX_LISTED}")
    config = Config(policy=policy or "", arguments=arguments, schedule=flat, tasks=tasks, worlds=worlds)
    return checked(config, path, problems)


def _leaves(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the items of a list and of all lists in it, with their places."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value if not isinstance(value, dict) else str(value)


def _policy(scheduler: Mapping[str, Any], problems: Problems) -> str | None:
    table = structure(scheduler, _SchedulerTable, ("scheduler",), problems)
    if table is None:
        return None
    names = {**ORIGINAL_SCHEDULERS, **{name: name for name in POLICIES}}
    if table.type in names:
        return names[table.type]
    problems.unknown(("scheduler", "type"), "scheduler", table.type, ORIGINAL_SCHEDULERS)
    return None


def _task(value: Any, name: str, worlds: Mapping[str, str], problems: Problems) -> ConfigTask | None:
    path = ("tasks", name)
    table = structure(value, _TaskTable, path, problems)
    if table is None:
        return None
    names = {**ORIGINAL_TASKS, **{task_id: task_id for task_id in TASK_TYPES}}
    if table.type not in names:
        problems.unknown((*path, "type"), "type", table.type, ORIGINAL_TASKS)
        return None
    type_id = names[table.type]
    world = None
    if "world" in value:
        world = world_of_task(table.world, type_id, worlds, (*path, "world"), problems)
    return ConfigTask(type_id, world)
