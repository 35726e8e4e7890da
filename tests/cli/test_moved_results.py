"""A tournament's folder on another machine: without agents, plan, configurations and environments."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
