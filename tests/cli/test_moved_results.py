"""A tournament's folder on another machine: without agents, plan, configurations and environments."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flagfall.recording.journal.reader import read_journal
from tests.cli.test_check_host_as_plain_user import AS_PLAIN_USER, USER, installed_for_all, plain_python

Call = Callable[..., Any]

PLAN = """
clock = "virtual"
jobs = 1
time_control = "act=1s"
show = "book.txt"

[[agents]]
name = "bot"
spec = "bot.py:act"

[[agents]]
name = "boxed"
spec = "random"

[[tasks]]
config = "course.toml"
steps = 10

[[tasks]]
name = "own words"
task = "micro1"
words = "words.txt"
steps = 5

[[tasks]]
task = "vgdl:mygame.txt#0"
"""

BOT = """
def act(observation):
    return 0 if isinstance(observation, dict) else 32
"""

COURSE = """
[scheduler]
policy = "sequential"
tasks = ["micro1"]
"""


@pytest.fixture
def home(folder: Path) -> Path:
    """The folder of a plan with everything that it names."""
    games = Path(__file__).parents[2] / "flagfall" / "tasks" / "vgdl" / "games"
    home = folder / "home"
    home.mkdir()
    (home / "plan.toml").write_text(PLAN)
    (home / "bot.py").write_text(BOT)
    (home / "book.txt").write_text("openings\n")
    words = (f"{a}{b}{c}" for a in "bdfghjklm" for b in "aeiou" for c in "bcdfghjklmnpt")
    (home / "words.txt").write_text("\n".join(words))
    (home / "course.toml").write_text(COURSE)
    shutil.copy(games / "causeway.txt", home / "mygame.txt")
    shutil.copy(games / "causeway_lvl0.txt", home / "mygame_lvl0.txt")
    return home


def test_results_are_shown_where_nothing_else_is(call: Call, folder: Path, home: Path) -> None:
    played = call("tournament home/plan.toml --output made --quiet")
    assert played.code == 0, played.err
    before = call("results made --json")
    matches = call("results made --matches --format csv")
    shutil.rmtree(home)
    shutil.move(folder / "made", folder / "sent")
    after = call("results sent --json")
    assert (after.code, after.out) == (0, before.out), after.err
    assert call("results sent --matches --format csv").out == matches.out
    assert {"bot", "boxed"} <= set(after.out.split('"'))


def test_a_sent_plan_is_data(call: Call, home: Path) -> None:
    assert call("tournament home/plan.toml --output made --quiet").code == 0
    (home / "bot.py").write_text("raise SystemExit('imported')\n")
    (home / "words.txt").unlink()
    (home / "course.toml").write_text("not toml at all [")
    shown = call("results made")
    assert shown.code == 0, shown.err
    assert "Standings" in shown.out


OWN = """
clock = "virtual"
[[agents]]
name = "bot"
spec = "bot.py:act"
[[tasks]]
task = "tasks/own.py:Sum?size=4"
[[tasks]]
task = "gym:games.corridor:Corridor-v0"
[[tasks]]
task = "vgdl:mygame.txt#0"
steps = 5
[[tasks]]
track = "mygame.txt"
games = 1
"""

SUM = """
from gymnasium.spaces import Discrete
import helper
from flagfall.tasks import StepResult, Task

class Sum(Task):
    observation_space = action_space = Discrete(40)
    nil_action = 0
    def __init__(self, size=3):
        super().__init__(max_steps=size)
    def _reset(self, seed):
        return helper.least(seed)
    def _step(self, action):
        return StepResult(helper.least(action), action % 3)
    def reached_terminal_state(self):
        return False
    def result(self):
        return None
"""

CORRIDOR = """
import gymnasium
from games import steps

class Corridor(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = steps.COUNT
        return int(self.np_random.integers(2)), {}
    def step(self, action):
        self.left -= 1
        return int(self.np_random.integers(2)), float(action), not self.left, False, {}

gymnasium.register("Corridor-v0", Corridor)
"""


def write_own(home: Path) -> None:
    """Write a plan with tasks of its own: a file, a package, a game."""
    games = Path(__file__).parents[2] / "flagfall" / "tasks" / "vgdl" / "games"
    for name in ("tasks", "games"):
        (home / name).mkdir(parents=True)
    (home / "plan.toml").write_text(OWN)
    (home / "bot.py").write_text(BOT.replace("32", "1"))
    (home / "tasks" / "own.py").write_text(SUM)
    (home / "tasks" / "helper.py").write_text("def least(number):\n    return number % 40\n")
    (home / "games" / "__init__.py").touch()
    (home / "games" / "steps.py").write_text("COUNT = 5\n")
    (home / "games" / "corridor.py").write_text(CORRIDOR)
    for level in ("", "_lvl0", "_lvl1", "_lvl2", "_lvl3", "_lvl4"):
        shutil.copy(games / f"causeway{level}.txt", home / f"mygame{level}.txt")


@pytest.mark.release
def test_results_are_verified_in_the_home_of_another_user(folder: Path, program: Callable[..., Any]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    home = folder / "home of alice"
    write_own(home)
    os.chdir(home)
    played = program("tournament plan.toml --output made --quiet")
    assert played.code == 0, played.err
    with installed_for_all(plain_python()) as place:
        sent = Path(shutil.move(home / "made", place / "home" / "sent"))
        shutil.rmtree(home)
        for path in [sent, *sent.rglob("*")]:
            os.chown(path, USER, USER)

        def verify(*options: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [
                    *AS_PLAIN_USER,
                    str(place / "venv/bin/python"),
                    "-m",
                    "flagfall",
                    "verify",
                    "sent",
                    *options,
                ],
                cwd=place / "home",
                env={"HOME": str(place / "home"), "PATH": os.environ["PATH"]},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )

        checked = verify()
        assert (checked.returncode, checked.stdout[:8]) == (0, "OK  sent"), checked
        refused = verify("--replay")
        assert refused.returncode == 2
        assert re.fullmatch(
            r"flagfall: .* would import .*; if you trust this file, add --trust\n", refused.stderr
        )
        executed = verify("--replay", "--trust")
        assert executed.returncode == 0, executed
        assert "4 matches executed again" in executed.stdout
        for path in (path for path in sent.rglob("*") if path.is_file()):
            assert str(home).encode() not in path.read_bytes(), path
        for journal in (sent / "journals").iterdir():
            assert str(folder) not in str([*read_journal(journal)])
