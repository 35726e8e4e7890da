"""Timelines and tables of journals, read back by strict readers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np
import pytest
import trio
from msgspec import Meta, Struct

import flagfall
from flagfall.cli.commands.export import EXPORTS
from flagfall.errors import UsageError
from flagfall.events import MatchStarted, TurnPlayed
from flagfall.recording.journal.format import Sealer, encode
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.turn_limits import LimitsOfTurns
from flagfall.viewer.parquet import open_source, write_parquet
from tests.command_line import call_main

FIXTURES = Path(__file__).parent.parent / "fixtures"
JOURNALS = sorted([*FIXTURES.glob("schema*/*.jsonl"), *FIXTURES.glob("schema*/*.jsonl.zst")])
TOURNAMENT = FIXTURES / "tournaments" / "interrupted"

Microseconds: TypeAlias = Annotated[float, Meta(ge=0)]
Row: TypeAlias = Annotated[int, Meta(ge=0)]


class _Strict(Struct, forbid_unknown_fields=True, tag_field="ph"):
    """An event of Chrome's trace event format, with the fields of its document and no others."""

    name: str
    pid: Row
    tid: Row


class Complete(_Strict, tag="X"):
    cat: str
    ts: Microseconds
    dur: Microseconds
    args: dict[str, Any]


class Instant(_Strict, tag="i"):
    cat: str
    ts: Microseconds
    s: Literal["g", "p", "t"]
    args: dict[str, Any]


class Counter(_Strict, tag="C"):
    ts: Microseconds
    args: dict[str, float]


class Metadata(_Strict, tag="M"):
    args: dict[str, str | int]


class Trace(Struct, forbid_unknown_fields=True):
    displayTimeUnit: Literal["ms", "ns"]  # noqa: N815 - a name of the format
    otherData: dict[str, Any]  # noqa: N815
    traceEvents: list[Complete | Instant | Counter | Metadata]  # noqa: N815


@pytest.fixture
def export(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(call_main, capfd, "export")


def trace_of(path) -> Trace:
    return msgspec.json.decode(path.read_bytes(), type=Trace, strict=True)


def named(trace, kind):
    return [event for event in trace.traceEvents if isinstance(event, Complete) and event.cat == kind]


def check_nesting(trace):
    """Check that slices of a row lie within one another, or apart: viewers drop others."""
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in trace.traceEvents:
        if isinstance(event, Complete):
            begin = round(event.ts * 1000)
            rows.setdefault((event.pid, event.tid), []).append((begin, begin + round(event.dur * 1000)))
    for spans in rows.values():
        around: list[int] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1]
            around.append(end)


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_trace_holds_every_turn_of_a_journal(export, tmp_path, journal):
    done = export("--to", "trace", journal, "-o", tmp_path / "out.json")
    trace = trace_of(tmp_path / "out.json")
    turns, problem = [], ""
    try:
        turns += [event.turn for event in read_journal(journal) if type(event) is TurnPlayed]
    except UsageError as error:
        problem = str(error)
    assert done.code == bool(problem)
    assert problem in done.err
    assert problem or [of.args["turn"] for of in named(trace, "turn")] == turns
    assert len(named(trace, "match")) == 1
    check_nesting(trace)


@pytest.fixture
def late_match(tmp_path):
    """Journal of a match with late turns, an illegal one, and two tasks, under a chess clock."""

    class Slow:
        async def run(self, seat):
            async for turn in seat:
                await trio.sleep(0.5 if turn.number == 3 else 0.001234567)
                seat.reply("no byte" if turn.number == 1 else 32, turn.number)

    path = tmp_path / "late.jsonl"
    control = "act=40ms/1s bank=100ms+1ms late=nil"
    flagfall.run(["micro1", "micro4"], Slow(), steps=40, clock="virtual", journal=path, time_control=control)
    return path


def test_slices_of_turns_have_their_times_limits_and_verdicts(export, late_match, tmp_path):
    assert export("--to", "trace", late_match).out == "late.trace.json\n"
    trace = trace_of(tmp_path / "late.trace.json")
    header, *events = read_journal(late_match)
    assert isinstance(header, MatchStarted)
    limits = LimitsOfTurns(header)
    for shown, turn in zip(
        named(trace, "turn"), [event for event in events if type(event) is TurnPlayed], strict=True
    ):
        limit = limits.take_turn(turn)
        assert shown.name == ("turn" if turn.verdict == "on time" else turn.verdict)
        assert round((shown.ts + shown.dur) * 1000) == turn.at_ns
        assert round(shown.dur * 1000) == turn.spent_ns
        assert shown.args["action"] == json.dumps(turn.action)
        assert shown.args["soft_limit_ms"] == (limit.soft_ns or 0) / 1e6
        assert shown.args["bank_ms"] == (limit.bank_ns or 0) / 1e6
    assert {"turn", "late", "illegal"} == {shown.name for shown in named(trace, "turn")}
    assert [task.args["index"] for task in named(trace, "task")] == list(range(len(named(trace, "task"))))
    assert sum(batch.args["lines"] for batch in named(trace, "journal")) + len(
        named(trace, "journal")
    ) == len(late_match.read_text().splitlines())


def test_a_folder_packs_matches_into_lanes(export, tmp_path):
    assert export("--to", "trace", TOURNAMENT).code == 0
    trace = trace_of(tmp_path / "interrupted.trace.json")
    assert {match.name for match in named(trace, "match")} == {"r0-m0-g0", "r0-m0-g1"}
    check_nesting(trace)


def test_a_cut_journal_exports_what_it_holds(export, late_match, tmp_path):
    lines = late_match.read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:12]))
    for to, row in EXPORTS.items():
        done = export("--to", to, "cut.jsonl")
        assert done.code == 1
        assert done.err == (
            "flagfall: cut.jsonl: line 13 (after turn 8): it ends without its last seal;"
            " what it holds is exported\n"
        )
        assert (tmp_path / f"cut{row.ending}").stat().st_size > 0
    assert len(named(trace_of(tmp_path / "cut.trace.json"), "turn")) == 9
    assert read_table(tmp_path / "cut.parquet").num_rows == 9


def test_the_page_on_exports_describes_every_format():
    page = (FIXTURES.parent.parent / "docs" / "export.md").read_text()
    assert [to for to in EXPORTS if f"\n`--to {to}` writes " not in page] == []


def test_damaged_journals_in_a_folder_are_named(export, late_match, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    late_match.rename(folder / "good.jsonl")
    (folder / "bad.jsonl").write_bytes(b"no journal\n")
    done = export("--to", "parquet", "results")
    assert done.code == 1
    assert "bad.jsonl: line 1: " in done.err
    assert set(read_table(tmp_path / "results.parquet")["match"].to_pylist()) == {"good"}


@pytest.mark.parametrize("words", [("absent.jsonl",), ("text.txt",), ("empty",)])
def test_what_is_no_journal_is_refused_in_one_line(export, tmp_path, words):
    (tmp_path / "text.txt").write_text("Dear reader\n")
    (tmp_path / "empty").mkdir()
    done = export("--to", "trace", *words)
    assert done.code == 2
    assert done.err.startswith("flagfall: ")
    assert done.err.count("\n") == 1
    assert not list(tmp_path.glob("*.json"))


def test_a_journal_is_never_overwritten_by_its_export(export, late_match):
    before = late_match.read_bytes()
    assert export("--to", "trace", late_match, "-o", late_match).code == 2
    assert late_match.read_bytes() == before


HOSTILE = '</script>\x1b[31m\u202eevil "\\' + "x" * 100_000


def test_hostile_journals_make_valid_bounded_files(export, tmp_path):
    start: dict[str, Any] = {"event": "match", "at_ns": 0, "schema": 3, "flagfall": "", "tasks": [HOSTILE],
                             "scheduler": "", "agents": [HOSTILE], "seed": 2**80, "time_control": HOSTILE,
                             "clock": HOSTILE, "begun": "never"}  # fmt: skip
    events: list[dict[str, Any]] = [
        start,
        {"event": "end", "at_ns": 9, "task": "", "index": 0, "result": None, "reward": 0, "steps": 0},
        {"event": "start", "at_ns": -7, "task": HOSTILE, "index": 2**62, "seed": 0},
        {"event": "turn", "at_ns": 2**62, "turn": -4, "observation": HOSTILE, "reward": {"a": 1},
         "action": {}, "spent_ns": -(2**62), "seat": 2**62},
        {"event": "turn", "at_ns": 5, "turn": 0, "observation": 2**70, "reward": 1.5, "action": [1],
         "spent_ns": 2**62, "credit_ns": 2**62, "seat": -1},
        {"event": "disqualified", "at_ns": 1, "seat": 0, "reason": HOSTILE, "detail": HOSTILE},
        {"event": "stall", "at_ns": 1, "lost_ns": -5},
    ]  # fmt: skip
    text = b"".join(encode(event) + b"\n" for event in events)
    (tmp_path / "evil.jsonl").write_bytes(text + Sealer().seal(text, len(events), last=True))
    assert export("--to", "trace", "evil.jsonl").code == 0
    assert (tmp_path / "evil.trace.json").stat().st_size < 20_000
    check_nesting(trace_of(tmp_path / "evil.trace.json"))
    assert export("--to", "parquet", "evil.jsonl").code == 0
    rows = read_table(tmp_path / "evil.parquet").to_pylist()
    assert [row["observation"] for row in rows] == [json.dumps(HOSTILE, ensure_ascii=False), str(2**70)]
    assert [row["agent"] for row in rows] == [None, None]


# Tables.


def read_table(path):
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(path)


def test_a_table_has_a_row_for_each_turn(export, late_match, tmp_path):
    assert export("--to", "parquet", late_match).code == 0
    table = read_table(tmp_path / "late.parquet")
    header, *events = read_journal(late_match)
    turns = [event for event in events if type(event) is TurnPlayed]
    for name in ("turn", "seat", "at_ns", "spent_ns", "credit_ns", "verdict", "reward", "refused"):
        assert table[name].to_pylist() == [getattr(turn, name) for turn in turns]
    for name in ("observation", "action"):
        assert table[name].to_pylist() == [getattr(turn, name) for turn in turns]
    assert isinstance(header, MatchStarted)
    limits = [LimitsOfTurns.take_turn(of, turn) for of in [LimitsOfTurns(header)] for turn in turns]
    assert table["bank_ns"].to_pylist() == [limit.bank_ns for limit in limits]
    assert set(table["agent"].to_pylist()) == {"Slow"}
    metadata = json.loads(table.schema.metadata[b"flagfall_matches"])
    assert metadata["late"]["time_control"] == header.time_control


class Noting:
    def start(self, briefing):
        self.note = briefing.note

    def reply(self, byte, _reward):
        if byte % 2:
            self.note({"heard": byte})
        return 32


def test_a_table_has_the_notes_of_agents(export, tmp_path):
    path = tmp_path / "noted.jsonl"
    flagfall.run("micro1", Noting(), steps=20, clock="virtual", journal=path)
    assert export("--to", "parquet", path).code == 0
    turns = [event for event in read_journal(path) if type(event) is TurnPlayed]
    notes = read_table(tmp_path / "noted.parquet")["note"].to_pylist()
    assert notes == [
        None if turn.note is None else json.dumps(turn.note, separators=(",", ":")) for turn in turns
    ]
    assert None in notes
    assert len(set(notes)) > 1


def test_a_table_of_a_folder_holds_all_matches(export, tmp_path):
    assert export("--to", "parquet", TOURNAMENT, "-o", "all.parquet").code == 0
    table = read_table(tmp_path / "all.parquet")
    rows = {
        (file.name.partition(".")[0], event.turn, event.seat)
        for file in (TOURNAMENT / "journals").iterdir()
        for event in read_journal(file)
        if type(event) is TurnPlayed
    }
    assert set(zip(*(table[name].to_pylist() for name in ("match", "turn", "seat")), strict=True)) == rows


def test_one_table_has_the_numbers_and_arrays_of_all_matches(export, tmp_path, monkeypatch):
    folder = tmp_path / "some"
    folder.mkdir()
    for name in ("gym", "pettingzoo-parallel", "digests"):
        (folder / f"{name}.jsonl").write_bytes((FIXTURES / "schema2" / f"{name}.jsonl").read_bytes())
    monkeypatch.setattr("flagfall.viewer.parquet.GROUP_ROWS", 7)
    assert export("--to", "parquet", "some").code == 0
    rows = read_table(tmp_path / "some.parquet").to_pylist()
    events = [
        (file.stem, event)
        for file in folder.iterdir()
        for event in read_journal(file)
        if type(event) is TurnPlayed
    ]
    assert len(rows) == len(events) > 7
    expected = {(match, event.turn, event.seat): event for match, event in events}
    for row in rows:
        value = expected[row["match"], row["turn"], row["seat"]].observation
        found = json.loads(row["observation"])
        if isinstance(value, np.ndarray):
            again = np.array(found, row["observation_dtype"]).reshape(row["observation_shape"])
            np.testing.assert_array_equal(again, value, strict=True)
        else:
            assert (row["observation_shape"], row["observation_dtype"]) == (None, None)
            assert found == json.loads(encode(value))


def test_a_match_that_goes_on_with_other_values_meanwhile_is_one_line(late_match, monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    turns, read = list(flagfall.iter_turns(late_match)), []

    def twice(_path, _rows):
        read.append(1)
        return turns[: len(read) - 1]

    monkeypatch.setattr("flagfall.viewer.parquet.iter_turns", twice)
    with (tmp_path / "out").open("wb") as file, pytest.raises(UsageError, match="changed while it was read"):
        write_parquet([open_source(late_match)], file, print)


def test_row_groups_are_bounded(export, late_match, tmp_path, monkeypatch):
    monkeypatch.setattr("flagfall.viewer.parquet.GROUP_ROWS", 16)
    assert export("--to", "parquet", late_match).code == 0
    parquet = pytest.importorskip("pyarrow.parquet")
    groups = parquet.ParquetFile(tmp_path / "late.parquet").metadata
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [16, 16, 8]
    monkeypatch.setattr("flagfall.viewer.parquet.GROUP_BYTES", 1)
    monkeypatch.setattr("flagfall.viewer.parquet.GROUP_ROWS", 30)
    assert export("--to", "parquet", late_match).code == 0
    groups = parquet.ParquetFile(tmp_path / "late.parquet").metadata
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [30, 10]
