"""Temporary module names, under which files of another program can import modules of flagfall.

A file that was written for round 1 of the General AI Challenge says `from worlds.grid_world import
GridWorld`. Inside `module_aliases` such names import, and nothing of them is left afterwards.
"""

from __future__ import annotations

__all__ = ["ModuleTable", "module_aliases"]

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, TypeAlias

ModuleTable: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The members of each module, by its full name. Packages above a module need no row of their own."""


@contextmanager
def module_aliases(table: ModuleTable, *, first: bool) -> Iterator[None]:
    """Let the modules of a table be imported within the context.

    Args:
        table: the modules and their members.
        first: they hide modules of the same name, also those that were imported before; otherwise they
            are found only if there is no other module of that name. Packages above them are never
            hidden: a `tasks` folder of the user's own stays importable beside `tasks.micro` of the table.
    """
    finder = _AliasFinder(table)
    hidden = {name: sys.modules.pop(name) for name in table if first and name in sys.modules}
    sys.meta_path.insert(0 if first else len(sys.meta_path), finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.loaded:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)


class _AliasFinder(MetaPathFinder, Loader):
    """Finder and loader of the modules of a table.

    Attributes:
        loaded: the names of the modules that it made.
    """

    def __init__(self, table: ModuleTable) -> None:
        self._table = table
        parts = [name.split(".") for name in table]
        self._packages = {".".join(part[:length]) for part in parts for length in range(1, len(part))}
        self.loaded: list[str] = []

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG002 - only for reloading
    ) -> ModuleSpec | None:
        """Return a spec for a module of the table, or for a package above one."""
        if fullname in self._packages and PathFinder.find_spec(fullname, path) is None:
            return ModuleSpec(fullname, self, is_package=True)
        return ModuleSpec(fullname, self) if fullname in self._table else None

    def exec_module(self, module: ModuleType) -> None:
        """Fill a new module."""
        self.loaded.append(module.__name__)
        vars(module).update(self._table.get(module.__name__, {}))
