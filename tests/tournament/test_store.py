"""The store: what was put in comes out, once, and by the same version."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.errors import HostFault, UsageError
from flagfall.tournament.database import MIGRATIONS, disqualified_in, noted_sums
from flagfall.tournament.records import MAX_BUCKET, MAX_TURNS, MatchRecord, SeatRecord
from flagfall.tournament.store import Store
from tests.tournament.random_results import PLANS, results_of
from tests.tournament.runs import small_plan

COUNTS = st.integers(0, 2**62)
NUMBERS = st.floats(allow_nan=False)
SEATS = st.builds(
    SeatRecord,
    agent=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    score=NUMBERS,
    reward=NUMBERS,
    fell=st.none() | st.sampled_from(["late", "crashed"]),
    detail=st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    noted=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.floats(-1e9, 1e9), max_size=3
    ),
    thinking=st.lists(st.tuples(st.integers(0, MAX_BUCKET), st.integers(0, MAX_TURNS))).map(tuple),
    **{
        field.name: COUNTS
        for field in attrs.fields(SeatRecord)
        if field.name not in {"agent", "score", "reward", "fell", "detail", "noted", "thinking"}
    },
)
RECORDS = st.builds(
    MatchRecord,
    id=st.uuids().map(str),
    attempt=st.integers(1, 9),
    status=st.sampled_from(["played", "void"]),
    why=st.sampled_from(["", "stall: x"]),
    reason=st.sampled_from(["finished", "steps"]),
    seats=st.lists(SEATS, max_size=3).map(tuple),
    solved=COUNTS,
    tasks=COUNTS,
    turns=COUNTS,
    elapsed_ns=COUNTS,
    stalls=COUNTS,
    journal=st.none() | st.just("journals/x.jsonl"),
)


@given(st.lists(RECORDS, max_size=5))
def test_what_is_put_in_comes_out(records: list[MatchRecord]) -> None:
    with TemporaryDirectory() as name:
        store = Store(Path(name), "make")
        for record in records:
            store.put(record)
        store.close()
        store = Store(Path(name))
        assert list(store.records()) == records
        store.close()


@settings(max_examples=30)
@given(st.lists(RECORDS, max_size=5, unique_by=lambda record: record.id))
def test_noted_numbers_are_added_up_over_the_matches_that_count(records: list[MatchRecord]) -> None:
    with TemporaryDirectory() as name, closing(Store(Path(name), "make")) as store:
        store.put(*records)
        played = [record for record in records if record.status == "played"]
        assert store.disqualified() == disqualified_in(played)
        counted = noted_sums(played)
        for found, expected in zip(store.noted(), counted, strict=True):
            assert attrs.evolve(found, total=0) == attrs.evolve(expected, total=0)
            assert found.total == pytest.approx(expected.total)


def test_a_match_counts_once(tmp_path: Path) -> None:
    store = Store(tmp_path, "make")
    store.put(MatchRecord(id="a", status="void", why="stall"))
    store.put(MatchRecord(id="a", attempt=2))
    with pytest.raises(HostFault, match="UNIQUE"):
        store.put(MatchRecord(id="a", attempt=3, seats=(SeatRecord(agent="x", score=1.0),)))
    assert [(record.attempt, record.status) for record in store.records()] == [(1, "void"), (2, "played")]
    store.close()


def test_a_reader_does_not_wait_for_the_writer(tmp_path: Path) -> None:
    writer = Store(tmp_path, "make")
    writer.put(MatchRecord(id="a"))
    writer._database.execute("BEGIN IMMEDIATE")
    reader = Store(tmp_path)
    assert list(reader.played()) == ["a"]
    reader.close()
    writer.close()


def test_a_run_that_was_watched_leaves_all_in_the_database_itself(tmp_path: Path) -> None:
    writer = Store(tmp_path, "make")
    writer.put(MatchRecord(id="a"))
    reader = Store(tmp_path)
    writer.close()
    (tmp_path / "moved").mkdir()
    shutil.copy(tmp_path / "tournament.db", tmp_path / "moved")
    moved = Store(tmp_path / "moved")
    assert list(moved.played()) == list(reader.played()) == ["a"]
    moved.close()
    reader.close()


def test_a_database_that_changes_while_it_is_read_without_locks_is_told(tmp_path: Path) -> None:
    Store(tmp_path, "make").close()
    reader = Store(tmp_path)
    assert reader.is_current()
    with closing(Store(tmp_path, "make")) as writer:
        writer.put(MatchRecord(id="a"))
        assert not reader.is_current()
        assert list(reader.played()) == []
    with pytest.raises(UsageError, match="was changed while it was read: try again"):
        reader.played()
    reader.close()


@pytest.mark.parametrize("statement", ["SELECT match", "SELECT number", "SELECT last", "SELECT count"])
def test_a_match_that_is_stored_while_another_process_reads_is_seen_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    monkeypatch.setattr("flagfall.tournament.blocks.BLOCK_MATCHES", 4)
    plan = PLANS["round-robin"]
    records = iter(results_of(plan, 1, 1.0).values())
    writer = Store(tmp_path, "make")
    writer.put(*islice(records, 6))
    reader = Store(tmp_path)
    written = 0

    def write(found: str) -> None:
        nonlocal written
        if found.startswith(statement):
            writer.put(next(records))
            written += 1

    reader._database.set_trace_callback(write)
    assert {len(record.seats) for record in reader.records()} == {2}
    assert reader.columns(plan) is not None
    assert written
    reader.close()
    writer.close()


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    Store(tmp_path, "make").close()
    with sqlite3.connect(tmp_path / "tournament.db") as database:
        assert database.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    database.close()
    with pytest.raises(UsageError, match="made by a newer flagfall"):
        Store(tmp_path)


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_a_store_of_every_older_version_is_read_and_brought_up(tmp_path: Path, version: int) -> None:
    """The tables are those of the version; its rows are the ones that all versions have."""
    path = tmp_path / "tournament.db"
    with closing(sqlite3.connect(path)) as database:
        for script in MIGRATIONS[:version]:
            database.executescript(script)
        database.execute(
            "INSERT INTO matches (number, id, attempt, status, why, reason, solved, tasks, turns, elapsed_ns,"
            " stalls) VALUES (1, 'a', 1, 'played', '', 'finished', 1, 1, 7, 5, 0)"
        )
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
    with closing(Store(tmp_path)) as store:
        assert {match: (record.turns, record.ticks) for match, record in store.played().items()} == {
            "a": (7, 0)
        }
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (version,), "reading changed the file"
    with closing(Store(tmp_path, "make")) as store:
        assert list(store.played()) == ["a"]
        assert store._database.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_what_is_no_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no tournament"):
        Store(tmp_path)
    (tmp_path / "tournament.db").write_bytes(b"something else, long enough to be looked at" * 50)
    with pytest.raises(UsageError, match="is damaged"):
        Store(tmp_path)


def test_the_plan_can_be_read_again(tmp_path: Path) -> None:
    plan = small_plan(3)
    store = Store(tmp_path, "make")
    assert store.plan() is None
    store.begin(plan)
    found = store.plan()
    assert found is not None
    shown = found.for_display()
    assert [agent.name for agent in shown.agents] == [agent.name for agent in plan.agents]
    assert [task.name for task in shown.tasks] == [task.name for task in plan.tasks]
    assert (tmp_path / "plan.toml").read_text() == plan.text
    store.close()


def test_what_a_killed_run_left_behind_is_removed(tmp_path):
    """A run that is killed while it writes a file in its place leaves the unfinished one."""
    for name in (".flagfall.lock.123", ".plan.toml.4567", ".notes", "mine.123"):
        (tmp_path / name).write_text("half")
    with closing(Store(tmp_path, "make")) as store:
        store.prepare()
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} >= {".notes", "mine.123"}
    assert not [*tmp_path.glob(".flagfall*"), *tmp_path.glob(".plan*")]
