"""The checks pass for all that is shipped, and find out what breaks a contract."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from flagfall.agents.registry import SAMPLES
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.catalog import make_task, task_ids
from flagfall.tasks.schedulers import POLICIES, parse_policy
from flagfall.tasks.task import Task
from flagfall.testing import check_agent, check_scheduler, check_task
from flagfall.testing.contracts import ODD_ACTIONS
from tests.fakes import CountTask, InTurnTask, ListScheduler, TogetherTask

REMEMBER = {"micro19", "micro20", "mini0"}
"""What a question is depends on how many there were: these build on what was asked before."""


@pytest.mark.parametrize("task_id", [task_id for _, task_id in task_ids()])
def test_every_task_of_the_catalog_keeps_the_contract(task_id: str):
    check_task(partial(make_task, task_id), steps=100, remembers=task_id in REMEMBER)


@pytest.mark.parametrize(
    "task_id",
    [
        *("micro1", "duel:heaps", "duel:lamps", "langroom", "vgdl:causeway#0:observation=planes"),
        *("vgdl:causeway#0", "gym:CartPole-v1", "gym:Pendulum-v1"),
    ],
)
def test_tasks_describe_what_a_journal_may_have_in_place_of_their_values(task_id: str):
    task = make_task(task_id)
    huge = {"observation": np.full(3, 10**18), "action_mask": np.full(21, np.nan)}
    others = ({"image": None, "text": None}, {"planes": 1, "avatar": [2]}, np.full((4, 9, 9), np.nan), huge)
    for value in (*ODD_ACTIONS, *others):
        assert isinstance(task.describe_action(value), str)
        assert isinstance(task.describe_observation(value), str)
    task.close()


POLICY_TEXTS = {
    "random": "random",
    "sequential": "sequential:2",
    "incremental": "incremental:2",
    "consecutive": "consecutive:2",
    "dependencies": "dependencies:micro1>micro2>micro3;unlock_threshold=2",
}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_keeps_the_contract(policy: str):
    names = ("micro1", "micro2", "micro3")
    check_scheduler(
        lambda: parse_policy(POLICY_TEXTS.get(policy, policy), [make_task(name) for name in names])
    )


PLAYED = {"langroom-solver": ["langroom"]}
"""What samples play, where it is not the usual tasks."""


@pytest.mark.parametrize(
    "sample", sorted(SAMPLES.keys() - {"llm"})
)  # that one needs an endpoint, and real time
def test_every_sample_lasts(sample: str):
    check_agent(sample, tasks=PLAYED.get(sample, ["micro1", "micro4"]))


def test_the_random_sample_lasts_in_a_room():
    check_agent("random", tasks=["langroom"])


@pytest.mark.release
def test_samples_last_in_threads_and_processes():
    check_agent("random", host="process", steps=50)
    check_agent("memorizing", host="thread", steps=50)


class Coin(Task):
    """Guess the side; a sound task with spaces."""

    id = "coin"
    nil_action: Any = 0
    action_space = Discrete(2)
    observation_space = Discrete(3)

    def _reset(self, seed: int) -> int:
        self.dice = random.Random(seed)
        return 2

    def _step(self, action: int) -> StepResult:
        side = self.dice.randrange(2)
        return StepResult(side, int(side == action))

    def reached_terminal_state(self) -> bool:
        return self.num_steps_taken() >= 5


class Remembers(Coin):
    def _reset(self, seed: int) -> int:
        self.dice = getattr(self, "dice", None) or random.Random(seed)
        return 2


class Global(Coin):
    def _step(self, action: int) -> StepResult:
        return StepResult(random.randrange(2), action)


class Elsewhere(Coin):
    def _step(self, _action: int) -> StepResult:
        return StepResult(7)


class Unsendable(Coin):
    observation_space = None  # type: ignore[assignment]

    def _step(self, _action: int) -> StepResult:
        return StepResult(object())


class Picky(Coin):
    def is_legal(self, action: Any) -> bool:
        return bool(0 <= action < 2)


class NoNil(Coin):
    nil_action = None

    def _step(self, action: int) -> StepResult:
        return super()._step(action + 0)


class Infinite(Coin):
    def _step(self, _action: int) -> StepResult:
        return StepResult(0, float("inf"))


class BadMetrics(Coin):
    def metrics(self) -> dict[str, Any]:
        return {"of": object()}


class Nameless(Coin):
    id = ""


class Unnamed(Coin):
    def describe_action(self, action: Any, _player: str | None = None) -> Any:
        return action


class Verbose(Coin):
    instructions = "x" * 4001


class Disturbed(Coin):
    def describe_observation(self, _observation: Any, _player: str | None = None) -> str:
        return str(self.dice.random())


class Beside(Coin):
    def layout_of_actions(self, _player: str) -> Any:
        return {0: [(0.0, 0.0, 0.5, 1.0)], 1: [(0.5, 0.0, 1.5, 1.0)]}


class Unknown(Coin):
    def layout_of_actions(self, _player: str) -> Any:
        return {2: [(0.0, 0.0, 0.5, 1.0)]}


def test_sound_tasks_of_all_kinds_pass():
    check_task(Coin)
    check_task(LegalCount)
    check_task(partial(LegalTogether, 3))
    check_task(partial(LegalInTurn, [0, 1, 1]))


class LegalCount(CountTask):
    def is_legal(self, action: Any) -> bool:
        return type(action) is int and 0 <= action < 100


class LegalTogether(LegalCount, TogetherTask):
    pass


class LegalInTurn(LegalCount, InTurnTask):
    pass


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (Remembers, "forgets_what_was_before: seed 1: it differs at step"),
        (Global, "repeats_an_episode: seed 0"),
        (Elsewhere, "7 is not in the observation space"),
        (Unsendable, "cannot be encoded for the agent"),
        (Picky, "judges_any_action: is_legal(None) raised TypeError"),
        (NoNil, "takes_its_nil_action: raised TypeError"),
        (Infinite, "the reward is inf"),
        (BadMetrics, "ends_in_order: metrics"),
        (Nameless, "the id is empty"),
        (Unnamed, "describe_action(0, 'player_0') is 0, not a text"),
        (Verbose, "instructions has 4001 characters, at most 4000 are shown"),
        (Disturbed, "describes_itself: seed 0, with texts and without: it differs"),
        (Beside, "1 has the area (0.5, 0.0, 1.5, 1.0), not within 0 to 1"),
        (Unknown, "has 2, which is not of the action space"),
        (object, "lacks methods of TaskRole"),
        (partial(LegalCount, fails_in="result"), "ends_in_order: raised ValueError"),
    ],
)
def test_a_broken_task_is_found_out(task: Callable[[], Any], said: str):
    with pytest.raises(AssertionError) as caught:
        check_task(task)
    assert said in str(caught.value)


class Wild(ListScheduler):
    def next_task(self) -> Any:
        return random.choice(self.tasks)


class Restarts(ListScheduler):
    def next_task(self) -> Any:
        task = super().next_task()
        if task is None:
            self._left = iter(self.tasks)
        return task


class LeavesOpen(ListScheduler):
    def close(self) -> None:
        pass


def two() -> list[CountTask]:
    first, second = CountTask(), CountTask()
    second.id = "other"
    return [first, second]


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [
        (Wild, "decides_by_seed_and_outcomes_alone: with seed 0"),
        (Restarts, "after None came a task"),
        (LeavesOpen, "was closed 0 times"),
        (partial(ListScheduler, fails_in="report"), "raised ValueError"),
    ],
)
def test_a_broken_scheduler_is_found_out(scheduler: Callable[..., Any], said: str):
    check_scheduler(lambda: ListScheduler(two()))
    with pytest.raises(AssertionError) as caught:
        check_scheduler(lambda: scheduler(two()))
    assert said in str(caught.value)


def test_broken_agents_are_found_out():
    def raises(_observation: int) -> int:
        raise ValueError("boom")

    def wrong(_observation: int) -> str:
        return "wrong"

    def chance(_observation: int) -> int:
        return 32 + random.randrange(90)

    async def double(seat: Any) -> None:
        async for _turn in seat:
            seat.reply(32)
            seat.reply(32)

    def blocks(_observation: int) -> int:
        time.sleep(0.03)
        return 32

    for agent, said in (
        (raises, "boom"),
        (wrong, "illegal actions (first: turn 0, seat 0)"),
        (chance, "repeats a match with the same seed: differs from turn"),
        (double, "replies that answer no turn"),
    ):
        with pytest.raises(AssertionError) as caught:
            check_agent(agent)
        assert said in str(caught.value)
    with pytest.raises(AssertionError) as caught:
        check_agent(blocks, host="thread", time_control="act=10ms/5s", steps=3)
    assert "is late: 3 of 3 turns (first: turn 0, seat 0)" in str(caught.value)
