from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

import pytest

import flagfall
from flagfall.agents.registry import SAMPLES
from flagfall.cli import COMMANDS, full_app
from flagfall.tasks.catalog import task_ids
from tests.children import run_python

GROUPS = {name: [one for one in full_app()[name] if one[0] != "-"] for name in COMMANDS}
"""The commands within each command; of most there are none."""

ENGINES = ("pure Python", "compiled engine")


def test_tasks_lists_every_task(call):
    ended = call("tasks")
    assert ended.code == 0
    assert {task_id for _, task_id in task_ids()} <= set(ended.out.split())


def test_tasks_as_data(call):
    families = call("tasks --json").data()
    assert [(family, task_id) for family, ids in families.items() for task_id in ids] == list(task_ids())


def test_agents_lists_the_samples_and_tells_how_to_name_others(call):
    ended = call("agents")
    assert ended.code == 0
    assert "random " in ended.out
    assert "Sends printable ASCII characters at random; in other tasks plays random actions." in ended.out
    assert "--agent my/bot.py:Bot" in ended.out


def test_agents_as_data(call):
    lines = call("agents --json").data()
    assert lines.keys() == SAMPLES.keys()
    assert all(line.endswith(".") for line in lines.values())


def test_version(program):
    ended = program("--version")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out in {f"flagfall {version('flagfall')} ({how})\n" for how in ENGINES}


@pytest.mark.parametrize(("suffix", "how"), [(".py", ENGINES[0]), (EXTENSION_SUFFIXES[0], ENGINES[1])])
def test_version_names_the_engine_that_would_be_imported(tmp_path, suffix, how):
    package = tmp_path / "flagfall"
    for part in (
        "__init__.py",
        "__main__.py",
        "lazy_names.py",
        "errors.py",
        "cli/__init__.py",
        "cli/console",
    ):
        source, copy = Path(flagfall.__file__).parent / part, package / part
        copy.parent.mkdir(exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copy)
    engine = package / "tasks" / "vgdl" / "engine"
    engine.mkdir(parents=True)
    (engine / "cycle.py").touch()
    (engine / f"cycle{suffix}").touch()  # empty: an import of a library would fail
    done = run_python(tmp_path, tmp_path, "-m", "flagfall", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"flagfall {version('flagfall')} ({how})\n", "")


def test_help_lists_every_command_with_a_line(call):
    ended = call("--help")
    assert (ended.code, ended.err) == (0, "")
    for command, line in COMMANDS.items():
        assert f" {command} {line} " in f" {' '.join(ended.out.split())} "
    assert "Exit codes" in ended.out
    assert call("").out == call("-h").out == ended.out


@pytest.mark.parametrize("columns", [1, 40, 80, 500])
def test_help_fits_terminals_of_any_width(call, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    longest = max(map(len, call("--help").out.splitlines()))
    assert longest <= min(max(columns, 40), 100)


def test_the_page_on_the_command_line_and_completion_have_every_command(call):
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    script = call("completion bash").out
    for command in COMMANDS:
        assert re.search(rf"^\|[^|]*`{command}( \w+)?`", page, re.MULTILINE), command
        assert re.search(rf"\b{command}\b", script), command


@pytest.mark.parametrize(
    "command", [*COMMANDS, *(f"{group} {one}" for group, members in GROUPS.items() for one in members)]
)
def test_every_command_has_help_with_every_option_explained(call, command):
    ended = call(f"{command} --help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: flagfall {command}")
    for line in ended.out.splitlines():
        option = re.match(r"\u2502 [* ]{0,3}(--\S+( -\w)?)", line)
        if option is not None:
            assert re.search(r"  [A-Za-z]", line[option.end() :]), f"nothing is said of {option[1]}"


def test_help_of_run_says_what_a_user_must_know(call):
    text = " ".join(call("run --help").out.replace("\u2502", " ").split())
    for said in (
        "--seed -s",
        "--journal -o",
        "act=40ms/1s",
        "run-0.jsonl",
        "The first Ctrl-C",
        "the exit code stays 0",
    ):
        assert said in text, said


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("tusks", 'Unknown command "tusks". Did you mean "tasks"?'),
        ("tasks --jsn", "Unknown option: --jsn. Did you mean --json?"),
        ("run --task micro1 --agent random --sed 3", "Unknown option: --sed. Did you mean --seed?"),
        ("run --task micro1 --agent random --clock virtul", 'Did you mean "virtual"?'),
        ("run --task micro1 --agent random --steps many", 'unable to convert "many" into int'),
        ("run --task micro1", "--agent: name at least one agent"),
        ("verify", "FILE requires an argument"),
        ("transcript a b", "transcript does not take 'b': `flagfall transcript --help` lists what it takes"),
    ],
)
def test_wrong_words_are_one_line_with_the_nearest_and_exit_code_2(call, line, hint):
    ended = call(line)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("flagfall: ")
    assert hint in ended.err


def test_a_reader_that_goes_away_is_no_error():
    writer = subprocess.Popen(
        [sys.executable, "-m", "flagfall", "tasks"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    writer.stdout.close()
    assert writer.stderr is not None
    assert writer.stderr.read() == b""
    assert writer.wait() == 0
    writer.stderr.close()
