"""Journals from elsewhere: odd values, huge ones and links cost an error of one line at most."""

from __future__ import annotations

import json
import os
import re
import resource
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import zstandard

from flagfall.errors import UsageError
from flagfall.events import (
    MatchEnded,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    StallSeen,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
    TurnsPlayed,
)
from flagfall.recording.journal.format import encode
from flagfall.tasks.building import rebuild
from flagfall.viewer.replay.execution import Execution
from flagfall.viewer.replay.page import replay_page
from flagfall.viewer.replay.recorded_match import RecordedMatch
from flagfall.viewer.replay.routes import Replays
from flagfall.viewer.replay.summary import json_bytes
from flagfall.viewer.replay.tally import MAX_SEATS, MAX_TASKS
from flagfall.viewer.replay.texts import text_of
from tests.fuzz.odd_journals import FAMILIES, odd_journal, recorded
from tests.viewer.journals import FIXTURES, header, sealed, write
from tests.viewer.reference_frames import decoded

HUGE = 10_000_000
ODD_JOURNALS_A_FAMILY = 12


def shown(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the summary and the chunks of a journal as a browser gets them."""
    match = RecordedMatch(path)
    match.read_all()
    summary = json.loads(json_bytes(match.summary()))
    chunks = [json.loads(json_bytes(match.chunk(number))) for number in range(len(summary["chunks"]))]
    match.close()
    return summary, chunks


def attempt(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]] | str:
    """Return what is shown of a journal, or why it is refused."""
    try:
        return shown(path)
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize("family", FAMILIES)
def test_odd_journals_are_shown_or_refused_in_one_line(tmp_path, family):
    lines = recorded(family, tmp_path)
    for number in range(ODD_JOURNALS_A_FAMILY):
        path = tmp_path / "odd.jsonl"
        path.write_bytes(odd_journal(Random(f"{family} {number}"), lines))
        found = attempt(path)
        if isinstance(found, str):
            assert len(found.splitlines()) == 1
            continue
        summary, chunks = found
        assert summary["state"] in {"complete", "damaged", "truncated", "growing"}
        assert len(summary["state_detail"].splitlines()) <= 1
        assert sum(entry["turns"] for entry in summary["chunks"]) == summary["turns"]
        for chunk in chunks:
            assert len({len(chunk[name]) for name in ("turn", "seat", "at_ns", "action", "bank_ns")}) == 1


def test_texts_of_ten_megabytes_become_short_ones(tmp_path):
    long = "<b>\u202e\x1b[31m" * (HUGE // 10)
    some = long[:200_000]
    began = header(2, some, agents=[long, long], tasks=[some], scheduler=some, flagfall=some, clock=some)
    events = [
        began,
        SeatReady(1, 0, 5, long),
        TaskStarted(2, long, 0, 5),
        TurnPlayed(3, 0, long, {some: 1}, [some, {some: long}], refused=some, verdict="illegal"),
        ReplyDropped(4, 0, 2**80, "stale"),
        SeatDisqualified(4, 0, long, long),
        TaskEnded(5, some, 0, None, 0, 1, some, {some: long, "nested": {"a": [long] * 2}}),
        MatchEnded(6, "void", 1, detail=long),
    ]
    path = write(tmp_path / "a.jsonl", events)
    assert path.stat().st_size > 15 * HUGE
    summary, chunks = shown(path)
    assert summary["state"] == "complete"
    assert "time control" in summary["state_detail"]
    assert len(json.dumps(summary)) < 100_000
    assert len(json.dumps(chunks)) < 60_000
    assert chunks[0]["observation"][0].endswith(f"… ({len(long.encode()):,} bytes)")


def test_values_of_any_depth_and_length_are_cut():
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    wide = {str(key): list(range(100)) for key in range(3000)}
    odd = [deep, wide, [[[]] * 3000] * 30, 10**5000, -(10**4000), 1.5, None, True, {"$ndarray": "<f4"}, 2**60]
    for value in odd:
        assert len(text_of(value)) < 2100
    assert text_of(deep) == "[" * 20 + "'…'" + "]" * 20
    assert text_of({"board": np.eye(3, dtype=np.int8), "turn": 1}) == "board:\n1 0 0\n0 1 0\n0 0 1\nturn: 1"
    assert text_of([np.zeros((2, 2), int)]) == "[[[0, 0], [0, 0]]]"
    assert text_of([np.zeros((99, 99))]) == "['array float64 (99, 99)']"
    assert text_of(2**60) == str(2**60)
    assert text_of(10**5000) == "a number of 16,610 bits"


def test_a_hundred_thousand_tasks_and_events_are_bounded(tmp_path):
    events: list[Any] = [header(tasks=["a"] * 100_000)]
    for number in range(20_000):
        events += [
            TaskStarted(number, f"t{number}", number, 5),
            TaskEnded(number, f"t{number}", number, True, 1, 0),
        ]
        events.append(StallSeen(number, 1))
    path = write(tmp_path / "a.jsonl", events)
    summary, chunks = shown(path)
    assert len(summary["tasks"]) == MAX_TASKS
    assert summary["tasks_left_out"] == 20_000 - MAX_TASKS
    assert summary["match"]["tasks_left_out"] == 100_000 - 200
    assert sum(entry["tasks"] for entry in summary["chunks"]) == 20_000
    assert len(chunks) == 1
    assert len(chunks[0]["events"]) == 2001
    assert chunks[0]["events"][-1]["text"] == "58,001 more events of these turns are left out."


@pytest.mark.parametrize("seats", [64, 1000])
def test_many_seats_are_shown_up_to_a_bound(tmp_path, seats):
    turns = [TurnPlayed(turn, turn, "x", 0, "y", seat=seat) for turn in range(40) for seat in range(seats)]
    summary, chunks = shown(write(tmp_path / "a.jsonl", [header(seats, "bank=60s+1s"), *turns]))
    kept = min(seats, MAX_SEATS)
    assert len(summary["seats"]) == kept
    assert summary["match"]["agents_left_out"] == seats - kept
    assert all(len(chunk["turn"]) <= 1024 + seats for chunk in chunks)
    rows = [at for chunk in chunks for at in zip(chunk["turn"], chunk["seat"], strict=True)]
    assert rows == [(turn, seat) for turn in range(40) for seat in range(kept)]


def test_negative_and_huge_times_and_rewards_are_numbers_of_json(tmp_path):
    most = 2**63 - 1
    lines = [
        encode(header(seed=10**400, steps=-most, tick_ns=-5)),
        encode(SeatReady(-most, 0, -most, "task")),
        encode(TurnPlayed(-most, 0, "x", 1e308, "y", -most, credit_ns=-most)),
        encode(TurnPlayed(most, 1, "x", 1e308, "y", most, credit_ns=most)),
        encode(TurnsPlayed(2, [most, most], [1, 1], [1e308, 1e308], [1, 1], [-1, most])),
        encode(TurnPlayed(0, most, "x", {"a": 1e308, "b": 1e308}, "y", answers=-most)),
    ]
    path = tmp_path / "a.jsonl"
    path.write_bytes(sealed(lines))
    summary, chunks = shown(path)
    assert summary["match"]["seed"] == str(10**400)
    assert summary["chunks"][0]["rewards"] == [1.7976931348623157e308]
    assert chunks[0]["turn"] == [0, 1, 2, 3, most]


@pytest.mark.parametrize(
    "control", ["bank=60s+1s", "act=0s/0s", "total=1ns+1ns", "nonsense", "act=1ns bank=0s+9999h"]
)
def test_any_time_control_and_any_time_give_limits_or_none(tmp_path, control):
    spent = [0, -5, 2**62, 10**9, 2**63 - 1, 1]
    turns = [TurnPlayed(at, at, "x", 0, "y", spent_ns=ns) for at, ns in enumerate(spent)]
    summary, chunks = shown(write(tmp_path / "a.jsonl", [header(time_control=control), *turns]))
    assert len(chunks[0]["soft_ns"]) == len(spent)
    (share,) = summary["chunks"][0]["max_share"]
    assert (share is None) == (control == "nonsense")
    assert ("its limits are not known" in summary["state_detail"]) == (control == "nonsense")


def test_a_bomb_of_compressed_text_is_read_in_bounded_memory(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    bomb = sealed([encode(header())]) + b" " * 300_000_000
    path.write_bytes(zstandard.ZstdCompressor().compress(bomb))
    assert path.stat().st_size < 100_000
    del bomb
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    summary, _ = shown(path)
    assert summary["state"] == "damaged"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 250_000


def test_no_index_beside_a_journal_is_read_or_written(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes((FIXTURES / "schema2" / "micro.jsonl").read_bytes())
    before, _ = shown(path)
    names = ("a.jsonl.index", "a.index", "a.jsonl.idx", ".a.jsonl.index")
    for name in names:
        (tmp_path / name).write_bytes(b'{"turns": 9999999, "chunks": []}')
    assert shown(path)[0] == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([path.name, *names])


def test_names_lead_nowhere_but_to_files_of_the_folder(tmp_path):
    folder = tmp_path / "journals"
    folder.mkdir()
    inside, outside = folder / "a.jsonl", tmp_path / "secret.jsonl"
    for path in (inside, outside):
        path.write_bytes((FIXTURES / "schema2" / "micro.jsonl").read_bytes())
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "around").symlink_to(tmp_path)
    replays = Replays.of(folder)
    assert replays.match("a.jsonl").path == inside
    for name in (
        "link.jsonl",
        "../secret.jsonl",
        "around/secret.jsonl",
        "/etc/passwd",
        "",
        ".",
        "x" * 5000,
        "a\0b",
    ):
        with pytest.raises(UsageError):
            replays.match(name)
    replays.close()


def test_devices_and_pipes_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/null"), tmp_path, tmp_path / "missing", Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(UsageError):
            RecordedMatch(path)


def test_hostile_values_stay_data_in_the_page(tmp_path):
    evil = "</script><script>alert(1)</script><!--"
    began = header(agents=[evil], tasks=["micro1"])
    path = write(tmp_path / f"{evil.replace('/', '')}.jsonl", [began, TurnPlayed(1, 0, evil, 0, evil)])
    page = replay_page(path)
    assert b"alert(1)" not in re.sub(rb"<title>.*?</title>", b"", page).replace(
        b"\\u003cscript>alert(1)", b""
    )
    assert page.count(b"</script>") == page.count(b"<script ") > 2


def test_an_execution_of_an_odd_journal_ends_in_one_line(tmp_path):
    lines = recorded("game", tmp_path)
    for number in range(ODD_JOURNALS_A_FAMILY):
        path = tmp_path / "odd.jsonl"
        path.write_bytes(odd_journal(Random(number), lines))
        execution = Execution(path, partial(rebuild, trust=False))
        head, _ = decoded(execution.draw(0, 100))
        execution.close()
        assert len(head["why"].splitlines()) <= 1
        assert len(head["why"]) < 400
