"""Results folders that somebody sent: links and pipes in them lead nowhere, and wrong plans are told."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

PLAN = """
clock = "virtual"
repeats = 2
[output]
tables = ["csv"]
[[agents]]
spec = "random"
[[tasks]]
task = "micro1"
steps = 5
"""

RESUME = "tournament cup.toml --quiet --resume"


@pytest.fixture
def results(call: Call, folder: Path) -> Path:
    """The results of a tournament of two matches, one of which is not played."""
    (folder / "cup.toml").write_text(PLAN)
    assert call("tournament cup.toml --quiet").code == 0
    with closing(sqlite3.connect(folder / "cup-results" / "tournament.db")) as database:
        database.execute("DELETE FROM seats WHERE match = 2")
        database.execute("DELETE FROM matches WHERE number = 2")
        database.commit()
    return folder / "cup-results"


def test_a_folder_is_resumed(call: Call, results: Path) -> None:
    assert call("results cup-results --matches --json").data()[1:] == []
    assert call(RESUME).code == 0
    assert len(call("results cup-results --matches --json").data()) == 2
    assert (results / "standings.csv").read_text().startswith("place,")


@pytest.mark.parametrize("name", ["lock", "control", "standings.csv"])
def test_a_link_is_not_written_through(call: Call, results: Path, folder: Path, name: str) -> None:
    mine = folder / "mine"
    mine.write_text("precious")
    (results / name).unlink(missing_ok=True)
    (results / name).symlink_to(mine)
    ended = call(RESUME)
    assert mine.read_text() == "precious"
    if name == "lock":
        assert ended.code == 2
        assert f"{name} is not a regular file: remove it" in ended.err
    else:
        assert ended.code == 0


def test_a_refused_tournament_changes_nothing_behind_a_link(call: Call, results: Path, folder: Path) -> None:
    mine = folder / "mine"
    mine.write_text("precious")
    (results / "lock").unlink(missing_ok=True)
    (results / "lock").symlink_to(mine)
    assert call("tournament cup.toml --quiet").code == 2
    assert mine.read_text() == "precious"


def test_journals_are_not_written_into_a_linked_folder(call: Call, results: Path, folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (results / "journals").rename(folder / "old")
    (results / "journals").symlink_to(folder / "elsewhere")
    ended = call(RESUME)
    assert ended.code == 2
    assert "journals is a link: remove it, or choose another --output" in ended.err
    assert list((folder / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("suffix", ["", "-journal", "-wal", "-shm"])
def test_a_pipe_instead_of_a_file_of_the_database_is_refused(call: Call, results: Path, suffix: str) -> None:
    path = results / f"tournament.db{suffix}"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for line in ("results cup-results", "report cup-results -o report.html", RESUME):
        ended = call(line)
        assert ended.code == 2, line
        assert suffix == "" or f"{path.name} is not a regular file: remove it" in ended.err


@pytest.mark.usefixtures("results")
def test_a_report_is_not_written_into_a_pipe_that_was_sent(call: Call) -> None:
    os.mkfifo("cup-results/report.html")
    ended = call("report cup-results")
    assert ended.code == 2
    assert "report.html is not a regular file" in ended.err


@pytest.mark.parametrize("seeds", [[1], ["a", "b"], [1, 2, 3], [-1, 2], [True, 2]])
def test_seeds_that_do_not_fit_the_stored_plan_are_told(call: Call, results: Path, seeds: list[Any]) -> None:
    with closing(sqlite3.connect(results / "tournament.db")) as database:
        ((text,),) = database.execute("SELECT value FROM about WHERE name = 'facts'")
        facts = json.dumps({**json.loads(text), "seeds": json.dumps(seeds)})
        database.execute("UPDATE about SET value = ? WHERE name = 'facts'", [facts])
        database.commit()
    ended = call("results cup-results")
    assert ended.code == 2
    assert "seed" in ended.err
    assert ended.err.count("\n") == 1


def test_a_long_table_of_matches_is_printed_in_part(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flagfall.cli.tournaments.results.MAX_ROWS", 3)
    (folder / "cup.toml").write_text(PLAN.replace("repeats = 2", "repeats = 4"))
    assert call("tournament cup.toml --quiet").code == 0
    shown = call("results cup-results --matches").out
    assert sum("-m0-g0 " in line for line in shown.splitlines()) == 3
    assert "These are the first 3 matches; --output FILE.csv writes all of them." in shown
    assert call("results cup-results --matches --format csv").out.count("\n") == 5


LONG = "a" * 300


@pytest.mark.parametrize(
    "line",
    [
        f"results {LONG}",
        f"report {LONG}",
        f"verify {LONG}",
        f"replay {LONG}",
        f"transcript {LONG}",
        f"serve {LONG}",
        f"ctl {LONG} status",
        f"export {LONG} --to trace",
    ],
)
def test_a_name_that_the_system_refuses_gets_one_line(call: Call, line: str) -> None:
    ended = call(line)
    assert ended.code == 2
    assert ended.err.startswith("flagfall: ")
    assert ended.err.endswith("File name too long\n")
    assert ended.err.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full is /dev/full here")
@pytest.mark.usefixtures("results")
def test_a_full_disk_gets_one_line(program: Callable[..., Any], folder: Path) -> None:
    journal = next((folder / "cup-results" / "journals").iterdir())
    for line in (f"transcript {journal} -o /dev/full", f"replay {journal} -o /dev/full"):
        ended = program(line)
        assert ended.code == 1
        assert ended.err.splitlines()[-1] == "flagfall: /dev/full cannot be written: No space left on device"
        assert "Traceback" not in ended.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full is /dev/full here")
def test_an_output_that_cannot_be_written_gets_one_line() -> None:
    import subprocess  # noqa: PLC0415 - for this test only
    import sys  # noqa: PLC0415

    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        ended = subprocess.run(
            [sys.executable, "-m", "flagfall", "tasks"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr == b"flagfall: the output cannot be written: No space left on device\n"
