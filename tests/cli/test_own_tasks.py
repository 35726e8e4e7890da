"""A user's own tasks and environments: played by name, in tournaments, verified, never imported unasked."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

Call = Callable[..., Any]

OWN = """
from pathlib import Path
from gymnasium import Env
from gymnasium.spaces import Discrete
from flagfall.tasks import StepResult, Task

Path("imported").touch()

class Count(Task):
    observation_space = Discrete(100)
    action_space = Discrete(3)
    nil_action = 0

    def __init__(self, size=3):
        super().__init__(max_steps=size)

    def _reset(self, seed):
        return seed % 7

    def _step(self, action):
        return StepResult(self.num_steps_taken(), float(action), False, False, {})

    def reached_terminal_state(self):
        return False

class Box(Env):
    observation_space = Discrete(5)
    action_space = Discrete(2)

    def __init__(self, length=4):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}

    def step(self, action):
        self.at += 1
        return self.at % 5, 1.0, self.at >= self.length, False, {}

class Plain:  # with no more than every task has, and one space
    id, players, continuous, nil_action, action_space = "plain", ("me",), False, 0, Discrete(3)

    def is_legal(self, action):
        return action in (0, 1, 2)

    def reset(self, seed):
        self.left = 4
        return 0

    def step(self, action):
        self.left -= 1
        return StepResult(0, float(action), self.left == 0)

    def result(self):
        return None

    def metrics(self):
        return {}

    def close(self):
        pass

def make(size=2):
    return Count(size)

def broken():
    raise ValueError("no \x1b[31m such thing")

def text():
    return "nothing to play"

one = Count()
"""

REGISTERED = """
from gymnasium import register
from own import Box

register("Mine-v0", entry_point=Box)
"""


@pytest.fixture(autouse=True)
def own(folder: Path) -> Iterator[None]:
    """Files with tasks of a user; `own.py` makes the file `imported` when it is imported."""
    (folder / "own.py").write_text(OWN)
    (folder / "registered.py").write_text(REGISTERED)
    yield
    gymnasium.registry.pop("Mine-v0", None)
    for module in ("own", "registered"):
        sys.modules.pop(module, None)


@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("own.py:Count", 3),
        ("own.py:Count?size=5", 5),
        ("own:Count?size=4", 4),
        ("own.py:make", 2),
        ("own.py:Plain", 4),
        ("own.py:Box?length=6", 6),
        ("own.py:Box?length=6&nil=1", 6),
        ("gym:registered:Mine-v0", 4),
    ],
)
def test_own_code_is_played_and_verified(call: Call, task: str, steps: int) -> None:
    played = call("run --agent random --journal there.jsonl --json --task", task)
    assert played.code == 0, played.err
    (row,) = played.data()["matches"][0]["tasks"]
    assert (row["task"], row["steps"]) == (task, steps)
    refused = call("verify there.jsonl")
    assert refused.code == 2
    assert "add --trust" in refused.err
    ended = call("verify there.jsonl --trust")
    assert (ended.code, f"{steps} turns" in ended.out) == (0, True), ended.err


def test_a_journal_imports_nothing_unasked(call: Call, folder: Path) -> None:
    call("run --agent random --journal there.jsonl --task own.py:Count")
    (folder / "imported").unlink()
    ended = call("verify there.jsonl")
    assert f"would import file 'own.py' ({folder / 'own.py'})" in ended.err
    assert not (folder / "imported").exists()


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("own.py:Cuont", "own.py has no 'Cuont'; nearest: Count"),
        ("onw.py:Count", "no such task file: onw.py; nearest: own.py"),
        ("langrom:echo", "unknown task 'langrom:echo'; nearest: langroom:echo"),
        ("own.py:one", "name a class or a function"),
        ("own.py:text", "expected a Task, a Gymnasium environment or a PettingZoo environment, got str"),
        ("own.py:Count?size", "expected `name=value`"),
        ("own.py:Count?lenght=3", "unexpected keyword argument 'lenght'"),
        ("own.py:Count?nil=1", "unexpected keyword argument 'nil'"),
        ("own.py:make?nil=1", "nil is an option of environments"),
        ("own.py:broken", "own.py:broken cannot be made: ValueError: no"),
    ],
)
def test_mistakes_get_one_line(call: Call, task: str, message: str) -> None:
    ended = call("run --agent random --task", task)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_own_code_in_a_tournament(call: Call, folder: Path) -> None:
    (folder / "plans").mkdir()
    (folder / "own.py").rename(folder / "plans" / "own.py")
    (folder / "plans" / "plan.toml").write_text(
        """
        clock = "virtual"
        [output]
        folder = "played"
        [[agents]]
        spec = "random"
        [[agents]]
        spec = "silent"
        [[tasks]]
        task = "own.py:Count?size=4"
        score = "reward"
        [[tasks]]
        name = "box"
        task = "own.py:Box"
        """
    )
    played = call("tournament plans/plan.toml --quiet --jobs 2")
    assert played.code == 0, played.err
    tasks = json.loads(call("results played --json").out)["tasks"]
    assert {task["task"] for task in tasks} == {"own.py:Count?size=4", "box"}
    (folder / "plans" / "own.py").unlink()
    assert call("results played").code == 0


BYTES = """
from flagfall.tasks.commai.byte_task import ByteTask

class Ones(ByteTask):
    id = "ones"

    def script(self, rng):
        for _ in range(30):
            byte = yield 49
            self.pay(1 if byte == 49 else -1)
        return True
"""


def test_own_byte_tasks_make_a_curriculum(call: Call, folder: Path) -> None:
    (folder / "teacher.py").write_text(BYTES)
    ended = call("curriculum --agent repeating --task teacher.py:Ones --limit 3000")
    assert (ended.code, "passed 1 of 1" in ended.out) == (0, True), ended.err


def test_own_tasks_are_replayed_where_they_are_trusted(call: Call, folder: Path) -> None:
    assert call("run --agent random --journal there.jsonl --task own.py:Count").code == 0
    for option in ("", "--trust"):
        ended = call(f"replay there.jsonl -o page{option}.html {option}")
        assert ended.code == 0, ended.err
        assert (folder / f"page{option}.html").stat().st_size > 10_000
