"""Files that were sent are data: what a journal or a results folder names is imported only on request."""

from __future__ import annotations

import os
import pty
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.sealed_journals import HEADER, sealed

MODULE = """
from pathlib import Path
Path("imported").write_text(__name__)

import gymnasium
from gymnasium import spaces

class Counting(gymnasium.Env):
    observation_space = action_space = spaces.Discrete(9)
    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return 0, {}
    def step(self, action):
        self.steps += 1
        return self.steps, 1.0, self.steps == 3, False, {}

gymnasium.register("Counting-v0", Counting)
"""


@pytest.fixture
def sent(folder: Path):
    """Folder with files from another user and a module beside them that leaves a mark when it is imported."""
    (folder / "counting.py").write_text(MODULE)

    def journal(*lines: object, **header: object) -> str:
        sealed(folder / "sent.jsonl", {**HEADER, **header}, *lines)
        return "sent.jsonl"

    return journal


TEXTS = [
    "gym:counting:Counting-v0",
    "gym:counting:Counting-v0?steps=3",
    "pettingzoo:counting.game",
    "pettingzoo:counting.game?api=aec",
    "gym:flagfall/CommAI-v0?task=gym:counting:Counting-v0",
    "gym:flagfall/CommAI-v0?task=pettingzoo:counting.game",
    "gym:GymV21Environment-v0?env_id=counting:Counting-v0",
    "gym:GymV26Environment-v0?env_id=counting:Counting-v0",
]


@pytest.mark.parametrize("task", TEXTS)
def test_verify_imports_nothing_that_a_journal_names(call, sent, folder, monkeypatch, task):
    monkeypatch.syspath_prepend(folder)
    begun = {
        "event": "start",
        "at_ns": 0,
        "task": task,
        "index": 0,
        "seed": 1,
    }  # a task is built when it is due
    ended = call("verify", sent(begun, tasks=[task]))
    sys.modules.pop("counting", None)
    assert not (folder / "imported").exists()
    assert ended.code == 2
    assert "would import module 'counting" in ended.err
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err


def test_the_refusal_names_the_module_its_file_and_the_option(program, sent, folder):
    ended = program("verify", sent(tasks=["micro1", TEXTS[0]]))
    assert ended.err == (
        f"flagfall: sent.jsonl: task '{TEXTS[0]}' would import module 'counting'"
        f" ({folder / 'counting.py'}); if you trust this file, add --trust\n"
    )


@pytest.mark.parametrize("line", ["results sent.jsonl", "transcript sent.jsonl", "gvgai results sent.jsonl"])
def test_what_only_reads_never_imports(call, sent, folder, monkeypatch, line):
    monkeypatch.syspath_prepend(folder)
    sent(tasks=[TEXTS[0]])
    call(line)
    sys.modules.pop("counting", None)
    assert not (folder / "imported").exists()


@pytest.mark.usefixtures("sent")
def test_a_match_of_a_module_verifies_for_who_trusts_it(program, folder):
    assert program(f"run --task {TEXTS[0]} --agent random --journal own.jsonl -q").code == 0
    assert (folder / "imported").exists()
    (folder / "imported").unlink()
    ended = program("verify own.jsonl --trust")
    assert (ended.code, ended.err) == (0, "")
    assert "3 turns in 1 task" in ended.out


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize(("answer", "code"), [("yes", 0), ("", 2)])
def test_at_a_terminal_the_user_is_asked(program, folder, answer, code):
    assert program(f"run --task {TEXTS[0]} --agent random --journal own.jsonl -q").code == 0
    (folder / "imported").unlink()
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "flagfall", "verify", "own.jsonl"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
    ) as verifying:
        os.close(terminal)
        os.write(controller, f"{answer}\n".encode())
        assert verifying.wait(60) == code
    os.close(controller)
    assert (folder / "imported").exists() is (code == 0)


def test_environments_that_are_installed_and_registered_need_no_trust(call):
    tasks = {
        "one": "gym:CartPole-v1",
        "ours": "gym:flagfall/CommAI-v0?task=micro3",
        "two": "pettingzoo:classic/tictactoe_v3",
    }
    for name, task in tasks.items():
        agents = "random random" if name == "two" else "random"
        assert call(f"run --task {task} --agent {agents} --steps 5 --journal {name} -q").code == 0
        assert call("verify", name).code == 0


SHADOWS = (
    "json",
    "random",
    "attrs",
    "cyclopts",
    "gymnasium",
    "hashlib",
    "numpy",
    "trio",
    "msgspec",
    "__future__",
)


@pytest.mark.parametrize("command", ["verify", "results"])
def test_no_file_beside_a_journal_takes_the_place_of_a_library(program, folder, sent, command):
    sent(tasks=["gym:CartPole-v1"])
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(
            "from pathlib import Path\nPath('imported').write_text(__name__)\n"
        )
    ended = program(f"{command} sent.jsonl")
    assert not (folder / "imported").exists(), (folder / "imported").read_text()
    assert "Traceback" not in ended.err


PLAN = """
name = "cup"
clock = "virtual"
jobs = 1
[[agents]]
spec = "random"
[[agents]]
spec = "silent"
[[tasks]]
name = "counting"
task = "gym:counting:Counting-v0"
"""


@pytest.mark.usefixtures("sent")
def test_the_results_of_a_tournament_import_nothing(program, folder):
    (folder / "cup.toml").write_text(PLAN)
    assert program("tournament cup.toml -q").code == 0
    (folder / "imported").unlink()
    ended = program("results cup-results")
    assert (ended.code, ended.err) == (0, "")
    assert "random" in ended.out
    assert not (folder / "imported").exists()


@pytest.mark.usefixtures("sent")
def test_going_on_with_a_folder_plays_the_plan_of_the_command_line(program, folder):
    """The plan in the folder is compared, not played."""
    (folder / "cup.toml").write_text(PLAN.replace("gym:counting:Counting-v0", "langroom:echo:length=5"))
    assert program("tournament cup.toml -q").code == 0
    with sqlite3.connect(folder / "cup-results" / "tournament.db") as database:
        database.execute("UPDATE about SET value = ? WHERE name = 'text'", (PLAN,))
    database.close()
    (folder / "cup-results" / "plan.toml").write_text(PLAN)
    assert program("tournament cup.toml --resume -q").code == 0
    assert not (folder / "imported").exists()
