"""Results folders with a damaged database: one line that names the file, and nothing recorded is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flagfall.cli import main

MUTATIONS = int(os.environ.get("FLAGFALL_DAMAGED", "10"))
"""The number of random mutations that are tried; more by hand."""

PLAN = """
clock = "virtual"
jobs = 1
repeats = 3
time_control = "act=1s"
format = "{format}"
[[agents]]
spec = "random"
[[agents]]
spec = "learner"
[[tasks]]
task = "micro1"
steps = 5
[[tasks]]
task = "pettingzoo:classic/tictactoe_v3"
"""

COMMANDS = (
    "results out",
    "results out --json",
    "results out --matches",
    "results out --compare random learner",
    "results out --format csv",
    "report out -o report.html --embed 2",
    "tournament plan.toml --output out --dry-run",
    "tournament plan.toml --output out --resume --quiet",
    "ctl out",
    "verify out",
)


@pytest.fixture(scope="module", params=["round-robin", "swiss"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan and its results, half of them played."""
    folder = tmp_path_factory.mktemp("played")
    pytest.importorskip("pettingzoo")
    text = PLAN.format(format=request.param)
    (folder / "plan.toml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["tournament", "plan.toml", "--output", "out", "--quiet"]) == 0
    return folder


@pytest.fixture
def out(played: Path, folder: Path) -> Path:
    for name in ("plan.toml", "out"):
        copy: Callable[..., Any] = shutil.copytree if (played / name).is_dir() else shutil.copy
        copy(played / name, folder / name)
    return folder / "out"


def sql(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def set_value(database: Path, statement: str, value: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(statement, [value])
        connection.commit()


def no_file(path: Path) -> None:
    path.unlink()
    path.mkdir()


def set_schema(path: Path, statement: str) -> None:
    sql(path, "PRAGMA writable_schema = ON", statement)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: os.truncate(path, path.stat().st_size * 2 // 3),
    "cut to the header": lambda path: os.truncate(path, 100),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "text": lambda path: path.write_text("something else\n" * 1000),
    "a page of zeros": lambda path: overwrite(path, 4096, bytes(4096)),
    "an older version": lambda path: sql(path, "PRAGMA user_version = 0"),
    "a version below zero": lambda path: sql(path, "PRAGMA user_version = -1"),
    "a newer version": lambda path: sql(path, "PRAGMA user_version = 99"),
    "no table of seats": lambda path: sql(path, "DROP TABLE seats"),
    "no table of matches": lambda path: sql(path, "DROP TABLE matches"),
    "a column less": lambda path: sql(path, "ALTER TABLE seats DROP COLUMN late"),
    "an endless view": lambda path: sql(
        path,
        "DROP TABLE matches",
        "CREATE VIEW matches AS WITH RECURSIVE n(number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM n)"
        " SELECT number, 'r0-m0-g0' id, 1 attempt, 'played' status, '' why, '' reason, 0 solved, 0 tasks,"
        " 0 turns, 0 elapsed_ns, 0 stalls, NULL journal FROM n",
    ),
    "text in a column of numbers": lambda path: sql(path, "UPDATE matches SET turns = 'many'"),
    "bytes in a column of text": lambda path: sql(path, "UPDATE seats SET agent = x'ff00'"),
    "text that is no text": lambda path: sql(path, "UPDATE matches SET why = CAST(x'ff' AS TEXT)"),
    "a number below zero": lambda path: sql(path, "UPDATE seats SET late = -5"),
    "a score without bounds": lambda path: sql(path, "UPDATE seats SET score = 9e999, reward = 9e999"),
    "a score that is none": lambda path: sql(path, "UPDATE seats SET score = 0.3"),
    "another agent": lambda path: sql(path, "UPDATE seats SET agent = 'stranger'"),
    "a match that is none": lambda path: sql(path, "UPDATE matches SET id = 'r9-m9-g9' WHERE number = 1"),
    "a seat too many": lambda path: sql(
        path, "UPDATE seats SET match = 1, seat = 5 WHERE match = 2 AND seat = 0"
    ),
    "seats of no match": lambda path: sql(path, "DELETE FROM matches WHERE number = 2"),
    "a trigger that deletes matches": lambda path: sql(
        path,
        "CREATE TRIGGER evil AFTER INSERT ON seats BEGIN DELETE FROM matches WHERE number < 3; END",
    ),
    "a trigger without an end": lambda path: sql(
        path,
        "CREATE TRIGGER slow AFTER INSERT ON matches BEGIN SELECT count(*) FROM"
        " (WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END",
    ),
    "an index of an expression": lambda path: sql(path, "CREATE INDEX own ON matches (hex(id))"),
    "a name of bytes": lambda path: sql(
        path, "UPDATE about SET value = CAST(value AS BLOB) WHERE name = 'name'"
    ),
    "a note that is no number": lambda path: sql(path, "INSERT INTO noted VALUES (1, 0, 'tokens', 'many')"),
    "a note with a name of bytes": lambda path: sql(path, "INSERT INTO noted VALUES (1, 0, x'ff00', 1)"),
    "times that are no JSON": lambda path: sql(path, "UPDATE seats SET thinking = '[[1,'"),
    "times that fill the memory": lambda path: sql(path, "UPDATE seats SET thinking = '[[999999999999,1]]'"),
    "times too deep": lambda path: set_value(path, "UPDATE seats SET thinking = ?", "[" * 100_000),
    "facts that are none": lambda path: sql(path, "UPDATE about SET value = '[]' WHERE name = 'facts'"),
    "a seed that is none": lambda path: sql(path, "UPDATE about SET value = 'x' WHERE name = 'seed'"),
    "a seed that is too long": lambda path: set_value(
        path, "UPDATE about SET value = ? WHERE name = 'seed'", "9" * 5000
    ),
    "a name that cannot be": lambda path: sql(
        path, "UPDATE about SET value = CAST(x'2f00' AS TEXT) WHERE name = 'name'"
    ),
    "no seed": lambda path: sql(path, "DELETE FROM about WHERE name = 'seed'"),
    "a folder in its place": no_file,
    "a folder as its log": lambda path: Path(f"{path}-wal").mkdir(),
    "another program's log": lambda path: Path(f"{path}-wal").write_bytes(b"\x37\x7f\x06\x82" + bytes(5000)),
    "a tree of another kind": lambda path: set_schema(
        path, "UPDATE sqlite_schema SET rootpage = 2 WHERE name IN ('seats', 'matches')"
    ),
}

HARMLESS = {"another program's log"}
"""Damage that SQLite does without."""


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def flip(random: Random, path: Path) -> None:
    """Damage a database at random."""
    data = bytearray(path.read_bytes())
    for _ in range(random.choice([1, 1, 2, 8, 64, 512])):
        at = random.randrange(len(data))
        kind = random.randrange(4)
        if kind == 0:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at : at + random.randrange(64)] = bytes(random.randrange(64))
        else:
            data[at] = random.randrange(256)
    if random.random() < 0.1:
        del data[random.randrange(len(data)) :]
    path.write_bytes(data)


def check_all(call: Callable[..., Any], *, refused: bool = False) -> None:
    for line in COMMANDS:
        ended = call(line)
        assert "Traceback" not in ended.err, ended.err
        assert ended.code in {0, 1 if line == "verify out" else 2, 2}, (line, ended)
        if ended.code == 2:
            assert ended.err.startswith("flagfall: "), ended.err
            told = ended.err.removeprefix("flagfall: ").splitlines()
            assert len(told) == 1 or "the plan has changed" in told[0] or "plan.toml" in told[0], ended.err
        if refused and line == "results out":
            assert ended.code == 2, line
            assert "out" in ended.err
        if "holds a tournament" in ended.err:
            raise AssertionError(line)


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_database_gets_one_line(call: Callable[..., Any], out: Path, what: str) -> None:
    DAMAGES[what](out / "tournament.db")
    journals = sorted(path.name for path in (out / "journals").iterdir())
    check_all(call, refused=what not in HARMLESS)
    assert journals == sorted(path.name for path in (out / "journals").iterdir())


@pytest.mark.parametrize("number", range(MUTATIONS))
def test_random_damage_causes_no_traceback(call: Callable[..., Any], out: Path, number: int) -> None:
    flip(Random(number), out / "tournament.db")
    check_all(call)
