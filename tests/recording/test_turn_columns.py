"""Turns of journals as columns."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flagfall import Turns, iter_turns, read_journal, read_turns, verify
from flagfall.errors import UsageError
from flagfall.events import TaskStarted, TurnPlayed
from flagfall.playing import run
from flagfall.recording.journal.reader import JournalError, JournalTruncated
from flagfall.recording.turn_columns import COLUMNS
from flagfall.tasks.building import rebuild

FIXTURES = Path(__file__).parents[1] / "fixtures" / "schema2"
JOURNALS = ("micro", "pettingzoo-parallel", "late-virtual", "illegal", "ticks", "gym", "digests", "bank")


def events(path: Path) -> list[TurnPlayed]:
    return [event for event in read_journal(path) if isinstance(event, TurnPlayed)]


@pytest.fixture
def played(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    run("micro1", "random", steps=3_000, clock="virtual", journal=path)
    return path


@pytest.mark.parametrize("name", JOURNALS)
def test_every_value_of_every_turn_is_in_its_column(name: str) -> None:
    path = FIXTURES / f"{name}.jsonl"
    turns, expected = read_turns(path), events(path)
    assert tuple(turns) == COLUMNS
    assert turns.rows == len(expected) > 0
    for row, event in enumerate(expected):
        for field in ("turn", "seat", "at_ns", "spent_ns", "credit_ns", "verdict", "refused"):
            assert turns[field][row] == getattr(event, field)
        for field in ("observation", "reward", "action"):
            np.testing.assert_equal(turns[field][row], getattr(event, field))
        assert turns["answers"][row] == (-1 if event.answers is None else event.answers)
        assert turns["agent"][row] == turns.header.agents[event.seat]


def test_turns_know_their_tasks(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run(["micro1", "micro2"], "silent", scheduler="sequential", steps=4_000, clock="virtual", journal=path)
    turns = read_turns(path)
    begun = [event for event in read_journal(path) if isinstance(event, TaskStarted)]
    assert len(begun) > 2
    found = dict.fromkeys(zip(turns["task"].tolist(), turns["index"].tolist(), strict=True))
    assert list(found) == [(event.task, event.index) for event in begun]


def test_numbers_are_arrays_of_numbers(played: Path) -> None:
    turns = read_turns(played)
    kinds = {name: column.dtype.kind for name, column in turns.items()}
    assert kinds == dict.fromkeys(COLUMNS, "i") | dict.fromkeys(
        ("agent", "task", "verdict", "refused", "note"), "O"
    )
    assert sum(column.nbytes for column in turns.values()) == 15 * 8 * turns.rows


def test_blocks_are_the_whole_and_need_little_memory(played: Path) -> None:
    whole = read_turns(played)
    blocks = list(iter_turns(played, rows=1_000))
    assert [block.rows for block in blocks] == [1_000, 1_000, 1_000]
    for name in COLUMNS:
        assert np.concatenate([block[name] for block in blocks]).tolist() == whole[name].tolist()
    peaks = []
    for rows in (3_000, 100):
        tracemalloc.start()
        for _block in iter_turns(played, rows=rows):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] / 2


def test_columns_of_several_blocks_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flagfall.recording.turn_columns.iter_turns.__defaults__", (7,))
    for name in JOURNALS:
        path = FIXTURES / f"{name}.jsonl"
        expected = events(path)
        turns = read_turns(path)
        assert turns.rows == len(expected)
        for row, event in enumerate(expected):
            np.testing.assert_equal(turns["observation"][row], event.observation)


def test_a_journal_that_was_cut_off(played: Path) -> None:
    lines = played.read_bytes().splitlines(keepends=True)
    played.write_bytes(b"".join(lines[: len(lines) // 2]))
    with pytest.raises(JournalTruncated):
        read_turns(played)
    turns = read_turns(played, partial=True)
    assert 0 < turns.rows < 3_000
    assert "ends" in turns.problem
    played.write_bytes(b"")
    with pytest.raises(JournalError):
        read_turns(played, partial=True)
    with pytest.raises(UsageError, match="at least 1 row"):
        next(iter_turns(played, rows=0))


def test_a_match_without_turns(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def start(_self: Any) -> None:
        raise ValueError

    run("micro1", type("Bot", (), {"start": start, "act": print}), clock="virtual", journal=path)
    turns = read_turns(path)
    assert (turns.rows, len(turns)) == (0, len(COLUMNS))
    assert turns.to_arrow().num_rows == 0


def expected_rows(turns: Turns) -> list[tuple[Any, ...]]:
    return list(zip(*(turns[name].tolist() for name in ("turn", "seat", "agent", "verdict")), strict=True))


@pytest.mark.parametrize("name", JOURNALS)
def test_tables_of_arrow(name: str) -> None:
    pytest.importorskip("pyarrow")
    turns = read_turns(FIXTURES / f"{name}.jsonl")
    table = turns.to_arrow()
    rows = table.select(["turn", "seat", "agent", "verdict"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == expected_rows(turns)
    texts = table["observation"].to_pylist()
    if turns["observation"].dtype == object:
        assert all(isinstance(text, str) for text in texts)
    else:
        assert texts == turns["observation"].tolist()


@pytest.mark.parametrize("name", JOURNALS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(name: str, library: str) -> None:
    pytest.importorskip(library)
    turns = read_turns(FIXTURES / f"{name}.jsonl")
    frame = turns.to_pandas() if library == "pandas" else turns.to_polars()
    assert list(frame.columns) == list(COLUMNS)
    columns = [frame[name].to_list() for name in ("turn", "seat", "agent", "verdict")]
    assert list(zip(*columns, strict=True)) == expected_rows(turns)
    assert frame["observation"].to_list() == turns.to_arrow()["observation"].to_pylist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_absent_library_is_one_line(library: str, played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    turns = read_turns(played)
    convert = {"pandas": turns.to_pandas, "polars": turns.to_polars, "pyarrow": turns.to_arrow}[library]
    with pytest.raises(UsageError, match=f"needs {library}: pip install {library}"):
        convert()


def test_verify_is_a_function_of_the_package(played: Path) -> None:
    assert verify(played, rebuild).ok
    assert verify(played, rebuild).turns == 3_000


def test_verification_imports_neither_numpy_nor_structlog() -> None:
    program = (
        "import sys, flagfall\n"
        "assert callable(flagfall.verify)\n"
        "assert not {'numpy', 'structlog', 'pytest', 'asyncio'} & set(sys.modules)\n"
        "flagfall.read_turns\n"
        "assert 'numpy' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
