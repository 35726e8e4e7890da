"""The promise of docs/stability.md: changes are seen, and deprecations name their end."""

from __future__ import annotations

import ast
import difflib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from flagfall.agents.wire.messages import WIRE_VERSION
from flagfall.events import SCHEMA
from flagfall.tasks.task import REVISIONS
from flagfall.tournament.database import MIGRATIONS
from tests.packaging.public_interface import lines

ROOT = Path(__file__).parents[2]
FORM = re.compile(r"[\w.-]+ is deprecated since (\d+\.\d+), and removed in (\d+\.\d+): use \S.*")


@pytest.mark.release
def test_a_change_of_the_public_interface_is_seen() -> None:
    recorded = (ROOT / "tests/packaging/public_interface.txt").read_text().splitlines()
    changes = [
        line
        for line in difflib.unified_diff(recorded, list(lines()), "before", "now", n=0, lineterm="")
        if not line.startswith("@@")
    ]
    assert not changes, (
        "docs/stability.md says how this may change; when it may:"
        " python -m tests.packaging.public_interface > tests/packaging/public_interface.txt\n"
        + "\n".join(changes)
    )


def deprecations() -> Iterator[tuple[Path, str]]:
    """Yield the file and the text of every warning in the package that something is deprecated."""
    for path in sorted((ROOT / "flagfall").rglob("*.py")):
        source = path.read_text()
        texts = [
            node.value
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(" is deprecated", node.value)
        ]
        assert len(texts) == source.count("DeprecationWarning,"), f"{path}: a warning has no text of its own"
        yield from ((path, text) for text in texts)


def test_a_deprecation_names_its_replacement_and_its_end_and_is_gone_by_then() -> None:
    assert FORM.fullmatch("old.name is deprecated and will be removed") is None
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    now = tuple(map(int, version.split(".")))[:2]
    for path, text in deprecations():
        form = FORM.fullmatch(text)
        assert form is not None, f"{path}: {text!r} is not of the form in docs/stability.md"
        since, end = (tuple(map(int, number.split("."))) for number in form.groups())
        assert since <= now < end, f"{path}: {text!r} in version {version}"


def test_the_page_on_stability_has_the_numbers_of_the_formats() -> None:
    page = (ROOT / "docs/stability.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", page, flags=re.MULTILINE))
    assert rows["journal"] == f"schema {SCHEMA}"
    assert rows["database of a tournament"] == f"version {len(MIGRATIONS)}"
    assert rows["wire protocol"] == f"version {WIRE_VERSION}"
    assert list(REVISIONS) == ["round1"]
    assert rows["rules of tasks"].startswith(f"revision {REVISIONS['round1']} of round 1;")
