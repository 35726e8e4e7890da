"""PettingZoo environments as tasks: in turn and at once, with masks, deaths and seats that are late."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pytest
import trio
from gymnasium import spaces

from flagfall import read_journal
from flagfall.errors import HostFault, UsageError
from flagfall.events import TaskEnded, TurnPlayed
from flagfall.playing import run
from flagfall.recording.verify import verify
from flagfall.tasks.adapters.environment_task import SeedIgnoredWarning
from flagfall.tasks.adapters.pettingzoo import (
    AECTask,
    ParallelTask,
    make_pettingzoo_task,
    pettingzoo_task,
)
from flagfall.tasks.building import rebuild
from flagfall.tasks.catalog import make_task
from flagfall.tasks.schedulers import SequentialTaskScheduler
from flagfall.testing import check_task
from flagfall.timing import MS
from tests.tasks.adapters.own_environments import Countdown, Hunt

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its tests import its games in its own old way
    from pettingzoo.test import api_test, parallel_api_test

OWN = "pettingzoo:tests.tasks.adapters.own_environments"
CLASSIC = [
    "pettingzoo:classic/connect_four_v3",
    "pettingzoo:classic/tictactoe_v3",
    "pettingzoo:classic/rps_v2",
    "pettingzoo:classic/rps_v2?api=aec&num_actions=5&max_cycles=4",
]


@pytest.mark.parametrize("text", [*CLASSIC, OWN, f"{OWN}?api=aec&action_mask=true"])
def test_environments_keep_the_contract(text: str):
    check_task(partial(make_task, text), steps=40)


@pytest.mark.filterwarnings("ignore:Observation is a single number:UserWarning")  # Countdown's is
@pytest.mark.filterwarnings("ignore:Environment has not defined a render:UserWarning")  # nobody looks
@pytest.mark.parametrize("players", [2, 3])
def test_the_tests_own_environments_are_pettingzoos(players: int):
    api_test(Countdown(players=players), num_cycles=20)
    parallel_api_test(Hunt(players=players), num_cycles=20)


# In turn.


def test_only_the_player_in_turn_is_asked():
    task = make_pettingzoo_task("pettingzoo:classic/connect_four_v3")
    assert task.players == ("player_0", "player_1")
    shown = task.reset(0)
    for move in range(6):
        assert list(shown) == [f"player_{move % 2}"]
        shown = task.step({f"player_{move % 2}": move % 2}).observation
    last = task.step({"player_0": 0})
    assert last.terminated
    assert last.reward == {"player_0": 1, "player_1": -1}
    assert list(last.observation) == ["player_0", "player_1"], "all see the end"
    assert task.metrics()["rewards"] == {"player_0": 1, "player_1": -1}


def test_a_mask_is_law_and_nil_is_the_lowest_that_it_allows():
    task = make_pettingzoo_task("pettingzoo:classic/connect_four_v3")
    task.reset(0)
    assert task.nil_action is None
    for move in range(6):
        shown = task.step({f"player_{move % 2}": None}).observation
    assert shown["player_0"]["action_mask"].tolist() == [0, 1, 1, 1, 1, 1, 1], "six times the first column"
    assert [task.is_legal_for("player_0", action) for action in (0, 1, 6, 7, "1", None)] == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]
    shown = task.step({"player_0": None}).observation
    assert shown["player_1"]["observation"][5, 1].tolist() == [0, 1]


def test_a_reward_waits_for_the_turn_of_its_player_and_the_dead_get_theirs_at_the_end():
    task = AECTask(Countdown(heap=2))
    shown, told = task.reset(0), []
    for action in (2, 1, 1):
        (player,) = shown
        result = task.step({player: action})
        shown = result.observation
        told.append(({player: int(heap[0]) for player, heap in shown.items()}, dict(result.reward)))
    assert told == [
        ({"player_2": 2}, {"player_2": 1}),
        ({"player_0": 1}, {"player_0": 1}),
        ({"player_0": 2, "player_1": 2, "player_2": 2}, {"player_0": 1, "player_1": -1, "player_2": -1}),
    ]
    assert result.terminated
    assert task.metrics()["rewards"] == {"player_0": 2, "player_1": -1, "player_2": 0}
    assert task.cumulative_reward == pytest.approx(1 / 3)


def test_a_mask_of_the_info_is_shown_where_that_is_asked_for_and_used_for_nil_in_any_case():
    task = AECTask(Countdown(heap=3, players=2))
    shown = task.reset(0)
    assert task.is_legal_for("player_0", 2)
    shown = task.step({"player_0": 2}).observation
    assert shown == {"player_1": [1]}
    assert task.is_legal_for("player_1", 2), "nobody told the player"
    task = AECTask(Countdown(heap=3, players=2), action_mask=True)
    task.reset(0)
    shown = task.step({"player_0": 2}).observation
    assert shown["player_1"]["action_mask"].tolist() == [1, 0]
    assert shown["player_1"] in task.observation_space_of("player_1")
    assert not task.is_legal_for("player_1", 2)
    assert task.step({"player_1": None}).terminated


# At once.


def test_all_that_live_are_asked_and_the_dead_are_told_at_the_end():
    task = ParallelTask(Hunt(length=4))
    shown = task.reset(3)
    assert list(shown) == list(task.players)
    first = task.step(dict(zip(task.players, (1, 2, 3), strict=True)))
    assert list(first.observation) == ["hunter_1", "hunter_2"]
    assert first.reward == {"hunter_1": 12, "hunter_2": 13}
    second = task.step({"hunter_1": 0, "hunter_2": 0})
    assert list(second.observation) == ["hunter_2"]
    third = task.step({"hunter_2": 1})
    assert not third.done
    last = task.step({"hunter_2": 1})
    assert last.terminated, "two died, one was cut"
    assert {player: seen.tolist() for player, seen in last.observation.items()} == {
        "hunter_0": [1, 9],
        "hunter_1": [2, 9],
        "hunter_2": [4, 11],
    }
    assert last.reward == {"hunter_0": 11, "hunter_1": 20, "hunter_2": 41}


def test_an_end_of_cuts_alone_is_a_truncation():
    task = ParallelTask(Hunt(length=1, players=1))
    task.reset(0)
    last = task.step(1)
    assert (last.terminated, last.truncated) == (False, True)
    assert not task.reached_terminal_state()


def test_a_single_player_has_plain_values():
    task = ParallelTask(Hunt(length=2, players=1))
    assert task.reset(4).tolist() == [0, 4]
    result = task.step(1)
    assert (result.observation.tolist(), result.reward) == ([1, 5], 11)
    check_task(lambda: ParallelTask(Hunt(length=2, players=1)))


def test_players_have_spaces_of_their_own():
    task = ParallelTask(Hunt())
    assert [task.action_space_of(player).n for player in task.players] == [2, 3, 4]  # type: ignore[attr-defined]
    assert [task.is_legal_for(player, 2) for player in task.players] == [False, True, True]
    result = run(task, [lambda _seen: 2] * 3, clock="virtual")
    assert [seat.stats.illegal for seat in result.seats] == [1, 0, 0]


def test_the_spaces_of_the_task_are_the_first_players_and_any_may_be_asked_about():
    task = ParallelTask(Hunt())
    assert task.action_space == task.action_space_of("hunter_0") == spaces.Discrete(2)
    assert task.observation_space == task.observation_space_of("hunter_2")
    assert [task.is_legal(action) for action in (1, 3, 4)] == [True, True, False]


def test_the_nil_action_may_be_named():
    task = ParallelTask(Hunt(players=2), nil=1)
    assert task.nil_action == 1
    task.reset(0)
    assert task.step({"hunter_0": 1, "hunter_1": 1}).reward == {"hunter_1": 11}
    with pytest.raises(UsageError, match=r"nil=2 is not an action of hunter_0, Discrete\(2\)"):
        ParallelTask(Hunt(), nil=2)


def test_a_nil_action_that_the_mask_forbids_loses_no_game():
    task = make_pettingzoo_task("pettingzoo:classic/connect_four_v3?nil=3")
    shown = task.reset(0)
    for _ in range(7):  # the column takes six pieces
        (player,) = shown
        shown, _, over, *_ = task.step({player: 3})
        assert not over
    (seen,) = shown.values()
    assert seen["observation"][5, 0].any()  # the seventh lies in the first column
    task.close()


def test_without_a_lowest_action_one_must_be_named():
    class Odd(spaces.Space[int]):
        def sample(self, *_args: Any, **_kwargs: Any) -> int:
            return 7

        def contains(self, value: Any) -> bool:
            return bool(value == 7)

    env = Hunt(players=2)
    sevens: Any = Odd()
    env.moves = dict.fromkeys(env.possible_agents, sevens)
    with pytest.raises(UsageError, match="pettingzoo:hunt_v0: Odd has no lowest value; set nil="):
        pettingzoo_task(env)
    assert pettingzoo_task(env, nil=7).nil_action == 7


# Matches.


def random_mover(seen: Any) -> int:
    return int(np.flatnonzero(seen["action_mask"])[-1])


@pytest.mark.parametrize("text", [*CLASSIC, OWN, f"{OWN}?api=aec&players=2&heap=9", f"{OWN}?players=1"])
def test_a_match_by_its_text_verifies(tmp_path: Any, text: str):
    task = make_task(text)
    agents = [lambda seen: random_mover(seen) if isinstance(seen, dict) else 1] * len(task.players)
    result = run(text, agents, clock="virtual", journal=tmp_path / "j", seed=4)
    assert result.reason == "finished"
    assert {seat.stats.illegal for seat in result.seats} == {0}
    found = verify(tmp_path / "j", partial(rebuild, trust=True))
    assert found.ok, found
    assert found.turns == result.turns


def slow(seconds: float) -> Any:
    async def act(seen: Any) -> int:
        await trio.sleep(seconds)
        return random_mover(seen)

    return act


def turns_of(path: Any, seat: int) -> list[TurnPlayed]:
    return [event for event in read_journal(path) if type(event) is TurnPlayed and event.seat == seat]


def test_a_slow_seat_plays_the_lowest_legal_action_and_loses_no_seat(tmp_path: Any):
    result = run(
        CLASSIC[0],
        [slow(0.01), slow(0.05)],
        clock="virtual",
        time_control="act=40ms/1s",
        journal=tmp_path / "j",
    )
    first, second = result.seats
    assert (first.disqualified, first.stats.late) == (None, 0)
    assert (second.disqualified, second.stats.late) == (None, second.stats.turns)
    late = turns_of(tmp_path / "j", 1)
    assert {turn.verdict for turn in late} == {"late"}
    assert {turn.action for turn in late} == {None}
    columns = [turn.observation["observation"][:, 0, 1].sum() for turn in turns_of(tmp_path / "j", 0)]
    assert columns == list(range(len(columns))), "the lowest column, move after move"
    assert verify(tmp_path / "j", rebuild).ok


@pytest.mark.parametrize("control", ["act=40ms late=out", "act=40ms/45ms"])
def test_where_the_time_control_says_so_a_slow_seat_is_out(tmp_path: Any, control: str):
    result = run(
        CLASSIC[0], [slow(0.01), slow(0.05)], clock="virtual", time_control=control, journal=tmp_path / "j"
    )
    assert [seat.disqualified for seat in result.seats] == [None, "late"]
    verdicts = [turn.verdict for turn in turns_of(tmp_path / "j", 1)]
    assert verdicts[-1] == "absent", "the game goes on against the lowest legal actions"
    assert result.reason == "finished"
    assert verify(tmp_path / "j", rebuild).ok


def test_waiting_for_the_other_costs_nothing(tmp_path: Any):
    run(
        CLASSIC[0], [slow(0.03), slow(0.02)], clock="virtual", time_control="act=40ms", journal=tmp_path / "j"
    )
    assert {turn.spent_ns for turn in turns_of(tmp_path / "j", 0)} == {30 * MS}
    assert {turn.spent_ns for turn in turns_of(tmp_path / "j", 1)} == {20 * MS}


def test_a_move_that_the_mask_forbids_is_illegal(tmp_path: Any):
    result = run(CLASSIC[0], [lambda _seen: 0, random_mover], clock="virtual", journal=tmp_path / "j")
    stubborn = turns_of(tmp_path / "j", 0)
    full = [turn for turn in stubborn if not turn.observation["action_mask"][0]]
    assert {turn.verdict for turn in full} <= {"illegal"}
    assert result.seats[0].stats.illegal == len(full)


def test_the_result_tells_all_how_it_ended(tmp_path: Any):
    told: dict[int, Any] = {}

    def player(seat: int) -> Any:
        class Player:
            def act(self, heap: Any) -> int:
                return min(int(heap[0]), 2)

            def result(self, heap: Any, reward: float) -> None:
                told[seat] = (heap.tolist(), reward)

        return Player

    agents = [player(seat) for seat in range(3)]
    result = run(AECTask(Countdown(heap=2)), agents, clock="virtual", journal=tmp_path / "j")
    (end,) = [event for event in read_journal(tmp_path / "j") if type(event) is TaskEnded]
    assert told.keys() == {0, 1, 2}
    assert [seat.stats.reward for seat in result.seats] == list(end.metrics["rewards"].values())
    assert min(reward for _, reward in told.values()) == -1, "who lost is told so"


def test_the_dead_who_do_not_leave_hang_nobody():
    class Undead(Countdown):
        def _was_dead_step(self, action: Any) -> None:
            del action

    with pytest.raises(HostFault, match="pettingzoo:countdown_v0: agents that have died are not removed"):
        run(AECTask(Undead(heap=1, players=2)), [lambda _heap: 1] * 2, clock="virtual")


# Seeds, and what cannot be.


@pytest.mark.filterwarnings("always::flagfall.tasks.adapters.environment_task.SeedIgnoredWarning")
def test_an_environment_that_ignores_its_seed_is_reported(tmp_path: Any):
    class Unseeded(Hunt):
        made = 0

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            del seed
            Unseeded.made += 1
            return super().reset(Unseeded.made, options)

    with pytest.warns(SeedIgnoredWarning, match="^pettingzoo:hunt_v0: the environment ignores its seed"):
        run(ParallelTask(Unseeded()), [lambda _seen: 0] * 3, clock="virtual", journal=tmp_path / "j")
    (end,) = [event for event in read_journal(tmp_path / "j") if type(event) is TaskEnded]
    assert end.metrics["ignores_seed"] is True
    with pytest.warns(SeedIgnoredWarning):
        found = verify(
            tmp_path / "j", lambda _header: SequentialTaskScheduler([ParallelTask(Unseeded())], rounds=1)
        )
    assert "the environment ignores its seed" in str(found.not_repeatable)


BAD = {
    "classic/conect_four_v3": "unknown PettingZoo environment 'classic/conect_four_v3'; nearest: classic/c",
    "classic/connect_four_v2": "unknown PettingZoo environment 'classic/connect_four_v2'; nearest: ",
    "classic/connect_four_v3?api=parallel": "it has no api=parallel; it has aec",
    "classic/connect_four_v3?nil=7": r"nil=7 is not an action of player_0, Discrete\(7\)",
    "classic/connect_four_v3?colour=red": "cannot be made: TypeError: .*unexpected keyword argument 'colour'",
    "classic/connect_four_v3?colour": "expected `name=value` after the question mark",
    "classic/connect_four_v3?action_mask=1": "action_mask=1: write true or false",
    "no.such.module": "cannot be imported: ModuleNotFoundError: No module named 'no'",
    "flagfall.errors": "module flagfall.errors has neither a function `env` nor `parallel_env`",
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_made_says_why_in_one_line(name: str):
    with pytest.raises(UsageError, match=BAD[name]) as refused:
        make_pettingzoo_task(f"pettingzoo:{name}")
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(f"pettingzoo:{name}")


def test_what_a_game_needs_is_named(monkeypatch: pytest.MonkeyPatch):
    pettingzoo.register("aec", "test/needy_v0", entry_point="no_such_engine:env")
    try:
        with pytest.raises(
            UsageError, match=r"No module named 'no_such_engine'; pip install 'pettingzoo\[test\]'"
        ):
            make_pettingzoo_task("pettingzoo:test/needy_v0")
    finally:
        del pettingzoo.aec_registry["test/needy-v0"]
    monkeypatch.setitem(__import__("sys").modules, "pettingzoo", None)
    with pytest.raises(UsageError, match=r"needs PettingZoo: pip install 'flagfall\[pettingzoo\]'"):
        make_pettingzoo_task("pettingzoo:classic/rps_v2")


def test_who_may_play_must_be_known():
    env = Hunt()
    del env.possible_agents
    with pytest.raises(UsageError, match="pettingzoo:hunt_v0: the environment must have possible_agents"):
        pettingzoo_task(env)


def test_observations_that_cannot_be_recorded_are_refused_at_once():
    class Unrecordable(Hunt):
        def observation_space(self, agent: str) -> Any:
            del agent
            return spaces.Box(0, 1, (3000, 3000))

    with pytest.raises(UsageError, match=r"observations of Box.* cannot be recorded: .*too large"):
        pettingzoo_task(Unrecordable())


def test_somebody_must_act_when_an_episode_begins():
    class Nobody(Hunt):
        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            shown = super().reset(seed, options)
            self.agents = []
            return shown

    with pytest.raises(HostFault, match="ValueError: no agent is to act at the start of the episode"):
        run(ParallelTask(Nobody()), [lambda _seen: 0] * 3, clock="virtual")
