"""Fixtures of the command line: called in this process, or started as a real program, in an own folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from flagfall.agents.process.sandbox import check_sandbox
from flagfall.agents.samples.llm.settings import MODEL
from flagfall.cli import main
from flagfall.errors import UsageError
from flagfall.events import MatchEnded
from flagfall.recording.journal.reader import read_journal
from tests.command_line import Ended, call_main

PATIENCE_SECONDS: Final = 90.0
"""How long a test waits for another process; a busy machine needs more than a fast one."""

FLAGFALL: Final = (sys.executable, "-m", "flagfall")
"""The words that start the program."""


def _script() -> tuple[str, ...]:
    """Return what an installer makes of the entry point in `pyproject.toml`."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module, _, name = project["project"]["scripts"]["flagfall"].partition(":")
    return (sys.executable, "-c", f"import sys\nfrom {module} import {name}\nsys.exit({name}())")


WAYS: Final[Mapping[str, tuple[str, ...]]] = {"module": FLAGFALL, "script": _script()}
"""Ways to start the program."""

Start: TypeAlias = Callable[..., "subprocess.Popen[str]"]

BOTS = '''
import time

class Echo:
    def reply(self, byte, reward):
        return byte

class Crash:
    """Answers three times, then no more."""
    answers = 0
    def reply(self, byte, reward):
        self.answers += 1
        if self.answers > 3:
            raise ValueError("enough \\x1b[31m of this")
        return 32

class Block:
    def reply(self, byte, reward):
        while True:
            pass

class Slow:
    def reply(self, byte, reward):
        time.sleep(0.02)
        return 32

class Wrong:
    def reply(self, byte, reward):
        return "nonsense"

def always_one(observation):
    return 1

SETTINGS = {"not": "an agent"}
'''


BLOCKING = """
class Bot:
    def act(self, observation):
        open('blocking', 'w').close()
        while True: pass
"""

DOORS = '''
from gymnasium import spaces
from flagfall.tasks import StepResult, Task


class Doors(Task):
    """Two players in turn; each observation depends on what was played."""

    players = ("left", "right")
    nil_action = 0
    action_space = spaces.Discrete(3)
    observation_space = spaces.Discrete(1_000)
    instructions = "Open doors."

    def describe_action(self, action, player=None):
        return ("A", "B", "C")[action]

    def _reset(self, seed):
        self.place, self.turns = seed % 100, 0
        return {"left": self.place}

    def reached_terminal_state(self):
        return self.turns == 6

    def _step(self, action):
        ((player, chosen),) = action.items()
        self.place, self.turns = (3 * self.place + chosen) % 1_000, self.turns + 1
        following = self.players[self.turns % 2]
        return StepResult({following: self.place}, {player: chosen}, self.turns == 6)
'''
"""A file with a game for language models."""


SLOW_TO_IMPORT = """
import time
open('loading', 'w').close()
time.sleep(30)
"""


def until(happens: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail after `PATIENCE_SECONDS`."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until_played(journal: Path) -> None:
    """Wait until a match is being recorded: from then on it is played, and the program handles signals."""
    until(lambda: journal.exists() and journal.stat().st_size > 0)


def has_pending(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Return whether a signal was sent to a program that it has not received; a second one would be lost."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    pending = int(status.partition("ShdPnd:")[2].split()[0], 16)
    return bool(pending >> (number - 1) & 1)


def ended(process: subprocess.Popen[str]) -> Ended:
    """Wait for a program, and return what it printed and its exit code."""
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return Ended(process.returncode, out, err)


def last_event(journal: Path) -> MatchEnded:
    """Return the last event of a complete journal; reading it checks its last seal."""
    *_, last = read_journal(journal)
    assert isinstance(last, MatchEnded)
    return last


def agent_serve(spec: str, url: str, *words: str) -> list[str]:
    """Return the words that start an agent which connects to a host."""
    return [*FLAGFALL, "agent", "serve", spec, "--connect", url, *words]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the test, which is the working directory; `bots.py` in it has some agents."""
    (tmp_path / "bots.py").write_text(BOTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Call the command line in this process: `call("run --task micro1", "--agent", name)`."""
    return partial(call_main, capfd)


Played: TypeAlias = Callable[[str, str], Path]


@pytest.fixture(scope="session")
def _results(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Play a plan in a folder of its own, once for all tests."""

    @cache
    def play(name: str, plan: str) -> Path:
        home = tmp_path_factory.mktemp(name)
        (home / f"{name}.toml").write_text(plan)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(home)
            assert main(["tournament", f"{name}.toml", "--quiet"]) == 0
        return home / f"{name}-results"

    return play


@pytest.fixture
def played(_results: Played, folder: Path) -> Played:
    """Copy the results of a plan, without playing it for each test: `played("cup", PLAN)`."""

    def played(name: str, plan: str) -> Path:
        (folder / f"{name}.toml").write_text(plan)
        return Path(shutil.copytree(_results(name, plan), folder / f"{name}-results"))

    return played


@pytest.fixture
def program() -> Callable[..., Ended]:
    """Run the command line as a real program: `program("run --task micro1", "--agent", name)`."""

    def program(line: str, *words: object) -> Ended:
        done = subprocess.run(
            [*FLAGFALL, *line.split(), *map(str, words)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "COLUMNS": "80"},
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return program


@pytest.fixture
def start() -> Iterator[Start]:
    """Start the command line as a real program that is ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(
        line: str, *words: object, way: str = "module", before: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*before, *WAYS[way], *line.split(), *map(str, words)],
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


@pytest.fixture
def blocking(folder: Path) -> Path:
    """File that appears when the agent `block.py:Bot` begins to block its thread forever."""
    (folder / "block.py").write_text(BLOCKING)
    return folder / "blocking"


@pytest.fixture
def loading(folder: Path) -> Path:
    """File that appears when the agent file `heavy.py` begins its import, which takes half a minute."""
    (folder / "heavy.py").write_text(SLOW_TO_IMPORT)
    return folder / "loading"


@pytest.fixture
def token(folder: Path) -> str:
    """Token that agents must present; it is in the file `token`."""
    (folder / "token").write_text("open sesame\n")
    return "open sesame"


@pytest.fixture
def bubblewrap() -> None:
    """Skip the test where sandboxes are not available."""
    try:
        check_sandbox()
    except UsageError as error:
        pytest.skip(str(error))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own folder with the game `doors.py`, and a name for the model."""
    (tmp_path / "doors.py").write_text(DOORS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(MODEL, "small")
    return tmp_path
