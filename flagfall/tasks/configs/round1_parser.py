"""From the tables of a configuration file of round 1, which names things by class paths, to a `Config`."""

from __future__ import annotations

__all__ = ["parse_round1"]

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from flagfall.configfile.converter import structure
from flagfall.configfile.problems import KeyPath, Problems
from flagfall.tasks.configs.config import Config, ConfigTask
from flagfall.tasks.configs.parser import MAX_LISTED, check_arguments, checked, world_of_task, world_type
from flagfall.tasks.configs.round1_names import ORIGINAL_SCHEDULERS, ORIGINAL_TASKS, ORIGINAL_WORLDS
from flagfall.tasks.configs.task_types import TASK_TYPES
from flagfall.tasks.scheduler_text import POLICIES


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

    Args:
        data: the tables, as JSON gives them.
        problems: takes everything that is wrong.

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
