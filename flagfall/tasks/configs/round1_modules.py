"""Substitutes for the modules that Python configurations of round 1 import.

The class paths are those of JSON configurations: `ORIGINAL_TASKS`, `ORIGINAL_WORLDS` and
`ORIGINAL_SCHEDULERS`. A task is made as in round 1: with its world as the only argument, or without one.
Configurations of the first revisions give `ENVIRONMENT` to tasks and worlds, before that.
"""

from __future__ import annotations

__all__ = ["ENVIRONMENT", "round1_modules"]

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final

from flagfall.errors import UsageError
from flagfall.kernel.safe_values import safe_repr
from flagfall.module_aliases import ModuleTable
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.grid_world import GridWorld
from flagfall.tasks.configs.round1_names import ORIGINAL_SCHEDULERS, ORIGINAL_TASKS, ORIGINAL_WORLDS
from flagfall.tasks.configs.task_types import TASK_TYPES, WORLDS
from flagfall.tasks.scheduler_text import POLICIES, DependenciesTaskScheduler
from flagfall.tasks.schedulers import UNLOCK_THRESHOLD
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
