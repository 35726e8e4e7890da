"""`.ci/release`, run in a clone with a tag of its own: what it refuses, and what it builds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
TAG = "v9.9.9"
WHEELS = int(os.environ.get("FLAGFALL_RELEASE_WHEELS", "0"))

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a distribution has no commits")


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=A tester", "-c", "user.email=tester@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def put(path: Path, before: str, after: str) -> None:
    """Replace a text that must be there."""
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone whose last commit is version 9.9.9, with its tag."""
    folder = tmp_path_factory.mktemp("clone")
    git(folder, "clone", "-q", "--no-tags", str(ROOT), ".")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    put(folder / "pyproject.toml", f'\nversion = "{version}"\n', f'\nversion = "{TAG[1:]}"\n')
    put(folder / "CITATION.cff", f"\nversion: {version}\n", f"\nversion: {TAG[1:]}\n")
    put(folder / "CHANGELOG.md", "\n## ", f"\n## [{TAG[1:]}] - 2099-01-01\n\n- News of a trial.\n\n## ")
    git(folder, "commit", "-q", "-a", "-m", "Trial")
    git(folder, "tag", TAG)
    return folder


@pytest.fixture
def clone(tagged: Path) -> Iterator[Path]:
    """The same, restored after a test."""
    yield tagged
    git(tagged, "reset", "-q", "--hard", TAG)
    git(tagged, "clean", "-fdqx")


def release(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([folder / ".ci/release", *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("change", "tag", "message"),
    [
        ("echo >> README.md", TAG, "the working tree has changes"),
        ("touch flagfall/mine.py", TAG, "the working tree has changes"),
        ("git rm -q --cached LICENSE", TAG, "the working tree has changes"),
        ("true", "v9.9.8", "there is no such tag"),
        ("true", "HEAD", "there is no such tag"),
        ("git checkout -q HEAD~1", TAG, "another commit is checked out"),
        ("git tag -f v9.9.7 HEAD", "v9.9.7", "pyproject.toml has another version"),
        ("git tag -f v9.9 HEAD", "v9.9", "pyproject.toml has another version"),
    ],
)
def test_what_is_not_the_tag_is_refused(clone: Path, change: str, tag: str, message: str) -> None:
    branch = git(clone, "rev-parse", "--abbrev-ref", "HEAD").strip()
    subprocess.run(change, shell=True, cwd=clone, check=True, capture_output=True)  # noqa: S602
    done = release(clone, tag)
    git(clone, "checkout", "-q", "-f", branch)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"release {tag}: {message}")
    assert not (clone / "dist").exists()


@pytest.mark.parametrize(
    ("name", "before", "message"),
    [
        ("CITATION.cff", "version: 9.9.9", "CITATION.cff has another version"),
        ("CHANGELOG.md", "## [9.9.9]", "CHANGELOG.md has no section [9.9.9]"),
        ("CHANGELOG.md", "\n- News of a trial.\n", "CHANGELOG.md has no section [9.9.9]"),
        ("CHANGELOG.md", " - 2099-01-01", "CHANGELOG.md has no section [9.9.9] with a date"),
    ],
)
def test_a_commit_whose_files_disagree_is_refused(clone: Path, name: str, before: str, message: str) -> None:
    put(clone / name, before, "")
    git(clone, "commit", "-q", "-a", "-m", "Disagree")
    git(clone, "tag", "-f", "v9.9.9")
    done = release(clone, TAG)
    git(clone, "tag", "-f", TAG, "HEAD~1")
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.release
def test_a_release_is_built_from_the_tag_alone(clone: Path) -> None:
    """The script itself compares two builds under other conditions, and plays the demo with each wheel."""
    for left in ("flagfall/left.so", "flagfall/__pycache__/left.pyc", "build/left.py", "dist/old.whl"):
        (clone / left).parent.mkdir(exist_ok=True)
        (clone / left).write_bytes(b"left by something else, and ignored by git")
    done = release(clone, TAG, sys.executable if WHEELS else "none")
    assert done.returncode == 0, done.stdout + done.stderr
    dist = clone / "dist"
    assert set((dist / "SHA256SUMS").read_text().splitlines()) == {
        f"{sha256(path.read_bytes()).hexdigest()}  {path.name}"
        for path in dist.iterdir()
        if path.name != "SHA256SUMS"
    }
    tags = {path.name.split("-")[-1] for path in dist.glob("flagfall-9.9.9-cp3*.whl")}
    assert len(tags) == WHEELS
    assert all(tag.startswith("manylinux") for tag in tags)
    assert (dist / "NOTES.md").read_text().strip() == "- News of a trial."
    committed = {name for name in git(clone, "ls-files").split() if name.startswith("flagfall/")}
    with zipfile.ZipFile(dist / "flagfall-9.9.9-py3-none-any.whl") as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        modes = {entry.external_attr >> 16 & 0o777 for entry in wheel.infolist()}
    assert (names, modes) == (committed, {0o644})
    with tarfile.open(dist / "flagfall-9.9.9.tar.gz") as sources:
        packed = {member.name.partition("/")[2] for member in sources if member.isfile()}
        times = {member.mtime for member in sources}
    assert times == {int(git(clone, "log", "-1", "--format=%ct"))}
    assert {name for name in packed if name.startswith("flagfall/")} == committed
    bom = json.loads((dist / "flagfall-9.9.9.cdx.json").read_text())
    assert (bom["bomFormat"], bom["metadata"]["component"]["version"]) == ("CycloneDX", "9.9.9")
    found = {f"{component['name']}=={component['version']}" for component in bom["components"]}
    assert found < set((ROOT / ".ci/release.txt").read_text().splitlines())
    assert str(clone.parent) not in json.dumps(bom)


def test_the_tools_of_a_release_are_pinned_with_the_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    hook = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]["dependencies"]
    lines = (ROOT / ".ci/release.txt").read_text().splitlines()
    pins = dict(line.lower().replace("_", "-").split("==") for line in lines if line[0] != "#")
    for line in [*project["build-system"]["requires"], *hook, *project["project"]["dependencies"]]:
        need = Requirement(line)
        assert need.name in pins, f"{need.name} is missing in .ci/release.txt"
        assert need.specifier.contains(pins[need.name]), line


def test_one_version_in_all_places() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    dated = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})", heading) for heading in headings[1:]]
    assert all(dated), "a section of a release is not of the form `## [1.2.3] - 2030-01-31`"
    assert not dated or dated[0] is None or dated[0][1] == version
