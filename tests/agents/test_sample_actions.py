import pytest

from flagfall import run
from flagfall.agents.samples.basic import action_count
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.spaces import Spaces


@pytest.mark.parametrize("agent", ["random", "q-learning"])
@pytest.mark.parametrize("task", ["gym:FrozenLake-v1?is_slippery=false", "gym:CartPole-v1"])
def test_samples_play_any_task_with_numbered_actions_legally(task, agent):
    result = run(task, agent, steps=200, clock="virtual")
    assert result.turns == 200
    assert result.seats[0].stats.illegal == 0


@pytest.mark.parametrize(
    ("action", "count"),
    [
        ({"type": "discrete", "n": 4, "start": 0}, 4),
        ({"type": "discrete", "n": 4, "start": 1}, None),
        ({"type": "discrete", "n": 256, "start": 0}, None),
        ({"type": "box", "shape": [2]}, None),
        ({}, None),
    ],
)
def test_actions_are_counted_where_they_are_numbers_and_no_bytes(action, count):
    briefing = Briefing(0, 1, 7, "untimed", lambda: Spaces({}, action))
    assert action_count(briefing) == count
    assert action_count(Briefing(0, 1, 7, "untimed")) is None
