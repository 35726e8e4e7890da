"""LangRoom for Gymnasium, alone and in batches."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as VectorEpisodeStatistics

from flagfall.environments import register_envs
from flagfall.environments.langroom_env import LangRoomEnv, LangRoomVectorEnv
from flagfall.errors import UsageError
from flagfall.tasks.langroom.rules import TASKS

ID = "flagfall/LangRoom-v0"


def make(**options: Any) -> Any:
    return gym.make(ID, **options)


def same(one: Any, other: Any) -> bool:
    """Whether two observations or infos are equal, through and through."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other)


@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
@pytest.mark.parametrize("task", TASKS)
def test_gymnasium_finds_nothing_wrong(task, render_mode):
    env = make(task=task, render_mode=render_mode)
    check_env(env.unwrapped)
    check_env(make(task=task, view=1, resolution=9, length=5, vocab_size=1000).unwrapped)


def test_the_id_is_known_to_whoever_names_the_package():
    code = f"import gymnasium; print(gymnasium.make('flagfall.environments:{ID}').reset(seed=0)[1]['player'])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[4 4]\n"
    register_envs()  # once more changes nothing, and warns of nothing


def test_a_seed_makes_the_episode_and_without_one_the_next_goes_on():
    one, other = make(length=3), make(length=3)
    shown = [env.reset(seed=5)[1]["colors"] for env in (one, other)]
    assert shown[0] == shown[1]
    later = [[env.reset()[1]["colors"] for _ in range(20)] for env in (one, other)]
    assert later[0] == later[1]
    assert any(colors != shown[0] for colors in later[0])
    assert one.reset(seed=5)[1]["colors"] == shown[0]


def test_an_episode_is_truncated_after_its_length():
    env = make(length=7)
    _, info = env.reset(seed=0)
    assert set(info) == {"player", "colors", "word"}
    for step in range(1, 8):
        *_, terminated, truncated, info = env.step({"move": 1, "talk": 0})
        assert (terminated, truncated) == (False, step == 7)
    assert info["player"].tolist() == [4, 7]
    assert set(info["colors"]) == {"ball", "rug", "table", "vase"}
    assert set(info["colors"].values()) == {"red", "green", "blue", "yellow"}
    with pytest.raises(UsageError, match="reset begins one"):
        env.step({"move": 1, "talk": 0})


def test_what_is_given_out_is_the_callers_own():
    for env in (LangRoomEnv(), LangRoomVectorEnv(3)):
        first = env.reset(seed=0)[0]["image"]
        kept = first.copy()
        first[:] = 0
        assert (env.reset(seed=0)[0]["image"] == kept).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "answer"}, "task='answer': LangRoom has no such task; nearest: answer"),
        ({"resolution": 66}, "take 65 or 67"),
        ({"resolution": 1_000_000}, "the limit is 1,024 MB: take at most 1505"),
        ({"view": np.array([2])}, "view is a whole number from 1 to 8"),
        ({"view": True}, "view=True: view is a whole number from 1 to 8"),
        ({"vocab_size": 5}, "vocab_size is a whole number from 15"),
        ({"views": 3}, "views=3: LangRoom has no such option; nearest: view"),
        ({"render_mode": "rgb"}, "render_mode='rgb': unknown mode; nearest: rgb_array"),
    ],
)
@pytest.mark.parametrize("kind", [LangRoomEnv, LangRoomVectorEnv])
def test_wrong_options_are_refused(kind, options, message):
    with pytest.raises(UsageError, match=message):
        kind(**options)


ACTIONS = [
    None,
    {},
    {"move": 1},
    {"move": 1.7, "talk": 0},
    {"move": "1", "talk": 0},
    (0, 0),
    np.zeros(2, int),
]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", [LangRoomEnv, LangRoomVectorEnv])
def test_what_is_no_action_is_refused(kind, action):
    env = kind()
    env.reset(seed=0)
    with pytest.raises(UsageError, match=r"is not an action: it has|not actions: give|give 1 whole numbers"):
        env.step(action)


def test_numbers_of_numpy_are_actions():
    env = LangRoomEnv()
    env.reset(seed=0)
    *_, info = env.step({"move": np.int64(1), "talk": np.array(0)})
    assert info["player"].tolist() == [4, 5]


@pytest.mark.parametrize("kind", [LangRoomEnv, LangRoomVectorEnv])
def test_before_the_first_episode_there_is_nothing_to_render(kind):
    with pytest.raises(UsageError, match="no episode is going on: reset begins one"):
        kind(render_mode="rgb_array").render()


# Pictures for people.


def test_a_picture_for_people_shows_the_view_and_what_was_said():
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    silent = env.render()
    assert silent.shape == (240, 960, 3)
    env.step({"move": 0, "talk": 8})
    said = env.render()
    assert (silent[:, :240] == said[:, :240]).all()
    assert (silent[:, 480:] != said[:, 480:]).any()
    assert make(render_mode="rgb_array", view=3, resolution=707).unwrapped.metadata["render_fps"] == 5


def test_the_room_in_letters():
    env = make(render_mode="ansi")
    _, info = env.reset(seed=0)
    env.step({"move": 2, "talk": 0})
    lines = env.render().splitlines()
    assert lines[:5] == ["#########", "#B.....R#", "#.......#", "#...@...#", "#.......#"]
    assert lines[7] == "#T.....V#"
    assert lines[9] == ", ".join(f"{name} {color}" for name, color in info["colors"].items())


def test_episode_statistics():
    env = RecordEpisodeStatistics(make(length=10))
    env.reset(seed=0)
    for _ in range(10):
        *_, info = env.step({"move": 0, "talk": 1})
    assert info["episode"]["l"] == 10
    assert info["episode"]["r"] < 0


def test_a_video(tmp_path):
    pytest.importorskip("moviepy", reason="RecordVideo needs moviepy")
    from gymnasium.wrappers import RecordVideo  # noqa: PLC0415 - needs it

    env = RecordVideo(make(render_mode="rgb_array", length=10), str(tmp_path / "videos"))
    env.reset(seed=0)
    for _ in range(10):
        env.step(env.action_space.sample())
    env.close()
    (video,) = tmp_path.glob("videos/*.mp4")
    assert video.stat().st_size > 1000


# Batches.


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("task", TASKS)
def test_a_batch_is_what_gymnasium_makes_of_single_rooms(task, mode):
    options: dict[str, Any] = {"task": task, "length": 40, "view": 1, "resolution": 9, "vocab_size": 20}
    batch = LangRoomVectorEnv(5, autoreset_mode=mode, **options)
    singles: Any = SyncVectorEnv([lambda: LangRoomEnv(**options)] * 5, autoreset_mode=mode)
    assert batch.single_action_space == singles.single_action_space
    assert batch.observation_space == singles.observation_space
    seeds = [3, 1, 4, 1, 5]
    assert same(batch.reset(seed=seeds), singles.reset(seed=seeds))
    rng = np.random.default_rng(0)
    for step in range(1000):
        actions = {"move": rng.integers(0, 5, 5), "talk": rng.integers(0, 20, 5)}
        ours, theirs = batch.step(actions), singles.step(actions)
        assert same(ours, theirs), f"step {step}"
        over = ours[3]
        if mode is AutoresetMode.DISABLED and over.any():
            assert same(
                batch.reset(options={"reset_mask": over.copy()}),
                singles.reset(options={"reset_mask": over.copy()}),
            )
        elif mode is not AutoresetMode.SAME_STEP and step % 150 == 70:  # from here on they end at times
            mask = rng.random(5) < 0.5
            mask[0] = True
            assert same(
                batch.reset(seed=step, options={"reset_mask": mask.copy()}),
                singles.reset(seed=step, options={"reset_mask": mask.copy()}),
            )


def test_a_batch_by_its_id():
    batch: Any = gym.make_vec(ID, num_envs=4, task="echo", length=3, autoreset_mode="SameStep")
    assert isinstance(batch, LangRoomVectorEnv)
    assert batch.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observed, _ = batch.reset(seed=0)
    assert observed in batch.observation_space
    singles = [make(task="echo", length=3).reset(seed=seed)[0]["image"] for seed in range(4)]
    assert (observed["image"] == singles).all()


def test_masks_are_the_callers_own():
    batch = LangRoomVectorEnv(2, length=1, autoreset_mode="SameStep")
    batch.reset(seed=0)
    *_, truncated, info = batch.step({"move": np.zeros(2, int), "talk": np.zeros(2, int)})
    info["_player"][:] = info["_final_obs"][:] = info["_final_info"][:] = False
    assert truncated.all()
    assert info["_final_obs"].tolist() == [False, False]
    *_, info = batch.step({"move": np.zeros(2, int), "talk": np.zeros(2, int)})
    assert info["_player"].all()


def test_statistics_of_a_batch():
    batch: Any = VectorEpisodeStatistics(gym.make_vec(ID, num_envs=3, task="echo", length=5))
    batch.reset(seed=0)
    silence = {"move": np.zeros(3, int), "talk": np.zeros(3, int)}
    for _ in range(5):
        *_, info = batch.step(silence)
    assert info["episode"]["l"].tolist() == [5, 5, 5]
    assert (info["episode"]["r"] >= 4).all()


def test_pictures_of_a_batch():
    batch = LangRoomVectorEnv(2, render_mode="rgb_array")
    batch.reset(seed=0)
    frames = batch.render()
    assert frames is not None
    assert [frame.shape for frame in frames] == [(240, 240, 3)] * 2
    assert LangRoomVectorEnv(2).render() is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: LangRoomVectorEnv(0), "num_envs=0: expected a whole number of at least 1"),
        (lambda: LangRoomVectorEnv(2.0), "num_envs=2.0: expected a whole number"),  # type: ignore[arg-type]
        (lambda: LangRoomVectorEnv("2"), "num_envs='2': expected a whole number"),  # type: ignore[arg-type]
        (lambda: LangRoomVectorEnv(autoreset_mode="SameStp"), "unknown mode; nearest: SameStep"),
        (lambda: LangRoomVectorEnv(2).reset(seed=[1]), "1 seeds for 2 environments: give one for each"),
        (
            lambda: LangRoomVectorEnv(2).reset(options={"reset_mask": [True, True]}),
            "give an array of 2 truth values, one of them true",
        ),
        (
            lambda: LangRoomVectorEnv(2).reset(options={"reset_mask": np.zeros(2, bool)}),
            "give an array of 2 truth values, one of them true",
        ),
        (
            lambda: LangRoomVectorEnv(1).step({"move": np.zeros(1, int), "talk": np.zeros(1, int)}),
            "no episode is going on: reset begins one",
        ),
    ],
)
def test_what_a_batch_refuses(wrong, message):
    with pytest.raises(UsageError, match=message):
        wrong()
