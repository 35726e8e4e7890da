"""Tasks as Gymnasium environments: one player, a byte a step, and back again."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

import flagfall.environments
from examples.grid_goals import GridWorld, ReachFlag
from flagfall import read_journal
from flagfall.environments.gymnasium_env import SHOWN_STEPS, CommAIEnv, Dialogue, TaskEnv, own_copy
from flagfall.errors import UsageError
from flagfall.events import TurnPlayed
from flagfall.playing import run
from flagfall.tasks import StepResult, Task
from flagfall.tasks.adapters.gymnasium import GymnasiumTask
from flagfall.tasks.building import CurriculumTask
from flagfall.tasks.catalog import make_task
from flagfall.tasks.commai.byte_task import ByteTask, Script
from flagfall.tasks.configs import config_of
from flagfall.tasks.schedulers import SequentialTaskScheduler, parse_policy
from flagfall.testing import check_task

COMMAI = "flagfall/CommAI-v0"


def make(**options: Any) -> Any:
    return gymnasium.make(COMMAI, **options)


# A byte in, a byte out.


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"task": "micro5.18"},
        {"task": "mini0"},
        {"config": "challenge"},
        {"config": config_of(["micro1"], "random", {"bit_mode": True}, name="bits")},
        {"task": "micro2", "render_mode": "ansi"},
    ],
    ids=str,
)
def test_gymnasiums_checker_has_nothing_to_say(options: dict[str, Any]):
    assert flagfall.environments.register_envs is not None
    env = make(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_spaces_are_bytes_or_bits():
    assert make().action_space == make().observation_space == Discrete(256)
    bits = config_of(["micro1"], "random", {"bit_mode": True}, name="bits")
    assert make(config=bits).action_space == Discrete(2)


@pytest.mark.parametrize("task", ["micro1", "micro3", "mini0"])
@pytest.mark.parametrize("seed", [0, 7])
def test_an_episode_is_what_a_match_with_its_seed_is(tmp_path: Any, task: str, seed: int):
    journal = tmp_path / "j"
    run(task, "random", clock="virtual", scheduler="sequential:1", seed=seed, steps=3000, journal=journal)
    turns = [event for event in read_journal(tmp_path / "j") if type(event) is TurnPlayed]
    env = make(task=task)
    observation, info = env.reset(seed=seed)
    assert info == {}
    reward, over = 0.0, False
    for turn in turns:
        assert (observation, reward) == (turn.observation, turn.reward)
        assert not over
        observation, reward, over, truncated, info = env.step(np.int64(turn.action))
        assert not truncated
    assert over == (len(turns) < 3000)


def test_a_curriculum_is_a_stream_of_tasks(tmp_path: Any):
    config = config_of(["micro1", "micro2", "micro3"], "incremental:1", {}, name="three")
    run(config, "random", clock="virtual", seed=4, journal=tmp_path / "j", steps=5000)
    turns = [event for event in read_journal(tmp_path / "j") if type(event) is TurnPlayed]
    env = make(config=config)
    observation, _ = env.reset(seed=4)
    reward = 0.0
    for turn in turns:
        assert (observation, reward) == (turn.observation, turn.reward)
        observation, reward, over, _, _ = env.step(turn.action)
        assert not over


def test_the_limit_of_an_endless_curriculum_is_gymnasiums():
    env = RecordEpisodeStatistics(make(config="challenge", max_episode_steps=50))
    env.reset(seed=1)
    total = 0.0
    for step in range(50):
        _, reward, terminated, truncated, info = env.step(32)
        total += float(reward)
        assert not terminated
        assert truncated == (step == 49)
    assert (info["episode"]["r"], info["episode"]["l"]) == (total, 50)


class Greets(ByteTask):
    """Says two bytes, pays for an echo, and is done."""

    id = "greets"

    def script(self, _rng: Random) -> Script:
        heard = yield ord("h")
        self.pay(1 if heard == ord("h") else -1)
        heard = yield 7
        self.pay(1 if heard == ord("i") else -1)
        return heard == ord("i")


def greeting() -> CurriculumTask:
    return Dialogue("greets", lambda: parse_policy("sequential:1", [Greets()]))


def test_the_end_of_an_episode_tells_how_it_went():
    env = TaskEnv(greeting())
    env.reset(seed=0)
    assert env.step(ord("h")) == (7, 1.0, False, False, {})
    observation, reward, terminated, truncated, info = env.step(ord("i"))
    assert (observation, reward, terminated, truncated) == (7, 1.0, True, False)
    assert info == {
        "result": True,
        "is_success": True,
        "metrics": {"ep_length": 2, "reward": 2, "played": 1, "solved": 1},
    }


def test_the_dialogue_is_shown():
    env = TaskEnv(greeting(), "ansi")
    env.reset(seed=0)
    assert env.render() == "teacher h\nlearner\nreward"
    env.step(ord("h"))
    assert env.render() == "teacher h.\nlearner h\nreward  +"
    env.step(ord("x"))
    assert env.render() == "teacher h.\nlearner hx\nreward  +-"
    env.reset()
    assert env.render() == "teacher h\nlearner\nreward"
    with pytest.raises(NotImplementedError, match="task greets has no render mode 'rgb'"):
        greeting().render("rgb")


def test_no_more_is_shown_than_fits():
    env = make(config="challenge", render_mode="ansi")
    env.reset(seed=0)
    for step in range(200):
        env.step(65 + step % 26)
    teacher, learner, reward = env.render().split("\n")
    assert len(teacher) == len("teacher ") + SHOWN_STEPS + 1
    assert learner == "learner " + "".join(chr(65 + step % 26) for step in range(120, 200))
    assert len(reward) <= len(learner)


def test_bits_are_shown_as_digits():
    env = make(config=config_of(["micro1"], "random", {"bit_mode": True}, name="bits"), render_mode="ansi")
    env.reset(seed=0)
    env.step(1)
    assert env.render().split("\n")[1] == "learner 1"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "micro1", "config": "challenge"}, "give a task or a config, not both"),
        ({"task": "mikro1"}, "unknown task 'mikro1'; nearest: micro1"),
        ({"task": "langroom"}, "langroom is not a byte task; use flagfall.environments.gymnasium_env"),
        ({"config": "chalenge"}, "unknown configuration 'chalenge'; nearest: challenge"),
    ],
)
def test_what_cannot_be_says_so(options: dict[str, Any], words: str):
    with pytest.raises(UsageError, match=words):
        CommAIEnv(**options)


# Streams of other tasks.


def test_a_stream_is_a_task():
    check_task(greeting)
    check_task(
        lambda: CurriculumTask("two", lambda: parse_policy("sequential:2", [Greets(), make_task("micro1")]))
    )


def test_rewards_of_episodes_come_with_what_follows():
    def build() -> Any:
        return parse_policy("sequential:2", [GymnasiumTask(gymnasium.make("Blackjack-v1"), "blackjack")])

    stream = CurriculumTask("blackjacks", build)
    for seed in range(20):
        stream.reset(seed)
        paid: list[float] = []
        while not stream.is_done():
            paid.append(stream.step(0).reward)
        assert len(paid) == 2
        assert paid == [outcome.reward for outcome in stream.outcomes]
        assert stream.result() is None


def test_a_stream_takes_tasks_for_one_player_with_the_same_spaces():
    with pytest.raises(UsageError, match="two: pair is for 2 players, expected one"):
        CurriculumTask("two", lambda: parse_policy("sequential", [Pair()]))
    mixed = CurriculumTask("mixed", lambda: parse_policy("sequential", [Greets(), make_task("langroom")]))
    mixed.reset(0)
    mixed.step(1)
    with pytest.raises(UsageError, match="mixed: the spaces of langroom are not those of the first task"):
        mixed.step(1)


class Waits(Greets):
    """Runs in an actor of its own."""

    id = "waits"

    async def run(self, referee: Any) -> None:
        await referee.ask(32)


class Empty(SequentialTaskScheduler):
    """Has tasks, and gives none."""

    def next_task(self, force_advance_scene: bool = False) -> Task | None:
        del force_advance_scene
        return None


def test_a_stream_of_nothing_and_of_what_must_wait_is_refused():
    with pytest.raises(UsageError, match="empty: its scheduler has no task"):
        CurriculumTask("empty", lambda: Empty([Greets()]))
    stream = CurriculumTask("waiting", lambda: parse_policy("sequential", [Waits()]))
    with pytest.raises(UsageError, match="waiting: waits waits for something outside of its steps"):
        stream.reset(0)


# Any task.


class Pair(Task):
    id = "pair"
    players = ("a", "b")
    action_space = observation_space = Discrete(2)

    def _reset(self, _seed: int) -> Any:
        return {"a": 0, "b": 0}

    def _step(self, _action: Any) -> StepResult:
        return StepResult({"a": 0, "b": 0})

    def reached_terminal_state(self) -> bool:
        return False


@pytest.mark.parametrize("text", ["langroom", "gym:FrozenLake-v1", "gym:Taxi-v4?action_mask=true"])
def test_any_task_for_one_player_is_an_environment(text: str):
    env = TaskEnv(make_task(text))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


def test_a_grid_world_is_shown_and_played():
    env = TaskEnv(ReachFlag(GridWorld(), "reach the flag"), "ansi")
    assert env.metadata["render_modes"] == ["ansi"]
    observation, _ = env.reset(seed=3)
    assert observation in env.observation_space
    assert "@" in env.render()
    over = False
    while not over:
        action, knows = env.task.query_expert()
        assert knows
        _, _, over, _, info = env.step(action)
    assert info["is_success"] is True
    assert info["metrics"]["task_info"] == {"goal": "reach the flag"}


def test_a_seed_makes_all_episodes_after_it():
    def episodes() -> list[bytes]:
        env = TaskEnv(ReachFlag(GridWorld(), "reach the flag"))
        first, _ = env.reset(seed=5)
        return [bytes(first["grid"]), *(bytes(env.reset()[0]["grid"]) for _ in range(3))]

    shown = episodes()
    assert shown == episodes()
    assert len(set(shown)) == 4


def test_what_is_not_legal_now_is_played_as_nil():
    class Picky(ReachFlag):
        def is_legal(self, action: Any) -> bool:
            return bool(action == 1)

    env = TaskEnv(Picky(GridWorld(), "reach the flag"))
    env.reset(seed=3)
    before = env.task.env.walker
    assert env.step(2)[4] == {"illegal": True}
    assert env.task.env.walker == before, "it stayed"


def test_spaces_are_the_environments_own():
    one, other = make(), make()
    one.action_space.seed(1)
    other.action_space.seed(1)
    assert [one.action_space.sample() for _ in range(9)] == [other.action_space.sample() for _ in range(9)]


def test_observations_are_the_callers_own():
    env = TaskEnv(make_task("gym:CartPole-v1"))
    observation, _ = env.reset(seed=3)
    observation[:] = 0
    assert env.step(0)[0].any()


@pytest.mark.parametrize("action", [9, "up", None, 1.0])
def test_what_is_no_action_is_refused(action: Any):
    env = TaskEnv(ReachFlag(GridWorld(), "reach the flag"))
    env.reset(seed=0)
    with pytest.raises(UsageError, match="is not an action of reach the flag: it takes Discrete"):
        env.step(action)


def test_what_cannot_be_an_environment_says_so():
    with pytest.raises(UsageError, match=r"pair is for 2 players, .* flagfall.environments.pettingzoo_env"):
        TaskEnv(Pair())
    with pytest.raises(UsageError, match="reach the flag has no render_mode 'rgb_array'; it has ansi"):
        TaskEnv(ReachFlag(GridWorld(), "reach the flag"), "rgb_array")
    with pytest.raises(UsageError, match="langroom has no render_mode"):
        TaskEnv(make_task("langroom"), "smell")


def test_copies_of_observations_share_nothing_that_can_be_changed() -> None:
    class Mapped(dict[str, Any]):
        """A class of its own, which a copy keeps."""

    fixed = np.arange(6, dtype=np.float32).reshape(2, 3).T
    fixed.flags.writeable = False
    value: dict[str, Any] = {
        "fixed": fixed,
        "objects": np.array([[1], None], object),
        "own": Mapped(list=[1]),
        "text": "a",
    }
    copy = own_copy(value)
    assert list(copy) == list(value)
    assert np.array_equal(copy["fixed"], fixed)
    assert copy["fixed"].strides == fixed.strides
    assert copy["fixed"].flags.writeable
    assert type(copy["own"]) is Mapped
    copy["fixed"][:] = 9
    copy["objects"][0].append(2)
    copy["own"]["list"].append(2)
    assert fixed.max() == 5
    assert value["objects"][0] == [1]
    assert value["own"] == {"list": [1]}
