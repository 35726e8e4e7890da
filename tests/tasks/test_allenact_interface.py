"""AllenAct's `Task` and `TaskSampler`, and several tasks on one environment."""

from __future__ import annotations

import logging
import math
import random
import sys
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

import flagfall.tasks
from examples.grid_goals import (
    GOALS,
    CollectCoins,
    GoalSampler,
    GridWorld,
    ReachFlag,
    Walker,
    create_tasks,
)
from flagfall import read_journal
from flagfall.agents.samples.basic import RandomAgent
from flagfall.code_loader import module_aliases
from flagfall.errors import UsageError
from flagfall.events import TaskEnded
from flagfall.playing import run
from flagfall.recording.verify import verify
from flagfall.tasks import (
    RLStepResult,
    Sensor,
    SensorSuite,
    StepResult,
    Task,
    TaskSampler,
    prepare_locals_for_super,
)
from flagfall.tasks.schedulers import SequentialTaskScheduler
from flagfall.testing import check_scheduler, check_task


class Counter(Sensor):
    def get_observation(self, env: Any, task: Task, **kwargs: Any) -> Any:  # noqa: ARG002
        return env["count"] + kwargs.get("more", 0)


class CountTo(Task):
    """Made by AllenAct's initializer; the environment is a mapping with a count in it."""

    id = "count to"
    nil_action = 0
    action_space = Discrete(3)

    def _step(self, action: int) -> StepResult:
        self.env["count"] += action
        return StepResult(self.get_observations(), self.num_steps_taken())

    def reached_terminal_state(self) -> bool:
        return bool(self.env["count"] >= self.task_info["to"])


def count_to(number: int, max_steps: int = 10) -> CountTo:
    return CountTo({"count": 0}, [Counter("count", Discrete(100))], {"to": number}, max_steps)


def test_a_task_is_made_of_an_environment_sensors_a_goal_and_a_limit():
    task = count_to(4)
    assert task.env == {"count": 0}
    assert isinstance(task.sensor_suite, SensorSuite)
    assert list(task.sensor_suite.sensors) == ["count"]
    assert task.sensor_suite.get("count").observation_space == Discrete(100)
    assert task.observation_space == Dict({"count": Discrete(100)})
    assert (task.task_info, task.max_steps) == ({"to": 4}, 10)
    assert task.get_observations(more=5) == {"count": 5}
    with pytest.raises(KeyError):
        task.sensor_suite.get("other")


def test_a_suite_may_be_given_and_its_names_differ():
    suite = SensorSuite([Counter("a", Discrete(9)), Counter("b", Discrete(8))])
    task = CountTo({"count": 2}, suite, {"to": 3}, 5)
    assert task.sensor_suite is suite
    assert task.reset(0) == {"a": 2, "b": 2}
    with pytest.raises(UsageError, match="two sensors have the uuid 'a'; give each its own"):
        SensorSuite([Counter("a", Discrete(9)), Counter("a", Discrete(9))])


def test_steps_are_counted_after_they_are_taken():
    task = count_to(9)
    task.reset(0)
    assert [task.step(1).reward for _ in range(4)] == [0, 1, 2, 3]
    assert task.num_steps_taken() == 4
    assert task.cumulative_reward == 6
    assert task.metrics() == {"ep_length": 4, "reward": 6, "task_info": {"to": 9}}


def test_an_episode_ends_in_a_terminal_state_although_the_step_did_not_say_so():
    task = count_to(3)
    task.reset(0)
    assert not task.step(2).done
    last = task.step(2)
    assert (last.terminated, last.truncated, last.done) == (True, False, True)
    assert task.is_done()
    assert task.reached_terminal_state()
    assert not task.reached_max_steps()


def test_an_episode_ends_when_its_steps_are_used_up():
    task = count_to(3, max_steps=2)
    task.reset(0)
    assert not task.step(0).done
    last = task.step(0)
    assert (last.terminated, last.truncated, last.done) == (False, True, True)
    assert task.is_done()
    assert task.reached_max_steps()
    task = count_to(3, max_steps=1)
    task.reset(0)
    assert task.step(2) == StepResult({"count": 2}, 0, terminated=False, truncated=True)
    task = count_to(2, max_steps=1)
    task.reset(0)
    assert task.step(2) == StepResult({"count": 2}, 0, terminated=True), "an end of its own is the stronger"


class AsInAllenAct(Task[dict[str, int]]):  # type: ignore[type-arg]  # subscripts have an effect for readers only
    """Written against AllenAct: no id, keyword arguments, results with `done`."""

    action_space = Discrete(3)

    def __init__(self, env: Any, sensors: Any, task_info: Any, max_steps: int, **kwargs: Any) -> None:
        super().__init__(env=env, sensors=sensors, task_info=task_info, max_steps=max_steps, **kwargs)

    def _step(self, action: int) -> StepResult:
        self.env["count"] += action
        last = self._num_steps_taken + 1 >= self.max_steps
        done = self.reached_terminal_state() or last
        return RLStepResult(observation=self.get_observations(), reward=None, done=done, info=None)

    def step(self, action: Any) -> Any:
        paid: Any = super().step(action)
        return paid.clone({"reward": 2 * action})

    def reached_terminal_state(self) -> bool:
        return bool(self.env["count"] >= self.task_info["to"])


class Ears(Sensor[Any, Task[Any]]):  # type: ignore[type-arg]
    def __init__(self, loudness: int, uuid: str = "ears", **kwargs: Any) -> None:
        observation_space = Discrete(9)
        super().__init__(**prepare_locals_for_super(locals()))

    def get_observation(self, env: Any, task: Any, *_args: Any, **_kwargs: Any) -> Any:
        return min(env["count"], 2 * task.max_steps)


def as_in_allenact(to: int, max_steps: int) -> AsInAllenAct:
    sensors = SensorSuite[Any]([Ears(3, extra=1)])  # type: ignore[misc]
    return AsInAllenAct({"count": 0}, sensors, {"to": to}, max_steps, extra=1)


def test_classes_written_against_allenact_play(tmp_path):
    class Sampler(TaskSampler[AsInAllenAct]):  # type: ignore[type-arg]
        pass

    assert issubclass(Sampler, TaskSampler)
    task = as_in_allenact(4, max_steps=3)
    assert task.id == "AsInAllenAct"
    assert task.reset(0) == {"ears": 0}
    assert task.step(1) == StepResult({"ears": 1}, 2)
    assert task._total_reward == task.cumulative_reward == 0, "what `_step` paid, as there"
    last = task.step(2).clone({"done": True})
    assert (last.observation, last.reward, last.done) == ({"ears": 3}, 4, True)
    assert not task.step(0).terminated, "the limit is a truncation, though the task said `done`"
    assert task.num_steps_taken() == task._num_steps_taken == 3
    other = as_in_allenact(4, max_steps=3)
    other.reset(0)
    other.step(2)
    assert other.step(2)[2:4] == (True, False)
    for over in (task, other):
        with pytest.raises(AssertionError, match="the episode is over"):
            over.step(0)
    path = tmp_path / "j"
    run(as_in_allenact(5, 20), RandomAgent, clock="virtual", journal=path, steps=4)
    assert verify(path, lambda _header: SequentialTaskScheduler([as_in_allenact(5, 20)])).ok


class Listed(Task):
    """Rewards in lists, in the order of the players."""

    action_space = observation_space = Discrete(2)

    def __init__(self, rewards: list[float], players: tuple[str, ...]) -> None:
        self.rewards, self.players = rewards, players

    def _reset(self, _seed: int) -> Any:
        return dict.fromkeys(self.players, 0)

    def _step(self, _action: Any) -> StepResult:
        return RLStepResult({}, self.rewards, done=False, info={})

    def reached_terminal_state(self) -> bool:
        return False


def test_rewards_may_be_lists():
    task = Listed([3, 1], ("a", "b"))
    task.reset(0)
    assert [task.step({}).reward for _ in range(2)] == [{"a": 3, "b": 1}] * 2
    assert (task._total_reward, task.cumulative_reward) == ([6.0, 2.0], 4.0)
    alone = Listed([3, 1], ("a",))
    alone.reset(0)
    assert (alone.step(0).reward, alone.cumulative_reward) == (2, 2)
    three = Listed([3, 1], ("a", "b", "c"))
    three.reset(0)
    with pytest.raises(UsageError, match="Listed paid 2 rewards to 3 players"):
        three.step({})


def plugin_modules() -> dict[str, dict[str, Any]]:
    """What a plugin of AllenAct imports: classes of flagfall, and stand-ins for other packages."""
    seeding = SimpleNamespace(np_random=lambda seed: (np.random.RandomState(seed % 2**32), seed))
    ours = {
        name: getattr(flagfall.tasks, name)
        for name in (
            "RLStepResult",
            "Sensor",
            "SensorSuite",
            "Task",
            "TaskSampler",
            "prepare_locals_for_super",
        )
    }
    return {
        **{f"allenact.base_abstractions.{name}": ours for name in ("misc", "sensor", "task")},
        "allenact.utils.experiment_utils": {"set_seed": random.seed},
        "allenact.utils.system": {"get_logger": logging.getLogger},
        "gym": {"spaces": gymnasium.spaces, "Env": gymnasium.Env},
        "gym.utils": {"seeding": seeding},
        **{name: {} for name in ("gym_minigrid", "gym_minigrid.minigrid", "pandas", "patsy")},
    }


class Wanderer:
    def __init__(self) -> None:
        self.dice = random.Random(1)

    def reply(self, _seen: Any, _reward: float) -> int:
        return self.dice.randrange(4)


@pytest.mark.skipif(find_spec("allenact_plugins") is None, reason="needs allenact_plugins 0.5.4")
def test_a_plugin_of_allenact_is_played_with_other_imports(tmp_path):
    try:
        with module_aliases(plugin_modules(), first=True):
            tasks = import_module("allenact_plugins.lighthouse_plugin.lighthouse_tasks")
            sensors = import_module("allenact_plugins.lighthouse_plugin.lighthouse_sensors")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "allenact_plugins"]:
            del sys.modules[name]

    def sampler() -> Any:
        corners = sensors.CornerSensor(view_radius=1, world_dim=2)
        return tasks.FindGoalLightHouseTaskSampler(2, 3, [corners], max_steps=60, max_tasks=20, seed=4)

    path = tmp_path / "j"
    result = run(sampler(), Wanderer, clock="virtual", journal=path, seed=2)
    assert [(tally.task, tally.played) for tally in result.tasks] == [("FindGoalLightHouseTask", 20)]
    rewards = [event.reward for event in read_journal(path) if type(event) is TaskEnded]
    assert len({reward > 0 for reward in rewards}) == 2, "some find the goal, and some do not"
    found = verify(path, lambda _header: sampler())
    assert found.ok, found


class Pair(Task):
    id = "pair"
    players = ("a", "b")
    action_space = observation_space = Discrete(2)

    def _reset(self, _seed: int) -> Any:
        return {"a": 0, "b": 0}

    def _step(self, _action: Any) -> StepResult:
        return StepResult({"a": 0, "b": 0}, {"a": 3, "b": 1})

    def reached_terminal_state(self) -> bool:
        return False


def test_the_cumulative_reward_is_a_mean_over_the_players():
    task = Pair()
    task.reset(0)
    assert task.max_steps == math.inf
    for _ in range(2):
        task.step({"a": 0, "b": 0})
    assert task.cumulative_reward == 4.0
    assert task.metrics() == {"ep_length": 2, "reward": 4.0}


def test_without_an_expert_nobody_knows():
    assert Pair().query_expert(expert_sensor_group_name="x") == (None, False)


def test_action_names_are_deprecated():
    with pytest.warns(DeprecationWarning, match="Task.action_names is deprecated"):
        assert ReachFlag(GridWorld(), "reach the flag").action_names() == (
            "stay",
            "up",
            "right",
            "down",
            "left",
        )
    with (
        pytest.warns(DeprecationWarning, match="use class_action_names"),
        pytest.raises(NotImplementedError, match="defines no class_action_names"),
    ):
        Pair().action_names()


def test_what_a_task_does_not_have_it_says():
    class Bare(Task):
        id = "bare"
        action_space = Discrete(2)

        def _step(self, _action: Any) -> StepResult:
            return StepResult(0)

        def reached_terminal_state(self) -> bool:
            return False

    with pytest.raises(NotImplementedError, match="Bare has neither sensors nor its own `observation_space`"):
        _ = Bare().observation_space
    with pytest.raises(NotImplementedError, match="Bare has neither sensors nor its own `_reset`"):
        Bare().reset(0)
    with pytest.raises(NotImplementedError, match=r"task pair has no render mode 'rgb'; it has \[\]"):
        Pair().render()


# Several tasks on one environment.


@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_keeps_the_contract(goal: str):
    check_task(lambda: GOALS[goal](GridWorld(), goal))


@pytest.mark.parametrize("goal", GOALS)
def test_the_expert_reaches_every_goal(goal: str):
    task = GOALS[goal](GridWorld(), goal)
    for seed in range(20):
        task.reset(seed)
        assert task.result() is False
        while not task.is_done():
            action, knows = task.query_expert()
            assert knows
            task.step(action)
        assert task.result() is True
        assert task.query_expert() == (0, False)


def test_two_tasks_do_what_they_do_in_one_world():
    world = GridWorld()
    flag, coins = ReachFlag(world, "reach the flag"), CollectCoins(world, "collect all coins")
    assert flag.env is coins.env is world
    seen = flag.reset(5)
    assert seen["goal"] == 0
    assert np.array_equal(seen["grid"], world.cells())
    while not flag.is_done():
        flag.step(flag.query_expert()[0])
    assert world.walker == world.flag
    assert coins.targets() == world.coins, "the other task sees the same world, as the first one left it"
    flag.close()
    assert world.is_open, "a task does not close what it shares"


def test_a_picture_of_the_world():
    world = GridWorld(3, coins=1)
    world.walker, world.flag, world.coins = (0, 0), (1, 1), {(2, 2)}
    task = ReachFlag(world, "reach the flag")
    assert task.render("ansi") == "@  \n F \n  O"
    with pytest.raises(
        NotImplementedError, match=r"task reach the flag has no render mode 'rgb'; it has \['ansi'\]"
    ):
        task.render()


def test_the_sampler_keeps_the_contract_of_task_schedulers():
    check_scheduler(create_tasks)
    check_scheduler(partial(GoalSampler, 1))


def test_the_sampler_is_allenacts():
    sampler = GoalSampler(3)
    assert (sampler.length, sampler.last_sampled_task) == (3, None)
    assert sampler.all_observation_spaces_equal
    sampler.set_seed(4)
    goals = []
    last = None
    while (task := sampler.next_task()) is not None:
        last = task
        assert sampler.last_sampled_task is task
        assert task.env is sampler.env
        goals.append(task.task_info["goal"])
    assert (sampler.length, sampler.last_sampled_task) == (0, last)
    sampler.reset()
    assert (sampler.length, sampler.last_sampled_task) == (3, None)
    again = [task.id for _ in range(3) if (task := sampler.next_task()) is not None]
    assert again == goals, "a reset keeps the seed"
    made = sampler.env.worlds_made
    sampler.reset()
    sampler.next_task(force_advance_scene=True)
    assert sampler.env.worlds_made == made + 1
    sampler.close()
    assert not sampler.env.is_open


def test_a_sampler_plays_a_match_that_verifies(tmp_path):
    sampler = GoalSampler(6)
    result = run(sampler, Walker, clock="virtual", journal=tmp_path / "j", seed=2)
    assert {tally.task for tally in result.tasks} == set(GOALS)
    assert sum(tally.solved for tally in result.tasks) == 6
    assert not sampler.env.is_open
    ends = [event for event in read_journal(tmp_path / "j") if type(event) is TaskEnded]
    assert [end.metrics["task_info"]["goal"] for end in ends] == [end.task for end in ends]
    found = verify(tmp_path / "j", lambda _header: GoalSampler(6))
    assert found.ok, found
    other = verify(tmp_path / "j", lambda _header: GoalSampler(6, GridWorld(coins=2)))
    assert other.difference is not None
    assert other.difference.what == "observation"


def test_sensors_give_what_their_spaces_say():
    task = ReachFlag(GridWorld(4), "reach the flag")
    assert task.observation_space == Dict({"grid": Box(0, 3, (4, 4), np.int8), "goal": Discrete(2)})
    for seed in range(5):
        assert task.reset(seed) in task.observation_space


def test_actions_are_described_by_their_names_and_a_task_by_its_own_docstring():
    class Stairs(CountTo):
        """Climb the stairs."""

        action_space = Discrete(2, start=5)

        @classmethod
        def class_action_names(cls) -> tuple[str, ...]:
            return ("down", "up")

    task = Stairs()
    assert [task.describe_action(action) for action in (6, 7, None)] == ["up", "7", "NIL"]
    shown = task.describe_observation({"action_mask": np.array([0, 1])}, "player_0")
    assert shown == "allowed actions: up", "the number of the first action is 5"
    assert task.instructions == "Climb the stairs."
    assert not Pair().instructions
