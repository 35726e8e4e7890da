"""Every benchmark runs at a hundredth of its size, with the rows that `benchmarks/README.md` describes."""

from __future__ import annotations

import ast
import math
import operator
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutants import mutants_of
from benchmarks.results import read_run
from benchmarks.suites import SUITES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "benchmarks" / "README.md").read_text()
HEADER = "| row | meaning | target | limit |"
ABSENT_ROWS = {"<game>, all rows", "<game>, the original"}
"""Of games, and of a checkout of GVGAI, that this machine lacks."""

LONG = {"adaptive", "load", "stops", "tournament", "vector", "viewer", "wasm"}
"""Suites that take a quarter of a minute or more at a hundredth of their size."""

WITH_LONG = int(os.environ.get("FLAGFALL_SUITES", "0"))
"""`FLAGFALL_SUITES=1` for these, too, by hand: two minutes of two processors."""


def described(suite: str) -> dict[str, list[str]]:
    """Return the cells beside each row name in the table of a suite."""
    _, _, rest = PAGE.partition(f"\n## {suite}\n")
    section = rest.partition("\n## ")[0]
    _, _, table = section.partition(HEADER)
    lines = [line for line in table.splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert len({row[0] for row in rows}) == len(rows)
    return {name.strip("`"): cells for name, *cells in rows}


def pattern(name: str) -> re.Pattern[str]:
    """Return what row names a name on the page stands for: `<game>` matches any text."""
    return re.compile(".+".join(map(re.escape, re.split(r"<\w+>", name))))


def plain(text: str) -> str:
    return text.replace(">=", "≥").replace("<=", "≤")


@pytest.mark.release
@pytest.mark.parametrize("suite", [suite for suite in SUITES if WITH_LONG or suite not in LONG])
def test_suite_at_a_hundredth_has_the_rows_that_the_page_describes(suite, tmp_path):
    kept = tmp_path / "run.jsonl"
    words = [sys.executable, "-m", "benchmarks", suite, "--scale", "100", "--json", str(kept)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = kept.read_text().splitlines()
    run = read_run(kept)
    assert len(run.results) == len(lines) - len(run.machines), "two rows have the same name"
    assert "Python" in run.machines[0]

    page = described(suite)
    for name, cells in page.items():
        assert len(cells) == 3, name
        assert all(cells), name
    found: dict[str, str] = {}
    for _, name in run.results:
        row = run.results[suite, name].row
        if row.skipped:
            assert not row.value, name
        else:
            assert math.isfinite(row.number), name
        matching = [entry for entry in page if pattern(entry).fullmatch(name)]
        assert len(matching) == 1, f"{name}: in the table of the page {len(matching)} times"
        found[matching[0]] = name
        if row.target and "<" not in matching[0]:
            target = page[matching[0]][1]
            assert plain(row.target) in plain(target), f"{name}: the page has another target"
    absent = page.keys() - found.keys() - ABSENT_ROWS
    assert not absent, "on the page, and not in the suite"


@pytest.mark.release
@pytest.mark.parametrize(("suite", "group"), [("vgdl", "zelda"), ("gvgai", "track")])
def test_public_games_that_are_absent_are_skipped_with_a_note(suite, group, tmp_path):
    kept = tmp_path / "run.jsonl"
    words = [sys.executable, "-m", "benchmarks", suite, "--only", group, "--json", str(kept)]
    environment = {**os.environ, "VGDL_GAMES": str(tmp_path)}
    subprocess.run(words, cwd=ROOT, env=environment, check=True, timeout=300)
    rows = {name: result.row for (_, name), result in read_run(kept).results.items()}
    assert "zelda, all rows" in rows
    for name, row in rows.items():
        assert name.endswith(", all rows")
        assert "name a folder of the public games as VGDL_GAMES" in row.skipped


def test_page_describes_every_suite():
    headings = set(re.findall(r"^## (\w+)$", PAGE, flags=re.MULTILINE))
    assert set(SUITES) <= headings
    assert PAGE.count(HEADER) == len(SUITES)


@pytest.mark.parametrize("suite", [suite for suite in SUITES if suite != "limits"])
def test_limits_in_code_letters_are_rows_of_the_suite_of_limits(suite):
    measured = described("limits")
    for name, (_, _, limit) in described(suite).items():
        unknown = set(re.findall(r"`([^`]+)`", limit)) - measured.keys()
        assert not unknown, name


def test_a_mutant_has_one_change():
    source = "def f(a, b=1):\n    if a <= b:\n        a.x = sorted(a)\n    return not a + b\n"
    changes = {(mutant.line, mutant.change) for mutant in mutants_of("f.py", source)}
    assert changes == {
        (1, "`1` -> `2`"),
        (2, "`if a <= b:` -> `if not a <= b:`"),
        (2, "`a <= b` -> `a < b`"),
        (3, "`a.x = sorted(a)` -> `pass`"),
        (3, "`sorted(a)` -> `a`"),
        (4, "`return not a + b` -> `return None`"),
        (4, "`not a + b` -> `a + b`"),
        (4, "`a + b` -> `a - b`"),
    }
    lines = ast.unparse(ast.parse(source)).splitlines()
    for mutant in mutants_of("f.py", source):
        assert sum(map(operator.ne, lines, mutant.source.splitlines())) == 1


def test_mutants_that_no_test_notices_are_listed(tmp_path):
    own = tmp_path / "test_own.py"
    own.write_text("from flagfall.timing.control import PHASES\ndef test_phases(): assert PHASES[0]\n")
    words = [
        sys.executable,
        "-m",
        "benchmarks.mutants",
        "flagfall/tournament/scoring.py",
        "--sample",
        "2",
        "--tests",
    ]
    done = subprocess.run([*words, own], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    *survivors, summary = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in survivors] == ["flagfall/tournament/scoring.py"] * 2, (
        done.stderr
    )
    assert summary.startswith("2 of ")
    assert summary.endswith(" mutants: 2 survived, 0 without end")
