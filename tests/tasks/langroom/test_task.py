"""LangRoom as a task of the kernel."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from flagfall.tasks.catalog import make_task
from flagfall.tasks.langroom.rules import WORDS, LangRoomRules
from flagfall.tasks.langroom.task import LangRoom
from flagfall.testing import check_task


@pytest.mark.parametrize("text", ["langroom:echo:view=3:resolution=63:vocab_size=40", "langroom:length=1"])
def test_it_keeps_the_contract_with_options(text):
    check_task(partial(make_task, text))


@pytest.mark.parametrize(
    ("action", "legal"),
    [
        ({"move": 4, "talk": 14}, True),
        ({"move": np.int32(4), "talk": np.uint8(14)}, True),
        ({"move": 5, "talk": 0}, False),
        ({"move": 0, "talk": 15}, False),
        ({"move": -1, "talk": 0}, False),
        ({"move": 0}, False),
        ({"move": 0, "talk": 0, "reset": True}, False),
        ({"move": 0.0, "talk": 0}, False),
        ({"move": np.zeros(2, int), "talk": 0}, False),
        ({"move": 10**30, "talk": 0}, False),
        ((0, 0), False),
        (0, False),
    ],
)
def test_legal_actions(action, legal):
    assert LangRoom().is_legal(action) is legal


def test_an_episode_is_solved_where_every_question_is_answered():
    for wrong_at, solved in ((None, True), (1, False)):
        task = LangRoom()
        shown = task.reset(3)
        heard: list[int] = []
        due = 0
        while not task.is_done():
            heard.append(shown["text"])
            talk = 0
            if heard[-2:] == [WORDS.index("it"), WORDS.index("is")]:
                talk = 5 if due == wrong_at else task._room._script[task._room._cursor]
                due += 1
            shown = task.step({"move": 0, "talk": talk}).observation
        assert due >= 4
        assert task.result() is solved
        told = task.metrics()
        assert told["questions"] == due
        assert told["answered"] == due - (not solved)
        assert told["ep_length"] == 200
        assert told["reward"] == pytest.approx(due if solved else due - 1.1)


def test_an_episode_without_a_question_is_not_solved():
    task = LangRoom(LangRoomRules(length=3))
    task.reset(0)
    for _ in range(3):
        result = task.step(task.nil_action)
    assert result.truncated
    assert task.result() is False


def test_the_nil_action_of_one_task_is_its_own():
    one, other = LangRoom(), LangRoom()
    one.nil_action["move"] = 3
    assert other.nil_action == {"move": 0, "talk": 0}


def test_an_observation_is_described_by_what_is_in_view_alone():
    task = LangRoom()
    task.reset(0)
    for move in [4, 2, 4, 2, 4]:
        seen = task.step({"move": move, "talk": 0}).observation
    assert task.describe_observation(seen).splitlines() == [
        *("#####", "##B..", "##@..", "##...", "##..."),
        "(@: you, #: wall, ball blue)",
        "the room says: what",
    ]
    assert task.describe_observation(seen | {"text": 0}).endswith("the room says: nothing")
    assert task.describe_observation({"image": "lost", "text": -1}) == "lost\nthe room says: -1"
    assert task.describe_action({"move": 2, "talk": 1}) == "move up, say red"
    assert task.describe_action(task.nil_action) == "stay, say nothing"


@pytest.mark.parametrize(
    ("text", "reward"), [("langroom", "1 for the right color"), ("langroom:echo", "1 for the word")]
)
def test_the_rules_are_told_with_their_rewards(text, reward):
    assert f"The reward of a step is {reward}" in make_task(text).instructions
