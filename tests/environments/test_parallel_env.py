"""Tasks for several players as PettingZoo environments."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from pettingzoo.utils.conversions import parallel_to_aec

from flagfall.environments.pettingzoo_env import TaskParallelEnv
from flagfall.errors import UsageError
from flagfall.tasks import StepResult, Task
from flagfall.tasks.adapters.pettingzoo import ParallelTask, make_pettingzoo_task
from flagfall.tasks.catalog import make_task
from flagfall.testing import check_task

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its tests import its games in its own old way
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test


class Auction(Task):
    """Two players bid; who bids more gets the difference less. In odd rounds only the second may bid."""

    id = "auction"
    players = ("bidder_0", "bidder_1")
    max_steps = 6
    nil_action = 0
    action_space = Discrete(10)
    observation_space = Box(0, 100, (2,), np.float32)
    render_modes = ("ansi",)

    def _reset(self, seed: int) -> Any:
        self.random = Random(seed)
        self.bids: list[dict[str, int]] = []
        return self._shown()

    def _shown(self) -> Any:
        asked = self.players if len(self.bids) % 2 == 0 else self.players[1:]
        return {
            player: np.array([len(self.bids), self.random.randrange(100)], np.float32) for player in asked
        }

    def _step(self, action: Any) -> StepResult:
        self.bids.append(action)
        return StepResult(self._shown(), {player: float(bid) for player, bid in action.items()})

    def reached_terminal_state(self) -> bool:
        return False

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> Any:
        return f"{len(self.bids)} bids" if mode == "ansi" else super().render(mode, *args, **kwargs)


def test_pettingzoos_checker_has_nothing_to_say():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(TaskParallelEnv(Auction()), num_cycles=50)
        parallel_seed_test(lambda: TaskParallelEnv(Auction()))


@pytest.mark.parametrize(
    "text",
    ["pettingzoo:classic/connect_four_v3", "pettingzoo:classic/rps_v2", "pettingzoo:classic/tictactoe_v3"],
)
def test_what_came_in_goes_out(text: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(TaskParallelEnv(make_task(text)), num_cycles=100)


def test_it_converts_to_the_other_interface():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The base environment `auction` does not have a `render_mode`")
        api_test(parallel_to_aec(TaskParallelEnv(Auction(), "ansi")), num_cycles=30)


def test_and_what_went_out_comes_in():
    check_task(lambda: ParallelTask(TaskParallelEnv(Auction()), "auction"))


def test_who_is_not_asked_sees_the_same_again_and_is_not_heard():
    auction = Auction()
    env = TaskParallelEnv(auction)
    first, infos = env.reset(seed=3)
    assert infos == {"bidder_0": {"asked": True}, "bidder_1": {"asked": True}}
    second, rewards, terminated, truncated, infos = env.step({"bidder_0": 4, "bidder_1": 5})
    assert rewards == {"bidder_0": 4, "bidder_1": 5}
    assert infos == {"bidder_0": {"asked": False}, "bidder_1": {"asked": True}}
    assert second["bidder_0"].tolist() == first["bidder_0"].tolist()
    assert second["bidder_1"][0] == 1
    env.step({"bidder_0": 9, "bidder_1": 6})
    assert auction.bids == [{"bidder_0": 4, "bidder_1": 5}, {"bidder_1": 6}]
    for _ in range(4):
        assert env.agents == ["bidder_0", "bidder_1"]
        _, _, terminated, truncated, infos = env.step({"bidder_0": 0, "bidder_1": 0})
    assert env.agents == []
    assert terminated == {"bidder_0": False, "bidder_1": False}
    assert truncated == {"bidder_0": True, "bidder_1": True}
    assert infos["bidder_0"]["metrics"]["ep_length"] == 6
    assert infos["bidder_0"]["result"] is None


def test_in_a_game_of_turns_the_other_sees_zeros_at_first():
    env = TaskParallelEnv(make_pettingzoo_task("pettingzoo:classic/connect_four_v3"))
    shown, infos = env.reset(seed=0)
    assert [infos[player]["asked"] for player in env.agents] == [True, False]
    assert shown["player_1"] in env.observation_space("player_1")
    shown, _, _, _, infos = env.step({"player_0": 3})
    assert [infos[player]["asked"] for player in env.agents] == [False, True]
    for _ in range(5):
        env.step({"player_0": 3, "player_1": 3})
    _, _, _, _, infos = env.step({"player_0": 3, "player_1": 3})
    assert infos["player_0"]["illegal"], "the column is full"
    assert env.task.env.unwrapped.board[0] == 0
    assert env.task.env.unwrapped.board[35] == 1, "the lowest was played"


def test_seeds():
    env = TaskParallelEnv(Auction())
    first = [env.reset(seed=2)[0]["bidder_0"][1], *(env.reset()[0]["bidder_0"][1] for _ in range(4))]
    again = [env.reset(seed=2)[0]["bidder_0"][1], *(env.reset()[0]["bidder_0"][1] for _ in range(4))]
    assert first == again
    assert len(set(first)) > 2


def test_pictures():
    env = TaskParallelEnv(Auction(), "ansi")
    env.reset(seed=0)
    env.step({"bidder_0": 0, "bidder_1": 0})
    assert env.render() == "1 bids"
    assert TaskParallelEnv(Auction()).render() is None
    with pytest.raises(UsageError, match="auction has no render_mode 'rgb_array'; it has ansi"):
        TaskParallelEnv(Auction(), "rgb_array")


def test_what_cannot_be_says_so():
    with pytest.raises(
        UsageError, match=r"micro1 is for one player: use flagfall\.environments\.gymnasium_env\.TaskEnv"
    ):
        TaskParallelEnv(make_task("micro1"))
    env = TaskParallelEnv(Auction())
    env.reset(seed=0)
    with pytest.raises(UsageError, match="auction: bidder_1 was asked, and its action is missing"):
        env.step({"bidder_0": 1})
    with pytest.raises(
        UsageError, match=r"11 is not an action of bidder_1 in auction: it takes Discrete\(10\)"
    ):
        env.step({"bidder_0": 1, "bidder_1": 11})
