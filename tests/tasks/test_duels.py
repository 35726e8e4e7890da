"""The games for two players: their rules, in matches, and as PettingZoo environments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import reduce
from itertools import pairwise, product
from operator import xor
from typing import Any

import pytest

import flagfall
from flagfall.environments.pettingzoo_env import TaskAECEnv, TaskParallelEnv
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.tasks.catalog import make_task
from flagfall.tasks.duels.heaps import LARGEST, N_HEAPS, Heaps
from flagfall.tasks.duels.lamps import SIZE, Lamps
from flagfall.testing import check_task

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its tests import its games in its own old way
    from pettingzoo.test import api_test, parallel_api_test, seed_test

STAY, UP, RIGHT, DOWN, LEFT = range(5)


def best_move(heaps: list[int]) -> int:
    """An action that wins against any play, or the lowest legal one where there is none."""
    total = reduce(xor, heaps)
    for heap, size in enumerate(heaps):
        if (size ^ total) < size:
            return LARGEST * heap + size - (size ^ total) - 1
    return LARGEST * next(heap for heap, size in enumerate(heaps) if size)


def both(one: int, other: int) -> dict[str, int]:
    return {"player_0": one, "player_1": other}


@pytest.mark.parametrize("game", ["duel:heaps", "duel:lamps"])
def test_the_contract_of_tasks_is_kept(game: str) -> None:
    check_task(lambda: make_task(game))


@pytest.mark.parametrize("game", ["duel:heaps", "duel:lamps"])
def test_matches_are_recorded_and_verified(game: str, tmp_path: Any) -> None:
    path = tmp_path / "match.jsonl"
    result = flagfall.run(game, ["random", "random"], clock="virtual", seed=3, journal=path)
    assert result.reason == "finished"
    assert verify(path, rebuild).ok


def test_each_action_takes_counters_from_a_heap() -> None:
    task = Heaps()
    for seed in range(20):
        ((mover, shown),) = task.reset(seed).items()
        mask = shown["action_mask"]
        for heap, count in product(range(N_HEAPS), range(1, LARGEST + 1)):
            assert mask[LARGEST * heap + count - 1] == (count <= shown["observation"][heap])
        result = task.step({mover: None})  # NIL is the lowest legal action
        assert task.heaps[0] == shown["observation"][0] - 1
        assert result.done or mover not in result.observation


def test_the_last_counter_wins() -> None:
    task = Heaps()
    task.reset(1)
    task.heaps, task.to_move = [0, 3, 0], 1
    result = task.step({"player_1": LARGEST + 2})
    assert (result.terminated, result.reward) == (True, {"player_1": 1.0, "player_0": -1.0})


def test_the_known_strategy_wins_from_each_won_position() -> None:
    for heaps in product(range(5), repeat=N_HEAPS):
        if heaps[0] ^ heaps[1] ^ heaps[2]:
            heap, rest = divmod(best_move(list(heaps)), LARGEST)
            after = list(heaps)
            after[heap] -= rest + 1
            assert after[0] ^ after[1] ^ after[2] == 0


def test_a_strategist_beats_chance() -> None:
    def strategist(observation: Mapping[str, Any]) -> int:
        return best_move(observation["observation"].tolist())

    rewards = [
        flagfall.run("duel:heaps", [strategist, "random"], clock="virtual", seed=seed).seats[0].stats.reward
        for seed in range(30)
    ]
    assert sum(rewards) > 20


def test_players_meet_neither_in_a_cell_nor_in_passing() -> None:
    task = Lamps()
    task.reset(0)
    task.lamps = [(8, 0), (8, 1), (8, 2)]
    task.cells = [(0, 0), (0, 2)]
    task.step(both(RIGHT, LEFT))  # both aim for (0, 1)
    assert task.cells == [(0, 0), (0, 2)]
    task.cells = [(0, 0), (0, 1)]
    task.step(both(RIGHT, LEFT))
    assert task.cells == [(0, 0), (0, 1)]
    task.step(both(STAY, LEFT))
    assert task.cells == [(0, 0), (0, 1)]
    task.step(both(RIGHT, RIGHT))
    assert task.cells == [(0, 1), (0, 2)]
    task.cells = [(2, 1), (8, 8)]
    task.step(both(RIGHT, DOWN))  # a pillar, and the edge
    assert task.cells == [(2, 1), (8, 8)]


def test_a_lamp_pays_its_finder_and_appears_elsewhere() -> None:
    task = Lamps()
    task.reset(0)
    task.cells, task.lamps = [(0, 0), (8, 8)], [(0, 1), (4, 3), (5, 5)]
    result = task.step(both(RIGHT, STAY))
    assert result.reward == {"player_0": 1.0, "player_1": 0.0}
    assert len(task.lamps) == 3
    assert (0, 1) not in task.lamps


def test_both_players_see_the_same_from_their_side() -> None:
    task = Lamps()
    shown = task.reset(4)
    assert (shown["player_0"][0] == shown["player_1"][1]).all()
    assert (shown["player_0"][2:] == shown["player_1"][2:]).all()
    assert task.render("rgb").shape == (SIZE * 24, SIZE * 24, 3)  # type: ignore[union-attr]
    assert str(task.render("ansi")).count("*") == 3


def test_pettingzoos_checkers_accept_the_games() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore",
            message="Observation",
        )
        warnings.filterwarnings("ignore", message=".*render.*")
        parallel_api_test(TaskParallelEnv(make_task("duel:lamps")), num_cycles=250)
        parallel_api_test(TaskParallelEnv(make_task("duel:heaps")), num_cycles=100)
        for game in ("duel:heaps", "duel:lamps"):
            api_test(TaskAECEnv(make_task(game)), num_cycles=250)
            seed_test(lambda game=game: TaskAECEnv(make_task(game)), num_cycles=50)


def test_a_game_in_turns_is_played_in_turns() -> None:
    env = TaskAECEnv(make_task("duel:heaps"), render_mode="ansi")
    env.reset(seed=5)
    movers = []
    for agent in env.agent_iter():
        shown, _reward, terminated, truncated, _info = env.last()
        movers.append(agent)
        env.step(None if terminated or truncated else best_move(shown["observation"].tolist()))
    assert "is to move" in env.render()
    assert all(one != other for one, other in pairwise(movers[:-2]))  # the last two end the episode
    env.close()


def test_both_players_of_lamps_read_the_same_grid_with_letters_of_their_own_colours():
    game = Lamps()
    shown = game.reset(0)
    one, other = (game.describe_observation(seen, player).splitlines() for player, seen in shown.items())
    assert one[:-1] == other[:-1]
    assert "".join(one[:-1]).replace(" ", "") == str(game.render("ansi")).replace("\n", "")
    assert one[-1] == "(B: you, R: the opponent, *: lamp, #: pillar)"
    assert other[-1] == "(R: you, B: the opponent, *: lamp, #: pillar)"
    assert [*map(game.describe_player, game.players)] == ["blue", "red"]


def test_heaps_are_read_as_heaps_and_moves_as_sentences():
    game = Heaps()
    game.reset(3)
    game.heaps = [2, 0, 1]
    ((player, seen),) = game._shown().items()
    read = game.describe_observation(seen, player).splitlines()
    assert read[:3] == ["0  oo", "1  ", "2  o"]
    assert read[3] == "allowed actions: take 1 of heap 0; take 2 of heap 0; take 1 of heap 2"
