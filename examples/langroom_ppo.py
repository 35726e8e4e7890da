"""PPO of stable-baselines3 on LangRoom, as a starting point for experiments.

    pip install flagfall stable-baselines3
    python examples/langroom_ppo.py --task echo --steps 20000

LangRoom's actions are dictionaries of a move and a word; PPO supports only flat actions, so a wrapper joins
them. The policy has no memory, although the question must be remembered until its answer is due. It learns
what is possible without: after 20,000 steps of `--task echo` (two minutes) an episode pays about 117 of 200.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import MultiDiscrete
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

import flagfall.environments  # noqa: F401 - registers the id with Gymnasium


class FlatActions(gym.ActionWrapper[Any, Any, Any]):
    """Wrapper whose actions are arrays of two numbers, a move and a word."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        space: Any = env.action_space
        self.action_space = MultiDiscrete([space["move"].n, space["talk"].n])

    def action(self, action: Any) -> dict[str, int]:
        """Return the action for the room.

        Args:
            action: array of a move and a word.
        """
        move, talk = np.asarray(action).tolist()
        return {"move": move, "talk": talk}


def make_room(task: str) -> gym.Env[Any, Any]:
    """Return a room whose actions PPO supports.

    Args:
        task: the task of LangRoom, such as `echo`.
    """
    room: gym.Env[Any, Any] = Monitor(FlatActions(gym.make("flagfall/LangRoom-v0", task=task)))
    return room


def learn(task: str, steps: int, *, rooms: int = 8, seed: int = 0, episode: int = 128) -> tuple[float, float]:
    """Train a policy, and return the mean reward of an episode before and after.

    Args:
        task: the task of LangRoom, such as `echo`.
        steps: number of training steps, all rooms together.
        rooms: number of rooms played in parallel.
        seed: root seed of all random numbers.
        episode: steps of each room between two updates.
    """
    batch = DummyVecEnv([lambda: make_room(task)] * rooms)
    model = PPO(
        "MultiInputPolicy", batch, n_steps=episode, batch_size=rooms * episode // 4, seed=seed, device="cpu"
    )
    judge = make_room(task)
    judge.reset(seed=seed)
    before, _ = evaluate_policy(model, judge, n_eval_episodes=3, deterministic=False)
    model.learn(steps)
    after, _ = evaluate_policy(model, judge, n_eval_episodes=3, deterministic=False)
    return float(np.mean(before)), float(np.mean(after))


def main() -> None:
    """Train a policy, and print the rewards."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="echo")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    before, after = learn(arguments.task, arguments.steps, seed=arguments.seed)
    print(f"reward of an episode: {before:.2f} before, {after:.2f} after {arguments.steps} steps")


if __name__ == "__main__":
    main()
