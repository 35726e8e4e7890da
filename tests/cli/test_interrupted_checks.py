"""Checks of agents and of hosts end quietly when they are interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

WAITS = """
import pathlib, time

class Bot:
    def act(self, observation):
        pathlib.Path(__file__).with_name("begun").touch()
        time.sleep(0.2)
        return observation
"""


def test_an_examination_that_is_interrupted_ends_in_silence(tmp_path: Path):
    (tmp_path / "bot.py").write_text(WAITS)
    words = [sys.executable, "-m", "flagfall", "check-agent", "bot.py:Bot", "--task", "micro1"]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as check:
        try:
            end = time.monotonic() + 30
            while not (tmp_path / "begun").exists() and time.monotonic() < end:
                time.sleep(0.01)
            check.send_signal(signal.SIGINT)
            said, _ = check.communicate(timeout=90)
        finally:
            check.kill()
    assert (check.returncode, said) == (130, "")
