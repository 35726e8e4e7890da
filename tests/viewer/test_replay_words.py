"""What tasks say of the turns of a match that is executed again, and what they cannot do by it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from flagfall import read_journal, run
from flagfall.events import TurnPlayed
from flagfall.tasks.building import rebuild
from flagfall.viewer.replay import frames
from flagfall.viewer.replay.execution import Execution
from flagfall.viewer.replay.recorded_match import RecordedMatch
from tests.viewer.journals import write
from tests.viewer.reference_frames import decoded

TASK = """
import os
from gymnasium.spaces import Discrete
from flagfall.tasks import StepResult, Task

HOW = os.environ.get("WORDS", "")

class Walk(Task):
    players = ("a", "b")
    observation_space = action_space = Discrete(100)
    nil_action = 0
    max_steps = 4

    def _reset(self, seed):
        self.at = 0
        return {"a": 0}

    def _step(self, actions):
        self.at += 1
        return StepResult({"ab"[self.at % 2]: self.at}, {}, False, False, {})

    def reached_terminal_state(self):
        return False

    def describe_action(self, action, player=None):
        if HOW == "raise" and self.at == 2:
            raise ZeroDivisionError("no words " * 1000)
        if HOW == "exit":
            raise SystemExit("no words")
        if HOW == "long":
            return f"{action}" * 100_000
        return None if HOW == "none" else f"{player} goes {'UP' if action else 'DOWN'}"

    def describe_player(self, player):
        return {"a": "white", "b": "black"}[player]

class Plain(Walk):
    describe_action = Task.describe_action
    players = ("player_0", "player_1")
    describe_player = Task.describe_player

    def _reset(self, seed):
        self.at = 0
        return {"player_0": 0}

    def _step(self, actions):
        self.at += 1
        return StepResult({f"player_{self.at % 2}": self.at}, {}, False, False, {})
"""


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A match of two seats that move in turn."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walk.py").write_text(TASK)
    return played(tmp_path, "Walk")


def played(folder: Path, task: str) -> Path:
    path = folder / f"{task}.jsonl"
    agents = [lambda _: 1, lambda _: 0]
    run(f"walk.py:{task}", agents, scheduler="sequential:1", clock="virtual", journal=path)
    return path


def words(
    path: Path, first: int = 0
) -> tuple[dict[str, Any], dict[tuple[int, int], tuple[str | None, str | None]]]:
    """Return the head of the pictures of a match, and what the task says of observations and actions."""
    execution = Execution(path, partial(rebuild, trust=True, journal=path))
    try:
        head, _ = decoded(execution.draw(first, 10**9))
    finally:
        execution.close()
    texts = [*head["texts"], None]
    columns = (head["described"][name] for name in ("turn", "seat", "observation", "action"))
    return head, {(turn, seat): (texts[o], texts[a]) for turn, seat, o, a in zip(*columns, strict=True)}


def test_a_match_without_pictures_is_executed_for_its_words(walk):
    head, found = words(walk)
    assert found == {
        (0, 0): (None, "a goes UP"),
        (1, 1): (None, "b goes DOWN"),
        (2, 0): (None, "a goes UP"),
        (3, 1): (None, "b goes DOWN"),
    }
    assert (head["kind"], head["why"], head["players"]) == ("none", "", [[0, ["white", "black"]]])
    assert len(head["texts"]) == 2
    later, found = words(walk, first=2)
    assert (set(found), later["players"]) == ({(2, 0), (3, 1)}, [[2, ["white", "black"]]])


def test_words_that_say_nothing_new_are_left_out(walk):
    head, found = words(played(walk.parent, "Plain"))
    assert (found, head["texts"], head["players"], head["why"]) == ({}, [], [], "")


@pytest.mark.parametrize("how", ["raise", "long", "none", "exit"])
def test_words_that_go_wrong_cost_words_alone(walk, monkeypatch, how):
    monkeypatch.setenv("WORDS", how)
    match = RecordedMatch(walk, trust=True)
    match.read_all()
    try:
        head, _ = decoded(match.frames(0))
        assert match.chunk(0)["action"] == ["1", "0", "1", "0"]
    finally:
        match.close()
    if how == "raise":
        assert head["why"].startswith(
            "turn 2 of task walk.py:Walk cannot be described: ZeroDivisionError('no words"
        )
        assert (len(head["why"]) < 400, head["described"]["turn"]) == (True, [0, 1])
    if how == "long":
        assert max(map(len, head["texts"])) < 2_100
    if how == "none":
        assert head["texts"] == ["None"]
    if how == "exit":
        assert head["why"] == "turn 0 of task walk.py:Walk cannot be described: SystemExit('no words')"


def test_all_words_of_a_part_are_bounded(walk, monkeypatch):
    monkeypatch.setattr(frames, "MAX_TEXTS_CHARS", 10)
    assert words(walk)[1] == {(0, 0): (None, "a goes UP"), (2, 0): (None, "a goes UP")}


def test_a_task_says_nothing_before_an_observation_agrees(walk):
    """The author of a journal may guess at what a task makes of a file."""
    events = list(read_journal(walk))
    changed = [
        replace(event, observation=7) if isinstance(event, TurnPlayed) and event.turn == 0 else event
        for event in events
    ]
    head, found = words(write(walk, changed))
    assert (found, head["texts"], head["players"]) == ({}, [], [])
    assert "differs from the journal: observation" in head["why"]


def test_without_trust_nothing_is_executed_and_the_page_says_so(walk):
    match = RecordedMatch(walk)
    match.read_all()
    facts = match.summary()["pictures"]
    match.close()
    assert not facts["available"]
    assert facts["why"].endswith("if you trust this file, pictures and names of actions need --trust")
