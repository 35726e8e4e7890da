"""Plays the session of docs/protocol.md: `python -m tests.agents.protocol_session` prints it anew."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from flagfall.agents.hosts.process import CommandHost
from flagfall.playing import run

ROOT = Path(__file__).parents[2]
LATE_ANSWER = 2
LATE_SECONDS = 1.5


def session() -> str:
    """What the sample in Python and its host say, one line for each message."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "said"
        tee = f"{ROOT / 'tests/agents/wire_programs/tee.py'} {log} {LATE_ANSWER} {LATE_SECONDS}"
        bot = f"{sys.executable} {ROOT / 'examples/wire/bot.py'}"
        run(
            "micro4",
            CommandHost(f"{sys.executable} {tee} {bot}"),
            steps=5,
            seed=1,
            time_control="start=20s act=1s/20s",
        )
        return log.read_text()


def without_times(text: str) -> str:
    """The same with one figure for whatever a clock said."""
    return re.sub(r'("(?:limit|by)_ns": ?)\d+', r"\g<1>0", text)


if __name__ == "__main__":
    sys.stdout.write(session())
