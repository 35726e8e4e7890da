"""Files of the user's own code: which ones belong to a task, their names in journals, and their copies."""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from flagfall.code_loader import MAX_CODE_FILES, files_of_file, files_of_module
from flagfall.errors import UsageError
from flagfall.tasks.catalog import in_folder, portable_id, task_files
from flagfall.tasks.code_files import MAX_FILE_BYTES, code_files, digests_of, find_code


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a task, the modules that it imports, and one that it does not; the working directory."""
    for name, text in {
        "own.py": "import helper, os\nfrom package.part import thing\ndef make():\n    import late\n",
        "helper.py": "import further\n",
        "further.py": "import own\n",
        "late.py": "",
        "other.py": "",
        "package/__init__.py": "",
        "package/part.py": "from . import rest\n",
        "package/rest.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


NEEDED = ["further.py", "helper.py", "late.py", "own.py"]
NEEDED += ["package/__init__.py", "package/part.py", "package/rest.py"]


def test_a_file_has_what_it_imports_beside_it(here: Path) -> None:
    found = files_of_file(here / "own.py")
    assert list(found) == NEEDED
    assert found["package/rest.py"] == here / "package" / "rest.py"


def test_names_have_no_folder_of_this_machine(here: Path) -> None:
    assert list(code_files(f"{here}/own.py")) == NEEDED
    os.chdir(here.parent)
    assert next(iter(code_files(f"{here.name}/own.py"))) == f"{here.name}/further.py"
    assert portable_id(f"{here}/own.py:Task?size=3") == "own.py:Task?size=3"
    assert portable_id("a/own.py:Task") == "a/own.py:Task"
    assert (
        portable_id(f"vgdl:{here}/a.txt#{here}/b.txt:observation=image")
        == "vgdl:a.txt#b.txt:observation=image"
    )


@pytest.mark.usefixtures("here")
def test_a_module_of_the_user_has_files_and_no_other_has() -> None:
    assert list(task_files("package.part:Task")) == NEEDED[4:]
    assert list(task_files("gym:helper:Game-v0")) == ["further.py", "helper.py", *NEEDED[2:]]
    for name in ("json", "numpy", "flagfall.gvgai", "sys", "nowhere", "zipimport"):
        assert files_of_module(name) == {}
    assert task_files("micro1") == task_files("vgdl:causeway#0") == task_files("gym:CartPole-v1") == {}


def test_files_of_a_large_folder_are_bounded(here: Path) -> None:
    for number in range(MAX_CODE_FILES + 5):
        (here / "package" / f"m{number}.py").touch()
    assert len(files_of_file(here / "own.py")) == MAX_CODE_FILES


def test_levels_of_games_start_in_the_folder_too(here: Path) -> None:
    assert in_folder("vgdl:a.txt#b.txt", here) == f"vgdl:{here}/a.txt#{here}/b.txt"
    assert in_folder("vgdl:causeway#b.txt", here) == f"vgdl:causeway#{here}/b.txt"
    assert in_folder("vgdl:causeway#1", here) == "vgdl:causeway#1"


def test_a_file_that_changes_has_another_digest(here: Path) -> None:
    files = {"other.py": here / "other.py", "missing.py": here / "missing.py", "folder": here / "package"}
    assert digests_of(files) == {"other.py": sha256(b"").hexdigest()}
    (here / "other.py").write_text("x = 1\n")
    assert digests_of(files) == {"other.py": sha256(b"x = 1\n").hexdigest()}
    (here / "other.py").write_bytes(bytes(MAX_FILE_BYTES + 1))
    assert digests_of(files) == {}


class _Odd:
    """Stands for a module, as some libraries do."""

    def __getattr__(self, name: str) -> str:
        raise DeprecationWarning(f"{name} was asked for")


def test_carried_files_are_unpacked_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in {"odd": _Odd(), "blocked": None}.items():
        monkeypatch.setitem(sys.modules, name, module)
    digest = sha256(b"x = 1\n").hexdigest()
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / digest).write_text("x = 1\n")
    journal = tmp_path / "journals" / "m.jsonl"
    folder = find_code(journal, {"a/b.py": digest, "c.py": digest})
    assert folder is not None
    assert (folder / "a" / "b.py").read_text() == "x = 1\n"
    assert find_code(journal, {"c.py": digest}) != folder
    assert not folder.exists(), "only the files of one match are kept"
    (tmp_path / "code" / digest).write_text("x = 2\n")
    with pytest.raises(UsageError, match="is not as it was carried"):
        find_code(journal, {"a/b.py": digest})
    (tmp_path / "code" / digest).unlink()
    (tmp_path / "code" / digest).symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="cannot be read"):
        find_code(journal, {"a/b.py": digest})
    assert find_code(tmp_path / "m.jsonl", {"a/b.py": digest}) is None
