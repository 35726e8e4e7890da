"""Results folders that somebody sent: links and pipes in them lead nowhere, and wrong plans are told."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from flagfall.tournament.store import Store
from flagfall.viewer.live.folder_reader import FolderReader

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
def results(played: Callable[[str, str], Path]) -> Path:
    """The results of a tournament of two matches, one of which is not played."""
    results = played("cup", PLAN)
    with closing(sqlite3.connect(results / "tournament.db")) as database:
        database.execute("DELETE FROM seats WHERE match = 2")
        database.execute("DELETE FROM matches WHERE number = 2")
        database.commit()
    return results


def test_a_folder_is_resumed(call: Call, results: Path) -> None:
    assert call("results cup-results --matches --json").data()[1:] == []
    assert call(RESUME).code == 0
    assert len(call("results cup-results --matches --json").data()) == 2
    assert (results / "standings.csv").read_text().startswith("place,")


READING = (
    "results cup-results",
    "results cup-results --matches --format csv",
    "what-if cup-results --advise --time-control act=1ms",
    "report cup-results -o report.html --embed 1",
    "export cup-results --to trace -o trace.json",
    "verify cup-results/JOURNAL",
    "transcript cup-results/JOURNAL",
    "replay cup-results/JOURNAL -o replay.html",
    "tournament cup.toml --quiet --dry-run",
)
"""Commands that read a results folder."""

REFUSED = (
    "ctl cup-results status",
    "tournament cup.toml --quiet",
    "tournament other.toml --output cup-results --resume",
)
"""Commands that are refused where no run goes on and a tournament is complete."""


def put_late_news(results: Path, *suffixes: str) -> None:
    """Leave what a killed run leaves: the last record is in the log alone."""
    database = results / "tournament.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE matches SET why = 'late news'")
        connection.commit()
        left = {suffix: database.with_name(database.name + suffix).read_bytes() for suffix in suffixes}
        whole = database.read_bytes()
    database.write_bytes(whole)
    for suffix, content in left.items():
        database.with_name(database.name + suffix).write_bytes(content)


def make_older(results: Path) -> None:
    """Make the database one of an earlier version."""
    with closing(sqlite3.connect(results / "tournament.db")) as database:
        database.executescript(
            "DROP TABLE noted; ALTER TABLE seats DROP COLUMN detail; PRAGMA user_version = 3;"
        )


def add_rollback_journal(results: Path, named: Path) -> None:
    """Put a journal beside the database that makes SQLite delete the file that it names."""
    name = bytes(named)
    header = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + (0).to_bytes(4) + bytes(4) + (1).to_bytes(4)
    header += (512).to_bytes(4) + (4096).to_bytes(4)
    trailer = (2**30 // 4096 + 1).to_bytes(4) + name + len(name).to_bytes(4) + sum(name).to_bytes(4)
    (results / "tournament.db-journal").write_bytes(header.ljust(512, b"\0") + trailer + header[:8])


STATES: dict[str, Callable[[Path], object]] = {
    "complete": lambda _: None,
    "killed": lambda results: put_late_news(results, "-wal", "-shm"),
    "killed, without its index": lambda results: put_late_news(results, "-wal"),
    "with a log that is empty": lambda results: (results / "tournament.db-wal").touch(),
    "with an index alone": lambda results: (results / "tournament.db-shm").write_bytes(bytes(32768)),
    "older": make_older,
    "not a database": lambda results: (results / "tournament.db").write_bytes(b"text" * 5000),
    "with an order to delete": lambda results: add_rollback_journal(results, results.parent / "mine"),
}


WITHOUT_DATABASE = ("export", "verify", "transcript", "replay")
UNREADABLE = {"not a database", "with an order to delete"}


@pytest.mark.parametrize("state", STATES)
def test_reading_changes_nothing(call: Call, results: Path, folder: Path, state: str) -> None:
    (folder / "other.toml").write_text(PLAN.replace("steps = 5", "steps = 6"))
    (folder / "mine").write_text("precious")
    STATES[state](results)
    before = content_of(results)
    journal = min((results / "journals").iterdir()).relative_to(results)
    for line in (*READING, *REFUSED):
        ended = call(line.replace("JOURNAL", str(journal)))
        assert content_of(results) == before, line
        refused = line in REFUSED or (state in UNREADABLE and not line.startswith(WITHOUT_DATABASE))
        assert ended.code == 2 * refused, ended
        if state.startswith("killed") and "csv" in line:
            assert "late news" in ended.out
    reader = FolderReader(results)
    reader.read()
    reader.read_standings()
    reader.close()
    assert content_of(results) == before
    assert (folder / "mine").read_text() == "precious"


def content_of(folder: Path) -> dict[str, str]:
    return {str(one): sha256(one.read_bytes()).hexdigest() for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize("linked", [False, True], ids=["beside it", "beside what a link leads to"])
def test_an_order_to_delete_a_file_is_refused(call: Call, results: Path, folder: Path, linked: bool) -> None:
    mine = folder / "mine"
    mine.write_text("precious")
    place = results
    if linked:
        place = results / "journals"
        (results / "tournament.db").rename(place / "tournament.db")
        (results / "tournament.db").symlink_to(place / "tournament.db")
    add_rollback_journal(place, mine)
    for line in ("results cup-results", "report cup-results -o report.html", RESUME):
        ended = call(line)
        assert mine.read_text() == "precious"
        assert ended.code == 2
        assert "tournament.db" in ended.err
        assert ended.err.count("\n") == 1


def test_a_copy_of_a_database_takes_no_more_space_than_what_was_sent(
    call: Call, results: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_older(results)
    os.truncate(results / "tournament.db", 150_000_000)
    (folder / "copies").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "copies"))
    with closing(Store(results)) as store:
        (copy,) = (folder / "copies").rglob("tournament.db")
        assert copy.stat().st_size == 150_000_000
        assert copy.stat().st_blocks * 512 < 1_000_000
        assert len(list(store.records())) == 1
    os.truncate(results / "tournament.db", 10**10)
    ended = call("results cup-results")
    assert ended.code == 2
    assert "tournament.db has 10000000000 bytes" in ended.err
    assert list((folder / "copies").iterdir()) == []


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_run_does_not_write_through_a_link_of_the_database(
    call: Call, results: Path, folder: Path, suffix: str
) -> None:
    mine, path = folder / "mine", results / f"tournament.db{suffix}"
    with closing(sqlite3.connect(mine)) as database:
        database.executescript("CREATE TABLE own (word); PRAGMA user_version = 0;")
    before = mine.read_bytes()
    path.unlink(missing_ok=True)
    path.symlink_to(mine)
    ended = call(RESUME)
    assert mine.read_bytes() == before
    assert ended.code == 2
    assert f"{path.name} is a link" in ended.err


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


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("verify", "pipe.jsonl.zst"),
        ("transcript", "pipe.jsonl"),
        ("results", "pipe.jsonl"),
        ("replay -o page.html", "pipe.jsonl.zst"),
        ("export --to trace", "pipe.jsonl"),
    ],
)
def test_a_pipe_instead_of_a_journal_is_not_waited_for(
    program: Callable[..., Any], folder: Path, command: str, name: str
) -> None:
    os.mkfifo(folder / name)
    ended = program(f"{command} {name}")
    assert ended.code == 2
    assert ended.err.startswith(f"flagfall: {name}: line 1")
    assert ended.err.endswith("cannot be read: it is not a regular file\n")


@pytest.mark.parametrize("pattern", ["tournament.db", "journals/*"])
@pytest.mark.parametrize("options", ["--format csv", "--matches --format json"])
def test_results_are_not_written_over_records(call: Call, results: Path, pattern: str, options: str) -> None:
    before = content_of(results)
    for record in results.glob(pattern):
        ended = call(f"results cup-results {options} --output", record)
        assert content_of(results) == before
        assert ended.code == 2
        assert "is a journal or a database, which would be lost; name another file" in ended.err


@pytest.mark.usefixtures("results")
def test_plots_are_not_written_through_links(
    call: Call, folder: Path, played: Callable[[str, str], Path]
) -> None:
    pytest.importorskip("matplotlib")
    assert "none, as there is nothing to draw" in call("report cup-results --png plots").out
    played("whole", PLAN)
    assert call("report whole-results --png plots").code == 0
    for plot in (folder / "plots").iterdir():
        plot.unlink()
        plot.symlink_to(folder / "mine")
    (folder / "mine").write_text("precious")
    assert call("report whole-results --png plots").code == 0
    assert (folder / "mine").read_text() == "precious"
    assert [plot for plot in (folder / "plots").iterdir() if plot.is_symlink()] == []


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
