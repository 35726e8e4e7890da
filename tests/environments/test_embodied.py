"""The dictionary form; that it is the public package's, tests/tasks/langroom/test_recordings.py shows."""

from __future__ import annotations

import numpy as np
import pytest

from flagfall.environments.embodied_env import EmbodiedLangRoom, Space
from flagfall.environments.langroom_env import LangRoomEnv
from flagfall.errors import UsageError

RESET = {"move": 0, "talk": 0, "reset": True}


@pytest.mark.parametrize("log_image", [False, True])
def test_observations_are_of_their_spaces(log_image):
    room = EmbodiedLangRoom("answer-and-echo", seed=0, log_image=log_image, vocab_size=30, length=20)
    rng = np.random.default_rng(0)
    firsts = 0
    for _ in range(100):
        action = {name: space.sample(rng) for name, space in room.act_space.items()}
        assert all(action[name] in space for name, space in room.act_space.items())
        seen = room.step(action)
        assert list(seen) == list(room.obs_space)
        for name, space in room.obs_space.items():
            assert seen[name] in space, name
            assert np.asarray(seen[name]).dtype == space.dtype, name
        firsts += seen["is_first"]
    assert 20 < firsts < 80
    assert ("log_image" in room.obs_space) is log_image


def test_an_episode_begins_by_itself_after_the_last_step():
    room = EmbodiedLangRoom(seed=0, length=3)
    silence = {"move": 1, "talk": 1, "reset": False}
    flags = [(seen["is_first"], seen["is_last"]) for seen in (room.step(silence) for _ in range(8))]
    assert flags == [(True, False), (False, False), (False, False), (False, True)] * 2
    assert room.step(RESET)["is_first"]


def test_it_is_the_same_room_as_for_gymnasium():
    room, env = EmbodiedLangRoom(seed=9), LangRoomEnv()
    seen, (shown, _) = room.step(RESET), env.reset(seed=9)
    for move in [1, 1, 3, 3, 3] * 10:
        assert (seen["image"] == shown["image"]).all()
        assert seen["text"] == shown["text"]
        seen = room.step({"move": move, "talk": 3, "reset": False})
        shown, reward, *_ = env.step({"move": move, "talk": 3})
        assert seen["reward"] == np.float32(reward)


def test_the_log_image_shows_the_view_the_words_and_the_rewards():
    room = EmbodiedLangRoom("echo", seed=0, log_image=True)
    seen = room.step(RESET)
    assert seen["log_image"].shape == (64, 256, 3)
    assert (seen["log_image"][:, :64] == seen["image"]).all()
    panels = seen["log_image"][:, 64:].reshape(64, 3, 64, 3)
    assert [bool(panels[:, panel].any()) for panel in range(3)] == [True, False, False]
    before = seen["log_image"]
    for _ in range(5):
        seen = room.step({"move": 0, "talk": 0, "reset": False})
    assert (seen["log_image"][:, 64:].reshape(64, 3, 64, 3).any(axis=(0, 2, 3))).all()
    assert (before[:, :64] == seen["log_image"][:, :64]).all()


def test_what_is_no_action():
    room = EmbodiedLangRoom(seed=0)
    with pytest.raises(UsageError, match="an action has move, talk, reset; reset is missing"):
        room.step({"move": 0, "talk": 0})
    room.step(RESET)
    with pytest.raises(UsageError, match="a word is one from 0 to 14"):
        room.step({"move": 0, "talk": 15, "reset": False})
    with pytest.raises(UsageError, match=r"'talk': 0.* is not an action: it has `move` and `talk`, whole"):
        room.step({"move": 1.5, "talk": 0, "reset": False})
    with pytest.raises(UsageError, match="None is not an action: it has move, talk, reset"):
        room.step(None)  # type: ignore[arg-type]


def test_spaces():
    assert 3 in Space(np.int32, (), 0, 4)
    assert 4 not in Space(np.int32, (), 0, 4)
    assert -1 not in Space(np.int32, (), 0, 4)
    assert 0.5 not in Space(np.int32, (), 0, 4)
    assert np.zeros(2) not in Space(np.int32, (), 0, 4)
    assert np.float32(-1) in Space(np.float32)
    assert np.float32(1) in Space(np.float32, (), 0, 1)


@pytest.mark.parametrize("resolution", [3, 5, 9])
def test_a_log_image_may_be_too_small_to_be_read(resolution):
    room = EmbodiedLangRoom(seed=0, view=1, resolution=resolution, log_image=True)
    room.step(RESET)
    assert room.step({"move": 0, "talk": 9, "reset": False})["log_image"].shape == (
        resolution,
        4 * resolution,
        3,
    )
