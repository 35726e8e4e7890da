"""VGDL levels by id. Numpy is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from flagfall.tasks.task import Task
from flagfall.tasks.vgdl.task_id import TaskId, game_ids


def make_vgdl(text: str) -> Task:
    """Return the task of an id, such as `vgdl:games/zelda.txt#3:observation=image`; see `task_id`.

    Raises:
        UsageError: the id is invalid, or there is no such level.
    """
    from flagfall.tasks.vgdl.task import VgdlTask  # noqa: PLC0415 - numpy takes a tenth of a second

    return VgdlTask.of(TaskId.parse(text))


def vgdl_in_folder(text: str, folder: Path) -> str:
    """Return an id with an absolute path, if its game is a file.

    Raises:
        UsageError: the id is invalid.
    """
    level = TaskId.parse(text)
    if not level.game.endswith(".txt"):
        return text
    return str(attrs.evolve(level, game=str((folder / level.game).resolve())))


CATALOG: Final[Mapping[str, Callable[[], Task]]] = {
    name: partial(make_vgdl, name) for name in (f"vgdl:{game}#0" for game in game_ids())
}
"""First level of each game that is part of flagfall, by id."""
