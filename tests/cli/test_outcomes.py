"""Who won and why: `flagfall results` of recorded matches, and the standings as JSON, by the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.sealed_journals import HEADER, sealed

Call = Callable[..., Any]

FIXTURES = Path(__file__).parent.parent / "fixtures"

TWO_BOTS = """
class Dies:
    turns = 0
    def act(self, observation):
        self.turns += 1
        print("turn", self.turns)
        return 0 if self.turns < 4 else 1 / 0

class Lives:
    def act(self, observation):
        return 0
"""


def test_the_result_of_a_game_has_the_winner_and_why_the_other_fell(call: Call, folder: Path) -> None:
    (folder / "two.py").write_text(TWO_BOTS)
    played = call("run --task duel:lamps --agent two.py:Dies two.py:Lives --journal m.jsonl")
    assert played.code == 0
    assert played.out.startswith("winner: Lives (seat 1); all others were disqualified\n")
    shown = call("results m.jsonl")
    assert (shown.code, shown.err) == (0, "")
    first, _, rest = shown.out.partition("\n")
    assert first == "100 turns, 1 episode; ended: finished"
    assert rest == played.out.removesuffix("journal: m.jsonl\n")
    assert "Dies (seat 0) was disqualified: crashed\n" in rest
    assert "return 0 if self.turns < 4 else 1 / 0\n" in rest
    assert "    turn 4\n" in rest
    assert "General results" not in rest


def test_json_of_a_recorded_match_is_that_of_the_run(call: Call) -> None:
    line = "run --task duel:heaps --agent random random --clock virtual --seed 5 -o m.jsonl --json"
    (match,) = call(line).data()["matches"]
    found = call("results m.jsonl --json").data()
    for seat in (*match["seats"], *found["seats"]):
        seat.pop("skipped", None)
    assert found.pop("fault") == ""
    assert found.pop("round1") is None
    assert found == {name: match[name] for name in found}
    (winner,) = found["winners"]
    assert [seat["score"] for seat in found["seats"]] == [float(seat == winner) for seat in range(2)]
    assert [seat["reward"] for seat in found["seats"]] == [1 if seat == winner else -1 for seat in range(2)]
    assert [seat["episodes"] for seat in found["seats"]] == [1, 1]


def test_a_draw_is_none_of_them(call: Call, folder: Path) -> None:
    (folder / "two.py").write_text(TWO_BOTS)
    line = "run --task duel:lamps --agent two.py:Lives two.py:Lives --steps 3 --clock virtual -o m.jsonl"
    assert call(line).out.startswith("draw: Lives (seat 0), Lives (seat 1); rewards 0 to 0\n")
    assert call("results m.jsonl --json").data()["winners"] == [0, 1]


def test_a_match_of_bytes_has_the_statistics_of_round_1_too(call: Call) -> None:
    run = "run --task micro1 micro2 --agent random --steps 2000 --clock virtual -q"
    call(f"{run} -o m.jsonl --results r.json")
    data = call("results m.jsonl --json").data()
    assert data["round1"] == json.loads(Path("r.json").read_text())
    (seat,) = data["seats"]
    assert data["winners"] == []
    assert seat["episodes"] == sum(task["played"] for task in data["tasks"]) > 3
    assert seat["return_sd"] > 0
    assert seat["reward"] == sum(task["reward"] for task in data["tasks"])
    call("results m.jsonl --output r2.json")
    assert Path("r2.json").read_text() == Path("r.json").read_text()


def test_a_cut_off_journal_shows_the_part_before(call: Call) -> None:
    call("run --task duel:lamps --agent random random --clock virtual -o whole.jsonl -q")
    lines = Path("whole.jsonl").read_bytes().splitlines(keepends=True)
    Path("cut.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    shown = call("results cut.jsonl")
    assert (shown.code, shown.err.count("\n")) == (2, 1)
    assert "no winner: the journal ends before the match did\n" in shown.out
    data = json.loads(call("results cut.jsonl --json").out)
    assert (data["reason"], data["winners"]) == ("cut off", [])
    assert 0 < data["turns"] < 100


def test_an_older_journal_of_several_seats_says_what_it_does_not_have(call: Call) -> None:
    shutil.copy(FIXTURES / "schema2" / "pettingzoo-parallel.jsonl", "old.jsonl")
    shown = call("results old.jsonl")
    assert shown.code == 0
    assert "no winner: this journal is older than the record of each seat's rewards\n" in shown.out
    data = call("results old.jsonl --json").data()
    assert (data["winners"], {seat["reward"] for seat in data["seats"]}) == ([], {None})


def test_a_void_match_says_why(call: Call) -> None:
    over = {"event": "over", "at_ns": 1, "reason": "void", "turns": 0, "detail": "sink\x1b[31m failed"}
    sealed(Path("void.jsonl"), {**HEADER, "agents": ["a", "b"]}, over)
    shown = call("results void.jsonl").out
    assert "fault: sink\\x1b[31m failed\n" in shown
    assert "no winner: the match is void\n" in shown


def test_no_journal_makes_a_table_of_millions(call: Call) -> None:
    sealed(Path("many.jsonl"), {**HEADER, "agents": [""] * 100_000})
    ended = call("results many.jsonl")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "flagfall: many.jsonl: a match with 100000 seats; 9999 are the most\n"
    dropped = {"event": "dropped", "at_ns": 1, "seat": 7, "turn": 0, "why": "stale"}
    sealed(Path("odd.jsonl"), HEADER, dropped)
    ended = call("results odd.jsonl")
    assert (ended.code, ended.err) == (2, "flagfall: odd.jsonl: seat 7 of a match with 1\n")


LOUD = """
class Loud:
    def reply(self, byte, reward):
        print("LOUD")
        return byte
"""

CUP = """
clock = "virtual"
repeats = 2

[output]
folder = "cup"
report = true

[[agents]]
spec = "loud.py:Loud"

[[agents]]
spec = "random"

[[agents]]
spec = "silent"

[[tasks]]
task = "micro1"
steps = 20
"""


@pytest.fixture
def cup(folder: Path) -> None:
    (folder / "loud.py").write_text(LOUD)
    (folder / "cup.toml").write_text(CUP)


@pytest.mark.release
@pytest.mark.usefixtures("cup")
def test_a_tournament_prints_its_standings_as_json_alone(call: Call) -> None:
    played = call("tournament cup.toml --json")
    assert played.code == 0
    data = played.data()
    assert data == call("results cup --json").data()
    assert data["over"]
    assert "results: cup" in played.err
    assert "report:  " in played.err
    assert [(row["matches"], row["duels"]) for row in data["rows"]] == [(2, 4)] * 3
    assert all(row["wins"] + row["draws"] + row["losses"] == row["duels"] for row in data["rows"])
    assert "Won, drawn and lost count duels: games for two, and " in call("results cup").out
    assert call("tournament cup.toml --json --resume").out == played.out


@pytest.mark.usefixtures("cup")
def test_a_schedule_has_no_standings(call: Call) -> None:
    refused = call("tournament cup.toml --json --dry-run")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "flagfall: --dry-run plays nothing, so there are no standings: leave out --json\n"


@pytest.mark.parametrize("name", ["benchmark", "disqualified", "gauntlet", "knockout", "swiss"])
def test_a_narrow_table_keeps_what_decides(call: Call, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    shutil.copytree(FIXTURES / "tournaments" / name, name)
    monkeypatch.setenv("COLUMNS", "80")
    shown = call(f"results {name}").out.partition("left out")[0]
    (headings,) = [line.split() for line in shown.splitlines() if line.startswith(" place")]
    assert {"agent", "score", "Elo", "won", "lost", "disq."} <= set(headings), shown
    assert all(len(line) <= 80 for line in shown.splitlines()), shown
