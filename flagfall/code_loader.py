"""Loading of Python code by its name: `package.module` or `path/file.py`, and objects in it."""

from __future__ import annotations

__all__ = ["check_file", "find_member", "load_module"]

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from flagfall.errors import UsageError, suggest


def load_module(place: str, what: str) -> ModuleType:
    """Import a module by its name or its file.

    Args:
        place: `package.module`, or a path that ends in `.py`.
        what: the kind of thing that is looked for in it, for messages: `agent`, `task`.

    Raises:
        UsageError: there is no such module; or its own code failed, then with its traceback.
    """
    return _from_file(Path(place), what) if place.endswith(".py") else _from_module(place, what)


def find_member(module: ModuleType, member: str, place: str) -> Any:
    """Return an object of a module.

    Args:
        module: the module.
        member: the name of the object; dots lead into classes.
        place: the name of the module as the user wrote it, for messages.

    Raises:
        UsageError: the module has no such object.
    """
    found: Any = module
    for part in member.split("."):
        if not hasattr(found, part):
            public = [name for name in vars(found) if not name.startswith("_")]
            raise UsageError(f"{place} has no {member!r}{suggest(part, public)}")
        found = getattr(found, part)
    return found


def check_file(path: Path, what: str) -> None:
    """Check that there is a file.

    Args:
        path: the file.
        what: the kind of thing that is looked for in it, for the message.

    Raises:
        UsageError: there is none; the message has similar names beside it.
    """
    if not path.is_file():
        beside = [file.name for file in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise UsageError(f"no such {what} file: {path}{suggest(path.name, beside)}")


def _from_file(path: Path, what: str) -> ModuleType:
    check_file(path, what)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # modules beside the file can be imported, as by `python file.py`
    spec = importlib.util.spec_from_file_location(f"flagfall_{what}_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[spec.name]
        raise _import_failed(f"{what} {path}", error) from error
    return module


def _from_module(name: str, what: str) -> ModuleType:
    if "" not in sys.path and "." not in sys.path:
        sys.path.insert(0, "")  # modules of the working directory can be imported, as by `python -m`
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and error.name is not None and name.startswith(error.name):
            raise UsageError(f"no module named {error.name!r} for {what} {name}") from None
        raise _import_failed(f"{what} {name}", error) from error


def _import_failed(place: str, error: BaseException) -> UsageError:
    """Return the error with the traceback of the imported code, without the frames of the import itself."""
    stack = traceback.TracebackException.from_exception(error)
    own = [f for f in stack.stack if "importlib" not in f.filename and f.filename != __file__]
    stack.stack = traceback.StackSummary.from_list(own)
    return UsageError(f"{place} failed to import:\n{''.join(stack.format()).rstrip()}")
