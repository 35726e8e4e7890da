"""The example learns with PPO where stable-baselines3 is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from flagfall.code_loader import load_module

EXAMPLE = Path(__file__).parents[2] / "examples" / "langroom_ppo.py"


def test_ppo_learns_a_few_hundred_steps():
    pytest.importorskip("stable_baselines3", reason="the example needs stable-baselines3")
    example = load_module(str(EXAMPLE), "example")
    rewards = example.learn("echo", 256, rooms=2, episode=64)
    assert len(rewards) == 2
    assert all(0 <= reward <= 200 for reward in rewards)
    room = example.make_room("echo")
    room.reset(seed=0)
    assert room.unwrapped.rules.task == "echo"
    *_, info = room.step(room.action_space.sample())
    assert info["player"].shape == (2,)
