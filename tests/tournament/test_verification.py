"""Verification of results folders: what was changed or is missing is named, wherever it is."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import pytest
import trio

from flagfall.errors import UsageError
from flagfall.tournament.lock_file import add_made, write_lock_file
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.run import match
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.standings import agent_rows, export, stored_standings
from flagfall.tournament.store import Store
from flagfall.tournament.verification import FolderVerification, verify_folder

FLIPS = 500
DELETIONS = 50
"""Of each of two folders."""

PLAN = """
clock = "virtual"
jobs = 1
repeats = 2
time_control = "act=1s"
[[agents]]
spec = "random"
[[agents]]
name = "own"
spec = "bot.py:act"
[[tasks]]
task = "micro1"
steps = 300
[[tasks]]
task = "duel:heaps"
[[tasks]]
task = "own.py:Sum"
"""

BOT = """
def act(observation):
    return 32 if type(observation) is int else 0
"""

TASK = """
import helper
from gymnasium.spaces import Discrete
from flagfall.tasks import StepResult, Task

class Sum(Task):
    observation_space = action_space = Discrete(40)
    nil_action = 0
    def __init__(self):
        super().__init__(max_steps=3)
    def _reset(self, seed):
        return helper.least(seed)
    def _step(self, action):
        return StepResult(helper.least(action), action % 3)
    def reached_terminal_state(self):
        return False
    def result(self):
        return None
"""

HELPER = """
def least(number):
    return number % 40
"""


def play(home: Path, folder: Path, plan: str = PLAN) -> Path:
    """Play a plan with code of its own, and write what a command writes besides."""
    for name, text in {"bot.py": BOT, "own.py": TASK, "helper.py": HELPER}.items():
        (home / name).write_text(text)
    made = parse_plan(plan, folder=home)
    trio.run(partial(run_tournament, made, folder, resume=True))
    with closing(Store(folder)) as store:
        rows = agent_rows(stored_standings(store, made))
    for form in ("csv", "json"):
        (folder / f"standings.{form}").write_bytes(export(rows, form))
        add_made(folder, folder / f"standings.{form}")
    return folder


@pytest.fixture(scope="module", params=["plain", "compressed"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A results folder, with plain or compressed journals."""
    home = tmp_path_factory.mktemp("home")
    suffix = {"plain": ".jsonl", "compressed": ".jsonl.zst"}[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match, "_suffix", lambda: suffix)
        yield play(home, home / "made")


@pytest.fixture
def results(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "sent"))


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def named(found: FolderVerification) -> set[str]:
    return {problem.path for problem in found.problems}


def test_what_a_run_left_is_verified(results: Path) -> None:
    found = verify_folder(results)
    assert found.problems == ()
    assert (found.matches, found.journals) == (12, 12)
    assert found.files == len(files_of(results)) - 1
    assert found.tree in str(found)


def test_coreutils_read_the_lock_file(results: Path) -> None:
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "flagfall.lock"],
        cwd=results,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked
    assert checked.stdout.count(": OK") == len(files_of(results)) - 1
    head = (results / "flagfall.lock").read_bytes().partition(b"# tree: ")[0]
    summed = subprocess.run(["sha256sum"], input=head, capture_output=True, check=True).stdout
    assert summed.split()[0].decode() == verify_folder(results).tree


def test_the_lock_file_is_written_alike_each_time(results: Path) -> None:
    before = (results / "flagfall.lock").read_bytes()
    write_lock_file(results)
    for form in ("csv", "json"):
        add_made(results, results / f"standings.{form}")
    assert (results / "flagfall.lock").read_bytes() == before


@pytest.mark.release
def test_every_changed_byte_is_named(results: Path) -> None:
    random = Random(1)
    files = files_of(results)
    for number in range(FLIPS):
        path = files[number % len(files)]
        whole = path.read_bytes()
        at = random.randrange(len(whole))
        changed = bytearray(whole)
        changed[at] ^= 1 << random.randrange(8)
        path.write_bytes(changed)
        found = verify_folder(results)
        assert str(path.relative_to(results)) in named(found), (path, at)
        assert "\n" not in str(found)
        path.write_bytes(whole)
    assert verify_folder(results).ok


@pytest.mark.release
def test_every_deleted_file_is_named(results: Path, tmp_path: Path) -> None:
    random = Random(2)
    files = files_of(results)
    for _ in range(DELETIONS):
        gone = random.sample(files, random.choice([1, 1, 1, 2, 5]))
        for path in gone:
            path.rename(tmp_path / path.name)
        names = {str(path.relative_to(results)) for path in gone}
        if {"flagfall.lock", "tournament.db"} <= names:
            with pytest.raises(UsageError, match=r"no tournament\.db in it"):
                verify_folder(results)
        elif "flagfall.lock" in names:  # what has no digest any more is missed where something names it
            kept = {name for name in names if name.startswith("journals/")} | {"flagfall.lock"}
            assert kept <= named(verify_folder(results))
        else:
            assert names <= named(verify_folder(results))
        for path in gone:
            (tmp_path / path.name).rename(path)
    assert verify_folder(results).ok
