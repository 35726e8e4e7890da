"""What types of tasks and worlds there are, and what a configuration may say of each."""

from __future__ import annotations

__all__ = ["TASK_KINDS", "WORLDS", "Kind", "Setting"]

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from flagfall.kernel.safe_values import safe_repr
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.catalog import CATALOG, make_catalog
from flagfall.tasks.commai.grid_world import GridWorld
from flagfall.tasks.commai.micro.characters import (
    CHARACTER_SOURCES,
    LETTERS,
    PUNCTUATION,
    TARGET_ALPHABET,
)
from flagfall.tasks.commai.micro.engine import MicroTask
from flagfall.tasks.commai.micro.feedback import FEEDBACK_SOURCES, ROWS
from flagfall.tasks.commai.original.catalog import COMMAI_CATALOG, commai_tasks
from flagfall.tasks.commai.vocabulary import Words

WORLDS: Final[Mapping[str, Callable[[], GridWorld]]] = MappingProxyType({"grid": GridWorld})
"""Types of worlds."""


MAX_SETTING: Final = 10**9
"""The greatest value of a setting that has no limit of its own: more steps than a match can have."""

MAX_DRAWN: Final = 10_000
"""The greatest number of things that a task draws and keeps: usual are 2 to 10."""


@attrs.frozen
class Setting:
    """A constant that a configuration may change.

    Attributes:
        least: the smallest value.
        most: the greatest value; `None` for `MAX_SETTING`.
        whole: whole numbers only.
    """

    least: float
    most: float | None = None
    whole: bool = True

    def complaint(self, value: Any) -> str | None:
        """What is wrong with a value; `None` where nothing is."""
        right_type = type(value) is int or (type(value) is float and not self.whole)
        most = MAX_SETTING if self.most is None else self.most
        if right_type and self.least <= value <= most:
            return None
        kind = "a whole number" if self.whole else "a number"
        limits = f"at least {self.least}" if self.most is None else f"from {self.least} to {self.most}"
        if right_type and self.most is None and value > most:
            limits = f"at most {most}"
        return f"{safe_repr(value)} is not {kind}, {limits}"


MakeTask: TypeAlias = Callable[[Mapping[str, Any], GridWorld | None, Words | None, bool], ByteTask]


@attrs.frozen
class Kind:
    """A type of tasks.

    Attributes:
        settings: the constants that may be changed, by name.
        in_world: whether it can be played in a world.
        is_conversation: whether it is made of whole texts, which can be scrambled.
        make: a task, from the settings that are changed, the world, the words (`None`: the usual ones) and
            `Config.fixes`.
    """

    settings: Mapping[str, Setting]
    in_world: bool
    is_conversation: bool
    make: MakeTask


_RULES: Final = {
    "required": Setting(1),
    "success_tolerance": Setting(0, whole=False),
    "failed_task_tolerance": Setting(0, whole=False),
    "max_time": Setting(1),
}

_CHARACTER_SETTINGS: Final = {
    "micro1": {"alphabet_size": Setting(1, len(TARGET_ALPHABET)), "patience": Setting(1)},
    "micro2": {"alphabet_size": Setting(1, len(LETTERS)), "patience": Setting(1)},
    "micro3": {"alphabet_size": Setting(1, len(LETTERS)), "options": Setting(1, MAX_DRAWN)},
    "micro4": {"alphabet_size": Setting(1, len(LETTERS + PUNCTUATION))},
}

_DIGITS: Final = 10


def _constants(task_id: str) -> dict[str, Setting]:
    """What can be changed in the questions of a micro-task."""
    if task_id in FEEDBACK_SOURCES:
        return {"mapping_size": Setting(1, _DIGITS if ROWS[task_id].keys == "each" else MAX_DRAWN)}
    return _CHARACTER_SETTINGS.get(task_id, {})


def _micro(
    task_id: str, settings: Mapping[str, Any], _world: GridWorld | None, words: Words | None, fixes: bool
) -> MicroTask:
    task = make_catalog(words, fixes=fixes)[task_id]()
    assert isinstance(task, MicroTask)
    rules = attrs.evolve(task.rules, **{name: settings[name] for name in settings if name in _RULES})
    constants = {name: settings[name] for name in settings if name not in _RULES}
    if constants:
        source = {**CHARACTER_SOURCES, **FEEDBACK_SOURCES}[task_id]
        return MicroTask(task_id, partial(source, **constants), rules, fixes=fixes)
    task.rules = rules
    return task


def _mini(
    task_id: str, settings: Mapping[str, Any], world: GridWorld | None, _words: Words | None, fixes: bool
) -> ByteTask:
    task: Any = make_catalog(world=world, fixes=fixes)[task_id]()
    task.max_time = settings.get("max_time", task.max_time)
    return task  # type: ignore[no-any-return]  # the catalog says so


def _commai(
    task_id: str, settings: Mapping[str, Any], world: GridWorld | None, _words: Words | None, _fixes: bool
) -> ByteTask:
    (task,) = commai_tasks([task_id], world)
    task.max_time = settings.get("max_time", task.max_time)
    task.world = task.world if world is None else world
    return task


def _kinds() -> dict[str, Kind]:
    kinds = {}
    for task_id in CATALOG:
        if task_id.startswith("micro"):
            kinds[task_id] = Kind({**_RULES, **_constants(task_id)}, False, False, partial(_micro, task_id))
        else:
            kinds[task_id] = Kind({"max_time": Setting(1)}, True, False, partial(_mini, task_id))
    for task_id in COMMAI_CATALOG:
        kinds[task_id] = Kind({"max_time": Setting(1)}, True, True, partial(_commai, task_id))
    return kinds


TASK_KINDS: Final[Mapping[str, Kind]] = MappingProxyType(_kinds())
"""Types of tasks, by the ids of the catalogs."""
