"""VGDL levels by id. Numpy is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from flagfall.errors import UsageError
from flagfall.tasks.task import Task
from flagfall.tasks.vgdl.task_id import TaskId, game_ids, level_paths


def make_vgdl(text: str) -> Task:
    """Return the task of an id, such as `vgdl:games/zelda.txt#3:observation=image`; see `task_id`.

    Raises:
        UsageError: the id is invalid, or there is no such level.
    """
    from flagfall.tasks.vgdl.task import VgdlTask  # noqa: PLC0415 - numpy takes a tenth of a second

    return VgdlTask.of(TaskId.parse(text))


def vgdl_in_folder(text: str, folder: Path) -> str:
    """Return an id with absolute paths, where its game and its level are files.

    Raises:
        UsageError: the id is invalid.
    """
    chosen = TaskId.parse(text)
    game, level = (
        str((folder / name).resolve()) if name.endswith(".txt") else name
        for name in (chosen.game, chosen.level)
    )
    if (game, level) == (chosen.game, chosen.level):
        return text
    return str(attrs.evolve(chosen, game=game, level=level))


def vgdl_files(text: str) -> tuple[str, ...]:
    """Return the files of an id: its game and its level, where these are no part of flagfall."""
    try:
        chosen = TaskId.parse(text)
    except UsageError:
        return ()
    own_level = [chosen.level] if chosen.level.endswith(".txt") else []
    return (*track_files(chosen.game, [chosen.level]), *own_level)


def track_files(game: str, levels: Iterable[str]) -> tuple[str, ...]:
    """Return the files of a game and of levels beside it, given by number; none of a game of flagfall's."""
    if not game.endswith(".txt"):
        return ()
    beside = {str(number): str(path) for number, path in level_paths(Path(game)).items()}
    return (game, *(beside[level] for level in levels if level in beside))


CATALOG: Final[Mapping[str, Callable[[], Task]]] = {
    name: partial(make_vgdl, name) for name in (f"vgdl:{game}#0" for game in game_ids())
}
"""First level of each game that is part of flagfall, by id."""
