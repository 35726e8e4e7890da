"""The command line, in this process and as a real program, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from flagfall.agents.process.sandbox import check_sandbox
from flagfall.cli import main
from flagfall.errors import UsageError

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


@attrs.frozen
class Ended:
    code: int
    out: str
    err: str

    def data(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in a folder of its own, with some agents in a file."""
    (tmp_path / "bots.py").write_text(BOTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Call the command line in this process: `call("run --task micro1", "--agent", name)`."""

    def call(line: str, *words: object) -> Ended:
        capfd.readouterr()
        code = main([*line.split(), *map(str, words)])
        out, err = capfd.readouterr()
        return Ended(code, out, err)

    return call


@pytest.fixture
def program() -> Callable[..., Ended]:
    """Run it as a real program."""

    def program(line: str, *words: object) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "flagfall", *line.split(), *map(str, words)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "COLUMNS": "80"},
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return program


@pytest.fixture
def bubblewrap() -> None:
    """Skip where there can be no sandboxes."""
    try:
        check_sandbox()
    except UsageError as error:
        pytest.skip(str(error))
