"""`flagfall branch`: a user plays on from a turn of a recorded match."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flagfall.events import MatchEnded, MatchStarted, SeatDisqualified, TurnPlayed
from flagfall.recording.branching import recorded_events
from flagfall.recording.journal.reader import read_journal
from tests.cli.sealed_journals import HEADER, sealed

RUN = "run --task micro1 --task micro2 --agent random --steps 300 --clock virtual --seed 5 -q --journal"

AGENT = """
class Reader:
    def start(self, briefing):
        turns = briefing.transcript
        self.seen = [len(turns), turns[0].turn, turns[-1].turn, turns[-1].action]
        self.note = briefing.note

    def act(self, observation):
        self.note(self.seen)
        return 65
"""


@pytest.fixture
def match(call, folder: Path) -> list[Any]:
    """The events of a match, which is recorded in `match.jsonl`."""
    assert call(f"{RUN} match.jsonl").code == 0
    (folder / "reader.py").write_text(AGENT)
    return list(read_journal("match.jsonl"))


def header(file: str) -> MatchStarted:
    event = next(read_journal(file))
    assert isinstance(event, MatchStarted)
    return event


def test_a_branch_is_a_whole_match_that_names_its_parent(program, match):
    assert program("branch match.jsonl --at 120 --agent memorizing --journal new.jsonl").code == 0
    after = list(read_journal("new.jsonl"))
    assert after[1:123] == match[1:123]
    assert after[123:] != match[123:]
    told = header("new.jsonl")
    assert told.agents == ["memorizing"]
    assert [(one.turn, one.agents, one.seed) for one in told.parents] == [(120, ["random"], 5)]
    assert len(told.parents[0].sha256) == 64
    assert program("verify new.jsonl").code == 0
    assert program("replay new.jsonl -o new.html").code == 0
    result = program("results new.jsonl --json").data()
    assert result["turns"] == 300


@pytest.mark.parametrize(
    "words", ["--agent recorded", "--agent random --replay-agents", "", "--agent random"]
)
def test_what_repeats_gives_the_same_match(program, match, words):
    assert program(f"branch match.jsonl --at 77 {words} --journal same.jsonl -q").code == 0
    assert list(read_journal("same.jsonl"))[1:] == match[1:]


@pytest.mark.parametrize("words", ["", "--clock wall", "--clock wall --host thread"])
def test_an_agent_of_ones_own_gets_the_turns_of_its_seat(program, match, words):
    ended = program(f"branch match.jsonl --at 40 --agent reader.py:Reader {words} --steps 45 -o new.jsonl -q")
    assert (ended.code, ended.err) == (0, "")
    turns = [event for event in read_journal("new.jsonl") if isinstance(event, TurnPlayed)]
    old = next(event for event in match if isinstance(event, TurnPlayed) and event.turn == 39)
    assert [turn.note for turn in turns[40:]] == [[40, 0, 39, old.action]] * 5
    assert [turn.action for turn in turns[40:]] == [65] * 5
    assert program("verify new.jsonl").code == 0


@pytest.mark.usefixtures("match")
def test_a_sample_begins_at_the_turn_with_another_seed(program):
    ended = program("branch match.jsonl --at 77 --seed 6 --journal new.jsonl -q")
    assert (ended.code, ended.err) == (0, "")
    assert header("new.jsonl").seed == 6
    assert program("verify new.jsonl").code == 0
    again = program("branch match.jsonl --at 77 --seed 6 --replay-agents --journal other.jsonl -q")
    assert again.code == 2
    assert "the agent answers" in again.err


@pytest.mark.usefixtures("match")
def test_a_branch_is_branched_again(program):
    options = "--time-control act=20ms/200ms --seed 7 --agent memorizing"
    assert program(f"branch match.jsonl --at 50 {options} -o one.jsonl -q").code == 0
    assert program("branch one.jsonl --at 200 --seed 8 --agent random -o two.jsonl -q").code == 0
    assert program("branch two.jsonl --at 120 --agent recorded -o three.jsonl -q").code == 0
    one, two, three = (header(f"{name}.jsonl") for name in ("one", "two", "three"))
    assert (one.seed, one.parents[0].seed) == (7, 5)
    assert [(past.turn, past.seed) for past in two.parents] == [(50, 5), (200, 7)]
    assert [(past.turn, past.seed) for past in three.parents] == [(50, 5), (120, 7)]
    assert three.parents[1].time_control == one.time_control != one.parents[0].time_control
    for name in ("one", "two", "three"):
        assert program(f"verify {name}.jsonl").code == 0


def test_a_match_whose_writer_was_killed_goes_on(program, match, folder):
    text = (folder / "match.jsonl").read_bytes()
    lines = text.splitlines(keepends=True)
    (folder / "cut.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:-1] + b"\n" + lines[4][:50])
    turns = [event.turn for event in recorded_events(Path("cut.jsonl")) if isinstance(event, TurnPlayed)]
    words = f"--at {turns[-1] + 1} --agent random --replay-agents"
    assert program(f"branch cut.jsonl {words} -o new.jsonl -q").code == 0
    assert list(read_journal("new.jsonl"))[1:] == match[1:]


def test_seats_that_are_out_stay_out(program, folder):
    (folder / "duel.py").write_text(
        "class Breaks:\n"
        "    turns = 0\n"
        "    def act(self, observation):\n"
        "        self.turns += 1\n"
        "        if self.turns == 2:\n"
        "            raise ValueError('broken')\n"
        "        return 'wrong'\n"
    )
    agents = "--agent random --agent duel.py:Breaks"
    assert program(f"run --task duel:lamps {agents} --clock virtual --steps 12 -q -o duel.jsonl").code == 0
    turns = [event for event in read_journal("duel.jsonl") if isinstance(event, TurnPlayed)]
    at = next(turn.turn for turn in turns if turn.verdict == "absent") + 1
    ended = program(f"branch duel.jsonl --at {at} -o new.jsonl")
    assert ended.code == 2
    assert (
        "seat 1 was played by 'Breaks', and only samples without options that cost nothing are taken from a"
        " file: add --agent" in ended.err
    )
    assert program(f"branch duel.jsonl --at {at} -a random random -o new.jsonl -q").code == 0
    events = list(read_journal("new.jsonl"))
    assert [event.seat for event in events if isinstance(event, SeatDisqualified)] == [1]
    assert isinstance(events[-1], MatchEnded)
    after = [event for event in events if isinstance(event, TurnPlayed) and event.turn >= at]
    assert {turn.verdict for turn in after if turn.seat == 1} == {"absent"}
    assert program("verify new.jsonl").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--at -5", "turn -5: at least one turn is kept"),
        ("--at 0", "turn 0: at least one turn is kept"),
        ("--at 301", "there is no turn 301: 300 turns are recorded"),
        ("--at 300", "steps 300: 300 turns are recorded; a match that goes on needs more"),
        ("--at 120 --steps 120", "steps 120: 120 turns are recorded"),
        ("--at 120 --agent nobody", "unknown agent 'nobody'"),
        ("--at 120 -a random random", "--agent: 2 agents are given; match.jsonl has 1 seats"),
        ("--at 120 --time-control act=x", "act=x"),
        ("--at 120 --seed -1", "--seed -1: a seed is a whole number"),
        ("--at 120 --agent memorizing --replay-agents", "turn 0, seat 0: the agent answers"),
    ],
)
@pytest.mark.usefixtures("match")
def test_what_cannot_be_is_told_in_one_line(call, words, told):
    ended = call(f"branch match.jsonl {words} -o new.jsonl")
    assert ended.code == 2
    assert told in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.usefixtures("match")
def test_the_parent_is_never_overwritten(call, folder):
    before = (folder / "match.jsonl").read_bytes()
    (folder / "link.jsonl").symlink_to("match.jsonl")
    for name in ("match.jsonl", "./match.jsonl", "link.jsonl"):
        ended = call(f"branch match.jsonl --at 120 --agent recorded --overwrite -o {name}")
        assert (ended.code, ended.out) == (2, "")
        assert "this is the journal of the match" in ended.err
    assert (folder / "match.jsonl").read_bytes() == before


@pytest.mark.usefixtures("match")
def test_a_match_that_is_not_as_recorded_is_not_gone_on_with(call, folder):
    lines = [json.loads(line) for line in (folder / "match.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["event"] != "seal"]
    lines[3]["observation"][30] += 1
    sealed(folder / "forged.jsonl", *lines)
    ended = call("branch forged.jsonl --at 120 --agent random -o new.jsonl")
    assert ended.code == 2
    assert "turn 30 cannot be reached: its execution differs from the record: observation" in ended.err
    assert not (folder / "new.jsonl").exists()


TURN = {"event": "turn", "at_ns": 5, "turn": 0, "observation": 1, "reward": 0, "action": 1}
START = {"event": "start", "at_ns": 0, "task": "micro1", "index": 0, "seed": 1}


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [TURN],
        [START, {**TURN, "turn": 2**62}],
        [START, {**TURN, "turn": -3}, TURN],
        [{"event": "disqualified", "at_ns": 0, "seat": 99, "reason": "late"}, START, TURN],
        [{"event": "ready", "at_ns": 0, "seat": -1, "spent_ns": 3, "host": "task"}, START, TURN],
        [START, {**TURN, "seat": 7}],
        [{**START, "task": "nowhere"}, TURN],
    ],
)
def test_a_journal_that_no_match_wrote(call, folder, lines):
    sealed(folder / "odd.jsonl", HEADER, *lines, {**TURN, "turn": 9, "at_ns": 9})
    ended = call("branch odd.jsonl --at 9 --agent random -o new.jsonl")
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert not (folder / "new.jsonl").exists()


def test_foreign_code_is_imported_only_on_request(call, folder):
    sealed(folder / "sent.jsonl", {**HEADER, "tasks": ["gym:foreign:Game-v0"]}, START, TURN)
    (folder / "foreign.py").write_text("open('imported', 'w')\n")
    ended = call("branch sent.jsonl --at 1 --agent random -o new.jsonl")
    assert ended.code == 2
    assert "would import module 'foreign" in ended.err
    assert not (folder / "imported").exists()


@pytest.mark.usefixtures("match")
@pytest.mark.parametrize("agent", ["llm?url=http://127.0.0.1:9/v1", "llm?template=/etc/passwd", "llm"])
def test_what_a_sample_could_cost_is_not_taken_from_a_file(call, monkeypatch, agent):
    """The address would be sent the user's key, the file to that address; and questions cost tokens."""
    monkeypatch.setenv("FLAGFALL_LLM_KEY", "secret")
    lines = [json.loads(line) for line in Path("match.jsonl").read_bytes().splitlines()[:4]]
    sealed(Path("sent.jsonl"), {**lines[0], "agents": [agent]}, *lines[1:])
    ended = call("branch sent.jsonl --at 2 --journal new.jsonl")
    assert ended.code == 2
    assert "only samples without options that cost nothing are taken from a file: add --agent" in ended.err
    assert not Path("new.jsonl").exists()


@pytest.mark.usefixtures("match")
def test_a_tick_that_never_comes_is_refused(call):
    lines = [json.loads(line) for line in Path("match.jsonl").read_bytes().splitlines()[:4]]
    sealed(Path("sent.jsonl"), {**lines[0], "tick_ns": 2**63 - 1}, *lines[1:])
    ended = call("branch sent.jsonl --at 2 --agent recorded --journal new.jsonl")
    assert ended.code == 2
    assert "a tick is shorter than" in ended.err
