"""Registry of all tasks that can be made from a text."""

from __future__ import annotations

__all__ = ["make_task", "task_ids"]

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from flagfall.code_loader import which_member
from flagfall.errors import UsageError, suggest
from flagfall.tasks import commai
from flagfall.tasks.adapters.code_spec import CodeSpec
from flagfall.tasks.adapters.imports import is_installed
from flagfall.tasks.commai.original.catalog import COMMAI_CATALOG
from flagfall.tasks.duels.catalog import CATALOG as DUELS_CATALOG
from flagfall.tasks.langroom.catalog import CATALOG as LANGROOM_CATALOG
from flagfall.tasks.langroom.catalog import make_langroom
from flagfall.tasks.task import Task
from flagfall.tasks.vgdl.catalog import CATALOG as VGDL_CATALOG
from flagfall.tasks.vgdl.catalog import make_vgdl

FAMILIES: Final[Mapping[str, Mapping[str, Callable[[], Task]]]] = {
    "commai": commai.CATALOG,
    "original": COMMAI_CATALOG,
    "duels": DUELS_CATALOG,
    "langroom": LANGROOM_CATALOG,
    "vgdl": VGDL_CATALOG,
}
"""Tasks by id and family: `commai` is round 1, `original` are the tasks that round 1 was made from."""


def _make_gymnasium(text: str) -> Task:
    from flagfall.tasks.adapters.gymnasium import make_gymnasium_task  # noqa: PLC0415 - it imports Gymnasium

    return make_gymnasium_task(text)


def _make_pettingzoo(text: str) -> Task:
    from flagfall.tasks.adapters.pettingzoo import make_pettingzoo_task  # noqa: PLC0415 - it imports Gymnasium

    return make_pettingzoo_task(text)


WITH_OPTIONS: Final[Mapping[str, Callable[[str], Task]]] = {
    "langroom": make_langroom,
    "gym": _make_gymnasium,
    "pettingzoo": _make_pettingzoo,
    "vgdl": make_vgdl,
}
"""Makers of tasks with options, such as `langroom:echo:view=3`, by the text before the first colon."""


MAX_TASK_CHARS: Final = 10_000
"""Longest id with its options: enough for a map of 80 x 80 cells, too short for one of 2000 x 2000."""


_METHODS: Final = frozenset({"step", "_step", "run"})
"""Methods of which a task or environment has at least one."""


def task_ids() -> Iterator[tuple[str, str]]:
    """Yield every (family, id), in the order of the curricula."""
    for family, tasks in FAMILIES.items():
        for task_id in tasks:
            yield family, task_id


def make_task(task_id: str) -> Task:
    """Make a new task.

    Args:
        task_id: an id of `FAMILIES`, an id with options, or the name of a user's own code
            (`flagfall.tasks.adapters.code_task`), which is imported.

    Raises:
        UsageError: the id is unknown (the message has the nearest ids), or its options are invalid.
    """
    if len(task_id) > MAX_TASK_CHARS:
        raise UsageError(
            f"task {task_id[:60]!r}...: {len(task_id)} characters; the limit is {MAX_TASK_CHARS}"
        )
    for tasks in FAMILIES.values():
        if task_id in tasks:
            return tasks[task_id]()
    make = WITH_OPTIONS.get(task_id.partition(":")[0])
    if make is not None:
        return make(task_id)
    code = CodeSpec.parse(task_id)
    if code is not None and (code.is_file or is_installed(code.place)):
        from flagfall.tasks.adapters.code_task import make_code_task  # noqa: PLC0415 - for tasks of users only

        return make_code_task(task_id, code)
    file = task_id.partition("?")[0]
    if file.endswith(".py"):
        hint = which_member(file, _METHODS, bare=True)
        raise UsageError(f"task {task_id!r} names a file, not a task in it: {hint}")
    hint = suggest(task_id, (known for _, known in task_ids()))
    raise UsageError(f"unknown task {task_id!r}{hint}; for your own write file.py:Name or module:Name")
