"""Journals and results folders that a stranger sealed anew: one line, no traceback, and an end."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from flagfall.playing import run
from flagfall.tasks.catalog import make_task
from tests.cli.sealed_journals import HEADER
from tests.cli.sealed_journals import sealed as write_sealed

START = {"event": "start", "at_ns": 0, "task": "micro1", "index": 0, "seed": 0}
TURN = {"event": "turn", "at_ns": 0, "turn": 0, "observation": 32, "reward": 0, "action": 32}
END = {"event": "end", "at_ns": 0, "task": "micro1", "index": 0, "result": None, "reward": 0, "steps": 1}
BIG = 10**400


def sealed(*lines: Any) -> None:
    write_sealed(Path("odd.jsonl"), *lines)


def check(call: Any, commands: str = "verify results transcript") -> None:
    for command in commands.split():
        ended = call(f"{command} odd.jsonl")
        assert ended.code in {0, 1, 2}
        assert ended.err.count("\n") == (ended.code == 2)
        assert len(ended.err) < 1200


@pytest.mark.parametrize("place", [HEADER, START, TURN, END], ids=lambda line: str(line["event"]))
@pytest.mark.parametrize(
    "value",
    [None, "x\n\x1b[31m", "x" * 5000, [1], {"a": "b"}, 1e308, -1, BIG, True],
    ids=lambda value: repr(value)[:12],
)
def test_any_field_may_hold_any_value(call, place, value):
    for name in place:
        if name != "event":
            sealed(*({**line, name: value} if line is place else line for line in (HEADER, START, TURN, END)))
            check(call)


@pytest.mark.parametrize(
    "raw",
    ["NaN", "1e999", '"\\ud800"', "9" * 5000, "[" * 5000 + "]" * 5000, "[" * 50_000],
    ids=lambda raw: raw[:9],
)
def test_a_value_may_be_no_value(call, raw):
    for name in ("observation", "reward", "action"):
        text = json.dumps({**TURN, name: "@"}).replace('"@"', raw)
        sealed(HEADER, START, text.encode() + b"\n", END)
        check(call)


def test_events_may_be_missing_or_in_any_order(call):
    for lines in ((HEADER, END), (HEADER, TURN, END, START), (START, TURN), (HEADER, HEADER), (HEADER,), ()):
        sealed(*lines)
        check(call)


CONFIGS = [
    "[" * 100_000,
    '{"a":' * 100_000,
    '{"python":' + "[" * 900 + "]" * 900 + "}",
    '{"scheduler":' + '{"a":' * 100 + "1" + "}" * 101,
    '{"scheduler":{"policy":"sequential","tasks":["micro1"],"rounds":1' + "0" * 5000 + "}}",
    '{"scheduler":{"policy":"sequential","tasks":["micro1"]},"max_reward_per_task":1' + "0" * 400 + "}",
    '{"scheduler":{"policy":"sequential","tasks":["micro1"]},"words":"/dev/zero"}',
    '{"scheduler":{"policy":"sequential","tasks":' + json.dumps(["*"] * 100_000) + "}}",
    '{"scheduler":{"policy":"sequential","tasks":["micro3"]},"tasks":{"micro3":{"options":1000000000}}}',
    '{"scheduler":{"policy":"sequential","tasks":["micro1"]},"tasks":'
    + json.dumps({f"x{n}": {} for n in range(20_000)})
    + "}",
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config[:20])
def test_a_configuration_in_a_journal_is_bounded(call, config):
    sealed({**HEADER, "config": config}, START, TURN, END)
    ended = call("verify odd.jsonl")
    assert ended.code == 2
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scheduler": "sequential:" + "9" * 5000}, "write at most 9 digits"),
        ({"scheduler": "x" * 1_000_000}, "unknown policy"),
        ({"tasks": ["x" * 1_000_000]}, "1000000 characters; the limit is 10000"),
        (
            {"tasks": ["gym:FrozenLake-v1?desc=" + json.dumps(["F" * 700] * 700)]},
            "the limit is 10000",
        ),
        ({"tasks": ["micro1"] * 100_000}, "100000 tasks; 10000 are the most"),
        ({"tasks": ["gym:CartPole-v1?nil=" + "[" * 5000]}, "is not an action of Discrete(2)"),
    ],
    ids=lambda part: str(part)[:40],
)
def test_texts_in_a_journal_are_bounded(call, fields, words):
    sealed({**HEADER, **fields}, START, TURN, END)
    ended = call("verify odd.jsonl")
    assert ended.code == 2
    assert words in ended.err
    assert ended.err.count("\n") == 1


def test_a_line_holds_no_more_turns_than_a_match_writes(call):
    columns = {name: [0] * 300 for name in ("at_ns", "observation", "reward", "action", "spent_ns")}
    sealed(HEADER, START, {"event": "turns", "turn": 0, **columns})
    assert "300 turns in one line; 256 are the most" in call("results odd.jsonl").err


def test_the_figures_of_a_track_are_checked(call):
    run("vgdl:windfall#0", "random", steps=5, clock="virtual", journal="good.jsonl")
    good = [json.loads(line) for line in Path("good.jsonl").read_bytes().splitlines()][:-1]
    metrics = {"phase": "training", "level": 0, "winner": 1, "score": 1.0, "ticks": 5}
    for name in metrics:
        odd: tuple[Any, ...] = (None, [], "x", BIG, {"a": 1})
        for value in odd:
            sealed(*good, {**END, "metrics": {**metrics, name: value}})
            ended = call("gvgai results odd.jsonl")
            assert ended.code in {0, 2}
            assert ended.err.count("\n") == (ended.code == 2)


PLAN = """
name = "cup"
clock = "virtual"
jobs = 1
format = {format}
[[agents]]
spec = "random"
[[agents]]
spec = "silent"
[[tasks]]
{task}
"""


@pytest.mark.parametrize(
    ("form", "fact", "words"),
    [
        ("benchmark", "repeats", "<= 100000 - at `$.repeats`"),
        ("swiss", "format.rounds", "rounds: expected a whole number from 1 to 100000, got 1000000000"),
        ("knockout", "format.replays", "replays: expected a whole number from 0 to 100000, got 1000000000"),
    ],
)
def test_a_plan_in_a_results_folder_is_bounded(call, form, fact, words):
    seats = 'task = "duel:heaps"' if form != "benchmark" else 'task = "micro1"\nsteps = 5'
    Path("cup.toml").write_text(PLAN.format(format=f'"{form}"', task=seats))
    assert call("tournament cup.toml -q").code == 0
    database = sqlite3.connect("cup-results/tournament.db")
    ((text,),) = database.execute("SELECT value FROM about WHERE name = 'facts'").fetchall()
    facts = json.loads(text)
    assert fact in facts
    facts[fact] = "1000000000"
    database.execute("UPDATE about SET value = ? WHERE name = 'facts'", (json.dumps(facts),))
    database.commit()
    database.close()
    ended = call("results cup-results")
    assert ended.code == 2
    assert words in ended.err


# A verification that takes long.

SLOW = """
import time
import gymnasium
from gymnasium import spaces

class Slow(gymnasium.Env):
    observation_space = action_space = spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return 0, {}
    def step(self, action):
        time.sleep(SECONDS)
        return 0, 0.0, False, False, {}

gymnasium.register("Slow-v0", Slow)
"""


def slow_journal(folder: Path) -> None:
    (folder / "slow.py").write_text(SLOW.replace("SECONDS", "0"))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "flagfall",
            *["run", "-t", "gym:slow:Slow-v0", "-a", "random", "--steps", "3000", "-o", "j", "-q"],
        ],
        check=True,
    )
    assert done.returncode == 0
    (folder / "slow.py").write_text(SLOW.replace("SECONDS", "0.005"))


def test_a_long_verification_shows_how_far_it_is_and_ends_at_once(folder):
    slow_journal(folder)
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "flagfall", "verify", "--trust", "j"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
    ) as verifying:
        os.close(terminal)
        told = b""
        while not re.search(rb"verifying j [^\n]*[1-9][0-9,]* turns", told):
            told += os.read(controller, 4096)
        began = time.monotonic()
        verifying.send_signal(signal.SIGINT)
        while b"interrupted" not in told:
            told += os.read(controller, 4096)
        assert verifying.wait(60) == 130
        assert time.monotonic() - began < 10  # the rest of the match would take longer
        assert verifying.stdout is not None
        assert verifying.stdout.read() == b""
    os.close(controller)
    last = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\r", b"", told).splitlines()[-1]
    assert last.endswith(b"flagfall: j: interrupted before its end")


@pytest.mark.parametrize("scheduler", ["sequential:1", "random", "dependencies:micro2>micro3"])
def test_tasks_are_built_when_they_are_due(call, scheduler, monkeypatch):
    names = [f"micro{number % 3 + 1}" for number in range(600)]
    run(names, "random", steps=3, scheduler=scheduler, seed=1, journal="odd.jsonl")
    built: list[str] = []

    def make(name: str) -> Any:
        built.append(name)
        return make_task(name)

    monkeypatch.setattr("flagfall.tasks.building.make_task", make)
    ended = call("verify odd.jsonl")
    assert (ended.code, ended.err) == (0, "")
    assert len(built) == 1


def test_a_task_that_cannot_be_built_is_told_when_it_is_due(call):
    sealed({**HEADER, "tasks": ["micro1", "micro0"]}, START, TURN, {**END, "ended": "cut"})
    assert "unknown task" not in call("verify odd.jsonl").err
    sealed({**HEADER, "tasks": ["micro0", "micro1"]}, START, TURN, {**END, "ended": "cut"})
    ended = call("verify odd.jsonl")
    assert ended.code == 2
    assert "the tasks of the match cannot be created here: unknown task 'micro0'" in ended.err
