"""Import names of another program, resolved to objects of this package while its files are loaded.

A file written for round 1 of the General AI Challenge has the line `from worlds.grid_world import GridWorld`.
Inside the context `module_aliases` such imports succeed; afterwards no trace of them is left.
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
"""Names in each module, by the full name of the module. Packages that contain a module need no row."""


@contextmanager
def module_aliases(table: ModuleTable, *, first: bool) -> Iterator[None]:
    """Make the modules of a table importable within the context.

    Args:
        table: the modules and their contents.
        first: whether they hide modules of the same name, including those imported before; otherwise
            they are used only if no other module has that name. Packages that contain them are never
            hidden: the user's own folder `tasks` stays importable beside `tasks.micro` of the table.
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
        loaded: the names of the modules that it created.
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
        """Return a spec for a module of the table, or for a package that contains one.

        Args:
            fullname: the name of the module.
            path: the search path of its package.
            target: unused.
        """
        if fullname in self._packages and PathFinder.find_spec(fullname, path) is None:
            return ModuleSpec(fullname, self, is_package=True)
        return ModuleSpec(fullname, self) if fullname in self._table else None

    def exec_module(self, module: ModuleType) -> None:
        """Fill a new module.

        Args:
            module: an empty module whose name is in the table.
        """
        self.loaded.append(module.__name__)
        vars(module).update(self._table.get(module.__name__, {}))
