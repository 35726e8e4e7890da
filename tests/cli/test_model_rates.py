"""Language models on the virtual clock: one recording under any rate, what-if over rates, and refusals."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from flagfall.agents.samples.llm.settings import URL
from tests.cli.test_recorded_answers import turns
from tests.model_server import Server, completes, servers

RUN = "run -t doors.py:Doors --seed 3 --overwrite --clock virtual --time-control"
CONTROL = "act=3s/30s"
PLAN = (
    'format = "round-robin"\nclock = "virtual"\ntime_control = "act=3s/30s"\nrepeats = 3\n'
    '[[agents]]\nname = "one"\nspec = "llm"\nthink = "{0}"\n'
    '[[agents]]\nname = "two"\nspec = "llm?memory=1"\nthink = "{0}"\n[[tasks]]\ntask = "doors.py:Doors"\n'
)


def by_prompt(server: Server, asked: Any) -> None:
    """Answer as follows from the messages alone, in 10 to 73 tokens."""
    digest = sha256(json.dumps(asked["messages"]).encode()).digest()
    completes({"action": digest[0] % 3}, prompt_tokens=100, completion_tokens=10 + digest[1] // 4)(
        server, asked
    )


@pytest.fixture
def recorded(here: Path, monkeypatch: pytest.MonkeyPatch, call: Any) -> Path:
    """A journal in which no turn is late; there is no server any more."""
    with servers() as serve:
        monkeypatch.setenv(URL, serve(by_prompt).url)
        ended = call(RUN, CONTROL, "-a", "llm", "-a", "llm", "--think", "tokens(1k/s)", "-o", "run.jsonl")
        assert ended.code == 0, ended.err
    monkeypatch.delenv(URL)
    return here / "run.jsonl"


def test_one_recording_plays_under_any_rate_as_what_if_says(recorded: Path, here: Path, call: Any):
    rates = ["tokens(1000/s)", "tokens(20/s)", "tokens(5/s, first=0.1s)"]
    found = call("what-if run.jsonl --json --think", *rates).data()["controls"]
    assert [one["control"] for one in found] == rates
    was = turns(recorded)
    for rate, known in zip(rates, found, strict=True):
        agents = ["-a", "llm", "-a", "llm", "--answers", "run.jsonl"]
        ended = call(RUN, CONTROL, *agents, "--think", rate, "-o", "again.jsonl")
        assert ended.code in {0, 1}, ended.err  # 1: a prompt that was not recorded
        now, changed = turns(here / "again.jsonl"), known["changed"]
        if changed is None:
            assert (
                recorded.read_bytes().split(b"\n", 1)[1]
                == (here / "again.jsonl").read_bytes().split(b"\n", 1)[1]
            )
            continue
        (seat,) = [place for place, one in enumerate(known["seats"]) if one["changed"] == changed]
        assert now[:changed] == was[:changed]
        assert (now[changed][5], was[changed][5]) == (known["seats"][seat]["after"], "on time")
    assert [one["changed"] is None for one in found] == [True, False, False]
    ended = call(
        RUN,
        CONTROL,
        "-a",
        "llm",
        "-a",
        "llm",
        "--think",
        rates[0],
        "--answers",
        "run.jsonl",
        "-o",
        "same.jsonl",
    )
    assert ended.code == 0
    assert (here / "same.jsonl").read_bytes() == recorded.read_bytes()


@pytest.mark.usefixtures("recorded")
def test_a_match_goes_on_from_its_journal_with_what_is_left_of_its_budget(here: Path, call: Any):
    agents = ["-a", "llm", "-a", "llm", "--think", "tokens(1k/s)", "--answers", "run.jsonl"]
    control = "act=3s/30s budget=200tokens"
    assert call(RUN, control, *agents, "-o", "whole.jsonl").code == 0
    was = turns(here / "whole.jsonl")
    assert [verdict for *_, verdict, _ in was] == ["on time"] * 4 + ["late"] * 2
    for kept in (2, 4, 5):
        lines = (here / "whole.jsonl").read_bytes().splitlines(keepends=True)
        end = [
            number for number, line in enumerate(lines) if b'"turn":' in line and b'"event":"turn"' in line
        ][kept]
        (here / "cut.jsonl").write_bytes(b"".join(lines[:end]))
        ended = call(RUN.replace("--overwrite ", ""), control, *agents, "-o", "cut.jsonl", "--resume")
        assert ended.code == 0, ended.err
        assert turns(here / "cut.jsonl") == was


def test_a_tournament_as_a_curve_over_rates(here: Path, monkeypatch: pytest.MonkeyPatch, call: Any):
    (here / "plan.toml").write_text(PLAN.format("tokens(1k/s)"))
    (here / "slow.toml").write_text(PLAN.format("tokens(15/s)"))
    with servers() as serve:
        monkeypatch.setenv(URL, serve(by_prompt).url)
        assert call("tournament plan.toml -o out -q --jobs 1").code == 0
    monkeypatch.delenv(URL)
    found = call(
        "what-if out --json --think", "tokens(15/s)", "tokens(100/s..1k/s)", "-o", "curve.svg"
    ).data()
    assert len(found["effects"]) == 11
    for curve in found["rate_curves"]:
        assert curve["per_second"] == sorted(curve["per_second"])
        assert curve["share"][0] > curve["share"][-1] == 0
    assert "tokens a second" in (here / "curve.svg").read_text()
    slow, *_, quick = found["effects"]
    assert [agent["unknown"] for agent in quick["agents"]] == [0, 0]
    assert [agent["unknown"] for agent in slow["agents"]] == [6, 6]
    shown = call("what-if out --think", "tokens(15/s)", "tokens(1k/s)").out
    assert "Turns lost by the rate" in shown
    ended = call("tournament slow.toml -o slow -q --jobs 1 --answers out")
    assert ended.code == 1, ended.err  # a late turn leads to prompts that were not recorded
    assert call("tournament plan.toml -o again -q --jobs 1 --answers out").code == 0
    for journal in (here / "out" / "journals").iterdir():
        assert (here / "again" / "journals" / journal.name).read_bytes() == journal.read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-a", "random"], "--think: tokens(30/s) is not for random: it counts the tokens of llm"),
        (["-a", "llm", "--host", "process"], "tokens(30/s) is not for llm"),
        (
            ["-a", "bot.py:Bot"],
            "tokens(30/s) is not for Bot: it counts the tokens of llm, and of agents with",
        ),
        (
            ["-a", "llm", "--fault", "stall host 1s @turn 3"],
            "llm: tokens(30/s) is simulated in the event loop",
        ),
        (["-a", "random", "--answers", "run.jsonl"], "--answers: no agent is llm"),
    ],
)
def test_what_is_refused(
    here: Path, call: Any, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
):
    monkeypatch.setenv(URL, "http://127.0.0.1:9/v1")
    (here / "bot.py").write_text("class Bot:\n    def act(self, observation): return 0\n")
    ended = call("run -t micro1 --steps 5 --clock virtual --think tokens(30/s)", *words)
    assert ended.code == 2, ended.out
    assert message in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--think", "20ms"], "recorded matches are judged under a rate alone, such as tokens(30/s)"),
        (["--think", "tokens(80/s..5/s)"], "write a range from a low rate to a high one"),
        (["--think", "tokens(5/s)", "--time-control", "act=1s"], "--time-control: rates are judged under"),
        (["--think", "fuel(1G/s)"], "no agent of this match has recorded its fuel"),
    ],
)
def test_what_what_if_refuses(recorded: Path, call: Any, words: list[str], message: str):
    ended = call("what-if", str(recorded), *words)
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1
