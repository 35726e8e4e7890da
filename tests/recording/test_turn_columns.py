"""Turns of journals as columns."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from flagfall import Turns, iter_turns, read_journal, read_turns, verify
from flagfall.errors import UsageError
from flagfall.events import SCHEMA, MatchStarted, SeatReady, TaskStarted, TurnPlayed
from flagfall.playing import run
from flagfall.recording.journal.format import Sealer, encode
from flagfall.recording.journal.reader import JournalError, JournalTruncated
from flagfall.recording.turn_columns import COLUMNS
from flagfall.recording.turn_limits import LimitsOfTurns
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
    assert sum(column.nbytes for column in turns.values()) == len(COLUMNS) * 8 * turns.rows


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


def test_limits_and_the_bank_are_those_of_each_turn() -> None:
    turns = read_turns(FIXTURES / "bank.jsonl")
    limits = LimitsOfTurns(turns.header)
    ready = [event for event in read_journal(FIXTURES / "bank.jsonl") if isinstance(event, SeatReady)]
    for start in ready:
        limits.take_start(start)
    expected = [limits.take_turn(event) for event in events(FIXTURES / "bank.jsonl")]
    assert len({limit.bank_ns for limit in expected}) > 1
    for name in ("soft_ns", "hard_ns", "bank_ns"):
        column = turns[name if name == "bank_ns" else name.replace("_", "_limit_")]
        assert column.tolist() == [-1 if of is None else of for of in (getattr(x, name) for x in expected)]
    absent = read_turns(FIXTURES / "out-one-of-two.jsonl").to_arrow()
    rows = absent.select(["verdict", "soft_limit_ns"]).to_pylist()
    assert {row["soft_limit_ns"] is None for row in rows if row["verdict"] == "absent"} == {True}


@pytest.fixture(params=["arrow", "pandas", "polars", "parquet"])
def library(request: pytest.FixtureRequest) -> str:
    """A kind of table whose library is installed."""
    pytest.importorskip({"arrow": "pyarrow", "parquet": "pyarrow"}.get(request.param, request.param))
    return str(request.param)


def columns_of(turns: Turns, library: str, folder: Path) -> dict[str, list[Any]]:
    """Return the columns of a table as lists of plain values."""
    if library == "pandas":
        frame = turns.to_pandas()
        return {name: [plain(value) for value in frame[name]] for name in frame.columns}
    if library == "polars":
        return {column.name: column.to_list() for column in turns.to_polars()}
    table = turns.to_arrow()
    if library == "parquet":
        parquet = importlib.import_module("pyarrow.parquet")
        parquet.write_table(table, folder / "turns.parquet")
        table = parquet.read_table(folder / "turns.parquet")
    return dict(table.to_pydict())


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    is_none = value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124 - NaN
    return None if is_none else value


@pytest.mark.parametrize("name", JOURNALS)
def test_tables_have_all_columns(name: str, library: str, tmp_path: Path) -> None:
    turns = read_turns(FIXTURES / f"{name}.jsonl")
    found = columns_of(turns, library, tmp_path)
    for column in COLUMNS:
        expected = turns[column].tolist()
        if column in {"answers", "soft_limit_ns", "hard_limit_ns", "bank_ns"}:
            expected = [None if value < 0 else value for value in expected]
        if turns[column].ndim == 1 and (turns[column].dtype != object or column in {"agent", "refused"}):
            assert found[column] == expected
    assert [name for name in found if not name.endswith(("_shape", "_dtype"))] == list(COLUMNS)


def test_a_bank_without_bounds_is_cut(tmp_path: Path) -> None:
    path = sealed(tmp_path / "run.jsonl", [0] * 3, "act=40ms/1s bank=1000000h+1000000h")
    most = 2**63 - 1
    assert read_turns(path)["bank_ns"].tolist() == [2 * 3_600 * 10**15, most, most]


def sealed(path: Path, observations: list[Any], time_control: str = "") -> Path:
    """Write a journal with a turn for each observation, whose action is the same."""
    header = MatchStarted(
        at_ns=0,
        schema=SCHEMA,
        flagfall="",
        tasks=["seen"],
        scheduler="",
        agents=["me"],
        seed=0,
        time_control=time_control,
        clock="virtual",
    )
    lines = [encode(header)] + [
        encode(TurnPlayed(at_ns=0, turn=turn, observation=value, reward=0, action=value))
        for turn, value in enumerate(observations)
    ]
    text = b"".join(line + b"\n" for line in lines)
    path.write_bytes(text + Sealer().seal(text, len(lines), last=True))
    return path


WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
GYMNASIUM = ["bool", *WHOLE, "float16", "float32", "float64"]
shapes = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


def any_array(dtype: str) -> st.SearchStrategy[Any]:
    return arrays(dtype, shapes)


def alike(dtype: str) -> st.SearchStrategy[list[Any]]:
    return shapes.flatmap(lambda shape: st.lists(arrays(dtype, shape), min_size=1, max_size=4))


arrays_of_a_match = st.one_of(
    st.sampled_from([*GYMNASIUM, "complex64", "complex128"]).flatmap(alike),
    st.sampled_from([*GYMNASIUM, "complex64"]).flatmap(lambda dtype: st.lists(any_array(dtype), min_size=1)),
    st.lists(
        st.sampled_from(["uint8", "int8", "int32", "float16", "float64"]).flatmap(any_array), min_size=1
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=arrays_of_a_match)
def test_arrays_come_back_with_dtype_and_shape(library: str, tmp_path: Path, values: list[Any]) -> None:
    turns = read_turns(sealed(tmp_path / "run.jsonl", values))
    found = columns_of(turns, library, tmp_path)
    for name in ("observation", "action"):
        rows = zip(found[name], found[f"{name}_shape"], found[f"{name}_dtype"], values, strict=True)
        for row, (numbers, shape, dtype, value) in enumerate(rows):
            np.testing.assert_array_equal(turns[name][row], value, strict=value.ndim > 0)
            assert isinstance(numbers, list)
            if value.dtype.kind == "c":
                half = "float32" if dtype == "complex64" else "float64"
                again = np.array(numbers, half).view(dtype)
            else:
                again = np.array(numbers, dtype)
            np.testing.assert_array_equal(again.reshape(shape), value, strict=True)


def test_other_values_are_numbers_or_texts_without_base64(library: str, tmp_path: Path) -> None:
    picture = np.arange(6, dtype=np.uint8).reshape(2, 3)
    for values, expected in (
        ([1, None, 3], [1, None, 3]),
        ([1, 0.5, None], [1, 0.5, None]),
        ([True, None], [True, None]),
        ([True, 2], ["true", "2"]),
        ([1, 2**70], ["1", str(2**70)]),
        (["a", "\u00e9"], ['"a"', '"\u00e9"']),
        ([None, None], [None, None]),
        ([picture, None], [[0, 1, 2, 3, 4, 5], None]),
        ([picture, 7], ["[[0,1,2],[3,4,5]]", "7"]),
        ([{"see": picture, "at": [1]}], ['{"see":[[0,1,2],[3,4,5]],"at":[1]}']),
        ([np.array([1j], "c8"), "x"], ["[[0.0,1.0]]", '"x"']),
        ([np.array([2**63], "u8"), np.array([0.5])], [f"[{2**63}]", "[0.5]"]),
    ):
        found = columns_of(read_turns(sealed(tmp_path / "run.jsonl", values)), library, tmp_path)
        assert found["observation"] == found["action"] == expected
        if any(value is picture for value in values):
            assert found["observation_shape"][0] == [2, 3]
            assert found["observation_dtype"] == ["uint8", *[None] * (len(values) - 1)]


def test_arrays_of_one_shape_are_the_rows_of_one_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [np.full((4, 5, 3), number, np.uint8) for number in range(9)]
    path = sealed(tmp_path / "run.jsonl", pictures)
    found = read_turns(path)["observation"]
    assert (found.shape, found.dtype.str) == ((9, 4, 5, 3), "|u1")
    monkeypatch.setattr("flagfall.recording.turn_columns.BLOCK_BYTES", 2 * 3 * pictures[0].nbytes)
    assert [block.rows for block in iter_turns(path)] == [3, 3, 3]  # observation and action
    np.testing.assert_array_equal(read_turns(path)["observation"], found, strict=True)
    mixed = read_turns(sealed(path, [*pictures[:3], *[np.zeros(2)] * 3, 1, True]))["observation"]
    assert (mixed.shape, mixed.dtype.kind, mixed[7]) == ((8,), "O", True)
    assert mixed[2].shape == (4, 5, 3)


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
