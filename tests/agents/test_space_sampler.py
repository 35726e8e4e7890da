"""Values drawn from descriptions lie in the spaces that were described."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from flagfall.agents.samples.basic import RandomAgent, sample
from flagfall.kernel.spaces import describe_space
from flagfall.playing import run
from flagfall.tasks.adapters.space_values import contains
from flagfall.tasks.catalog import make_task

SPACES: dict[str, spaces.Space[Any]] = {
    "discrete": spaces.Discrete(5, start=-2),
    "box": spaces.Box(-1, 1, (2, 3)),
    "no bounds": spaces.Box(-np.inf, np.inf, (4,), np.float64),
    "from below": spaces.Box(2, np.inf, (4,)),
    "from above": spaces.Box(-np.inf, -2, (4,)),
    "each its own": spaces.Box(np.array([0, -5], np.float32), np.array([1, np.inf], np.float32)),
    "scalar": spaces.Box(0, 9, (), np.float64),
    "bytes": spaces.Box(0, 255, (2, 2), np.uint8),
    "truth": spaces.Box(0, 1, (3,), np.bool_),
    "binary": spaces.MultiBinary([2, 2]),
    "multi": spaces.MultiDiscrete(np.array([[3, 4], [1, 2]])),
    "text": spaces.Text(8, min_length=2, charset="abc"),
    "tuple": spaces.Tuple([spaces.Discrete(3), spaces.Tuple([spaces.Box(0, 1, (1,))])]),
    "one of": spaces.OneOf([spaces.Discrete(3), spaces.Box(-5, 5, (2,))]),
    "dict": spaces.Dict({"inner": spaces.Discrete(2), "other": spaces.MultiBinary(3)}),
    "sequence": spaces.Sequence(spaces.Discrete(4)),
}


@pytest.mark.parametrize("name", SPACES)
def test_they_are_of_the_space(name: str):
    described, random = describe_space(SPACES[name]), Random(0)
    drawn = [sample(described, random) for _ in range(100)]
    assert all(contains(SPACES[name], value) for value in drawn)
    assert len({str(value) for value in drawn}) > 1


def test_every_number_of_a_discrete_space_comes():
    described, random = describe_space(SPACES["discrete"]), Random(0)
    assert {sample(described, random) for _ in range(200)} == {-2, -1, 0, 1, 2}


def test_of_what_is_not_described_there_is_none():
    graph = spaces.Graph(spaces.Box(0, 1, (2,)), None)
    assert sample(describe_space(graph), Random(0)) is None
    assert sample({}, Random(0)) is None


@pytest.mark.parametrize(
    "task",
    [
        "gym:FrozenLake-v1",
        "gym:CartPole-v1",
        "gym:Pendulum-v1",
        "gym:Taxi-v4?action_mask=true",
        "langroom:vocab_size=40",
    ],
)
def test_the_random_sample_plays_whatever_says_what_it_takes(task: str):
    result = run(make_task(task), RandomAgent, clock="virtual", steps=60)
    assert result.seats[0].stats.illegal == 0


def test_the_random_sample_plays_even_where_a_mask_allows_nothing():
    agent = RandomAgent()
    agent._random = Random(0)
    assert agent.reply({"observation": 0, "action_mask": [0, 0]}, 0.0) in {0, 1}
