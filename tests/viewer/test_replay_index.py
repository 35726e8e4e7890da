"""Summaries and chunks hold what the journal holds, in any state of the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zstandard
from msgspec.structs import replace

from flagfall import read_journal
from flagfall.cli.runs.tables import PlayedMatch
from flagfall.events import ON_TIME, MatchEnded, StallSeen, TaskEnded, TaskStarted, TurnPlayed
from flagfall.recording.journal.format import encode
from flagfall.recording.journal.reader import JournalError, JournalTruncated
from flagfall.recording.match_result import ResultReader
from flagfall.viewer.replay.chunk import chunk_of
from flagfall.viewer.replay.index import Index
from flagfall.viewer.replay.recorded_match import RecordedMatch
from flagfall.viewer.replay.summary import json_bytes, summary_of
from flagfall.viewer.replay.tally import CHUNK_ROWS
from tests.viewer.journals import OLD_JOURNALS, bytes_match, header, sealed, two_seats, write


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the summary of a journal and all its chunks."""
    index = Index(path)
    while index.advance():
        pass
    summary = summary_of(index, {})
    return summary, [chunk_of(index, number) for number in range(len(summary["chunks"]))]


def rows(chunks: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    """Return some columns of all chunks as rows."""
    return [row for chunk in chunks for row in zip(*(chunk[name] for name in names), strict=True)]


# Every journal.


@pytest.mark.parametrize("path", OLD_JOURNALS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_journals_of_every_schema_are_shown_row_by_row(path):
    read_events: list[Any] = []
    with suppress(JournalTruncated):
        read_events.extend(read_journal(path))
    turns = [event for event in read_events if isinstance(event, TurnPlayed)]
    summary, chunks = read(path)
    assert rows(chunks, "turn", "seat", "at_ns", "spent_ns", "credit_ns", "verdict", "answers") == [
        (turn.turn, turn.seat, turn.at_ns, turn.spent_ns, turn.credit_ns, turn.verdict, turn.answers)
        for turn in turns
    ]
    assert summary["state"] == ("truncated" if path.name == "cut.jsonl" else "complete")
    assert summary["turns"] == len({turn.turn for turn in turns})
    assert sum(seat["turns"] for seat in summary["seats"]) == len(turns)
    assert [task["task"] for task in summary["tasks"]] == [
        event.task for event in read_events if type(event).__name__ == "TaskStarted"
    ]
    assert len([event for chunk in chunks for event in chunk["events"]]) == len(read_events) - len(turns)
    assert json_bytes(summary)


@pytest.mark.parametrize("path", OLD_JOURNALS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_result_is_that_of_the_command_results(path):
    reader = ResultReader()
    with suppress(JournalTruncated):
        for event in read_journal(path):
            reader(event)
    match = PlayedMatch(None, reader.result(), has_rewards=reader.has_rewards)
    summary, _ = read(path)
    assert summary["result"]["winners"] == list(match.decision().winners)
    assert summary["result"]["why"] == match.decision().why
    rewards = [seat.stats.reward if reader.has_rewards else None for seat in match.result.seats]
    assert [seat["reward"] for seat in summary["seats"]] == pytest.approx(rewards)
    for count in ("played", "solved", "failed"):
        assert summary["result"][count] == sum(getattr(task, count) for task in match.result.tasks)


@pytest.mark.parametrize("path", OLD_JOURNALS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_limits_computed_again_agree_with_every_verdict(path):
    """A turn is late exactly if it took its limit or more; ticks and totals follow other rules."""
    summary, chunks = read(path)
    if summary["match"]["tick_ns"] is not None or summary["match"]["limits"]["total"] is not None:
        return
    for turn, verdict, spent_ns, soft_ns in rows(chunks, "turn", "verdict", "spent_ns", "soft_ns"):
        if verdict == "late":
            assert spent_ns >= soft_ns, turn
        elif verdict == ON_TIME and soft_ns is not None:
            assert spent_ns < soft_ns, turn


def test_a_bank_is_computed_turn_by_turn_across_chunks(tmp_path):
    began = header(time_control="bank=100s+1s")
    path = write(tmp_path / "a.jsonl", bytes_match(3000, began=began))
    _, chunks = read(path)
    assert len(chunks) == 3
    bank_ns = 100_000_000_000
    for spent_ns, soft_ns, after_ns in rows(chunks, "spent_ns", "soft_ns", "bank_ns"):
        assert soft_ns == bank_ns
        bank_ns = bank_ns - spent_ns + 1_000_000_000
        assert after_ns == bank_ns


# Chunks.


@pytest.mark.parametrize("events", [bytes_match(3000), two_seats(1500)], ids=["columns", "two seats"])
def test_chunks_divide_a_match_between_turns_and_have_true_aggregates(tmp_path, events):
    summary, chunks = read(write(tmp_path / "a.jsonl", events))
    assert len(chunks) > 2
    for entry, chunk in zip(summary["chunks"], chunks, strict=True):
        table = rows([chunk], "turn", "seat", "verdict", "spent_ns", "soft_ns", "reward", "at_ns")
        assert len(table) < CHUNK_ROWS + 256
        assert entry["first"] == chunk["first"] == table[0][0]
        assert entry["turns"] == len({row[0] for row in table})
        assert entry["at_ns"] == [table[0][6], table[-1][6]]
        assert entry["late"] == sum(row[2] == "late" for row in table)
        assert entry["rewarded"] == sum(bool(row[5]) for row in table)
        for seat, most_ns in enumerate(entry["max_spent_ns"]):
            own = [row for row in table if row[1] == seat]
            assert most_ns == max(row[3] for row in own)
            assert entry["rewards"][seat] == sum(row[5] or 0 for row in own)
            assert entry["max_share"][seat] == round(max(row[3] / row[4] for row in own), 4)
    lasts = [chunk["turn"][-1] for chunk in chunks]
    assert [chunk["first"] for chunk in chunks[1:]] == [last + 1 for last in lasts[:-1]]


# Rewards, by the action that earned them.


def earned(path: Path) -> dict[tuple[int, int], float | None]:
    """Return what each seat's action of each turn earned, as chunks and their aggregates agree on it."""
    summary, chunks = read(path)
    for entry, chunk in zip(summary["chunks"], chunks, strict=True):
        table = rows([chunk], "seat", "reward")
        for seat, total in enumerate(entry["rewards"]):
            assert total == pytest.approx(sum(paid or 0 for of, paid in table if of == seat))
        assert entry["rewarded"] == sum(bool(paid) for _, paid in table)
    return {(turn, seat): paid for turn, seat, paid in rows(chunks, "turn", "seat", "reward")}


def match_of_tasks(lengths: list[int], *, continuous: bool, ended: str = "finished") -> Iterator[Any]:
    """Yield a match in which the action of turn t earns t + 1, also the last of a task."""
    yield header()
    turn = 0
    for index, length in enumerate(lengths):
        yield TaskStarted(turn, "micro1", index, 5)
        for place in range(length):
            reward = turn if place or continuous else 0
            yield TurnPlayed(turn, turn, 65, reward, 32)
            turn += 1
        total = sum(range(turn - length + 1, turn + 1))
        yield TaskEnded(turn, "micro1", index, None, total, length, ended)
    yield MatchEnded(turn, "finished", turn, turn if continuous else 0)


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("lengths", [[3, 1, 4], [1024, 1], [1023, 2], [1500, 548, 1]], ids=str)
def test_a_reward_stands_with_the_action_that_earned_it(tmp_path, lengths, continuous):
    path = write(tmp_path / "a.jsonl", match_of_tasks(lengths, continuous=continuous))
    assert earned(path) == {(turn, 0): turn + 1 for turn in range(sum(lengths))}
    summary, chunks = read(path)
    assert [turn for chunk in chunks for turn in chunk["ends"]] == [
        sum(lengths[: place + 1]) - 1 for place in range(len(lengths))
    ]
    assert [entry["ends"] for entry in summary["chunks"]][-1]
    assert summary["view"] == "bytes"


def test_rewards_in_columns_stand_with_their_actions_across_chunks(tmp_path):
    """1 is paid with each turn but the first of a hundred; so each action but the last of those earns 1."""
    found = earned(write(tmp_path / "a.jsonl", bytes_match(3000)))
    assert found[2999, 0] == -2970  # the journal says that the task paid 0
    assert {turn for (turn, _), paid in found.items() if paid == 0} == {*range(99, 2999, 100)}


@pytest.mark.parametrize("ended", ["time", "truncated", "cut"])
def test_the_last_action_of_a_task_that_was_ended_has_its_reward(tmp_path, ended):
    path = write(tmp_path / "a.jsonl", match_of_tasks([5, 3], continuous=False, ended=ended))
    assert earned(path)[4, 0] == 5
    assert read(path)[0]["seats"][0]["reward"] == 36


def test_what_is_not_known_yet_is_no_reward(tmp_path):
    lines = [*match_of_tasks([5], continuous=False)][:7]
    assert earned(write(tmp_path / "a.jsonl", lines, whole=False)) == {
        **{(turn, 0): turn + 1 for turn in range(4)},
        (4, 0): None,
    }


def test_the_last_move_of_a_game_wins_it(tmp_path):
    """Seats move in turn; the last move pays both, and older journals have the sum alone."""
    moves = [TurnPlayed(turn, turn, "x", 0, "y", seat=turn % 2) for turn in range(7)]
    end = TaskEnded(9, "pair", 0, None, 0, 7, rewards=(1, -1))
    lines = [header(2), TaskStarted(0, "pair", 0, 5), *moves, end, MatchEnded(9, "finished", 7)]
    path = write(tmp_path / "a.jsonl", lines)
    found = earned(path)
    assert {place for place, paid in found.items() if paid} == {(6, 0), (5, 1)}
    assert (found[6, 0], found[5, 1]) == (1, -1)
    summary, _ = read(path)
    assert [seat["reward"] for seat in summary["seats"]] == [1, -1]
    assert (summary["result"]["winners"], summary["seats"][0]["won"]) == ([0], 1)
    lines[-2] = TaskEnded(9, "pair", 0, None, 0, 7)
    older, _ = read(write(path, lines))
    assert [seat["reward"] for seat in older["seats"]] == [None, None]
    assert "older than the record" in older["result"]["why"]
    assert earned(path)[6, 0] is None


def test_a_reward_before_the_first_action_of_a_seat_counts_with_it(tmp_path):
    turns = [TurnPlayed(1, 0, "x", 0, "y"), TurnPlayed(2, 1, "x", 0.5, "y", seat=1)]
    end = TaskEnded(9, "pair", 0, None, 1.25, 2, rewards=(0.25, 1.0))
    path = write(tmp_path / "a.jsonl", [header(2), TaskStarted(0, "pair", 0, 5), *turns, end])
    assert earned(path) == {(0, 0): 0.25, (1, 1): 1.0}


def test_an_event_belongs_to_the_turn_that_follows_it(tmp_path):
    _, chunks = read(write(tmp_path / "a.jsonl", bytes_match(3000)))
    kinds = [(event["kind"], event["turn"]) for chunk in chunks for event in chunk["events"]]
    assert kinds == [("match", 0), ("ready", 0), ("start", 0), ("end", 3000), ("over", 3000)]


def test_turns_may_begin_anywhere_and_leave_gaps(tmp_path):
    lines = [header(), *(TurnPlayed(at, turn, 1, 0, 1) for at, turn in enumerate([7, 9, 2**60]))]
    summary, chunks = read(write(tmp_path / "a.jsonl", lines))
    assert chunks[0]["turn"] == [7, 9, 2**60]
    assert summary["turn_span"] == [7, str(2**60)]
    assert summary["turns"] == 3


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("bits", "bytes"),
        ("micro", "bytes"),
        ("scrambled", "bytes"),
        ("gym", "pictures"),
        ("track", "pictures"),
    ],
)
def test_the_view_of_a_match_follows_from_its_tasks(name, view):
    (path,) = (
        path for path in OLD_JOURNALS if path.parent.name == "schema2" and path.name.startswith(f"{name}.j")
    )
    summary, chunks = read(path)
    assert summary["view"] == view
    assert (len(chunks[0]["numbers"].get("observation", [])) == len(chunks[0]["turn"])) == (
        view == "bytes" or name == "gym"
    )


@pytest.mark.parametrize(
    ("task", "seats", "value", "view"),
    [
        ("micro1", 1, 65, "bytes"),
        ("hands.py:Hands", 1, 3, "values"),
        ("hands.py:Hands", 2, 3, "values"),
        ("micro1", 1, "A", "values"),
        ("unheard of", 1, 65, "values"),
    ],
)
def test_numbers_of_other_tasks_than_byte_tasks_are_no_tape(tmp_path, task, seats, value, view):
    turns = [TurnPlayed(1, 0, value, 0, value, seat=seat) for seat in range(seats)]
    began = [header(seats, tasks=[task]), TaskStarted(0, task, 0, 5)]
    summary, _ = read(write(tmp_path / "a.jsonl", [*began, *turns]))
    assert summary["view"] == view


def test_a_task_of_the_user_that_pays_for_the_one_before_it_is_continuous(tmp_path):
    events = match_of_tasks([3, 3], continuous=True)
    began = header(tasks=["talk.py:Talk"])
    renamed = [began, *(event for event in events if event != header())]
    named = [replace(e, task="talk.py:Talk") if hasattr(e, "task") else e for e in renamed]
    summary, _ = read(write(tmp_path / "a.jsonl", named))
    assert summary["view"] == "bytes"


# States of the file.


def test_a_growing_journal_is_read_on_where_it_ended(tmp_path):
    whole = sealed(map(encode, bytes_match(3000)))
    path = tmp_path / "a.jsonl"
    path.write_bytes(whole[:5000])
    index = Index(path)
    while index.advance():
        pass
    assert index.state()[0] == "growing"
    seen = index.tally.turns
    assert 0 < seen < 3000
    for size in range(10_000, len(whole) + 20_000, 20_000):
        with path.open("r+b") as file:
            file.write(whole[:size])
        assert index.refresh()
        while index.advance():
            pass
        assert seen <= index.tally.turns
    assert index.state() == ("complete", "")
    fresh, chunks = read(path)
    assert summary_of(index, {}) == fresh
    assert [chunk_of(index, number) for number in range(len(chunks))] == chunks


def test_a_match_that_is_replaced_or_compressed_is_read_anew(tmp_path):
    path = write(tmp_path / "a.jsonl", bytes_match(300))
    match = RecordedMatch(path)
    match.read_all()
    other = write(tmp_path / "b.jsonl", bytes_match(700))
    other.replace(path)
    match.refresh()
    match.read_all()
    assert match.summary()["turns"] == 700
    packed = tmp_path / "a.jsonl.zst"
    data = sealed(map(encode, bytes_match(3000)))
    packed.write_bytes(zstandard.ZstdCompressor().compress(data))
    (tmp_path / "plain.jsonl").write_bytes(data)
    squeezed, plain = read(packed), read(tmp_path / "plain.jsonl")
    assert squeezed[1] == plain[1]
    assert squeezed[0] == plain[0] | {"file": "a.jsonl.zst"}


def test_a_journal_without_an_end_is_shown_with_one_line(tmp_path):
    path = write(tmp_path / "a.jsonl", bytes_match(300), whole=False)
    assert read(path)[0]["state"] == "growing"  # it was written just now
    os.utime(path, (1, 1))
    summary, chunks = read(path)
    assert (summary["state"], summary["turns"], len(rows(chunks, "turn"))) == ("truncated", 300, 300)
    assert "without its last seal" in summary["state_detail"]


def test_changed_bytes_are_shown_and_pointed_out(tmp_path):
    path = write(tmp_path / "a.jsonl", two_seats(600))
    data = path.read_bytes().replace(b'"turn":250,', b'"turn":250 ,', 1)
    path.write_bytes(data)
    summary, chunks = read(path)
    assert summary["state"] == "damaged"
    assert (
        "the seal in line 603 is wrong: lines 403 to 603 are not as they were written"
        in summary["state_detail"]
    )
    assert len(rows(chunks, "turn")) == 1200  # all of them can be read


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{", "line 4 is no event"),
        (
            b'{"event":"turn","at_ns":5,"turn":0,"observation":1,"reward":0,"action":1,"seat":7}',
            "seat 7 of 1",
        ),
        (b'{"event":"turn","at_ns":5,"turn":-1,"observation":1,"reward":0,"action":1}', "turn -1"),
        (
            b'{"event":"turns","turn":9,"at_ns":[1,2],"reward":[0],"spent_ns":[1],"observation":[],"action":[]}',
            "columns",
        ),
        (b'{"event":"turn","at_ns":5,"turn":0,"observation":1,"reward":0,"action":1}', "recorded twice"),
        (
            b'{"event":"turns","turn":0,"at_ns":[1],"reward":[0],"spent_ns":[1],"observation":[1],"action":[1]}',
            "turn 0 is recorded twice",
        ),
        (encode(header()), "a second beginning"),
        (b"\xff" * 100, "line 4 is no event"),
    ],
)
def test_what_stands_before_a_line_that_makes_no_sense_is_shown(tmp_path, line, what):
    lines = [*map(encode, bytes_match(1))][:3]
    turn = encode(TurnPlayed(1, 0, 1, 0, 1))
    path = tmp_path / "a.jsonl"
    path.write_bytes(sealed([*lines[:2], turn, line, turn]))
    summary, chunks = read(path)
    assert summary["state"] == "damaged"
    assert what in summary["state_detail"]
    assert rows(chunks, "turn") == [(0,)]


def test_endless_events_without_a_turn_are_not_read_to_their_end(tmp_path, monkeypatch):
    """zstd packs gigabytes of them into a file that can be mailed."""
    monkeypatch.setattr("flagfall.viewer.replay.index.MAX_LINES_BETWEEN", 500)
    path = tmp_path / "a.jsonl.zst"
    stall = encode(StallSeen(5, 1)) + b"\n"
    squeeze = zstandard.ZstdCompressor().compressobj()
    lines = [*map(encode, bytes_match(1))][:4]
    text = b"".join(line + b"\n" for line in lines) + stall * 1_000_000
    path.write_bytes(squeeze.compress(text) + squeeze.flush())
    index = Index(path)
    while index.advance():
        pass
    assert index.offset < 100_000 < len(text)
    state, detail = index.state()
    assert state == "damaged"
    assert detail.endswith("no turn follows line 4 for too long; later lines are not shown")
    assert len(chunk_of(index, 0)["events"]) == 504
    assert path.stat().st_size < 100_000


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "it is empty"),
        (b'{"event":"match"', "within its first line"),
        (b"no\n", "not a journal"),
        (encode(TurnPlayed(1, 0, 1, 0, 1)) + b"\n", "not a journal"),
        (encode(header(schema=99)) + b"\n", "newer flagfall"),
    ],
)
def test_what_is_no_journal_is_refused_in_one_line(tmp_path, data, what):
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with pytest.raises(JournalError, match=what):
        Index(path)


def test_a_summary_comes_before_a_long_index_is_complete(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jsonl", bytes_match(100_000))
    monkeypatch.setattr("flagfall.viewer.replay.recorded_match.FIRST_VIEW_SECONDS", 0.0)
    monkeypatch.setattr("flagfall.viewer.replay.index.PIECE_BYTES", 4096)
    match = RecordedMatch(path)
    with match._lock:  # the reading waits for it
        pass
    first = match.summary()
    assert first["state"] == "growing"
    match.refresh()
    match.read_all()
    assert match.summary()["state"] == "complete"
    assert match.summary()["turns"] == 100_000
    match.close()
