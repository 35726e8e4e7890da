"""Names of a package that are imported from their modules on first use."""

# `flagfall` imports this file before `python -m flagfall` has protected itself from files of the working
# directory, so only what is built into the interpreter may be imported here; `__future__` is a file.
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: str, modules: "Mapping[str, str]"
) -> "tuple[Callable[[str], Any], Callable[[], list[str]]]":
    """Return the functions `__getattr__` and `__dir__` of a package.

    Args:
        package: the name of the package, whose `__all__` is what `__dir__` shows.
        modules: by full name of a module, the names that it defines, separated by blanks. A name that the
            module does not define stands for the module itself.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}
    namespace = vars(sys.modules[package])

    def import_name(name: str) -> "Any":
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - most programs import flagfall for few names

        module = import_module(homes[name])
        value = namespace[name] = getattr(module, name, module)
        return value

    def list_names() -> list[str]:
        return sorted({*namespace["__all__"], *(name for name in namespace if name.startswith("__"))})

    return import_name, list_names
