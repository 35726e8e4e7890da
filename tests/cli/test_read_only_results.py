"""Results that may only be read: on a disk that is mounted so, or in the folder of another user."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.store import Store

PLAN = """
clock = "virtual"
repeats = 2
time_control = "act=1s"
[[agents]]
spec = "random"
[[tasks]]
task = "micro1"
steps = 5
"""


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Keep all users from writing to a folder, root too."""
    if os.geteuid():
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    for words in (["--bind", folder], ["-o", "remount,bind,ro"]):
        done = subprocess.run(["mount", *words, folder], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"nothing may be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def out(played: Callable[[str, str], Path]) -> Path:
    return played("plan", PLAN).rename("out")


@pytest.mark.parametrize(
    "line",
    [
        "results out",
        "results out --json",
        "what-if out --advise --time-control act=1ms",
        "report out -o report.html",
        "results out --matches --format csv",
        "tournament plan.toml --output out --dry-run",
    ],
)
def test_results_are_read_and_nothing_is_written(call: Callable[..., Any], out: Path, line: str) -> None:
    before = sorted(os.listdir(out))  # noqa: PTH208 - names are what is compared
    wanted = call(line)
    assert wanted.code == 0
    with read_only(out):
        ended = call(line)
    assert (ended.code, ended.out, ended.err) == (0, wanted.out, "")
    assert sorted(os.listdir(out)) == before  # noqa: PTH208 - names alone


@pytest.mark.parametrize("index", [True, False], ids=["with its index", "without"])
def test_what_a_killed_run_had_stored_last_is_read_too(
    call: Callable[..., Any], out: Path, folder: Path, index: bool
) -> None:
    killed = folder / "killed"
    with closing(Store(out, "make")) as store:
        seat = SeatRecord(agent="random", score=0.0)
        store.put(MatchRecord(id="r9-m9-g9", status="void", why="late news", seats=(seat,)))
        shutil.copytree(out, killed)  # what a kill leaves at this moment: the last record is in the log alone
    assert (killed / "tournament.db-wal").stat().st_size > 0
    if not index:
        (killed / "tournament.db-shm").unlink()
    with read_only(killed):
        ended = call("results killed --matches --format csv")
    assert ended.code == 0
    assert "late news" in ended.out


def test_a_run_in_it_is_refused(call: Callable[..., Any], out: Path) -> None:
    with read_only(out):
        ended = call("tournament plan.toml --output out --resume")
    assert ended.code == 2
    assert ended.err.startswith("flagfall: out cannot be written: ")
    assert len(ended.err.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_unreadable_files_are_reported(call: Callable[..., Any], out: Path) -> None:
    (out / "tournament.db").chmod(0)
    ended = call("results out")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "out/tournament.db" in ended.err
    out.chmod(0)
    ended = call("results out")
    out.chmod(0o755)
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
