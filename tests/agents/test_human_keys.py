"""A human who plays by keys: in a real terminal, which tmux is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from flagfall.agents.human.keys import frame_of
from flagfall.agents.registry import HUMANS
from flagfall.errors import AgentFault, UsageError
from tests.agents.terminal import Terminal, open_terminal

PROGRAM = """
import numpy as np
import trio
from gymnasium.spaces import Box, Discrete
from flagfall.agents.registry import HUMANS
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


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """It runs the program."""
    (tmp_path / "program.py").write_text(PROGRAM)
    with open_terminal(tmp_path, columns=60, rows=16) as terminal:
        terminal.run(f"{sys.executable} -W error program.py")
        yield terminal


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
    assert frame_of(image).picture is image
    assert frame_of("ab\nc").text == "ab\nc"
    both = frame_of({"image": image, "text": 7})
    assert (both.picture is image, both.text) == (True, "text 7")


@pytest.mark.parametrize("observation", [7, {"planes": 1}, np.zeros(3)])
def test_what_cannot_be_seen_is_told(observation) -> None:
    with pytest.raises(AgentFault, match="observation=image"):
        frame_of(observation)
