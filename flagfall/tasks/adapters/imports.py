"""Texts that name a task's code, and the modules that texts of tasks name.

A task such as `gym:my_module:Game-v0` or `mytask.py:MyTask` names code. On a command line the user names it;
in a journal or a plan from elsewhere, its author does. So texts from files are checked first: tasks shipped
with flagfall and environments that an installed library registers may be made; any other module is imported
only if the user trusts the file.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.texts import parse_text


@attrs.frozen
class CodeSpec:
    """A parsed text that names a task's code, such as `mytask.py:MyTask?size=3`.

    It is recognised by its form alone; ids of `flagfall.tasks.catalog.FAMILIES` come first.

    Attributes:
        place: the module, or a path that ends in `.py`.
        member: the name of a class or function in it; dots lead into classes.
    """

    place: str
    member: str
    options: str = ""

    @classmethod
    def parse(cls, task_id: str) -> CodeSpec | None:
        """Return the parts of a text; `None` if it does not have this form."""
        name, mark, rest = task_id.partition("?")
        place, colon, member = name.rpartition(":")
        if not colon or not _is_dotted(member):
            return None
        return cls(place, member, mark + rest) if place.endswith(".py") or _is_dotted(place) else None

    @property
    def is_file(self) -> bool:
        """True for code that is named by its file."""
        return self.place.endswith(".py")

    def __str__(self) -> str:
        """Return the text."""
        return f"{self.place}:{self.member}{self.options}"

    def in_folder(self, folder: Path) -> str:
        """Return the text with an absolute path, where it names a file."""
        place = str((folder / self.place).resolve()) if self.is_file else self.place
        return str(attrs.evolve(self, place=place))


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


_FORWARDING: Final = ("GymV21Environment", "GymV26Environment")
"""Ids of Gymnasium that forward to the old library `gym`, which imports the module named by an option."""


class UntrustedImportError(UsageError):
    """A file names a module that is imported only if the user trusts the file.

    Attributes:
        origin: the file that it would be imported from.
    """

    def __init__(self, task: str, module: str, origin: str = "") -> None:
        self.module = module
        self.origin: str = origin or _origin(module)
        what = "file" if module.endswith(".py") else "module"
        super().__init__(f"task {_shortened(task)} would import {what} {module!r} ({self.origin})")


def gymnasium_module(task_id: str) -> str | None:
    """Return the module that making an environment of Gymnasium would import; `None` if there is none.

    Args:
        task_id: such as `gym:my_module:Game-v0`.
    """
    env_id = task_id.partition("?")[0].partition(":")[2]
    module, colon, _ = env_id.partition(":")
    if colon:
        return module
    if env_id.partition("-v")[0] in _FORWARDING:
        return str(parse_text(task_id)[1].get("env_id", "gym")).partition(":")[0]
    return None


def pettingzoo_module(task_id: str) -> str | None:
    """Return the module that making an environment of PettingZoo would import; `None` if there is none.

    Args:
        task_id: such as `pettingzoo:my_package.my_module`.
    """
    module = task_id.partition("?")[0].partition(":")[2]
    return module if "." in module else None


def own_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take out the options of the task that an environment becomes; the others go to its maker."""
    return {key: options.pop(key) for key in ("nil", "action_mask") if key in options}


def import_named(name: str) -> ModuleType:
    """Import a module that the user named; the working directory is searched, too.

    Raises:
        Exception: any exception of the module.
    """
    if "" not in sys.path and os.curdir not in sys.path:
        sys.path.insert(0, "")
    return importlib.import_module(name)


def _origin(module: str) -> str:
    """Return the origin of a module without importing anything.

    Only the first part of a dotted name can be looked up: for the next one, Python would import the first.
    """
    if module.endswith(".py"):
        return str(Path(module).resolve()) if Path(module).is_file() else "not found"
    top = module.partition(".")[0]
    spec = _found(top)
    if spec is None:
        return "part of Python" if top in sys.stdlib_module_names else "not found"
    return spec.origin or next(iter(spec.submodule_search_locations or ()), "not found")


def is_installed(module: str) -> bool:
    """Return whether a module's first part is found, in the working directory too; nothing is imported."""
    top = module.partition(".")[0]
    return top in sys.modules or _found(top) is not None


def _found(top: str) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(top, ["", *sys.path])
    except (ImportError, ValueError):
        return None


def _shortened(text: str, most: int = 80) -> str:
    return repr(text if len(text) <= most else f"{text[: most - 3]}...")
