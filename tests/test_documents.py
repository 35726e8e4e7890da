"""Paths, modules and links that the documents name exist, and users are shown public names alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "flagfall"
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "benchmarks" / "README.md",
]

INNER_PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "docs" / "architecture.md",
]
"""Pages for those who change flagfall, which name any module."""

MOST_NAMES = 82
"""Public names in all, each counted once."""

MAPS = {ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"}
"""Pages that name files of the package by their path inside it, such as `kernel/seat.py`."""

PATH = re.compile(
    r"(?<![\w./-])(?:(?:flagfall|tests|docs|benchmarks)/[\w./*]*\w(?![\w-])|examples/[\w/]+\.(?:py|js|c)\b|examples/wire/)"
)
SHORT_PATH = re.compile(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.py)?)`")
DOTTED = re.compile(r"(?<![\w./:-])flagfall(?:\.[A-Za-z_]\w*)+")
IMPORT = re.compile(r"^ *from (flagfall[\w.]*) import (\([^)]*\)|[\w, ]+)", flags=re.MULTILINE)

FACADE = {
    name: import_module(name)
    for name in (
        "flagfall",
        "flagfall.agents",
        "flagfall.environments",
        "flagfall.tasks",
        "flagfall.testing",
        "flagfall.timing",
        "flagfall.tournament",
    )
}
"""The modules that programs import from."""

PROGRAMS = [*sorted((ROOT / "examples").rglob("*.py")), *sorted((PACKAGE / "cli" / "templates").iterdir())]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`]*`", flags=re.DOTALL)
TREE_ROW = re.compile(r"^( +)([a-z_0-9]+(?:/|\.py))")
INDENT = 2


def resolves(dotted: str) -> bool:
    """Return True if the name is a module, or is written in the module or package that it names last."""
    place, *names = dotted.split(".")
    path = ROOT / place
    while names and ((path / names[0]).is_dir() or (path / f"{names[0]}.py").is_file()):
        path = path / names.pop(0)
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return not names or re.search(rf"\b{names[0]}\b", source.read_text()) is not None


def named(text: str) -> set[str]:
    """Return all names of the package that a text has, with their modules; `flagfall.lock` is a file."""
    imported = {
        f"{module}.{name.split()[0]}"
        for module, names in IMPORT.findall(text)
        for name in re.findall(r"\w[\w ]*", names)
    }
    return imported | set(DOTTED.findall(text)) - {"flagfall.lock"}


def is_public(dotted: str) -> bool:
    """Return True for a module of `FACADE`, a name in its `__all__`, and what follows such a name."""
    place = max((name for name in FACADE if f"{dotted}.".startswith(f"{name}.")), key=len)
    name = dotted.removeprefix(place).removeprefix(".").partition(".")[0]
    return not name or name in FACADE[place].__all__


def tree_paths(text: str) -> Iterator[str]:
    """Yield the paths of the file tree in a page: a block that begins with `flagfall/`."""
    _, _, rest = text.partition("```\nflagfall/\n")
    folders: list[str] = []
    for line in rest.partition("```")[0].splitlines():
        if row := TREE_ROW.match(line):
            del folders[len(row[1]) // INDENT - 1 :]
            folders.append(row[2])
            yield "".join(folders)


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_exist(page: Path) -> None:
    text = page.read_text()
    missing = [path for path in PATH.findall(text) if not list(ROOT.glob(path))]
    if page in MAPS:
        missing += [
            path
            for path in SHORT_PATH.findall(text)
            if not any((at / path).exists() for at in (ROOT, PACKAGE))
        ]
    assert not missing, f"{page.name} names paths that do not exist: {missing}"


@pytest.mark.parametrize("page", INNER_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_and_their_names_exist(page: Path) -> None:
    missing = [name for name in named(page.read_text()) if not resolves(name)]
    assert not missing, f"{page.name} names modules that do not exist: {missing}"


@pytest.mark.parametrize(
    "page",
    [*(page for page in PAGES if page not in INNER_PAGES), *PROGRAMS],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_users_are_shown_nothing_but_public_names(page: Path) -> None:
    deeper = [name for name in named(page.read_text()) if not is_public(name)]
    assert not deeper, f"{page.name} names what programs must not rely on: {deeper}"


def test_the_public_names_are_few_and_what_their_types_say() -> None:
    assert len({name for module in FACADE.values() for name in module.__all__}) <= MOST_NAMES
    for module in FACADE.values():
        assert module.__file__ is not None
        homes = {
            alias.name: node.module
            for node in ast.walk(ast.parse(Path(module.__file__).read_text()))
            if isinstance(node, ast.ImportFrom) and node.module is not None
            for alias in node.names
        }
        for name in module.__all__:
            value = getattr(module, name)
            home = homes.get(name)  # none for what the module defines itself
            assert home in {None, "flagfall"} or value is getattr(import_module(str(home)), name)
            assert home == "flagfall" or not isinstance(value, ModuleType), f"{name} is hidden by a module"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name}: no such file: {link}"
        assert not anchor or anchor in anchors(target.read_text()), f"{page.name}: no such heading: {link}"


def test_the_variables_that_set_the_counts_of_long_tests_are_listed() -> None:
    pattern = re.compile(r'int\(os\.environ\.get\("(FLAGFALL_\w+)", "(\d+)"\)\)')
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py"), reverse=True):
        for name, count in pattern.findall(path.read_text()):
            found.setdefault(name, []).append(count)
    page = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| `(FLAGFALL_\w+)` \|.*\| ([\d, ]+) \|$", page, flags=re.MULTILINE)
    assert {name: counts.split(", ") for name, counts in rows} == found


def test_the_tree_of_the_architecture_page_is_true() -> None:
    paths = list(tree_paths((ROOT / "docs" / "architecture.md").read_text()))
    assert len(paths) > 20
    assert not [path for path in paths if not (PACKAGE / path).exists()]
    listed = {path.split("/")[0].removesuffix(".py") for path in paths}
    entries = {
        entry.stem for entry in PACKAGE.iterdir() if entry.name[0] not in "_." and entry.suffix in {"", ".py"}
    }
    assert listed == entries, "top-level entries of the package and rows of the tree differ"


def test_a_wrong_name_would_be_noticed() -> None:
    assert resolves("flagfall.kernel.match.play_match")
    assert not resolves("flagfall.kernel.match.no_such_function")
    assert not resolves("flagfall.no_such_module")
    assert is_public("flagfall.tasks.Task.reset")
    assert not any(map(is_public, named("from flagfall.kernel.agent_seat import (\n    Seat,\n)\n")))
    assert not is_public("flagfall.tasks.catalog.make_task")
    assert list(tree_paths("```\nflagfall/\n  a/\n    b.py  text\n  c.py\n```\n")) == ["a/", "a/b.py", "c.py"]
    assert not list(ROOT.glob("flagfall/no_such.py"))
