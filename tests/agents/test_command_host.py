"""Programs in any language on a seat: the samples, and some that break the rules."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from flagfall.agents.hosts.process import CommandHost
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.spec import agent_name
from flagfall.errors import HostFault, UsageError
from flagfall.events import TurnPlayed
from flagfall.kernel.outcomes import StepResult
from flagfall.playing import play
from tests.fakes import CountTask, ListScheduler, play_here

EXAMPLES = Path(__file__).parents[2] / "examples/wire"
PROGRAMS = Path(__file__).parent / "wire_programs"
CONTROL = "start=20s init=5s act=2s/20s result=5s"


@pytest.fixture(scope="module")
def c_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc on this machine")
    program = tmp_path_factory.mktemp("wire") / "bot"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    subprocess.run(["gcc", *strict, "-o", program, EXAMPLES / "bot.c"], check=True)
    return str(program)


@pytest.fixture(params=["python", "c", "node"])
def sample(request: pytest.FixtureRequest) -> str:
    if request.param == "c":
        return f"cmd:{request.getfixturevalue('c_program')}"
    if request.param == "python":
        return f"cmd:{sys.executable} {EXAMPLES / 'bot.py'}"
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    return f"cmd:node {EXAMPLES / 'bot.js'}"


def bad(way: str) -> CommandHost:
    return CommandHost(f"{sys.executable} {PROGRAMS / 'bad.py'} {way!r}")


async def test_samples_say_back_what_they_hear(sample: str):
    turns: list[Any] = []
    result = await play("micro4", sample, steps=60, time_control=CONTROL, sinks=[turns.append], seed=3)
    played = [event for event in turns if isinstance(event, TurnPlayed)]
    assert len(played) == 60
    assert [turn.action for turn in played] == [turn.observation for turn in played]
    assert {turn.verdict for turn in played} == {"on time"}
    assert result.seats[0].disqualified is None
    assert result.seats[0].agent == agent_name(sample)


async def test_samples_play_games_too(sample: str):
    result = await play("vgdl:cinders#0", sample, steps=20, time_control=CONTROL)
    assert (result.turns, result.seats[0].disqualified) == (20, None)
    assert (result.seats[0].stats.illegal, result.seats[0].stats.late) == (0, 0)


def test_samples_are_short():
    for file in EXAMPLES.iterdir():
        assert len(file.read_text().splitlines()) < 60


@pytest.mark.parametrize(
    ("way", "reason", "said"),
    [
        ("prints", "garbage", "it begins b'Loading the model"),
        ("another version", "garbage", "version 99"),
        ("answers first", "garbage", "expected ready, got answer"),
        ("fails", "crashed", "out of cheese: line 7"),
        ("half a line", "gone", "closed"),
        ("a long line", "garbage", "4194304 is the limit"),
        ("frames unasked", "garbage", "not a message"),
    ],
)
async def test_ways_to_break_the_rules(way: str, reason: str, said: str):
    played = await play_here(CountTask(3), bad(way), control=CONTROL)
    assert [fall.reason for fall in played.disqualified] == [reason]
    assert said in played.disqualified[0].detail


@pytest.mark.parametrize("way", ["speaks first", "carriage returns", "all phases"])
async def test_what_does_no_harm(way: str):
    played = await play_here(CountTask(3), bad(way), control=CONTROL)
    assert played.disqualified == []
    assert played.actions() == [0, 1, 2]


async def test_an_action_that_the_task_does_not_take_is_illegal():
    result = await play("micro1", bad("texts for numbers"), steps=3, time_control=CONTROL)
    assert (result.seats[0].stats.illegal, result.seats[0].disqualified) == (3, None)


async def test_actions_may_be_arrays():
    class Pairs(CountTask):
        def is_legal(self, action: Any) -> bool:
            return isinstance(action, np.ndarray) and action.tolist() == [1, 2]

        def step(self, action: Any) -> StepResult:
            return super().step(int(action.sum()))

    played = await play_here(Pairs(2), bad("arrays"), control=CONTROL)
    assert played.verdicts(0) == ["on time"] * 2


async def test_a_large_observation_is_nobodys_fault_but_the_tasks():
    class Large(CountTask):
        def reset(self, seed: int) -> Any:
            super().reset(seed)
            return "x" * 5_000_000

    with pytest.raises(HostFault, match="too large for the agent protocol"):
        await play_here(Large(), bad("all phases"), control=CONTROL)


async def test_spaces_that_fail_are_nobodys_fault_but_the_tasks():
    class Broken(CountTask):
        @property
        def action_space(self) -> Any:
            raise ValueError("no space")

    with pytest.raises(HostFault, match="its spaces: ValueError: no space"):
        await play_here(Broken(), bad("all phases"), control=CONTROL)


async def test_an_agent_is_told_of_other_spaces_when_they_come():
    class Other(CountTask):
        action_space = spaces.Discrete(7)

    class Another(CountTask):
        action_space = spaces.Discrete(9)
        nil_action = object()  # no wire can carry it

    tasks = ListScheduler([Other(2), Other(2), Another(2)])
    played = await play_here(tasks, bad("counts spaces"), control=CONTROL)
    assert (played.actions(), played.disqualified) == ([7, 7, 7, 7, 9, 9], [])


@pytest.mark.parametrize(
    ("command", "message"),
    [("", "empty"), ("'./bot", "quotation"), ("no-such-bot --fast", "no program 'no-such-bot'")],
)
def test_commands_that_cannot_be(command: str, message: str):
    with pytest.raises(UsageError, match=message):
        host_agent(f"cmd:{command}")


def test_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "my bot.py").touch()
    monkeypatch.chdir(tmp_path)
    assert agent_name("cmd:python3 'my bot.py' --fast") == "my bot.py"
    assert agent_name("cmd:/bin/bot --fast") == "bot"
    assert agent_name("cmd:'") == "cmd:'"
    assert host_agent(f"cmd:{sys.executable} -c pass", isolation=Isolation("none")).kind == "process"
    with pytest.raises(UsageError, match="a program of its own"):
        host_agent(f"cmd:{sys.executable}", "task")
