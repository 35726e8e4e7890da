"""The wheel and the source distribution, as they are installed in a folder without the sources."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.children import run_python

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "flagfall"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a wheel and a source distribution; made by the build backend, without a network."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("built")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder into which the wheel was unpacked, as an installer does."""
    (wheel,) = built.glob("*.whl")
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # noqa: S202 - it was built above
    return folder


def test_every_file_of_the_package_is_in_the_wheel(installed: Path) -> None:
    def files(root: Path) -> set[str]:
        return {
            str(path.relative_to(root))
            for path in root.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
        }

    assert files(installed / "flagfall") == files(PACKAGE)


@pytest.mark.release
def test_the_installed_program_works_without_sources(installed: Path, tmp_path: Path) -> None:
    place = run_python(installed, tmp_path, "-m", "flagfall", "--version")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (place.returncode, place.stdout.split()[:2]) == (0, ["flagfall", version]), place.stderr
    for line in (
        "tournament demo --dry-run",
        "run --task vgdl:windfall#0 --agent random --clock virtual --journal match.jsonl",
        "verify match.jsonl",
        "new task guess.py",
        "run --task guess.py:Guess --agent random --clock virtual",
    ):
        ended = run_python(installed, tmp_path, "-m", "flagfall", *line.split())
        assert ended.returncode == 0, (line, ended.stderr)
    where = run_python(installed, tmp_path, "-c", "import flagfall; print(flagfall.__file__)")
    assert Path(where.stdout.strip()).is_relative_to(installed)


def test_the_source_distribution_has_what_is_needed_to_build_and_to_test(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "tests/conftest.py"}
    assert needed <= names
    assert not any("__pycache__" in name or name.endswith(".pyc") for name in names)


@pytest.mark.skipif(not (ROOT / ".ci").is_dir(), reason="a distribution has no .ci")
def test_the_lowest_versions_that_are_tested_are_the_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bounds = [*project["dependencies"], *(line for lines in extras.values() for line in lines)]
    found = (re.match(r"([\w-]+)(?:\[.*\])?\s*>=\s*([\d.]+)", line) for line in bounds)
    lowest = {match[1]: match[2] for match in found if match}
    lines = (ROOT / ".ci/lowest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {name: (pin + ".").startswith(f"{lowest[name]}.") for name, pin in pins.items()} == dict.fromkeys(
        pins, True
    )
    assert {line.split()[0] for line in project["dependencies"]} <= set(pins)
