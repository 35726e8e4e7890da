"""The rules that hold the house together; `docs/architecture.md` gives the reasons."""

import ast
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "flagfall"

BASE = {
    "errors",
    "terminal_text",
    "events",
    "module_aliases",
    "code_loader",
    "option_text",
    "lazy_names",
    "timing",
    "kernel.channels",
    "kernel",
}
MAY_IMPORT = {
    "errors": set(),
    "terminal_text": set(),
    "module_aliases": set(),
    "code_loader": {"errors"},
    "option_text": {"errors"},
    "lazy_names": set(),
    "events": set(),
    "timing": {"errors", "events"},
    "kernel.channels": {"errors", "events", "timing"},
    "kernel": BASE,
    "configfile": {"errors", "kernel.channels", "kernel"},
    "tasks": BASE | {"configfile"},
    "agents": BASE,
    "recording": BASE,
    "environments": {"errors", "events", "lazy_names", "kernel", "tasks"},
    "gvgai": BASE | {"tasks", "agents", "recording", "playing"},
    "testing": BASE | {"tasks", "agents"},
    "playing": BASE | {"tasks", "agents", "recording"},
    "tournament": BASE | {"configfile", "tasks", "agents", "recording", "playing", "gvgai"},
    "viewer": BASE | {"tasks", "agents", "recording", "playing", "tournament"},
    "cli": BASE
    | {"configfile", "tasks", "agents", "recording", "testing", "playing", "gvgai", "tournament", "viewer"},
    "": BASE | {"tasks", "agents", "recording", "playing", "gvgai", "viewer"},
}

PURE_FOLDERS = ["configfile", "tasks", "tournament/formats", "tournament/stats"]
PURE = [
    "terminal_text.py",
    "kernel/outcomes.py",
    *(f"kernel/referee/{name}.py" for name in ("pace", "ports", "state_machine", "task_rules")),
    "kernel/requests.py",
    "kernel/roles.py",
    "kernel/script.py",
    "kernel/seeding.py",
    "kernel/channels/arrays.py",
    "kernel/channels/codecs.py",
    "kernel/channels/envelope.py",
    "kernel/channels/framing.py",
    "kernel/channels/lines.py",
    "kernel/spaces.py",
    "timing/deadlines.py",
    "timing/budget.py",
    "timing/control.py",
    "timing/durations.py",
    "gvgai/protocol/framing.py",
    "gvgai/protocol/keywords.py",
    "recording/transcript.py",
    *(f"tournament/{name}.py" for name in ("checking", "model", "records", "scoring", "standings")),
    *(
        str(path.relative_to(PACKAGE))
        for folder in PURE_FOLDERS
        for path in sorted((PACKAGE / folder).rglob("*.py"))
    ),
]
IMPURE_MODULES = {"asyncio", "threading", "time", "trio"}
MODULES = sorted(PACKAGE.rglob("*.py"))

MAX_MODULE_LINES = 520
MAX_FUNCTION_LINES = 60
MAX_MODULES = 20
"""Most modules that stand side by side in a folder, `__init__.py` apart."""

ONE_FILE_EACH = {"cli/commands"}
"""Folders of equals, of which each has its file."""


def unit(parts: tuple[str, ...]) -> str:
    """Which room of the house a module belongs to."""
    if parts[:2] == ("kernel", "channels"):
        return "kernel.channels"
    return parts[0] if parts else ""


def parts_of(path: Path, package: Path = PACKAGE) -> tuple[str, ...]:
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"__init__", "__main__"} else parts


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def imports(path: Path, package: Path = PACKAGE) -> Iterator[tuple[str, ...]]:
    """Every module that a file imports, type-checking imports too, as the parts of its name."""
    here = (package.name, *path.relative_to(package).with_suffix("").parts)
    for node in ast.walk(parsed(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: -node.level] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            for alias in node.names:
                yield (*module, alias.name)


def import_graph(package: Path) -> dict[str, set[str]]:
    """Return which modules each module imports, imports for types and inside of functions included."""
    names = {
        ".".join((package.name, *parts_of(path, package))): path
        for path in sorted(package.rglob("*.py"))
        if path.name != "__main__.py"
    }
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        found = graph[name] = set()
        for parts in imports(path, package):
            full, module = ".".join(parts), ".".join(parts[:-1])
            found |= {full if full in names else module} & (names.keys() - {name})
    return graph


def entries_of(folder: str, graph: Mapping[str, AbstractSet[str]]) -> dict[str, set[str]]:
    """Return the imports among the direct entries of a folder: its modules, and its folders as one each."""
    entries: dict[str, set[str]] = {}
    for name, imported in graph.items():
        if name.startswith(f"{folder}."):
            mine = name.removeprefix(f"{folder}.").partition(".")[0]
            theirs = (
                other.removeprefix(f"{folder}.").partition(".")[0]
                for other in imported
                if other.startswith(f"{folder}.")
            )
            entries.setdefault(mine, set()).update(other for other in theirs if other != mine)
    return entries


def cycle(graph: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Return the modules of one import cycle, or an empty list where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


FOLDERS = sorted({".".join(path.relative_to(PACKAGE.parent).parent.parts) for path in MODULES})


@cache
def graph() -> dict[str, set[str]]:
    """Return the import graph of the package; made where it is needed, not in every worker."""
    return import_graph(PACKAGE)


def test_no_import_cycle_among_files() -> None:
    assert cycle(graph()) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_import_cycle_among_the_entries_of_a_folder(folder: str) -> None:
    assert cycle(entries_of(folder, graph())) == []


TYPES_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
IN_A_FUNCTION = "def late():\n    "


def plant(folder: Path, sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Write a package `pkg` with these files, by path, and return its imports."""
    for name, source in sources.items():
        path = folder / "pkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        (path.parent / "__init__.py").touch()
    return import_graph(folder / "pkg")


@pytest.mark.parametrize("place", ["", TYPES_ONLY, IN_A_FUNCTION], ids=["module", "types only", "function"])
@pytest.mark.parametrize(
    "back",
    ["import pkg.a.x", "from pkg.a import x", "from pkg.a.x import Name", "from ..a.x import Name as N"],
)
def test_a_planted_cycle_among_files_is_found(tmp_path: Path, place: str, back: str) -> None:
    sources = {"a/x.py": "from pkg.b.y import Name\n", "b/y.py": "from pkg.c import Name\n", "c.py": ""}
    assert cycle(plant(tmp_path, sources)) == []
    graph = plant(tmp_path, {**sources, "b/y.py": f"{place}{back}\n"})
    assert set(cycle(graph)) == {"pkg.a.x", "pkg.b.y"}
    assert set(cycle(entries_of("pkg", graph))) == {"a", "b"}


def test_a_module_that_imports_the_facade_of_its_folder_is_a_cycle(tmp_path: Path) -> None:
    graph = plant(tmp_path, {"a/x.py": "from pkg.a import Name\n", "a/y.py": ""})
    assert cycle(graph) == []
    (tmp_path / "pkg/a/__init__.py").write_text("from .x import Name\n")
    assert set(cycle(import_graph(tmp_path / "pkg"))) == {"pkg.a", "pkg.a.x"}


@pytest.mark.parametrize("place", ["", TYPES_ONLY, IN_A_FUNCTION], ids=["module", "types only", "function"])
def test_a_planted_cycle_among_the_entries_of_a_folder_is_found(tmp_path: Path, place: str) -> None:
    sources = {
        "top/a/x.py": "from pkg.top.b import Name\n",
        "top/a/y.py": "",
        "top/b.py": f"{place}from pkg.top.a.y import Name\n",
    }
    graph = plant(tmp_path, sources)
    assert cycle(graph) == [], "no cycle of files"
    assert cycle(entries_of("pkg", graph)) == [], "none among the entries above"
    assert set(cycle(entries_of("pkg.top", graph))) == {"a", "b"}


def test_the_graph_is_that_of_the_package() -> None:
    assert len(graph()) == len([path for path in MODULES if path.name != "__main__.py"]) > 300
    assert "flagfall.kernel.seat" in graph()["flagfall.kernel.seating"]
    assert {name.count(".") for name in FOLDERS} == {0, 1, 2, 3, 4}
    assert sum(map(len, graph().values())) > 1000


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    mine = unit(parts_of(path))
    own_entry = path.name == "__main__.py"
    for name in imports(path):
        if name[0] != "flagfall" or own_entry:
            continue
        theirs = unit(name[1:]) if len(name) > 1 else ""
        known = theirs in MAY_IMPORT and theirs != ""
        assert known, f"{path}: imports the package's own facade ({'.'.join(name)})"
        assert theirs == mine or theirs in MAY_IMPORT[mine], (
            f"{mine} must not know {theirs}: {'.'.join(name)}"
        )


@pytest.mark.parametrize("name", PURE)
def test_pure_logic_knows_no_loop_no_clock_and_no_global_random(name: str) -> None:
    for module in imports(PACKAGE / name):
        assert module[0] not in IMPURE_MODULES, f"{name} imports {module[0]}"
        assert module != ("random",), f"{name} imports random itself: take a Random as an argument"
        if module[0] == "random":
            assert module == ("random", "Random"), f"{name} uses the global generator: {'.'.join(module)}"


@pytest.mark.parametrize("folder", PURE_FOLDERS)
def test_folders_of_pure_logic_are_there(folder: str) -> None:
    assert sum(name.startswith(f"{folder}/") for name in PURE) > 3


def test_every_unit_of_the_package_has_a_rule() -> None:
    units = {unit(parts_of(path)) for path in MODULES if path.name != "__main__.py"}
    assert units <= MAY_IMPORT.keys()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_and_functions_stay_readable(path: Path) -> None:
    source = path.read_text()
    assert len(source.splitlines()) <= MAX_MODULE_LINES
    for node in ast.walk(parsed(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            lines = node.end_lineno - first.lineno + 1
            assert lines <= MAX_FUNCTION_LINES, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_is_a_long_list_of_files(folder: str) -> None:
    path = PACKAGE.parent.joinpath(*folder.split("."))
    modules = {module.name for module in path.glob("*.py")} - {"__init__.py"}
    if str(path.relative_to(PACKAGE)) not in ONE_FILE_EACH:
        assert len(modules) <= MAX_MODULES


def test_the_import_rule_would_notice() -> None:
    names = set(imports(PACKAGE / "playing.py"))
    assert ("flagfall", "tasks", "building", "build_scheduler") in names
    assert "playing" not in MAY_IMPORT["tasks"]
