"""Matches of language models are played again from their journals: without a server and without httpx."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from flagfall import read_journal
from flagfall.agents.samples.llm.settings import URL
from flagfall.events import TurnPlayed
from tests.cli.conftest import DOORS
from tests.model_server import Answer, Server, completes, servers, status

RUN = "run -t doors.py:Doors --seed 3 --overwrite --time-control"
CONTROL = "start=20s act=20s/30s"


def answers_with(content: Any, **more: Any) -> Answer:
    """An answer with reasoning, usage and a cost."""
    message = {"content": json.dumps(content), "reasoning_content": "The door looks old.", **more}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.002}
    return status(200, json.dumps({"choices": [{"message": message}], "usage": usage}).encode())


SCRIPT = [
    answers_with({"action": "B"}),
    answers_with({"action": 2}),
    status(503),
    answers_with({"action": "no"}),
    answers_with({"action": "C"}),
    status(404),
    answers_with({"action": "A"}),
    answers_with({"action": "B"}),
]


@pytest.fixture
def record(here: Path, monkeypatch: pytest.MonkeyPatch, call: Any) -> Any:
    """Record a match to `run.jsonl`, and stop the server."""

    def play(*answers: Answer, options: str = "", control: str = CONTROL) -> type[Server]:
        with servers() as serve, monkeypatch.context() as patch:
            running = serve(*answers)
            patch.setenv(URL, running.url)
            agents = ["-a", f"llm{options}", "-a", f"llm{options}"]
            ended = call(RUN, control, *agents, "-o", "run.jsonl")
            assert ended.code == 0, ended.err
            assert (here / "run.jsonl").exists()
        return running

    monkeypatch.delenv(URL, raising=False)
    return play


def turns(path: Path | str) -> list[Any]:
    events = [event for event in read_journal(path) if isinstance(event, TurnPlayed)]
    return [(e.turn, e.seat, e.observation, e.reward, e.action, e.verdict, e.note) for e in events]


@pytest.mark.parametrize("host", ["task", "process"])
def test_the_same_match_without_the_model(
    record: Any, call: Any, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    record(*SCRIPT)
    monkeypatch.setitem(sys.modules, "httpx", None)
    again = ["-a", "llm?answers=run.jsonl"] * 2
    ended = call(RUN, CONTROL, *again, "-o", "again.jsonl", "--host", host)
    assert ended.code == 0, ended.err
    recorded = turns("run.jsonl")
    assert [action for *_, action, _, _ in recorded] == [1, 2, 2, 0, 0, 1]
    assert turns("again.jsonl") == recorded
    assert call("verify --trust again.jsonl").code == 0


def test_a_match_that_is_played_again_asks_no_model(
    record: Any, call: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(*SCRIPT)
    again = ["-a", "llm?answers=run.jsonl"] * 2
    assert call(RUN, CONTROL, *again, "-o", "again.jsonl", "--clock", "virtual").code == 0
    (here / "run.jsonl").unlink()
    monkeypatch.setitem(sys.modules, "httpx", None)
    for agent in ("", "-a llm -a llm?url=http://127.0.0.1:1/v1"):
        done = call(f"verify --agents --trust again.jsonl {agent}")
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith("; 2 agents played the same match again\n")


def test_a_note_has_what_the_answer_cost(record: Any) -> None:
    record(*SCRIPT)
    first, _, third, fourth, *_ = (note for *_, note in turns("run.jsonl"))
    assert list(first) == [
        *("prompt", "system", "reasoning", "answer", "model", "digest", "requests"),
        *("answers", "seconds", "prompt_tokens", "answer_tokens", "cost"),
    ]
    assert (first["reasoning"], first["model"], first["cost"]) == ("The door looks old.", "small", 0.002)
    assert "Open doors." in first["system"]
    assert "system" not in third
    counts = {"requests": 3, "retries": 2, "server_errors": 1, "invalid_answers": 1, "answers": 1}
    assert {name: third[name] for name in counts} == counts
    assert (third["prompt_tokens"], third["answer_tokens"], third["cost"]) == (200, 20, 0.004)
    assert (fourth["turns_without_answer"], "cost" in fourth) == (1, False)


def test_a_price_counts_more_than_what_the_endpoint_reports(record: Any) -> None:
    record(*SCRIPT, options="?price=0.15/0.60")
    first, *_ = (note for *_, note in turns("run.jsonl"))
    assert first["cost"] == 0.000021


def test_without_a_price_no_cost_is_noted(record: Any) -> None:
    record(completes({"action": "B"}))
    assert not any("cost" in note for *_, note in turns("run.jsonl"))


def calls(name: str, arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def test_calls_of_functions_are_noted(record: Any) -> None:
    record(answers_with("", **calls("answer", '{"action": "B"}')), options="?format=tools")
    first, *_ = (note for *_, note in turns("run.jsonl"))
    assert first["tool_calls"] == [{"name": "answer", "arguments": '{"action": "B"}'}]


def test_another_match_than_the_recorded_one_ends_with_the_turn(record: Any, call: Any) -> None:
    record(*SCRIPT)
    again = ["-a", "llm?answers=run.jsonl"] * 2
    ended = call(RUN.replace("--seed 3", "--seed 4"), CONTROL, *again)
    assert ended.code == 1
    what = (
        "run.jsonl has another prompt than this in turn 0: play the recorded tasks with the options of then"
    )
    assert f"    {what}, and --seed 3\n" in ended.out
    assert "Traceback" not in ended.out


def test_a_match_that_goes_on_longer_ends_with_the_turn(record: Any, call: Any, here: Path) -> None:
    record(*SCRIPT)
    (here / "doors.py").write_text(DOORS.replace("self.turns == 6", "self.turns == 12"))
    ended = call(RUN, CONTROL, *["-a", "llm?answers=run.jsonl"] * 2)
    assert ended.code == 1
    assert "run.jsonl has no answer after turn 4: play the recorded tasks" in ended.out


def test_an_answer_that_was_cut_is_not_played(record: Any, call: Any) -> None:
    record(completes('{"action":%s"B"}' % (" " * 20_000)))
    first, *_ = (note for *_, note in turns("run.jsonl"))
    assert first["answer_is_cut"] is True
    ended = call(RUN, CONTROL, *["-a", "llm?answers=run.jsonl"] * 2)
    assert ended.code == 1
    assert "run.jsonl has no valid answer of turn 0: it was too long for a note" in ended.out


def test_a_long_answer_is_noted_in_full_before_all_else(record: Any, call: Any) -> None:
    text = '{"action":%s"B"}' % (" " * 15_000)
    record(completes(text))
    first, *_ = (note for *_, note in turns("run.jsonl"))
    assert first["answer"] == text
    assert "answer_is_cut" not in first
    assert len(first["prompt"]) > 20
    assert call(RUN, CONTROL, *["-a", "llm?answers=run.jsonl"] * 2).code == 0


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("missing.jsonl", "missing.jsonl"),
        ("doors.py", "this is not a journal"),
        ("silent.jsonl", "no agent of this match has noted answers of a language model"),
        (".", "this is no folder of results: name one, or a journal"),
    ],
)
def test_answers_that_are_none(call: Any, here: Path, answers: str, message: str) -> None:
    assert call("run -t micro4 -a silent --steps 20 -o silent.jsonl").code == 0
    ended = call(RUN, CONTROL, "-a", f"llm?answers={answers}", "-a", "random", "-o", "again.jsonl")
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert not (here / "again.jsonl").exists()


def test_a_tournament_is_played_again(call: Any, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = (
        'format = "round-robin"\ntime_control = "start=20s act=20s/60s"\n'
        '[[agents]]\nname = "one"\nspec = "llm?template=ask.txt{0}"\n'
        '[[agents]]\nname = "two"\nspec = "llm{1}"\n[[tasks]]\ntask = "doors.py:Doors"\n'
    )
    plans = here / "plans"  # which the names of files in it start from
    plans.mkdir()
    (here / "doors.py").rename(plans / "doors.py")
    (plans / "ask.txt").write_text("$observation $actions $form")
    (plans / "plan.toml").write_text(plan.format("", ""))
    with servers() as serve:
        running = serve(
            answers_with({"action": "B"}), answers_with({"action": "C"}), answers_with({"action": 0})
        )
        monkeypatch.setenv(URL, running.url)
        ended = call("tournament plans/plan.toml -o out -q --jobs 1")
        assert ended.code == 0, ended.err
    monkeypatch.delenv(URL)
    for row in call("results out --json").data()["rows"]:
        assert (row["tokens"], row["cost"]) == (330, pytest.approx(0.006))
    shown = call("results out").out
    assert re.search(r"tokens +cost", shown)
    assert re.search(r" one .* 330 +\$0\.00600\b", shown)
    code = json.loads((here / "out" / "code.json").read_text())
    assert code["agents"]["one"]["text"] == "llm?template=ask.txt"
    assert list(code["agents"]["one"]["files"]) == ["ask.txt"]
    (plans / "again.toml").write_text(plan.format("&answers=../out", "?answers=../out"))
    ended = call("tournament plans/again.toml -o again -q --jobs 1")
    assert ended.code == 0, ended.err
    journals = sorted(path.name for path in (here / "out" / "journals").iterdir())
    assert len(journals) == 2
    for name in journals:
        recorded = turns(here / "out" / "journals" / name)
        assert turns(here / "again" / "journals" / name) == recorded
        assert all(note["answers"] == 1 for *_, note in recorded)


def test_without_notes_there_are_no_tokens(call: Any, here: Path) -> None:
    (here / "plan.toml").write_text(
        'format = "benchmark"\n[[agents]]\nspec = "random"\n[[tasks]]\ntask = "micro4"\nsteps = 20\n'
    )
    assert call("tournament plan.toml -o out -q --jobs 1").code == 0
    (row,) = call("results out --json").data()["rows"]
    assert (row["tokens"], row["cost"]) == (None, None)
    assert "tokens" not in call("results out").out
