"""Signals to a real program at any moment: exit code 128 + its number, no traceback, no record is lost."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from flagfall.tournament.store import Store

from .conftest import PATIENCE_SECONDS, WAYS, Start, last_event, until, until_played

PLAN = """
clock = "virtual"
jobs = 1
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


def write_plan(folder: Path, repeats: int, steps: int) -> None:
    (folder / "plan.toml").write_text(PLAN.format(repeats=repeats, steps=steps))


def stored(out: Path) -> int:
    """Return the number of matches that a tournament has recorded so far."""
    with suppress(Exception):  # the database does not exist yet
        store = Store(out)
        count = len(store.played())
        store.close()
        return count
    return 0


# --- while it starts ----------------------------------------------------------------------------------------


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


MODULES = (
    "flagfall.cli",
    "cyclopts",
    "flagfall.cli.commands.tournament",
    "flagfall.tournament.plan.parser",
    "numpy",
)
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
QUICK = {
    ("flagfall.cli", signal.SIGINT),
    ("flagfall.tournament.plan.parser", signal.SIGTERM),
    ("numpy", signal.SIGHUP),
}


@pytest.mark.parametrize(
    ("module", "number"),
    [
        pytest.param(*moment, marks=[] if moment in QUICK else [pytest.mark.release])
        for moment in product(MODULES, NUMBERS)
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
    runner = start("tournament plan.toml --output out", way=way)
    until(lambda: any((folder / "out" / "running").glob("*")))
    runner.terminate()
    assert runner.stderr is not None
    assert "ending after the running matches" in runner.stderr.readline()
    runner.terminate()
    out, complaints = runner.communicate(timeout=PATIENCE_SECONDS)
    assert runner.returncode == 143
    assert "go on:" in out
    assert "Traceback" not in complaints


def test_many_signals_at_once_leave_the_code_of_the_first(folder: Path, start: Start) -> None:
    write_plan(folder, 1, 100_000_000)
    runner = start("tournament plan.toml --output out")
    until(lambda: any((folder / "out" / "running").glob("*")))
    while runner.poll() is None:
        runner.terminate()
        time.sleep(0.001)
    _, complaints = runner.communicate()
    assert runner.returncode == 143
    assert "Traceback" not in complaints


LOST_AT_THE_END = """
import sys, time
from flagfall.__main__ import entry

class Lost:
    def __del__(self):
        raise KeyboardInterrupt

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.1)

sys.argv = ["flagfall", "--version"]
slow = Slow()  # ends with the interpreter, after its handlers of signals
code = entry()
Lost()
sys.exit(code)
"""


def test_a_ctrl_c_that_is_lost_at_the_very_end_leaves_the_exit_code() -> None:
    done = subprocess.run([sys.executable, "-c", LOST_AT_THE_END], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_without_matches_ends_too(loading: Path, start: Start, number: signal.Signals) -> None:
    process = start("run -t micro1 -a heavy.py:Bot")
    until(loading.exists)
    process.send_signal(number)
    out, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out, complaints) == (128 + number, "", "")


def test_an_agent_that_blocks_the_loop_does_not_outlast_two_sigterms(blocking: Path, start: Start) -> None:
    process = start("run -t micro1 -a block.py:Bot --host task --no-timeout")
    until(blocking.exists)
    end = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < end:
        process.terminate()
        time.sleep(0.1)
    _, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 143
    assert "Traceback" not in complaints


# --- a closed terminal -------------------------------------------------------------------------------------


def on_terminal(*words: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the program as the leader of a session on a terminal of its own.

    Returns:
        The program, and our end of the terminal.
    """
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
    process, terminal = on_terminal("tournament", "plan.toml", "--output", "out", "--jobs", "1")
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
        until_played(folder / "run.jsonl")
        os.close(terminal)
        assert process.wait(PATIENCE_SECONDS) == 129
    finally:
        process.kill()
        process.wait()
    assert last_event(folder / "run.jsonl").reason == "stopped"


def test_sighup_twice_still_drains(folder: Path, start: Start) -> None:
    write_plan(folder, 5000, 20)
    runner = start("tournament plan.toml --output out --jobs 1")
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
    runner = start("tournament plan.toml --output out --jobs 1", before=("nohup",))
    until(lambda: stored(folder / "out") > 0)
    runner.send_signal(signal.SIGHUP)
    seen = stored(folder / "out")
    until(lambda: stored(folder / "out") > seen + 5)
    runner.terminate()
    runner.communicate(timeout=PATIENCE_SECONDS)
    assert runner.returncode == 143
