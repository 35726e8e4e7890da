"""Standings from arrays and from blocks equal those computed record by record."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest

from flagfall.errors import UsageError
from flagfall.tournament import blocks
from flagfall.tournament.blocks import BlockError, decode_block, encode_block
from flagfall.tournament.columns import ResultColumns, columns_of
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.standings import compute_standings, stored_standings
from flagfall.tournament.stats import elo
from flagfall.tournament.stats.intervals import Interval
from flagfall.tournament.store import Store
from tests.tournament.plain_standings import (
    likelihood_is_greatest,
    plain_duels,
    plain_pairs,
    plain_rows,
    plain_scores,
    plain_tasks,
    played_of,
    rate,
)
from tests.tournament.random_results import PLANS, results_of

SMALL_BLOCK = 16


def approx(value: Any) -> Any:
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def same_interval(one: Interval, other: Interval) -> bool:
    pairs = zip(attrs.astuple(one)[:3], attrs.astuple(other)[:3], strict=True)
    return one.lack == other.lack and all(
        mine is theirs or mine == pytest.approx(theirs, rel=1e-8) for mine, theirs in pairs
    )


@pytest.mark.parametrize("share", [0.4, 1.0])
@pytest.mark.parametrize("name", PLANS)
def test_tables_equal_those_computed_record_by_record(name: str, share: float) -> None:
    plan = PLANS[name]
    records = results_of(plan, 7, share)
    played = played_of(plan, records)
    found = compute_standings(plan, records)
    kept = [pair for pair in played if not any(seat.fell == "late" for seat in pair[1].seats)]
    for rows, pairs in ((found.rows, played), (found.timeless, kept)):
        wanted = plain_rows(plan, pairs)
        assert {row.agent: {key: getattr(row, key) for key in wanted[row.agent]} for row in rows} == wanted
        scores = plain_scores(pairs)
        for row in rows:
            if row.score is None:
                assert row.agent not in scores
            else:
                assert same_interval(row.score, scores[row.agent])
        for key, duels in (("elo", plain_duels(pairs)), ("skill", plain_pairs(pairs))):
            ratings = {row.agent: row.values[key].value for row in rows if row.values[key] is not None}
            assert set(ratings) == {agent for duel in duels for agent in (duel.first, duel.second)}
            if not rate(duels).unbounded and len(rate(duels).groups) == 1:
                assert likelihood_is_greatest(duels, ratings)
    for task_row, wanted_row in zip(found.tasks, plain_tasks(plan, played), strict=True):
        for key, value in wanted_row.items():
            got = getattr(task_row, key)
            if key == "score":
                assert same_interval(got, value)
            else:
                assert got == (approx(value) if isinstance(value, float) else value)


def test_many_duels_are_rated_alike_counted_together_or_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS["round-robin"]
    one_by_one = compute_standings(plan, results_of(plan, 3, 1.0))
    monkeypatch.setattr(elo, "_MANY_DUELS", 0)
    monkeypatch.setattr(elo, "_AT_A_TIME", 20)
    together = compute_standings(plan, results_of(plan, 3, 1.0))
    for row, other in zip(one_by_one.rows, together.rows, strict=True):
        assert row.elo is not None
        assert other.elo is not None
        assert attrs.astuple(row.elo)[:3] == pytest.approx(attrs.astuple(other.elo)[:3], abs=1e-6)


def fill(folder: Path, records: Iterable[MatchRecord]) -> None:
    """Store records as a run does: some together, and void attempts among them."""
    store = Store(folder, "make")
    for number, record in enumerate(records):
        void = [attrs.evolve(record, status="void", why="lost: it is gone")] if number % 5 == 0 else []
        store.put(*void, attrs.evolve(record, attempt=1 + len(void)))
    store.close()


def columns(folder: Path, plan: TournamentPlan) -> ResultColumns | None:
    store = Store(folder)
    try:
        return store.columns(plan)
    finally:
        store.close()


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_MATCHES", SMALL_BLOCK)


def assert_equal_columns(found: ResultColumns, wanted: ResultColumns) -> None:
    assert set(found.disqualifications) == set(wanted.disqualifications)
    reasons = [*wanted.disqualifications, None]
    assert [[*found.disqualifications, None][code] for code in found.disqualified] == [
        reasons[code] for code in wanted.disqualified
    ]
    for field in attrs.fields(ResultColumns):
        one, other = getattr(found, field.name), getattr(wanted, field.name)
        if field.name in {"counters", "seat_counters"}:
            assert {key: list(values) for key, values in one.items()} == {
                key: list(values) for key, values in other.items()
            }
        elif field.name not in {"disqualified", "disqualifications"}:
            assert (
                [*map(list, one)] == [*map(list, other)]
                if field.name == "thinking"
                else list(one) == list(other)
            )


@pytest.mark.parametrize("share", [0.4, 1.0])
@pytest.mark.parametrize("name", PLANS)
def test_blocks_have_all_that_standings_need(name: str, share: float, tmp_path: Path) -> None:
    plan = PLANS[name]
    records = results_of(plan, 5, share)
    fill(tmp_path, records.values())
    found = columns(tmp_path, plan)
    if name in {"withdrawals", "swiss", "knockout", "adaptive"}:
        assert found is None
    else:
        assert len(records) > SMALL_BLOCK
        assert found is not None
        assert_equal_columns(found, columns_of(plan, played_of(plan, records)))
    store = Store(tmp_path)
    assert stored_standings(store, plan) == compute_standings(plan, records)
    assert [record.status for record in store.remarks()] == ["void"] * -(-len(records) // 5)
    store.close()


def test_a_row_that_was_changed_is_read_again(tmp_path: Path) -> None:
    plan = PLANS["round-robin"]
    records = results_of(plan, 5, 1.0)
    fill(tmp_path, records.values())
    for change in (
        "UPDATE seats SET turns = 12345 WHERE match = 3 AND seat = 0",
        "DELETE FROM seats WHERE match = 1",
        "INSERT OR REPLACE INTO seats SELECT * FROM seats WHERE match = 2 AND seat = 0",
    ):
        with sqlite3.connect(tmp_path / "tournament.db") as database:
            assert database.execute("SELECT count(*) FROM blocks").fetchone()[0] >= 0
            database.execute(change)
            assert database.execute("SELECT count(*) FROM blocks").fetchone() == (0,)
        database.close()
        assert columns(tmp_path, plan) is None
    store = Store(tmp_path, "make")  # the next record brings the blocks back, from the rows
    store.put(MatchRecord(id="r9-m9-g9", status="void", why="lost: it is gone"))
    assert store._database.execute("SELECT count(*) FROM blocks").fetchone()[0] == len(records) // SMALL_BLOCK
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE blocks SET data = x'00'",
        "UPDATE blocks SET data = 'text'",
        "UPDATE blocks SET data = substr(data, 1, length(data) - 8)",
        "DELETE FROM blocks WHERE last = (SELECT min(last) FROM blocks)",
        "UPDATE blocks SET data = (SELECT data FROM blocks ORDER BY last LIMIT 1)",
    ],
)
def test_damaged_blocks_are_not_used(tmp_path: Path, change: str) -> None:
    plan = PLANS["round-robin"]
    records = results_of(plan, 5, 1.0)
    fill(tmp_path, records.values())
    with sqlite3.connect(tmp_path / "tournament.db") as database:
        database.execute(change)
    database.close()
    store = Store(tmp_path)
    assert store.columns(plan) is None
    assert stored_standings(store, plan) == compute_standings(plan, records)
    store.close()


def test_a_block_with_deeply_nested_data_is_damaged() -> None:
    data = encode_block(list(results_of(PLANS["round-robin"], 5, 1.0).values()))
    assert decode_block(data).agents
    with pytest.raises(BlockError, match="recursion"):
        decode_block(b"\x96" + data[1:] + b"\x91" * 200_000 + b"\x00")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("id", "r99-m0-g0", "is not in the plan's schedule"),
        ("id", "r0-m99-g0", "is not in the plan's schedule"),
        ("id", "r0-m0-g2", "is not in the plan's schedule"),
        ("agent", "stranger", "its seats are those of"),
        ("score", 0.25, "its scores do not follow"),
        ("seats", (), "its seats are those of"),
    ],
)
def test_records_that_do_not_fit_the_plan_are_refused_from_blocks_too(
    tmp_path: Path, field: str, value: Any, message: str
) -> None:
    plan = PLANS["round-robin"]
    records = results_of(plan, 5, 1.0)
    first = records["r0-m0-g0"]
    if field in {"agent", "score"}:
        first = attrs.evolve(first, seats=(attrs.evolve(first.seats[0], **{field: value}), *first.seats[1:]))
    else:
        first = attrs.evolve(first, **{field: value})
    fill(tmp_path, [first, *(record for name, record in records.items() if name != "r0-m0-g0")])
    store = Store(tmp_path)
    assert store.columns(plan) is None
    with pytest.raises(UsageError, match=message):
        stored_standings(store, plan)
    store.close()
