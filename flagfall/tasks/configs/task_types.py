"""Types of tasks and worlds, and the settings that a configuration may change of each."""

from __future__ import annotations

__all__ = ["MAX_SETTING", "TASK_TYPES", "WORLDS", "TaskType"]

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

import attrs

from flagfall.configfile.converter import Bounds
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.catalog import CATALOG, MICRO_TASKS, make_catalog
from flagfall.tasks.commai.grid_world import GridWorld
from flagfall.tasks.commai.micro.engine import MicroTask
from flagfall.tasks.commai.original.catalog import COMMAI_CATALOG, commai_tasks
from flagfall.tasks.commai.vocabulary import Vocabulary

WORLDS: Final[Mapping[str, Callable[[], GridWorld]]] = MappingProxyType({"grid": GridWorld})
"""Types of worlds."""

MAX_SETTING: Final = 10**9
"""The greatest value of a setting that has no limit of its own: more steps than a match can have."""


def _whole(least: int, most: int | None = None) -> Any:
    return Annotated[int, Bounds(least, MAX_SETTING if most is None else most)]


_TOLERANCE: Final = Annotated[int | float, Bounds(0, MAX_SETTING)]


MakeTask: TypeAlias = Callable[[Mapping[str, Any], GridWorld | None, Vocabulary | None, bool], ByteTask]


@attrs.frozen
class TaskType:
    """A type of tasks.

    Attributes:
        settings: attrs class whose fields are the settings that may be changed.
        in_world: whether it can be played in a world.
        is_conversation: whether it exchanges whole texts, which can be scrambled.
        make: makes a task from the changed settings, the world, the vocabulary (`None`: the default one) and
            `Config.fixes`.
    """

    settings: type[Any]
    in_world: bool
    is_conversation: bool
    make: MakeTask


_RULES: Final = {
    "required": _whole(1),
    "success_tolerance": _TOLERANCE,
    "failed_task_tolerance": _TOLERANCE,
    "max_time": _whole(1),
}


@cache
def _settings_class(fields: tuple[tuple[str, Any], ...]) -> type[Any]:
    """Return the class of a table with these settings, all optional; `None` is not a value of any."""
    return attrs.make_class(
        "Settings",
        {name: attrs.field(default=None, type=kind) for name, kind in fields},
        frozen=True,
        kw_only=True,
    )


def _settings(fields: Mapping[str, Any]) -> type[Any]:
    return _settings_class(tuple(fields.items()))


def _micro(
    task_id: str, settings: Mapping[str, Any], _world: GridWorld | None, words: Vocabulary | None, fixes: bool
) -> MicroTask:
    return MICRO_TASKS[task_id].make(task_id, words, fixes=fixes, **settings)


def _mini(
    task_id: str, settings: Mapping[str, Any], world: GridWorld | None, _words: Vocabulary | None, fixes: bool
) -> ByteTask:
    task: Any = make_catalog(world=world, fixes=fixes)[task_id]()
    task.max_time = settings.get("max_time", task.max_time)
    return task  # type: ignore[no-any-return]  # the catalog says so


def _commai(
    task_id: str,
    settings: Mapping[str, Any],
    world: GridWorld | None,
    _words: Vocabulary | None,
    _fixes: bool,
) -> ByteTask:
    (task,) = commai_tasks([task_id], world)
    task.max_time = settings.get("max_time", task.max_time)
    task.world = task.world if world is None else world
    return task


def _task_types() -> dict[str, TaskType]:
    only_time = _settings({"max_time": _whole(1)})
    types = {}
    for task_id in CATALOG:
        if task_id in MICRO_TASKS:
            own = MICRO_TASKS[task_id].settings
            settings = _settings({**_RULES, **{name: _whole(*limits) for name, limits in own.items()}})
            types[task_id] = TaskType(settings, False, False, partial(_micro, task_id))
        else:
            types[task_id] = TaskType(only_time, True, False, partial(_mini, task_id))
    for task_id in COMMAI_CATALOG:
        types[task_id] = TaskType(only_time, True, True, partial(_commai, task_id))
    return types


TASK_TYPES: Final[Mapping[str, TaskType]] = MappingProxyType(_task_types())
"""Types of tasks, by the ids of the catalogs."""
