"""`flagfall new` and `flagfall check-task`: what is written runs as its comments say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

FORGETFUL = """
from gymnasium.spaces import Discrete
from flagfall.tasks import StepResult, Task

class Drift(Task):
    observation_space = Discrete(100)
    action_space = Discrete(2)
    nil_action = 0
    total = 0

    def _reset(self, seed):
        return self.total

    def _step(self, action):
        Drift.total = (Drift.total + 1) % 100
        return StepResult(self.total, 0.0, False, False, {})

    def reached_terminal_state(self):
        return self.num_steps_taken() >= 5
"""


@pytest.mark.parametrize("name", ["bot.py", "my-bot"])
def test_a_new_agent_plays(call: Call, name: str) -> None:
    ended = call("new agent", name)
    assert ended.code == 0, ended.err
    command = ended.out.splitlines()[1].strip()
    assert command.startswith("flagfall run")
    assert "def act(self, observation, reward, timer):" in Path(name).with_suffix(".py").read_text()
    assert call(command.removeprefix("flagfall ")).code == 0


def test_a_new_task_is_played_verified_and_keeps_the_contract(call: Call) -> None:
    assert "guess.py:Guess" in call("new task guess").out
    lines = [line.strip() for line in Path("guess.py").read_text().splitlines() if "    flagfall" in line]
    assert len(lines) == 3
    for line in lines:
        ended = call(line.removeprefix("flagfall ").replace('"', ""))
        assert ended.code == 0, ended.out + ended.err


def test_a_new_plan_is_played(call: Call) -> None:
    assert call("new plan cup.toml").code == 0
    Path("cup.toml").write_text(Path("cup.toml").read_text().replace("steps = 1000", "steps = 20"))
    ended = call("tournament cup.toml --quiet")
    assert (ended.code, "Standings" in ended.out) == (0, True)
    assert call("results cup-results").code == 0


def test_a_new_plan_takes_a_new_agent_and_a_new_task(call: Call) -> None:
    for kind, name in (("plan", "cup.toml"), ("agent", "bot.py"), ("task", "guess.py")):
        assert call(f"new {kind} {name}").code == 0
    text = Path("cup.toml").read_text().replace("steps = 1000", "steps = 20")
    Path("cup.toml").write_text("\n".join(line.removeprefix("# ") for line in text.splitlines()[5:]))
    ended = call("tournament cup.toml --quiet")
    assert ended.code == 0, ended.err
    assert "guess.py:Guess" in ended.out


def test_nothing_is_overwritten_and_odd_names_are_refused(call: Call) -> None:
    Path("bot.py").write_text("mine")
    assert "bot.py exists" in call("new agent bot.py").err
    assert Path("bot.py").read_text() == "mine"
    for name in ("../3.py", "a b.py", "class.py"):
        ended = call("new agent", name)
        assert (ended.code, "write a name of letters" in ended.err) == (2, True)


def test_a_sound_task_passes(call: Call) -> None:
    assert call("check-task micro1").code == 0
    assert call("check-task gym:CartPole-v1 --json").data()["passed"] is True


def test_a_task_that_remembers_is_found(call: Call, folder: Path) -> None:
    (folder / "drift.py").write_text(FORGETFUL)
    ended = call("check-task drift.py:Drift")
    assert ended.code == 1
    assert "repeats_an_episode: seed 0, another object: it differs at step 0" in ended.out
    assert call("check-task drift.py:Nothing").code == 2
    assert call("check-task micro1 --steps 0").code == 2
