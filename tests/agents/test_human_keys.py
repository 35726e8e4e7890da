"""A human who plays by keys: in a real terminal, which tmux is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from flagfall.agents.human import HUMANS
from flagfall.agents.human_keys import see
from flagfall.errors import AgentFault, UsageError

PATIENCE_SECONDS = 15.0

PROGRAM = """
import numpy as np
import trio
from gymnasium.spaces import Box, Discrete
from flagfall.agents.human import HUMANS
from flagfall.kernel.roles import StepResult
from flagfall.playing import play
from flagfall.tasks.task import Task

class Keys(Task):
    id = "keys"
    nil_action = 0
    action_space = Discrete(6)
    observation_space = Box(0, 255, (4, 4, 3), np.uint8)

    def _reset(self, seed):
        self.played = []
        return np.full((4, 4, 3), 200, np.uint8)

    def _step(self, action):
        if action:
            self.played.append(action)
        return StepResult(np.full((4, 4, 3), 200, np.uint8), float(action == 5))

    def reached_terminal_state(self):
        return False

async def main():
    task = Keys()
    stop = trio.Event()
    human = HUMANS["human-keys"](stop=stop.set)
    result = await play(task, human, time_control="untimed", stop=stop, sinks=[human.notice])
    print("ended:", result.reason, "played:", task.played)

trio.run(main)
"""


class Terminal:
    """A terminal of 60 columns and 16 rows that runs the program."""

    def __init__(self, folder: Path) -> None:
        (folder / "program.py").write_text(PROGRAM)
        self._tmux = ["tmux", "-u", "-S", str(folder / "socket"), "-f", "/dev/null"]
        self.call("new-session", "-d", "-x", "60", "-y", "16", "sh")
        self.type(f"cd {folder}; {sys.executable} -W error program.py", "Enter")

    def call(self, *words: str) -> str:
        env = {k: v for k, v in os.environ.items() if k not in {"TMUX", "COLUMNS", "LINES"}}
        env |= {"LC_ALL": "C.UTF-8", "PS1": "$ ", "SHELL": "/bin/sh"}
        done = subprocess.run([*self._tmux, *words], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    def type(self, *keys: str) -> None:
        self.call("send-keys", *keys)

    def wait_for(self, *texts: str) -> str:
        """The screen, when it shows all of these."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not all(text in (screen := self.call("capture-pane", "-p")) for text in texts):
            assert time.monotonic() < until, f"in vain:\n{screen}"
            time.sleep(0.05)
        return screen


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("the full screen is tried in a real terminal: install tmux (apt-get install tmux)")
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.call("kill-server")


def test_keys_are_played_and_the_picture_is_shown(terminal: Terminal) -> None:
    screen = terminal.wait_for("5 steps/s", "\N{UPPER HALF BLOCK}" * 4, "q quit")
    assert len(screen.splitlines()) == 16
    terminal.type("-", "-", "-")
    terminal.wait_for("waits for a key")
    terminal.type("Left")
    terminal.type("w")
    terminal.type(".")
    terminal.type("Space")
    terminal.wait_for("reward 1 (last +1)")
    terminal.type("q")
    terminal.wait_for("ended: stopped played: [1, 3, 5]")


def test_without_a_terminal_it_says_so() -> None:
    with pytest.raises(UsageError, match="needs a terminal"):
        HUMANS["human-keys"]()


def test_pictures_texts_and_mappings_with_an_image_can_be_seen() -> None:
    image = np.zeros((2, 3, 3), np.uint8)
    assert see(image).picture is image
    assert see("ab\nc").text == "ab\nc"
    both = see({"image": image, "text": 7})
    assert (both.picture is image, both.text) == (True, "text 7")


@pytest.mark.parametrize("observation", [7, {"planes": 1}, np.zeros(3)])
def test_what_cannot_be_seen_is_told(observation) -> None:
    with pytest.raises(AgentFault, match="observation=image"):
        see(observation)
