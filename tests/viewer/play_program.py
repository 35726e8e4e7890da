"""`flagfall play` as a real program, and the journal that it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import attrs

from flagfall.events import Event, TurnPlayed
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild

PATIENCE_SECONDS: Final = 90.0
"""How long a test waits for the program; a busy machine needs more than a fast one."""


@attrs.define
class PlayProgram:
    """A started program.

    Attributes:
        url: address of the page, with the token.
        out: folder of the results.
    """

    process: subprocess.Popen[str]
    url: str
    out: Path

    @classmethod
    def start(cls, out: Path, *words: str) -> PlayProgram:
        process = subprocess.Popen(
            [sys.executable, "-m", "flagfall", "play", "--no-open", "--output", str(out), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "80"},
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("play at http"):
            raise AssertionError(line + process.communicate()[1])
        return cls(process, line.split()[-1], out)

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.url).query)["token"][0]

    def wait(self) -> int:
        """Wait for the program to end, and return its exit code."""
        self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    @property
    def journal(self) -> Path:
        (path,) = (self.out / "journals").iterdir()
        return path

    def events(self) -> list[Event]:
        """Return the events of the match after its end; the match must verify."""
        result = verify(self.journal, rebuild)
        assert result.ok, str(result)
        return list(read_journal(self.journal))

    def turns(self) -> list[TurnPlayed]:
        return [event for event in self.events() if isinstance(event, TurnPlayed)]

    def actions(self) -> list[Any]:
        return [turn.action for turn in self.turns()]
