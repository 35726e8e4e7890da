"""Ids of flagfall in Gymnasium, with defaults, for libraries that exist."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import flagfall.environments
from flagfall.errors import UsageError
from flagfall.tasks.vgdl.task_id import game_ids


@pytest.mark.parametrize(
    ("imported", "env_id"),
    [
        ("flagfall.environments, gymnasium", "flagfall/VGDL-v0"),
        ("gymnasium, flagfall.environments", "flagfall/VGDL-v0"),
        ("gymnasium", "flagfall.environments:flagfall/VGDL-v0"),
    ],
)
def test_an_import_registers_the_ids_and_an_id_can_name_it(imported: str, env_id: str) -> None:
    program = f"""
import {imported}
env = gymnasium.make({env_id!r})
print(env.unwrapped.task.id, env.unwrapped.get_action_meanings()[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "vgdl:windfall#0:observation=planes NOOP\n"), done.stderr


def test_flagfall_alone_neither_imports_gymnasium_nor_waits_for_it() -> None:
    program = """
import sys
before = sys.meta_path[:], sys.path[:]
import flagfall
flagfall.TimeControl
assert before == (sys.meta_path, sys.path)
assert "gymnasium" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_entry_point_registers_the_ids() -> None:
    (found,) = entry_points(group="gymnasium.envs", name="flagfall")
    assert found.load() is flagfall.environments.register_envs


def test_each_game_has_an_id() -> None:
    ids = {env_id for env_id in gymnasium.registry if env_id.startswith("flagfall/VGDL-")}
    assert ids == {"flagfall/VGDL-v0", *(f"flagfall/VGDL-{game}-v0" for game in game_ids())}
    env = gymnasium.make("flagfall/VGDL-glacier-v0", level=1)
    assert env.unwrapped.task.id.startswith("vgdl:glacier#1")  # type: ignore[attr-defined]
    env.close()


def test_flat_actions_of_a_room() -> None:
    env = gymnasium.make("flagfall/LangRoom-v0", flat_actions=True)
    plain = gymnasium.make("flagfall/LangRoom-v0")
    check_env(env.unwrapped, skip_render_check=True)
    shown, _ = env.reset(seed=3)
    same, _ = plain.reset(seed=3)
    env.action_space.seed(1)
    for _ in range(50):
        action = env.action_space.sample()
        assert action.shape == (2,)
        shown, reward, *_ = env.step(action)
        same, paid, *_ = plain.step({"move": action[0], "talk": action[1]})
        assert (shown["image"] == same["image"]).all()
        assert (shown["text"], reward) == (same["text"], paid)
    with pytest.raises(UsageError, match="a move and a word"):
        env.unwrapped.step(np.zeros(3, np.int64))


def test_flat_actions_of_a_batch() -> None:
    batch = gymnasium.make_vec("flagfall/LangRoom-v0", num_envs=3, flat_actions=True)
    plain = gymnasium.make_vec("flagfall/LangRoom-v0", num_envs=3)
    batch.reset(seed=5)
    plain.reset(seed=5)
    actions = batch.action_space.sample()
    assert actions.shape == (3, 2)
    shown, *_ = batch.step(actions)
    same, *_ = plain.step({"move": actions[:, 0], "talk": actions[:, 1]})
    assert (shown["image"] == same["image"]).all()


def test_registering_again_changes_nothing() -> None:
    before = dict(gymnasium.registry)
    flagfall.environments.register_envs()
    assert dict(gymnasium.registry) == before
