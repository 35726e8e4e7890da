"""Registration of flagfall's environments with Gymnasium, without importing it: it takes 0.2 s.

`import flagfall` makes `gymnasium.make("flagfall/VGDL-v0")` work, whichever of the two is imported first:
at once where Gymnasium is imported already, else when it is.
"""

from __future__ import annotations

__all__ = ["register_with_gymnasium"]

import sys

TYPE_CHECKING = False  # as in the package, which imports this module
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_NAME = "gymnasium"


def register_with_gymnasium() -> None:
    """Register the environments, now or when Gymnasium is imported."""
    if _NAME in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _Finder())


def _register() -> None:
    import flagfall.environments  # noqa: F401, PLC0415 - importing it registers them


class _Finder:
    """Finds Gymnasium as the finders after it do, and registers the environments once it is imported."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of Gymnasium; `None` for all other modules.

        Args:
            name: of a module that is being imported.
            path: see `importlib.abc.MetaPathFinder.find_spec`.
            target: see there.
        """
        if name != _NAME:
            return None
        sys.meta_path.remove(self)
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path)
        spec = next(filter(None, found), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
