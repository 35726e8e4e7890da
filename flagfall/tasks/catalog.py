"""Table of the families of tasks that can be made from a text: one row a family.

The parser of ids, the check of journals and plans from elsewhere, replays with pictures and `flagfall tasks`
read the rows; nothing else enumerates families. A program adds families of its own by `add_family`.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from flagfall.code_loader import which_member
from flagfall.errors import UsageError, suggest
from flagfall.tasks import commai
from flagfall.tasks.adapters.imports import (
    CodeSpec,
    UntrustedImportError,
    gymnasium_module,
    is_installed,
    pettingzoo_module,
)
from flagfall.tasks.code_files import code_files, named, portable_path
from flagfall.tasks.commai.catalog import COMMAI_CATALOG
from flagfall.tasks.duels.catalog import CATALOG as DUELS_CATALOG
from flagfall.tasks.langroom.catalog import CATALOG as LANGROOM_CATALOG
from flagfall.tasks.langroom.catalog import make_langroom
from flagfall.tasks.task import Task
from flagfall.tasks.vgdl.catalog import CATALOG as VGDL_CATALOG
from flagfall.tasks.vgdl.catalog import make_vgdl, vgdl_files, vgdl_in_folder


def _no_module(_task_id: str) -> None:
    """Return nothing: the default of `Family.module`."""


def _no_files(_task_id: str) -> tuple[str, ...]:
    """Return nothing: the default of `Family.files`."""
    return ()


def _as_dict(tasks: Mapping[str, Callable[[], Task]]) -> dict[str, Callable[[], Task]]:
    return {**tasks}  # a read-only view of one cannot be pickled


def _unchanged(task_id: str, _folder: Path) -> str:
    return task_id


@attrs.frozen(kw_only=True, eq=False)
class Family:
    """A family of tasks.

    Attributes:
        name: its name in the list of tasks.
        tasks: makers of its tasks by id; they are listed, and examined by the tests.
        prefix: text before the first colon of all its ids; empty if it has no ids besides `tasks`.
        make: makes a task from an id with options, such as `langroom:echo:view=3`; raises `UsageError`. As a
            journal from elsewhere may have any id, it must import nothing that the id names.
        pictures: its tasks draw themselves, so replays have pictures.
        continuous: its tasks are continuous ones of bytes or bits, which replays show as a tape.
        module: returns the module that `make` would import for an id, or `None`. An id of a journal or plan
            from elsewhere that names one is made only if the user trusts the file. Replaces the last
            sentence on `make`.
        in_folder: returns an id with absolute paths in place of those that are relative to a folder.
        files: returns the user's own files that `make` would read for an id, as the id names them.
        help: a line on further ids, which `flagfall tasks` prints.
    """

    name: str
    tasks: dict[str, Callable[[], Task]] = attrs.field(factory=dict, converter=_as_dict)
    prefix: str = ""
    make: Callable[[str], Task] | None = None
    pictures: bool = False
    continuous: bool = False
    module: Callable[[str], str | None] = _no_module
    in_folder: Callable[[str, Path], str] = _unchanged
    files: Callable[[str], tuple[str, ...]] = _no_files
    help: str = ""


def _make_gymnasium(text: str) -> Task:
    from flagfall.tasks.adapters.gymnasium import make_gymnasium_task  # noqa: PLC0415 - it imports Gymnasium

    return make_gymnasium_task(text)


def _make_pettingzoo(text: str) -> Task:
    from flagfall.tasks.adapters.pettingzoo import make_pettingzoo_task  # noqa: PLC0415 - it imports Gymnasium

    return make_pettingzoo_task(text)


_ROWS: Final = (
    Family(name="commai", tasks=commai.CATALOG, continuous=True),  # round 1
    Family(name="original", tasks=COMMAI_CATALOG, continuous=True),  # what round 1 was made from
    Family(name="duels", tasks=DUELS_CATALOG, prefix="duel", pictures=True),
    Family(name="langroom", tasks=LANGROOM_CATALOG, prefix="langroom", make=make_langroom, pictures=True),
    Family(
        name="vgdl",
        tasks=VGDL_CATALOG,
        prefix="vgdl",
        make=make_vgdl,
        pictures=True,
        in_folder=vgdl_in_folder,
        files=vgdl_files,
        help="Levels of VGDL games: vgdl:GAME#LEVEL, such as vgdl:causeway#3 or"
        " vgdl:my/game.txt#0:observation=image",
    ),
    Family(
        name="gymnasium",
        prefix="gym",
        make=_make_gymnasium,
        pictures=True,
        module=gymnasium_module,
        help="Any Gymnasium environment: gym:ID, such as gym:CartPole-v1; options: gym:ID?name=value",
    ),
    Family(
        name="pettingzoo",
        prefix="pettingzoo",
        make=_make_pettingzoo,
        pictures=True,
        module=pettingzoo_module,
        help="Any PettingZoo environment: pettingzoo:FAMILY/NAME, such as pettingzoo:classic/connect_four_v3",
    ),
)

FAMILIES: Final[dict[str, Family]] = {row.name: row for row in _ROWS}
"""All families, by name."""

MAX_TASK_CHARS: Final = 10_000
"""Longest id with its options: enough for a map of 80 x 80 cells, too short for one of 2000 x 2000."""


_METHODS: Final = frozenset({"step", "_step", "run"})
"""Methods of which a task or environment has at least one."""


def add_family(family: Family) -> None:
    """Add a family of tasks to this process, and to the processes that play and draw its matches.

    Args:
        family: its functions are at the top of a module, which these processes import.

    Raises:
        UsageError: its name, its prefix or one of its ids is taken.
    """
    for what, text, taken in (
        ("name", family.name, [*FAMILIES]),
        ("prefix", family.prefix, [other.prefix for other in FAMILIES.values() if other.prefix]),
        *(("id", task_id, [known for _, known in task_ids()]) for task_id in family.tasks),
    ):
        if text in taken:
            raise UsageError(f"family {family.name}: the {what} {text!r} is taken: choose another one")
    FAMILIES[family.name] = family


def pickled_families() -> bytes:
    """Return the added families for `add_pickled`, in a process that this one starts."""
    rows = []
    for family in FAMILIES.values():
        if family in _ROWS:
            continue
        data, why = b"", "it is defined in the main script"
        try:
            data = pickle.dumps(family)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            why = str(error)
        rows.append((family.name, family.prefix, [*family.tasks], b"" if b"__main__" in data else data, why))
    return pickle.dumps((sys.path, rows)) if rows else b""


def add_pickled(data: bytes) -> None:
    """Add families in a process that was started to play or draw matches.

    A family that this process cannot have is added without its tasks: making one raises the reason.
    """
    path, rows = pickle.loads(data) if data else ((), ())  # noqa: S301 - from the process that started this one
    sys.path += [entry for entry in path if entry not in sys.path]
    for name, prefix, ids, pickled, why in rows:
        try:
            family = pickle.loads(pickled) if pickled else None  # noqa: S301 - see above
        except Exception as error:  # noqa: BLE001 - any exception of its module
            family, why = None, f"{type(error).__name__}: {error}"  # noqa: PLW2901
        if family is None:
            make = partial(_refuse, name, why)
            family = Family(name=name, prefix=prefix, tasks=dict.fromkeys(ids, make), make=make)
        FAMILIES.setdefault(name, family)  # its module may have added it when it was imported


def _refuse(family: str, why: str, *_task_id: str) -> Task:
    raise UsageError(
        f"family {family} cannot be used in another process, which imports it: define its functions at the"
        f" top of a module ({why})"
    )


def family_of(task_id: str) -> Family | None:
    """Return the family of a task, which need not exist; `None` if its id does not belong to any."""
    prefix = task_id.partition(":")[0]
    found = None
    for family in FAMILIES.values():
        if task_id in family.tasks:
            return family
        if family.prefix == prefix:
            found = family
    return found


def task_ids() -> Iterator[tuple[str, str]]:
    """Yield every (family, id), in the order of the curricula."""
    for family in FAMILIES.values():
        for task_id in family.tasks:
            yield family.name, task_id


def check_imports(task_id: str, origin: str = "") -> None:
    """Refuse a task whose text names a module to import.

    Args:
        origin: where it would be imported from; by default where Python finds it.

    Raises:
        UntrustedImportError: it names one.
    """
    family, code = family_of(task_id), CodeSpec.parse(task_id)
    module = family.module(task_id) if family is not None else None if code is None else code.place
    if module is not None:
        raise UntrustedImportError(task_id, module, origin)


def in_folder(task_id: str, folder: Path) -> str:
    """Return the text of a task with absolute paths."""
    family, code = family_of(task_id), CodeSpec.parse(task_id)
    if family is not None:
        return family.in_folder(task_id, folder)
    return task_id if code is None else code.in_folder(folder)


def task_files(task_id: str) -> dict[str, Path]:
    """Return the user's own files that a task is made from, by their names in journals; it is not made."""
    family, code = family_of(task_id), CodeSpec.parse(task_id)
    if family is not None:
        module = family.module(task_id)
        return named(family.files(task_id)) if module is None else code_files(module)
    return {} if code is None else code_files(code.place)


def portable_id(task_id: str) -> str:
    """Return the id of a task for journals: names in place of the absolute paths of its files."""
    family, code = family_of(task_id), CodeSpec.parse(task_id)
    if family is None and code is not None:
        return str(attrs.evolve(code, place=portable_path(code.place)))
    for path in () if family is None else family.files(task_id):
        task_id = task_id.replace(path, portable_path(path))
    return task_id


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
    family = family_of(task_id)
    if family is not None:
        if task_id in family.tasks:
            return family.tasks[task_id]()
        if family.make is not None:
            return family.make(task_id)
    code = None if family is not None else CodeSpec.parse(task_id)
    if code is not None and (code.is_file or is_installed(code.place)):
        from flagfall.tasks.adapters.code_task import make_code_task  # noqa: PLC0415 - for tasks of users only

        return make_code_task(task_id, code)
    file = task_id.partition("?")[0]
    if file.endswith(".py"):
        hint = which_member(file, _METHODS, bare=True)
        raise UsageError(f"task {task_id!r} names a file, not a task in it: {hint}")
    hint = suggest(task_id, (known for _, known in task_ids()))
    raise UsageError(f"unknown task {task_id!r}{hint}; for your own write file.py:Name or module:Name")
