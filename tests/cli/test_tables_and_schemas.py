"""Tables at terminals of any width, schemas of files, completion, and exit codes for tests of agents."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flagfall.cli.console.output import number
from flagfall.tasks.configs.files import SHIPPED
from flagfall.tournament.plan.parser import PLANS
from tests.agents.terminal import open_terminal

Call = Callable[..., Any]

FLAGFALL = f"{sys.executable} -m flagfall"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is a real terminal here")
@pytest.mark.parametrize("columns", [80, 40])
def test_tables_fit_the_terminal(call: Call, folder: Path, columns: int) -> None:
    assert call("new plan cup.toml").code == 0
    Path("cup.toml").write_text(Path("cup.toml").read_text().replace("steps = 1000", "steps = 20"))
    assert call("tournament cup.toml --quiet").code == 0
    with open_terminal(folder, columns=columns, rows=120) as terminal:
        for number, command in enumerate(
            ("results cup-results", "run --task micro1 --agent random --steps 20 --clock virtual")
        ):
            mark = f"\ndone{number}."
            terminal.run(f"clear; {FLAGFALL} {command}; echo done{number}.")
            screen = terminal.wait_until(partial(contains, mark))
            lines = screen.splitlines()
            ruled = [line for line in lines if set(line.strip()) == {"─"}]
            assert ruled, screen
            assert all(len(line.rstrip()) <= columns for line in ruled)
            assert "left out for lack of width" in screen
            assert "agent" in lines[lines.index(ruled[0]) - 1], screen


DISQUALIFIED = Path(__file__).parent.parent / "fixtures" / "tournaments" / "disqualified"


@pytest.mark.parametrize(("columns", "most"), [(None, 200), ("100", 100)])
def test_tables_in_pipes_are_narrow(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch, columns: str | None, most: int
) -> None:
    shutil.copytree(DISQUALIFIED, folder / "cup")
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    tasks = call("tasks").out
    assert max(map(len, tasks.splitlines())) <= 80
    assert len(tasks.split()) > 100
    shown = call("results cup --matches").out
    table, _, left_out = shown.partition("left out for lack of width: ")
    assert max(map(len, table.splitlines())) <= most
    headings = table.split("─")[0].split()
    assert "disqualified" in headings
    assert "credit_ns, over_ns" in left_out
    assert not [name for name in headings if "…" in name]
    whole = call("results cup --matches --wide").out
    assert {*headings, "credit_ns", "journal"} < set(whole.split("─")[0].split())


def test_no_number_is_minus_zero() -> None:
    assert [number(value) for value in (-0.0, -4e-13, -1.5)] == ["0", "0.000000000", "-1.500"]


def test_numbers_near_zero_have_digits_that_count() -> None:
    assert [number(value) for value in (0.01, 0.006, -0.0004, 0.000063)] == [
        "0.010",
        "0.00600",
        "-0.000400",
        "0.0000630",
    ]


def contains(text: str, screen: str) -> bool:
    return text in screen


TRACK = "--games 1 --training 1s --rounds 1 --clock virtual --think 10ms"

TABLES = {
    "agents": ["agent", "description"],
    "tasks": ["family", "tasks"],
    "check-agent silent --task micro1": ["check", "result", "passed"],
    "check-task micro1": ["check", "passed"],
    "check-host --only spins": ["agent", "host", "verdict", "others lost", "left behind"],
    "curriculum --agent silent --task micro1 --task micro2": ["task", "passed", "steps"],
    f"gvgai train windfall --agent random {TRACK}": ["phase", "level", "games", "mean score"],
    f"gvgai contest windfall cinders --agent random --agent q-learning {TRACK}": ["place", "agent", "points"],
    "tournament cup.toml --dry-run": ["match", "task", "agents", "seed"],
    "results cup-results --matches": ["id", "status", "why", "agent", "score"],
    "results cup-results --compare random repeating": ["task", "meetings", "difference", "random is better"],
    "ctl paused-results status": ["match", "task", "agents", "attempt", "time"],
}
"""Columns that the tables of each command show at a terminal of 80 columns, by command."""

SLOW = """
import time

class Bot:
    def act(self, observation):
        time.sleep(300)
"""

SLOW_PLAN = """
time_control = "act=300s"

[[agents]]
name = "an-agent-with-quite-a-long-name-of-its-own"
spec = "slow.py:Bot"

[[tasks]]
task = "micro1"
steps = 1
"""


@pytest.fixture
def playing(folder: Path, start: Callable[..., Any]) -> None:
    """A tournament of which a match is played all the time: in the folder `paused-results`."""
    (folder / "slow.py").write_text(SLOW)
    (folder / "slow.toml").write_text(SLOW_PLAN)
    start("tournament slow.toml --quiet --output paused-results")


@pytest.mark.release
@pytest.mark.usefixtures("playing")
def test_every_table_fits_a_terminal_of_eighty_columns(call: Call, folder: Path) -> None:
    assert call("new plan cup.toml").code == 0
    Path("cup.toml").write_text(Path("cup.toml").read_text().replace("steps = 1000", "steps = 20"))
    assert call("tournament cup.toml --quiet").code == 0
    with open_terminal(folder, columns=80, rows=200) as terminal:
        for number, (command, columns) in enumerate(TABLES.items()):
            terminal.run(f"clear; {FLAGFALL} {command}; echo done{number}.")
            terminal.wait_until(partial(contains, f"\ndone{number}."))
            lines = terminal.call(
                "capture-pane", "-p", "-J"
            ).splitlines()  # what the terminal wrapped is one line
            assert [line for line in lines if len(line.rstrip()) > 80] == []
            ruled = [at for at, line in enumerate(lines) if set(line.strip()) == {"─"}]
            assert ruled, lines
            head = lines[ruled[0] - 1]
            assert [column for column in columns if column not in head] == [], lines


def test_tables_in_pipes_are_whole(call: Call) -> None:
    ended = call("run --task micro1 --agent random --steps 5 --clock virtual")
    assert "left out" not in ended.out
    assert "max think" in ended.out


@pytest.mark.parametrize("name", sorted(PLANS))
def test_shipped_plans_fit_the_schema(call: Call, name: str) -> None:
    schema = call("schema plan").data()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(tomllib.loads(PLANS[name].read_text()), schema)


def test_a_schema_refuses_what_the_parser_refuses(call: Call) -> None:
    schema = call("schema plan").data()
    sound = {"agents": [{"spec": "random"}], "tasks": [{"task": "micro1", "steps": 5}]}
    jsonschema.validate(sound, schema)
    for wrong in (
        {**sound, "sede": 1},
        {**sound, "seed": -1},
        {**sound, "format": "robin"},
        {**sound, "format": {"kind": "swiss", "rouns": 3}},
        {**sound, "agents": []},
        {**sound, "tasks": [{"task": 5}]},
        {"agents": sound["agents"]},
        {**sound, "clock": "sun"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_shipped_configurations_fit_the_schema(call: Call) -> None:
    schema = call("schema config").data()
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in SHIPPED.values():
        jsonschema.validate(tomllib.loads(path.read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"scheduler": {"policy": "random"}}, schema)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_commands_and_options(call: Call, shell: str) -> None:
    script = call(f"completion {shell}").out
    assert "tournament" in script
    assert "time-control" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash completes here")
def test_bash_takes_the_completion(program: Callable[..., Any]) -> None:
    import subprocess  # noqa: PLC0415 - for this test only

    script = program("completion bash").out
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_a_disqualification_can_be_a_failure(call: Call, folder: Path) -> None:
    crash = "--task micro1 --steps 10 --agent bots.py:Crash --host task"
    assert call(f"run {crash}").code == 0
    assert call(f"run {crash} --fail-on-disqualified").code == 1
    assert call("run --task micro1 --steps 10 --agent random --fail-on-disqualified").code == 0
    (folder / "plan.toml").write_text(
        'clock = "virtual"\n[[agents]]\nspec = "bots.py:Crash"\n[[tasks]]\ntask = "micro1"\nsteps = 10\n'
    )
    assert call("tournament plan.toml --quiet --fail-on-disqualified").code == 1


def test_a_run_without_an_end_is_announced(start: Callable[..., Any]) -> None:
    process = start("run --task micro1 --agent random --scheduler random")
    assert "this run has no end" in process.stderr.readline()
    process.terminate()


def test_json_of_the_schema_is_plain(call: Call) -> None:
    assert json.loads(call("schema plan").out)["title"] == "A tournament plan of flagfall"
