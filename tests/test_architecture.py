"""The rules for modules and their imports; `docs/architecture.md` gives the reasons.

A rule is a function that takes a package and returns every violation: file, line, rule, fix. Each runs on
flagfall, and on small packages with planted violations, which it must report.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pytest

PACKAGE = Path(__file__).parent.parent / "flagfall"

BASE = {
    "errors",
    "texts",
    "events",
    "code_loader",
    "lazy_names",
    "timing",
    "kernel.channels",
    "kernel",
}
MAY_IMPORT = {
    "errors": set(),
    "texts": {"errors"},
    "code_loader": {"errors"},
    "lazy_names": set(),
    "events": set(),
    "timing": {"errors", "events", "lazy_names"},
    "kernel.channels": {"errors", "events", "timing"},
    "kernel": BASE,
    "configfile": {"errors", "kernel.channels", "kernel"},
    "tasks": BASE | {"configfile"},
    "agents": BASE | {"recording"},
    "recording": BASE,
    "environments": {"errors", "events", "lazy_names", "kernel", "tasks"},
    "gvgai": BASE | {"tasks", "agents", "recording", "playing"},
    "testing": BASE | {"tasks", "agents", "recording", "playing", "tournament"},
    "playing": BASE | {"tasks", "agents", "recording"},
    "tournament": BASE | {"configfile", "tasks", "agents", "recording", "playing", "gvgai"},
    "viewer": BASE | {"tasks", "agents", "recording", "playing", "tournament"},
    "cli": BASE
    | {"configfile", "tasks", "agents", "recording", "testing", "playing", "gvgai", "tournament", "viewer"},
    "": BASE | {"tasks", "agents", "recording", "playing", "gvgai", "viewer"},
}

PURE = (
    "errors.py",
    "events.py",
    "texts.py",
    "configfile/",
    "gvgai/protocol.py",
    "kernel/",
    "recording/round1_results.py",
    "tasks/",
    "timing/",
    "tournament/",
    "viewer/report/",
)
"""Files and folders of pure logic: an event loop, a clock or a thread is an argument, or belongs in a file of
`IMPURE`."""
IMPURE = {
    *(
        f"kernel/{name}.py"
        for name in ("agent_seat", "environment", "match", "rehearsal", "scheduling", "seat")
    ),
    "kernel/channels/pipes.py",
    "kernel/channels/turn_channel.py",
    "kernel/referee/async_referee.py",
    *(f"timing/{name}.py" for name in ("clocks", "heartbeat", "stalls", "timekeeper", "turn_clock")),
    "tournament/run/",
    "tournament/store.py",
}
"""Files in folders of pure logic that need an event loop, a clock or a thread, and folders that may."""
IMPURE_MODULES = {"asyncio", "threading", "time", "trio"}

MAX_MODULE_LINES = 520
MAX_FUNCTION_LINES = 60

Imports: TypeAlias = Mapping[str, Mapping[str, int]]
"""What each module or folder imports, and in which line."""


def unit(parts: tuple[str, ...]) -> str:
    """Return the row of `MAY_IMPORT` for a module, given by the parts of its name below the package."""
    if parts[:2] == ("kernel", "channels"):
        return "kernel.channels"
    return parts[0] if parts else ""


def parts_of(path: Path, package: Path) -> tuple[str, ...]:
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"__init__", "__main__"} else parts


def modules(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


@cache
def nodes(source: str) -> list[ast.AST]:
    """Return the imports and functions of a module."""
    wanted = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, wanted)]


def imports(path: Path, package: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Every import of a file, for types and inside of functions too: line, and parts of the module's name."""
    here = (package.name, *path.relative_to(package).with_suffix("").parts)
    for node in nodes(path.read_text()):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, tuple(alias.name.split("."))) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: -node.level] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            for alias in node.names:
                yield node.lineno, (*module, alias.name)


def import_graph(package: Path) -> Imports:
    names = {
        ".".join((package.name, *parts_of(path, package))): path
        for path in modules(package)
        if path.name != "__main__.py"
    }
    graph: dict[str, dict[str, int]] = {name: {} for name in names}
    for name, path in names.items():
        for line, parts in imports(path, package):
            full, module = ".".join(parts), ".".join(parts[:-1])
            found = full if full in names else module
            if found in names and found != name:
                graph[name].setdefault(found, line)
    return graph


def cycles(graph: Mapping[str, AbstractSet[str]]) -> Iterator[list[str]]:
    """Cycles of imports that have no import in common."""
    left = {name: set(imported) for name, imported in graph.items()}
    while True:
        try:
            return TopologicalSorter(left).prepare()
        except CycleError as error:
            found = list(reversed(error.args[1]))
            for importer, imported in pairwise(found):
                left[importer].discard(imported)
            yield found


def file_of(module: str, package: Path) -> str:
    path = package.parent.joinpath(*module.split("."))
    return (
        f"{path.relative_to(package.parent)}/__init__.py"
        if path.is_dir()
        else f"{module.replace('.', '/')}.py"
    )


def no_cycle_of_files(package: Path) -> Iterator[str]:
    graph = import_graph(package)
    for found in cycles({name: imported.keys() for name, imported in graph.items()}):
        for importer, imported in pairwise(found):
            place = f"{file_of(importer, package)}:{graph[importer][imported]}"
            yield f"{place}: import in the cycle {' > '.join(found)}; move what both need below both"


def no_cycle_of_entries(package: Path) -> Iterator[str]:
    """Regard each folder in a folder as one module."""
    graph = import_graph(package)
    folders = {".".join(path.relative_to(package.parent).parent.parts) for path in modules(package)}
    for folder in sorted(folders):
        places: dict[str, dict[str, str]] = {}
        for name, imported in graph.items():
            for other, line in imported.items():
                if name.startswith(f"{folder}.") and other.startswith(f"{folder}."):
                    mine, theirs = (
                        each.removeprefix(f"{folder}.").partition(".")[0] for each in (name, other)
                    )
                    if mine != theirs:
                        place = f"{file_of(name, package)}:{line}"
                        places.setdefault(mine, {}).setdefault(theirs, place)
        for found in cycles({name: imported.keys() for name, imported in places.items()}):
            for mine, theirs in pairwise(found):
                text = f"import in the cycle {' > '.join(found)} of {folder}"
                yield f"{places[mine][theirs]}: {text}; move what both need below both"


def imports_point_down(package: Path) -> Iterator[str]:
    for path in modules(package):
        mine = unit(parts_of(path, package))
        if path.name == "__main__.py":
            continue
        if mine not in MAY_IMPORT:
            yield f"{path.relative_to(package.parent)}:1: {mine} has no rule; add its row to MAY_IMPORT"
            continue
        for line, name in imports(path, package):
            if name[0] != package.name:
                continue
            place, theirs = f"{path.relative_to(package.parent)}:{line}", unit(name[1:])
            if theirs not in MAY_IMPORT or not theirs:
                yield f"{place}: imports the facade by {'.'.join(name)}; import the module that has the name"
            elif theirs != mine and theirs not in MAY_IMPORT[mine]:
                text = f"{mine} must not import {theirs}, as {'.'.join(name)}"
                yield f"{place}: {text}; move the name down, or take an argument"


def pure_logic_stays_pure(package: Path) -> Iterator[str]:
    for path in modules(package):
        name = path.relative_to(package).as_posix()
        if not name.startswith(PURE):
            continue
        found = [
            (line, ".".join(module))
            for line, module in imports(path, package)
            if module[0] in IMPURE_MODULES or (module[0] == "random" and module != ("random", "Random"))
        ]
        if name in IMPURE and not found:
            yield f"{package.name}/{name}:1: is pure; remove it from IMPURE"
        if not name.startswith(tuple(IMPURE)):
            for line, module in found:
                text = f"pure logic imports {module}; take a time, a Random or a callable as an argument"
                yield f"{package.name}/{name}:{line}: {text}"


def modules_are_short(package: Path) -> Iterator[str]:
    for path in modules(package):
        if (lines := len(path.read_text().splitlines())) > MAX_MODULE_LINES:
            place = f"{path.relative_to(package.parent)}:{MAX_MODULE_LINES + 1}"
            yield f"{place}: the module has {lines} lines, more than {MAX_MODULE_LINES}; divide it by ideas"


def functions_are_short(package: Path) -> Iterator[str]:
    for path in modules(package):
        for node in nodes(path.read_text()):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                if (lines := (node.end_lineno or 0) - first.lineno + 1) > MAX_FUNCTION_LINES:
                    text = (
                        f"{node.name} has {lines} lines, more than {MAX_FUNCTION_LINES}; divide it by steps"
                    )
                    yield f"{path.relative_to(package.parent)}:{node.lineno}: {text}"


IMPORTS_OF_X = ["import pkg.a.x", "from pkg.a import x", "from pkg.a.x import N", "from ..a.x import N as M"]
PLACES_OF_IMPORTS = ["", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    ", "def late():\n    "]
ALLOWED = {"timing/x.py": "from random import Random\nfrom pkg.errors import N\n", "errors.py": ""}
PLANTED: Mapping[Callable[[Path], Iterator[str]], list[tuple[dict[str, str], list[str]]]] = {
    no_cycle_of_files: [
        *(
            (
                {"a/x.py": "from pkg.b.y import N\n", "b/y.py": f"{place}{back}\n"},
                ["pkg/a/x.py:1", "pkg/b/y.py:"],
            )
            for place in PLACES_OF_IMPORTS
            for back in IMPORTS_OF_X
        ),
        (
            {"a/x.py": "from pkg.a import N\n", "a/__init__.py": "\nfrom .x import N\n"},
            ["pkg/a/__init__.py:2", "pkg/a/x.py:1"],
        ),
    ],
    no_cycle_of_entries: [
        (
            {
                "top/a/x.py": "from pkg.top.b import N\n",
                "top/a/y.py": "",
                "top/b.py": f"{place}from pkg.top.a.y import N\n",
            },
            ["pkg/top/a/x.py:1", "pkg/top/b.py:"],
        )
        for place in PLACES_OF_IMPORTS
    ],
    imports_point_down: [
        ({"tasks/x.py": "\nimport pkg.agents.y\n", "agents/y.py": ""}, ["pkg/tasks/x.py:2"]),
        ({"kernel/channels/x.py": "def late():\n    from ..seat import N\n"}, ["pkg/kernel/channels/x.py:2"]),
        ({"tasks/x.py": "from pkg import N\n"}, ["pkg/tasks/x.py:1"]),
        ({"novel/x.py": ""}, ["pkg/novel/__init__.py:1", "pkg/novel/x.py:1"]),
    ],
    pure_logic_stays_pure: [
        ({"tasks/deep/x.py": "import os\nimport trio.lowlevel\n"}, ["pkg/tasks/deep/x.py:2"]),
        ({"kernel/referee/x.py": "from time import sleep\n"}, ["pkg/kernel/referee/x.py:1"]),
        (
            {"timing/x.py": "import random\nfrom random import randint\n"},
            ["pkg/timing/x.py:1", "pkg/timing/x.py:2"],
        ),
        ({min(IMPURE): ""}, [f"pkg/{min(IMPURE)}:1"]),
    ],
    modules_are_short: [
        (
            {"x.py": "\n" * (MAX_MODULE_LINES + 1), "y.py": "\n" * MAX_MODULE_LINES},
            [f"pkg/x.py:{MAX_MODULE_LINES + 1}"],
        )
    ],
    functions_are_short: [
        (
            {
                "x.py": "async def long():\n" + "    x = 1\n" * (MAX_FUNCTION_LINES + 1),
                "y.py": 'def long():\n    """Has\n    a text."""\n' + "    x = 1\n" * MAX_FUNCTION_LINES,
            },
            ["pkg/x.py:1"],
        )
    ],
}
"""Rules, each with packages that break it, and where it must report that."""


def plant(folder: Path, sources: Mapping[str, str]) -> Path:
    """Write a package `pkg` with these files, by path."""
    for name, source in {"__init__.py": "", **sources}.items():
        path = folder / "pkg" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(source)
    return folder / "pkg"


@pytest.mark.parametrize("rule", PLANTED)
def test_flagfall_keeps_the_rule(rule: Callable[[Path], Iterator[str]]) -> None:
    assert len(modules(PACKAGE)) > 100
    violations = list(rule(PACKAGE))
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize("rule", PLANTED)
def test_rule_reports_each_planted_violation(rule: Callable[[Path], Iterator[str]], tmp_path: Path) -> None:
    assert list(rule(plant(tmp_path / "allowed", ALLOWED))) == []
    for number, (sources, places) in enumerate(PLANTED[rule]):
        found = sorted(rule(plant(tmp_path / str(number), sources)))
        assert len(found) == len(places), sources
        for text, place in zip(found, places, strict=True):
            assert text.startswith(place), sources
