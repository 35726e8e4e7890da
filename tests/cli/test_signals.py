"""Signals to a real program, at any moment: exit code 128 and the number, no traceback, nothing lost."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from flagfall.events import MatchEnded
from flagfall.recording.journal.writer import read_journal
from flagfall.tournament.store import Store

PATIENCE_SECONDS = 30.0

PLAN = """
clock = "virtual"
repeats = {repeats}
time_control = "act=1s"
[[agents]]
spec = "random"
[[tasks]]
task = "micro1"
steps = {steps}
"""

AT_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            {act}

class Last:
    def __del__(self):
        os.kill(os.getpid(), {number})
        for _ in range(1000):
            pass

sys.meta_path.insert(0, Finder())
"""

Start = Callable[..., "subprocess.Popen[str]"]


def script() -> list[str]:
    """The program that an installer makes of the entry point."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module, _, name = project["project"]["scripts"]["flagfall"].partition(":")
    return [sys.executable, "-c", f"import sys\nfrom {module} import {name}\nsys.exit({name}())"]


WAYS = {"module": [sys.executable, "-m", "flagfall"], "script": script()}


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a program, and see to its end."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: object, way: str = "module", before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*before, *WAYS[way], *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def write_plan(folder: Path, repeats: int, steps: int) -> None:
    (folder / "plan.toml").write_text(PLAN.format(repeats=repeats, steps=steps))


def stored(out: Path) -> int:
    with suppress(Exception):  # it is not there yet
        store = Store(out)
        count = len(store.played())
        store.close()
        return count
    return 0


# --- while it comes up -------------------------------------------------------------------------------------


def started_with(
    folder: Path, way: str, module: str, act: str, number: int
) -> subprocess.CompletedProcess[str]:
    (folder / "early").mkdir()
    text = AT_IMPORT.format(module=module, act=act.format(number=number), number=number)
    (folder / "early" / "sitecustomize.py").write_text(text)
    write_plan(folder, 1, 5)
    return subprocess.run(
        [*WAYS[way], "tournament", "plan.toml", "--dry-run"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(folder / "early")},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "module",
    [
        "flagfall.cli",
        "cyclopts",
        "flagfall.cli.commands.tournament",
        "flagfall.tournament.plan.parser",
        "numpy",
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_a_signal_during_imports_ends_it_in_silence(
    folder: Path, way: str, module: str, number: signal.Signals
) -> None:
    ended = started_with(folder, way, module, "os.kill(os.getpid(), {number})", number)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + number, "", "")


def test_a_signal_in_a_callback_is_not_lost(folder: Path) -> None:
    # Python prints what is raised where an object is deleted, and goes on.
    ended = started_with(folder, "module", "flagfall.tournament.plan.parser", "Last()", signal.SIGINT)
    assert (ended.returncode, ended.stderr) == (130, "")


# --- while it runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_second_sigterm_ends_it_with_the_code_of_the_first(folder: Path, start: Start, way: str) -> None:
    write_plan(folder, 1, 100_000_000)
    runner = start("tournament", "plan.toml", "--out", "out", way=way)
    until(lambda: any((folder / "out" / "running").glob("*")))
    runner.terminate()
    assert runner.stderr is not None
    assert "ending the matches" in runner.stderr.readline()
    runner.terminate()
    out, complaints = runner.communicate(timeout=PATIENCE_SECONDS)
    assert runner.returncode == 143
    assert "go on:" in out
    assert "Traceback" not in complaints


def test_many_signals_at_once_leave_the_code_of_the_first(folder: Path, start: Start) -> None:
    write_plan(folder, 1, 100_000_000)
    runner = start("tournament", "plan.toml", "--out", "out")
    until(lambda: any((folder / "out" / "running").glob("*")))
    while runner.poll() is None:
        runner.terminate()
        time.sleep(0.001)
    _, complaints = runner.communicate()
    assert runner.returncode == 143
    assert "Traceback" not in complaints


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_without_matches_ends_too(folder: Path, start: Start, number: signal.Signals) -> None:
    (folder / "heavy.py").write_text("import time\nopen('loading', 'w').close()\ntime.sleep(30)\n")
    process = start("run", "-t", "micro1", "-a", "heavy.py:Bot")
    until((folder / "loading").exists)
    process.send_signal(number)
    out, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, complaints) == (128 + number, "", "")


def test_an_agent_that_blocks_the_loop_does_not_outlast_two_sigterms(folder: Path, start: Start) -> None:
    (folder / "block.py").write_text(
        "class Bot:\n"
        "    def act(self, observation):\n"
        "        open('blocking', 'w').close()\n"
        "        while True: pass\n"
    )
    process = start("run", "-t", "micro1", "-a", "block.py:Bot", "--host", "task", "--no-timeout")
    until((folder / "blocking").exists)
    end = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < end:
        process.terminate()
        time.sleep(0.1)
    _, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 143
    assert "Traceback" not in complaints


# --- a closed terminal -------------------------------------------------------------------------------------


def on_terminal(*words: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the program as the leader of a session on a terminal of its own; return our end of that, too."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", *WAYS["module"], *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    return process, ours


def test_a_closed_terminal_drains_a_tournament(folder: Path) -> None:
    write_plan(folder, 5000, 20)
    process, terminal = on_terminal("tournament", "plan.toml", "--out", "out", "--jobs", "1")
    try:
        until(lambda: stored(folder / "out") > 0)
        os.close(terminal)
        assert process.wait(PATIENCE_SECONDS) == 129
    finally:
        process.kill()
        process.wait()
    assert 0 < stored(folder / "out") < 5000
    store = Store(folder / "out")
    assert {record.status for record in store.records()} == {"played"}, "a match was cut off"
    store.close()
    assert not (folder / "out" / "running").exists()


def test_a_closed_terminal_ends_a_match_cleanly(folder: Path) -> None:
    words = "run -t micro1 -a random --no-timeout --scheduler random -o run.jsonl"
    process, terminal = on_terminal(*words.split())
    try:
        until(lambda: (folder / "run.jsonl").exists() and (folder / "run.jsonl").stat().st_size > 0)
        os.close(terminal)
        assert process.wait(PATIENCE_SECONDS) == 129
    finally:
        process.kill()
        process.wait()
    *_, last = read_journal(folder / "run.jsonl")
    assert isinstance(last, MatchEnded)
    assert last.reason == "stopped"


def test_sighup_twice_still_drains(folder: Path, start: Start) -> None:
    write_plan(folder, 5000, 20)
    runner = start("tournament", "plan.toml", "--out", "out", "--jobs", "1")
    until(lambda: stored(folder / "out") > 0)
    while runner.poll() is None:
        runner.send_signal(signal.SIGHUP)
        time.sleep(0.001)
    out, _ = runner.communicate()
    assert runner.returncode == 129
    assert "go on:" in out
    store = Store(folder / "out")
    assert {record.status for record in store.records()} == {"played"}
    store.close()


def test_under_nohup_it_goes_on(folder: Path, start: Start) -> None:
    write_plan(folder, 5000, 20)
    runner = start("tournament", "plan.toml", "--out", "out", "--jobs", "1", before=("nohup",))
    until(lambda: stored(folder / "out") > 0)
    runner.send_signal(signal.SIGHUP)
    seen = stored(folder / "out")
    until(lambda: stored(folder / "out") > seen + 5)
    runner.terminate()
    runner.communicate(timeout=PATIENCE_SECONDS)
    assert runner.returncode == 143
