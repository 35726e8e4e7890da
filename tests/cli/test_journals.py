"""From a match to its journal, and from there to a verification and a transcript."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flagfall import run
from flagfall.tasks.catalog import make_task

TASKS = ["micro1", "micro4", "micro5.4", "micro5.18"]
AGENTS = ["random", "silent", "repeating", "memorizing"]


@pytest.mark.parametrize("clock", ["wall", "virtual"])
@pytest.mark.parametrize("task", TASKS)
def test_round_trip(call, task, clock):
    line = f"run --task {task} --agent {' '.join(AGENTS)} --steps 700 --clock {clock} --json -o run.jsonl"
    for match in call(line).data()["matches"]:
        verified = call("verify", match["journal"])
        assert verified.code == 0
        assert verified.out.startswith(f"OK  {match['journal']}: 700 turns in ")
        assert verified.out.count("\n") == 1
        told = [json.loads(record) for record in call("transcript", match["journal"]).out.splitlines()]
        steps = [record for record in told if "t" in record]
        assert [record["t"] for record in steps] == list(range(700))
        assert sum(record["reward"] for record in steps) == match["seats"][0]["reward"]
        assert told[0] == {"event": "start", "task": task}


@pytest.mark.parametrize("clock", ["wall", "virtual"])
def test_schedulers_are_verified(call, clock):
    for number, scheduler in enumerate(["random", "sequential", "incremental:2", "consecutive:1"]):
        name = f"{number}.jsonl"
        line = f"run -t micro1 micro2 micro3 -a repeating --scheduler {scheduler} --steps 1500 -s 3 -o {name}"
        assert call(f"{line} --clock {clock}").code == 0
        assert call("verify", name).code == 0


def test_under_the_virtual_clock_two_programs_write_the_same_bytes(program, folder):
    for name in ("one", "two"):
        line = "run -t micro1 micro5.7 -a random memorizing --matches 2 --steps 900 --clock virtual -q"
        ended = program(f"{line} -s 11 -o {name}.jsonl")
        assert (ended.code, ended.out, ended.err) == (0, "", "")
    for number in range(4):
        one, two = (folder / f"{name}-{number}.jsonl" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("host", ["task", "thread", "process"])
def test_hosts_play_the_same_match(call, host):
    ended = call("run -t micro4 -a bots.py:Echo random --steps 100 --json -o run.jsonl --host", host)
    assert ended.code == 0
    assert call("verify run-0.jsonl").code == 0
    assert call("verify run-1.jsonl").code == 0
    inside = call("run -t micro4 -a bots.py:Echo random --steps 100 --json --clock virtual").data()["matches"]
    played = ended.data()["matches"]
    assert [m["seats"][0]["reward"] for m in played] == [m["seats"][0]["reward"] for m in inside]


def test_a_compressed_journal(call):
    assert call("run -t micro1 -a random --steps 500 -o run.jsonl.zst").code == 0
    assert call("verify run.jsonl.zst").out.startswith("OK  run.jsonl.zst: 500 turns in ")
    assert len(call("transcript run.jsonl.zst").out.splitlines()) > 500


def test_records_of_an_older_run_are_replaced_only_where_that_is_asked_for(call, folder):
    line = "run -t micro1 -a random silent -o run.jsonl --results r.out --steps"
    assert call(line, 500).code == 0
    older = {path.name: path.read_bytes() for path in folder.glob("r*-*")}
    assert older.keys() == {"run-0.jsonl", "run-1.jsonl", "r-0.out", "r-1.out"}
    why = "the file exists; name another one, or replace it with --overwrite"
    for file in ("journal run-0.jsonl", "results r-0.out", "journal run-1.jsonl"):
        refused = call(line, 5)
        assert (refused.code, refused.err) == (2, f"flagfall: {file}: {why}\n")
        (folder / file.partition(" ")[2]).unlink()
    assert [path.name for path in folder.glob("r*-*")] == ["r-1.out"]
    assert call(line, 5, "--overwrite").code == 0
    assert "5 turns" in call("verify run-1.jsonl").out
    assert (folder / "r-1.out").read_bytes() != older["r-1.out"]


# --- verify ------------------------------------------------------------------------------------------------


def recorded(call, folder: Path) -> tuple[Path, list[bytes]]:
    assert call("run -t micro1 -a random --steps 200 -o run.jsonl").code == 0
    path = folder / "run.jsonl"
    return path, path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("turn", [0, 57, 199])
def test_a_changed_observation_is_found_with_its_line_and_turn(call, folder, turn):
    path, lines = recorded(call, folder)
    place, turns = next(
        (number, event)
        for number, event in enumerate(map(json.loads, lines))
        if event["event"] == "turns" and 0 <= turn - event["turn"] < len(event["at_ns"])
    )
    turns["observation"][turn - turns["turn"]] ^= 1
    lines[place] = json.dumps(turns, separators=(",", ":")).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    ended = call("verify run.jsonl")
    assert ended.code == 1
    assert ended.err == ""
    assert ended.out.startswith(f"DIFFERENT  run.jsonl: line {place + 1}, turn {turn}, seat 0: observation")
    assert ended.out.count("\n") == 1


def test_a_flipped_bit_anywhere_is_found(call, folder):
    path, lines = recorded(call, folder)
    whole = b"".join(lines)
    for place in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        ended = call("verify run.jsonl")
        assert ended.code in {1, 2}, f"byte {place}"
        assert "line " in ended.out + ended.err
        assert ended.code == 1 or "turn" not in whole[:place].decode(), "exit code 2 is for the header only"


def test_a_journal_that_is_cut_off_is_found(call, folder):
    path, lines = recorded(call, folder)
    path.write_bytes(b"".join(lines[:-3]))
    ended = call("verify run.jsonl --quiet")
    assert ended.code == 1
    assert ended.out.startswith("DIFFERENT  run.jsonl: line ")


def test_quiet_says_nothing_of_a_journal_that_holds(call, folder):
    recorded(call, folder)
    ended = call("verify run.jsonl -q")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_match_of_other_tasks_cannot_be_verified_here(call, folder):
    task = make_task("micro1")
    task.id = "mine"
    run(task, "random", steps=10, journal=folder / "mine.jsonl")
    ended = call("verify mine.jsonl")
    assert ended.code == 2
    assert "the tasks of the match cannot be created here" in ended.err
    assert "unknown task 'mine'" in ended.err


# --- transcript --------------------------------------------------------------------------------------------


def test_a_transcript_in_a_file_is_the_same(call, folder):
    recorded(call, folder)
    ended = call("transcript run.jsonl -o said.jsonl")
    assert (ended.code, ended.out) == (0, "")
    assert (folder / "said.jsonl").read_text() == call("transcript run.jsonl").out
    assert sorted(path.name for path in folder.iterdir()) == ["bots.py", "run.jsonl", "said.jsonl"]


def test_a_damaged_journal_gives_no_file(call, folder):
    path, lines = recorded(call, folder)
    path.write_bytes(b"".join(lines[:-3]))
    (folder / "said.jsonl").write_text("before")
    ended = call("transcript run.jsonl -o said.jsonl")
    assert ended.code == 2
    assert "line " in ended.err
    assert (folder / "said.jsonl").read_text() == "before"
    assert sorted(path.name for path in folder.iterdir()) == ["bots.py", "run.jsonl", "said.jsonl"]


def test_the_rest_of_a_journal_that_is_cut_off_is_printed(call, folder):
    path, lines = recorded(call, folder)
    path.write_bytes(b"".join(lines[:-3]))
    ended = call("transcript run.jsonl")
    assert ended.code == 2
    assert len(ended.out.splitlines()) > 90


def test_a_closed_pipe_ends_it_quietly(call):
    assert call("run -t micro1 -a random --steps 20000 -o run.jsonl -q").code == 0
    teller = subprocess.Popen(
        [sys.executable, "-m", "flagfall", "transcript", "run.jsonl"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert teller.stdout is not None
    assert teller.stderr is not None
    assert json.loads(teller.stdout.readline()) == {"event": "start", "task": "micro1"}
    teller.stdout.close()
    assert teller.stderr.read() == b""
    assert teller.wait() == 0
    teller.stderr.close()


@pytest.mark.parametrize(("option", "smallest"), [("", 0), ("--whole-observations", 5 * 16_000)])
def test_long_observations_are_kept_for_who_asks(call, option, smallest):
    assert call(f"run --task langroom --agent random --steps 5 --journal run.jsonl {option}").code == 0
    assert smallest <= Path("run.jsonl").stat().st_size < smallest + 20_000
    assert call("verify run.jsonl").code == 0
