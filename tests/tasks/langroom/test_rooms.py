"""Many rooms at once are the same as each alone."""

from __future__ import annotations

import numpy as np
import pytest

from flagfall.errors import UsageError
from flagfall.tasks.langroom.images import image_cache
from flagfall.tasks.langroom.rules import TASKS, LangRoomRules, Room
from flagfall.tasks.langroom.task import RoomBatch


def pair(rules, count):
    seeds = range(100, 100 + count)
    alone = [Room(rules, np.random.default_rng(seed)) for seed in seeds]
    return alone, RoomBatch(rules, [np.random.default_rng(seed) for seed in seeds])


def talk(rng, alone, vocab_size):
    """Words as learners say them: any, the next one often enough to be paid."""
    talks = rng.integers(0, vocab_size, len(alone))
    right = rng.random(len(alone)) < 0.5
    return np.where(right, [room._script[room._cursor] for room in alone], talks)


def assert_same(alone, rooms, image):
    assert rooms.words.tolist() == [room.word for room in alone]
    assert rooms.colors.tolist() == [room.colors for room in alone]
    assert rooms.players.tolist() == [list(room.player) for room in alone]
    assert rooms.over.tolist() == [room.over for room in alone]
    rooms.look(image)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("view", "resolution"), [(2, 64), (3, 21)])
def test_each_is_the_same_as_alone(task, view, resolution):
    rules = LangRoomRules(task, view=view, resolution=resolution, length=61, vocab_size=20)
    alone, rooms = pair(rules, 16)
    made = image_cache(rules)
    image = np.empty((16, resolution, resolution, 3), np.uint8)
    rng = np.random.default_rng(1)
    for room in alone:
        room.begin()
    rooms.begin(range(16))
    paid = set()
    for _ in range(2000):
        assert_same(alone, rooms, image)
        for room, picture in zip(alone, image, strict=True):
            assert (picture == made.get(room.place, room.colors)).all()
        moves, talks = rng.integers(0, 5, 16), talk(rng, alone, 20)
        beginning = rooms.over | (rng.random(16) < 0.002)
        rewards = rooms.step(moves, talks, beginning if beginning.any() else None)
        for number, room in enumerate(alone):
            if beginning[number]:
                room.begin()
                assert rewards[number] == 0
            else:
                assert rewards[number] == room.step(int(moves[number]), int(talks[number]))
        paid |= set(rewards.tolist())
    assert len(paid) == {"answer-only": 4, "answer-and-echo": 3, "echo": 2}[task]


def test_wrong_actions_change_nothing():
    rules = LangRoomRules(length=2)
    _, rooms = pair(rules, 3)
    fine = np.zeros(3, np.int64)
    with pytest.raises(UsageError, match=r"no episode is going on in rooms \[0, 1, 2\]: reset begins one"):
        rooms.step(fine, fine)
    rooms.begin(range(3))
    before = (rooms.words.copy(), rooms.players)
    for moves, talks, message in (
        (np.array([0, 5, 0]), fine, "move: 5 in room 1 is out of range: 0 to 4"),
        (fine, np.array([0, 0, -1]), "talk: -1 in room 2 is out of range: 0 to 14"),
        (fine[:2], fine, "move: give 3 whole numbers, one for each room"),
        (fine, np.zeros(3), "talk: give 3 whole numbers, .* float64"),
    ):
        with pytest.raises(UsageError, match=message):
            rooms.step(moves, talks)
    assert (rooms.words == before[0]).all()
    assert (rooms.players == before[1]).all()
    rooms.step(fine.astype(np.uint64), fine.astype(np.uint8))
    rooms.step(fine, fine)
    assert rooms.over.all()
    rooms.begin([1])
    with pytest.raises(UsageError, match=r"in rooms \[0, 2\]"):
        rooms.step(fine, fine)
