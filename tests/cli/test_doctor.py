from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flagfall.cli.commands.doctor import CHECKS

ROOT = Path(__file__).parents[2]
NAMES = [check.name for check in CHECKS]


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """What `doctor` finds where no program but Python is on the path, and few files can be opened."""
    folder = tmp_path_factory.mktemp("results")
    line = f"ulimit -n 512; exec {sys.executable} -m flagfall doctor --json"
    home = tmp_path_factory.mktemp("home")  # matplotlib keeps files there
    variables = {"PATH": str(folder), "HOME": str(home)}
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=variables, capture_output=True, text=True, check=True
    )
    assert not list(folder.iterdir())  # what was tried is removed
    return {row.pop("name"): row for row in json.loads(done.stdout)["checks"]}


def test_each_check_has_a_state_and_words(findings):
    assert list(findings) == NAMES
    for name, row in findings.items():
        assert row["state"] in {"ok", "limited", "missing"}
        assert row["found"], name
        assert "\n" not in row["found"]
    assert {findings[name]["state"] for name in ("python", "results", "process")} == {"ok"}


def test_what_is_missing_or_limited_has_its_fix(findings):
    assert findings["sandbox"]["state"] == "missing"
    assert "install it (package bubblewrap" in findings["sandbox"]["found"]
    assert findings["files"]["state"] == "limited"
    assert "`ulimit -n 1024`" in findings["files"]["found"]
    assert findings["browser"]["state"] == "limited"


def test_an_extra_that_is_not_installed_says_how_to_install_it(tmp_path):
    code = "import sys; sys.modules['zstandard'] = None; from flagfall.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "doctor", "--require", "zstd"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if " zstd " in line]
    assert line.startswith("missing  zstd ")
    assert line.endswith("pip install 'flagfall[zstd]' (for compressed journals)")


def test_a_folder_that_cannot_hold_results(program, tmp_path):
    ended = program(f"doctor --results {tmp_path / 'absent'} --require results")
    assert ended.code == 1
    assert f"{tmp_path / 'absent'}: No such file or directory; name a folder" in ended.out


def test_a_check_that_does_not_exist_is_one_line(program):
    ended = program("doctor --require sandbox wasmm")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "flagfall: --require wasmm: there is no such check; nearest: wasm\n"


def test_every_extra_of_a_user_is_checked():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras.keys() - {"all", "docs", "test"} <= set(NAMES)
    assert len(NAMES) == len(set(NAMES))
    users = {name for line in extras["all"] for name in line.partition("[")[2].partition("]")[0].split(",")}
    assert users == extras.keys() - {"all", "docs", "test"}
