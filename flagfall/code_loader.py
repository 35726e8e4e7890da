"""Python code by its name: modules, files and the objects in them; temporary names of modules."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from filecmp import cmp
from functools import lru_cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

from flagfall.errors import UsageError, suggest

# Temporary module names, under which files of another program can import modules of flagfall.
#
# A file that was written for round 1 of the General AI Challenge says `from worlds.grid_world import
# GridWorld`. Inside `module_aliases` such names import, and nothing of them is left afterwards.

ModuleTable: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The members of each module, by its full name. Packages above a module need no row of their own."""


@contextmanager
def module_aliases(table: ModuleTable, *, first: bool) -> Iterator[None]:
    """Let the modules of a table be imported within the context.

    Args:
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
    """Finder and loader of the modules of a table."""

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


MAX_OUTLINE_BYTES: Final = 1024 * 1024
"""Longer files are not searched for names."""

_MAKERS_OF_NAMES: Final = frozenset(
    {"*", "__dict__", "__getattr__", "exec", "globals", "locals", "modules", "setattr", "vars"}
)
"""Names in a file that may give it objects whose names it does not contain."""


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


def which_member(file: str, methods: Collection[str], *, bare: bool = False) -> str:
    """Return a hint how to name an object of a file, which is not imported for it.

    Args:
        file: a path that ends in `.py`.
        methods: a class that is looked for has one of these; without such a class, functions are named.
        bare: functions without an argument are looked for as well.
    """
    names = _outline(_parsed(Path(file)), methods, bare=bare)
    return f"write {' or '.join(f'{file}:{name}' for name in names or ['Name'])}"


def check_member(file: str, member: str, what: str, methods: Collection[str]) -> None:
    """Check that a file may have an object; what it does when it is imported is not known.

    Args:
        member: the object's name in it, possibly with dots.

    Raises:
        UsageError: there is no such file, or the name stands nowhere in it.
    """
    path, name = Path(file), member.partition(".")[0]
    check_file(path, what)
    tree = _parsed(path)
    if tree is None:
        return
    names = {text for node in ast.walk(tree) for text in _names_of(node)}
    if name not in names and not names & _MAKERS_OF_NAMES:
        raise UsageError(f"{path} has no {name!r}{suggest(name, _outline(tree, methods, bare=False))}")


def _names_of(node: ast.AST) -> list[str]:
    """Return the names that a node of a syntax tree contains itself."""
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    fields = (getattr(node, field, None) for field in ("id", "name", "attr", "rest"))
    return [text for text in fields if isinstance(text, str)]


def _parsed(path: Path) -> ast.Module | None:
    """Return the syntax tree of a file; `None` for one that is too long, or is no Python."""
    if not path.is_file():  # a pipe would block
        return None
    try:
        with path.open("rb") as source:
            text = source.read(MAX_OUTLINE_BYTES + 1)
            return ast.parse(text) if len(text) <= MAX_OUTLINE_BYTES else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _outline(tree: ast.Module | None, methods: Collection[str], *, bare: bool) -> list[str]:
    """Return the public classes with one of these methods, and if there are none, the public functions."""
    if tree is None:
        return []
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    public = [
        node for node in tree.body if isinstance(node, ast.ClassDef | functions) and node.name[0] != "_"
    ]
    classes = [
        node.name
        for node in public
        if isinstance(node, ast.ClassDef)
        and any(isinstance(part, functions) and part.name in methods for part in node.body)
    ]
    return classes or [
        node.name for node in public if not isinstance(node, ast.ClassDef) and (bare or node.args.args)
    ]


def check_file(path: Path, what: str) -> None:
    """Check that there is a file."""
    if not path.is_file():
        beside = [file.name for file in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise UsageError(f"no such {what} file: {path}{suggest(path.name, beside)}")


# Files of the user's own code, which results carry to other machines.
#
# They are found by the names in `import` statements, without executing anything, so that the code of agents
# is found as well, which only their own processes import.

MAX_CODE_FILES: Final = 200
"""Most files of one module or file with those that it imports; further ones are left out."""

_LIBRARIES: Final = tuple(
    {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {Path(__file__).parent}
)
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


def files_of_file(path: Path) -> dict[str, Path]:
    """Return a Python file and those that it imports from beside it, by their names in its folder."""
    try:
        state = path.stat()
    except OSError:
        return {}
    return _files_of_file(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _files_of_file(path: Path, _changed_ns: int, _size: int) -> dict[str, Path]:
    """Return the files of one version of a file: a match asks for them each time that it is played."""
    return _with_imports([path], path.parent)


def files_of_module(name: str) -> dict[str, Path]:
    """Return the files of a module or package of the user's own, and of those beside it that it imports.

    Returns:
        The files, by their names in the folder of the module; none of a module that is installed, part of
        Python or of flagfall, or not found.
    """
    top = name.partition(".")[0]
    try:
        spec = PathFinder.find_spec(top, ["", *sys.path])
    except (ImportError, ValueError):
        return {}
    places = [] if spec is None else [*(spec.submodule_search_locations or [spec.origin or ""])]
    if not places:
        return {}
    place = Path(places[0]).absolute()
    if _INSTALLED.intersection(place.parts) or any(place.is_relative_to(path) for path in _LIBRARIES):
        return {}
    return _with_imports(_python_files(place), place.parent)


def _python_files(place: Path) -> Iterator[Path]:
    """Yield a Python file, or those in a folder."""
    if place.suffix == ".py" and place.is_file():
        yield place
    elif place.is_dir():
        yield from sorted(islice(place.rglob("*.py"), MAX_CODE_FILES))


def _with_imports(files: Iterable[Path], folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    due = [*files]
    while due and len(found) < MAX_CODE_FILES:
        file = due.pop(0)
        name = file.relative_to(folder).as_posix()
        if name in found:
            continue
        found[name] = file
        for top in sorted(_imported(_parsed(file))):
            module = folder / f"{top}.py"
            due += _python_files(module if module.is_file() else folder / top)
    return dict(sorted(found.items()))


def _imported(tree: ast.Module | None) -> set[str]:
    """Return the first parts of the names of the modules that a file imports, but for relative ones."""
    names = set()
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _from_file(path: Path, what: str) -> ModuleType:
    check_file(path, what)
    _refuse_shared_imports(path.resolve(), what)
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


def _refuse_shared_imports(path: Path, what: str) -> None:
    """Refuse a file that would get another module of that name: a process has one of each."""
    for name, file in _with_imports([path], path.parent).items():
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        found = getattr(sys.modules.get(module), "__file__", None)
        if file == path or found is None or module.partition(".")[0] in sys.stdlib_module_names:
            continue
        if not _is_copy(Path(found), file):
            raise UsageError(
                f"{what} {path}: it imports {file.name} beside it, and the module {module!r} of this process"
                f" is {found}: rename one of them, or choose host process"
            )


def _is_copy(one: Path, other: Path) -> bool:
    """Return whether two files have the same content, as far as both are still there."""
    try:
        return cmp(one, other, shallow=False)
    except OSError:
        return True


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
