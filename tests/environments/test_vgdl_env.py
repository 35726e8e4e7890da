"""VGDL games under Gymnasium."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from flagfall.environments.gymnasium_env import VgdlEnv
from flagfall.errors import UsageError
from flagfall.tasks.catalog import make_task
from flagfall.tasks.vgdl.task_id import OBSERVATIONS, game_ids
from flagfall.tasks.vgdl.views.observer import StateObservation

GAME = game_ids()[0]


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
def test_gymnasiums_checker_has_nothing_to_say(observation, render_mode) -> None:
    env = gymnasium.make("flagfall/VGDL-v0", game=GAME, observation=observation, render_mode=render_mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_it_plays_what_the_task_plays() -> None:
    env = VgdlEnv(GAME, 2, observation="image", block=None, pixels=7, render_mode="rgb_array")
    task = make_task(f"vgdl:{GAME}#2:observation=image:block=own:pixels=7")
    assert env.task.id == task.id
    shown, _ = env.reset(seed=11)
    assert np.array_equal(shown, task.reset(11))
    for action in (1, 2, 3, 4, 5, 0) * 5:
        shown, reward, terminated, truncated, info = env.step(action)
        expected = task.step(action)
        assert np.array_equal(shown, expected.observation)
        assert (reward, terminated, truncated) == (expected.reward, expected.terminated, False)
        if terminated:
            assert info["metrics"] == task.metrics()
            break
    picture: Any = env.render()
    assert np.array_equal(picture, shown)


def test_states_may_be_kept() -> None:
    env = VgdlEnv(GAME, observation="state")
    before, _ = env.reset(seed=0)
    assert isinstance(before, StateObservation)
    after = env.step(0)[0]
    assert (before.game_tick, after.game_tick) == (0, 1)


def test_a_copy_is_a_game_of_its_own_that_goes_on_alike() -> None:
    env = VgdlEnv(GAME, observation="image")
    env.reset(seed=0)
    env.step(1)
    copies = deepcopy(env), deepcopy(env)
    for action in (4, 2, 1, 5, 3):
        one, other = (copy.step(action) for copy in copies)
        assert np.array_equal(one[0], other[0])
        assert one[1:4] == other[1:4]
    assert env.task.num_steps_taken() == 1


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(UsageError, match="no game"):
        gymnasium.make("flagfall/VGDL-v0", game="no such game")
    with pytest.raises(UsageError, match="no level 9"):
        gymnasium.make("flagfall/VGDL-v0", game=GAME, level=9)
    with pytest.raises(UsageError, match="unknown observation 'pixels'"):
        gymnasium.make("flagfall/VGDL-v0", game=GAME, observation="pixels")
