"""A human in LangRoom: in a real terminal, which tmux is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from flagfall.agents.human import HUMANS
from flagfall.agents.human_room import ROOM_KEYS, RoomHuman
from flagfall.agents.langroom_solver import LANGROOM_WORDS
from flagfall.errors import AgentFault, UsageError
from flagfall.recording.journal import read_journal
from flagfall.tasks.langroom.rules import MOVES

PATIENCE_SECONDS = 15.0


class Terminal:
    """A terminal of 80 columns and 24 rows that plays LangRoom."""

    def __init__(self, folder: Path, line: str) -> None:
        self._tmux = ["tmux", "-u", "-S", str(folder / "socket"), "-f", "/dev/null"]
        self.call("new-session", "-d", "-x", "80", "-y", "24", "sh")
        self.type(f"cd {folder}; {sys.executable} -W error -m flagfall run {line}", "Enter")

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
def terminal(tmp_path: Path) -> Iterator[Callable[[str], Terminal]]:
    if shutil.which("tmux") is None:
        pytest.skip("the full screen is tried in a real terminal: install tmux (apt-get install tmux)")
    terminals: list[Terminal] = []

    def terminal(line: str) -> Terminal:
        terminals.append(Terminal(tmp_path, line))
        return terminals[-1]

    yield terminal
    for made in terminals:
        made.call("kill-server")


def test_keys_walk_and_speak(terminal, tmp_path):
    room = terminal("--task langroom --agent human-room --no-timeout --journal played.jsonl")
    screen = room.wait_for("waits for a key", "\N{UPPER HALF BLOCK}" * 30, "1 red  2 green")
    assert len(screen.splitlines()) == 24
    room.wait_for("step 1 ", "room  .", "you   .")
    room.type("w")
    room.wait_for("step 2 ")
    room.type("Left")
    room.wait_for("step 3 ")
    room.type("6")
    room.wait_for("step 4 ", "reward -0.01 (last -0.01)", "you   . . . rug")
    room.type("Space", "y")
    room.wait_for("step 6 ", "rug . it")
    room.type("q")
    room.wait_for("journal: played.jsonl")
    turns = [event for event in read_journal(tmp_path / "played.jsonl") if hasattr(event, "action")]
    assert [event.action for event in turns[:5]] == [
        {"move": 2, "talk": 0},
        {"move": 4, "talk": 0},
        {"move": 0, "talk": 6},
        {"move": 0, "talk": 0},
        {"move": 0, "talk": 14},
    ]


def test_at_the_clocks_pace_the_room_goes_on_without_a_key(terminal):
    room = terminal("--task langroom:length=8 --agent human-room --tick 100ms --steps 30")
    room.wait_for("steps", "langroom", "30")


def test_every_move_and_every_word_has_a_key():
    moves = {action["move"] for action in ROOM_KEYS.values()}
    words = {action["talk"] for action in ROOM_KEYS.values()}
    assert moves == set(range(len(MOVES)))
    assert words == set(range(len(LANGROOM_WORDS)))
    assert [ROOM_KEYS[key]["talk"] for key in "1234567890"] == list(range(1, 11))
    assert [MOVES[ROOM_KEYS[key]["move"]] for key in "wasd"] == ["up", "left", "down", "right"]


def test_who_plays_what():
    image = np.zeros((4, 4, 3), np.uint8)
    room = RoomHuman.__new__(RoomHuman)
    with pytest.raises(AgentFault, match="plays LangRoom only"):
        room.see({"image": image})
    with pytest.raises(UsageError, match="needs a terminal"):
        HUMANS["human-room"]()
