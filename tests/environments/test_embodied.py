"""The dictionary form; that it is the public package's, tests/tasks/langroom/test_recordings.py shows."""

from __future__ import annotations

import numpy as np
import pytest

from flagfall.environments.embodied_env import EmbodiedLangRoom, Space
from flagfall.environments.langroom_env import LangRoomEnv
from flagfall.errors import UsageError
from flagfall.tasks.langroom.rules import OBJECTS

RESET = {"move": 0, "talk": 0, "reset": True}


@pytest.mark.parametrize("log_image", [False, True])
def test_observations_are_of_their_spaces(log_image):
    room = EmbodiedLangRoom("answer-and-echo", seed=0, log_image=log_image, vocab_size=30, length=20)
    firsts = 0
    for _ in range(100):
        action = {name: space.sample() for name, space in room.act_space.items()}
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


def test_it_takes_the_place_of_the_public_package_without_other_changes():
    """Positions of options, and what programs read: the log image, the state, rendering, length and truth."""
    room = EmbodiedLangRoom("echo", 3, 50, 79, 20, 4)
    assert (room.task, room.view, room.length, room.resolution, room.vocab_size) == ("echo", 3, 50, 79, 20)
    assert (room.player, room.colors, room.words, room.done) == (None, None, None, True)
    assert (len(room), bool(room)) == (0, True)
    assert "obs_space" in repr(room)
    with pytest.raises(UsageError, match="no episode"):
        room.render()
    seen = room.step({"reset": True})  # the rest of an action is not read then
    assert seen["log_image"].shape == (79, 4 * 79, 3)
    assert (room.player, room.done, room.target) == ((4, 4), False, "")
    words, colors = room.words, room.colors
    assert words is not None
    assert colors is not None
    assert sorted(colors) == sorted(OBJECTS)
    assert words.count("") >= 18
    assert [word for word in words if word][:4] == ["what", "color", "is", "the"]
    assert words[-words[::-1].index("is")] == colors[words[words.index("the") + 1]]
    assert (room.render() == seen["image"].transpose(1, 0, 2)).all()  # the column comes first


def test_words_beyond_the_vocabulary_are_said_and_mean_nothing():
    for task, paid in (("answer-only", -0.01), ("answer-and-echo", 0), ("echo", 0)):
        room = EmbodiedLangRoom(task, seed=1)
        room.step(RESET)
        for talk in (15, 99, 10**12, np.int64(2**40)):
            assert room.step({"move": 0, "talk": talk, "reset": False})["reward"] == np.float32(paid)
    while True:  # the last word, counted from the end, is `it`
        seen = room.step({"move": 0, "talk": -1, "reset": False})
        assert seen["reward"] == (room.target == "it")
        if seen["reward"]:
            break
    with pytest.raises(UsageError, match="talk=-16: a word is a whole number from -15"):
        room.step({"move": 0, "talk": -16, "reset": False})


@pytest.mark.parametrize("task", ["answer-only", "answer-and-echo", "echo"])
def test_step_by_step_beside_the_public_package(task):
    public = pytest.importorskip("langroom").LangRoom(task, 2, 40, 64, 18, 7)
    room, rng = EmbodiedLangRoom(task, 2, 40, 64, 18, 7), np.random.default_rng(0)
    for spaces, others in ((room.obs_space, public.obs_space), (room.act_space, public.act_space)):
        assert list(spaces) == list(others)
        for name, space in spaces.items():
            other = others[name]
            assert (space.dtype, space.shape, space.discrete) == (other.dtype, other.shape, other.discrete)
            assert np.array_equal(space.low, other.low), name
            assert np.array_equal(space.high, other.high), name
            assert repr(space) == repr(other)
            for value in (
                -1,
                0,
                1,
                5,
                18,
                19,
                255,
                256,
                0.5,
                np.zeros(space.shape),
                np.zeros(space.shape, int),
            ):
                assert (value in space) == (value in other), (name, value)
            assert space.sample() in other
    for _ in range(400):
        action = {"move": rng.integers(5), "talk": rng.integers(-15, 25), "reset": rng.random() < 0.01}
        seen, shown = room.step(action), public.step(action)
        assert seen.keys() == shown.keys()
        for name in ("text", "reward", "is_first", "is_last", "is_terminal"):
            assert seen[name] == shown[name], name
        for name in ("image", "log_image"):
            assert (seen[name].shape, seen[name].dtype) == (shown[name].shape, shown[name].dtype)
        assert room.render().shape == public.render().shape
        for name in ("player", "colors", "words", "target", "done", "task", "view"):
            assert getattr(room, name) == getattr(public, name), name


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
    with pytest.raises(UsageError, match="an action has move, talk, reset: reset is missing"):
        room.step({"move": 0, "talk": 0})
    room.step(RESET)
    with pytest.raises(UsageError, match="a move is a whole number from 0 to 4"):
        room.step({"move": 5, "talk": 0, "reset": False})
    with pytest.raises(UsageError, match="move and talk are missing"):
        room.step({"reset": False})
    with pytest.raises(UsageError, match=r"'talk': 0.* is not an action: it has `move` and `talk`, whole"):
        room.step({"move": 1.5, "talk": 0, "reset": False})
    with pytest.raises(UsageError, match="None is not an action: it has move, talk, reset"):
        room.step(None)  # type: ignore[arg-type]


def test_spaces():
    number = Space(np.int32, (), 0, 4)
    assert number.discrete
    assert (number.low.shape, number.low.min(), number.high.max()) == ((), 0, 4)
    assert {int(number.sample()) for _ in range(200)} == {0, 1, 2, 3}
    assert 3 in number
    assert -1 not in number
    assert 0.5 not in number
    assert np.zeros(2) not in number
    picture = Space(np.uint8, (2, 3))
    assert (picture.low.tolist(), picture.high.tolist()) == ([[0] * 3] * 2, [[255] * 3] * 2)
    assert np.full((2, 3), 255, np.uint8) in picture
    real = Space(np.float32)
    assert not real.discrete
    assert np.float32(-1) in real
    assert np.isfinite(real.sample())
    assert np.float32(1) in Space(np.float32, (), 0, 1)
    assert {bool(Space(bool).sample()) for _ in range(50)} == {False, True}
    assert Space(np.float32, 3).shape == (3,)
    with pytest.raises(UsageError, match=r"2 values as bound of a space of shape \(3,\)"):
        Space(np.float32, 3, [1, 2])


@pytest.mark.parametrize("resolution", [3, 5, 9])
def test_a_log_image_may_be_too_small_to_be_read(resolution):
    room = EmbodiedLangRoom(seed=0, view=1, resolution=resolution, log_image=True)
    room.step(RESET)
    assert room.step({"move": 0, "talk": 9, "reset": False})["log_image"].shape == (
        resolution,
        4 * resolution,
        3,
    )
