"""A real terminal, which tmux is, for the tests of full screens."""

from __future__ import annotations

__all__ = ["Terminal", "open_terminal"]

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE_SECONDS = 15.0


class Terminal:
    """A terminal with a shell in it.

    Args:
        folder: where the shell is.
        columns: how wide it is, in characters.
        rows: how high it is, in lines.
    """

    def __init__(self, folder: Path, columns: int, rows: int) -> None:
        self.folder = folder
        self._tmux = ["tmux", "-u", "-S", str(folder / "socket"), "-f", "/dev/null"]
        self.call("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder), "sh")

    def call(self, *words: str) -> str:
        """What tmux says to a command of its own."""
        env = {k: v for k, v in os.environ.items() if k not in {"TMUX", "COLUMNS", "LINES"}}
        env |= {"LC_ALL": "C.UTF-8", "PS1": "$ ", "SHELL": "/bin/sh"}
        done = subprocess.run([*self._tmux, *words], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    def type(self, *keys: str) -> None:
        """Type keys by their names, and texts."""
        self.call("send-keys", *keys)

    def run(self, line: str) -> None:
        """Type a line for the shell."""
        self.type(line, "Enter")

    def screen(self) -> str:
        """What it shows."""
        return self.call("capture-pane", "-p")

    def wait_for(self, *texts: str) -> str:
        """The screen, when it shows all of these."""
        return self.wait_until(lambda screen: all(text in screen for text in texts))

    def wait_until(self, seen: Callable[[str], bool]) -> str:
        """The screen, when it is like this."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not seen(screen := self.screen()):
            assert time.monotonic() < until, f"in vain:\n{screen}"
            time.sleep(0.05)
        return screen


@contextmanager
def open_terminal(folder: Path, columns: int = 80, rows: int = 24) -> Iterator[Terminal]:
    """A terminal that is gone afterwards; the test is skipped where there can be none."""
    if shutil.which("tmux") is None:
        pytest.skip("the full screen is tried in a real terminal: install tmux (apt-get install tmux)")
    terminal = Terminal(folder, columns, rows)
    try:
        yield terminal
    finally:
        terminal.call("kill-server")
