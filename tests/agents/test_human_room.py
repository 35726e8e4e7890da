"""A human in LangRoom: in a real terminal, which tmux is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from flagfall.agents.human.keys import ROOM_KEYS, RoomHuman
from flagfall.agents.registry import HUMANS
from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS
from flagfall.errors import AgentFault, UsageError
from flagfall.recording.journal.reader import read_journal
from flagfall.tasks.langroom.rules import MOVES
from tests.agents.terminal import Terminal, open_terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with open_terminal(tmp_path) as terminal:
        yield terminal


def play(terminal: Terminal, options: str) -> None:
    terminal.run(f"{sys.executable} -W error -m flagfall run --agent human-room {options}")


def test_keys_walk_and_speak(terminal, tmp_path):
    play(terminal, "--task langroom --no-timeout --journal played.jsonl")
    screen = terminal.wait_for("waits for a key", "\N{UPPER HALF BLOCK}" * 30, "1 red  2 green")
    assert len(screen.splitlines()) == 24
    terminal.wait_for("step 1 ", "room  .", "you   .")
    terminal.type("w")
    terminal.wait_for("step 2 ")
    terminal.type("Left")
    terminal.wait_for("step 3 ")
    terminal.type("6")
    terminal.wait_for("step 4 ", "reward -0.01 (last -0.01)", "you   . . . rug")
    terminal.type("Space", "y")
    terminal.wait_for("step 6 ", "rug . it")
    terminal.type("q")
    terminal.wait_for("journal: played.jsonl")
    turns = [event for event in read_journal(tmp_path / "played.jsonl") if hasattr(event, "action")]
    assert [event.action for event in turns[:5]] == [
        {"move": 2, "talk": 0},
        {"move": 4, "talk": 0},
        {"move": 0, "talk": 6},
        {"move": 0, "talk": 0},
        {"move": 0, "talk": 14},
    ]


def test_at_the_clocks_pace_the_room_goes_on_without_a_key(terminal):
    play(terminal, "--task langroom:length=8 --tick 100ms --steps 30")
    terminal.wait_for("steps", "langroom", "30")


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
        room.frame_of({"image": image})
    with pytest.raises(UsageError, match="needs a terminal"):
        HUMANS["human-room"]()
