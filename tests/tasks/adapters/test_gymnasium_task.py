"""Gymnasium environments as tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from flagfall import read_journal
from flagfall.errors import HostFault, UsageError
from flagfall.events import TaskEnded, TurnPlayed
from flagfall.kernel.channels.arrays import json_encoder
from flagfall.playing import run
from flagfall.recording.verify import verify
from flagfall.tasks.adapters.environment_task import SeedIgnoredWarning
from flagfall.tasks.adapters.gymnasium import GymnasiumTask, make_gymnasium_task
from flagfall.tasks.building import rebuild
from flagfall.tasks.catalog import make_task
from flagfall.tasks.schedulers import SequentialTaskScheduler
from flagfall.testing import check_task
from tests.tasks.adapters.own_environments import (
    EVERY_SPACE,
    Everything,
    Masked,
    Reused,
    Unseeded,
    WithNoop,
)

encode = json_encoder().encode

EASY = [
    "gym:CartPole-v1",
    "gym:Pendulum-v1",
    "gym:Acrobot-v1",
    "gym:MountainCarContinuous-v0",
    "gym:Blackjack-v1",
    "gym:FrozenLake-v1?is_slippery=false&map_name=8x8",
    "gym:CliffWalking-v1",
    "gym:Taxi-v4",
    "gym:Taxi-v4?action_mask=true",
]


@pytest.mark.parametrize("text", EASY)
def test_gymnasiums_own_environments_keep_the_contract(text: str):
    check_task(partial(make_task, text), steps=60)


@pytest.mark.parametrize("make", [Reused, Masked, WithNoop])
def test_environments_of_ones_own_do(make: Callable[[], gymnasium.Env[Any, Any]]):
    check_task(lambda: GymnasiumTask(make()))


def test_the_reward_the_ends_and_the_spaces_are_the_environments():
    task = make_gymnasium_task("gym:CartPole-v1")
    plain = gymnasium.make("CartPole-v1")
    assert task.action_space == plain.action_space
    assert task.observation_space == plain.observation_space
    seen, _ = plain.reset(seed=5)
    assert np.array_equal(task.reset(5), seen)
    for _ in range(500):
        theirs, ours = plain.step(1), task.step(1)
        assert np.array_equal(ours.observation, theirs[0])
        assert (ours.reward, ours.terminated, ours.truncated) == theirs[1:4]
        if ours.done:
            break
    assert ours.terminated
    assert task.is_done()
    assert task.result() is None


def test_a_time_limit_is_a_truncation():
    task = GymnasiumTask(TimeLimit(gymnasium.make("Pendulum-v1"), 7), "pendulum")
    task.reset(0)
    results = [task.step(np.zeros(1, np.float32)) for _ in range(7)]
    assert [result.truncated for result in results] == [False] * 6 + [True]
    assert not results[-1].terminated
    assert not task.reached_terminal_state()


def test_options_of_the_text_go_to_the_environment():
    task = make_gymnasium_task("gym:FrozenLake-v1?map_name=8x8&is_slippery=false")
    assert task.observation_space.n == 64  # type: ignore[attr-defined]  # it is Discrete
    assert task.id == "gym:FrozenLake-v1?map_name=8x8&is_slippery=false"


@pytest.mark.parametrize("seed", [0, 2**31 + 3, 2**63 - 1])
def test_seeds_reach_the_environment_in_a_size_that_all_take(seed: int):
    task = GymnasiumTask(Reused())
    assert task.reset(seed).tolist() == [0, seed % 2**31 % 7]


# What is played for nobody.


@pytest.mark.parametrize(
    ("env", "options", "nil"),
    [
        (Reused, {}, -1),
        (Reused, {"nil": 1}, 1),
        (WithNoop, {}, 0),
        (WithNoop, {"nil": 1}, 1),
        (Masked, {"action_mask": True}, None),
        (partial(gymnasium.make, "Pendulum-v1"), {}, [0.0]),
        (partial(gymnasium.make, "Pendulum-v1"), {"nil": [1.5]}, [1.5]),
    ],
)
def test_the_nil_action(env: Callable[[], gymnasium.Env[Any, Any]], options: dict[str, Any], nil: Any):
    task = GymnasiumTask(env(), **options)
    got = task.nil_action
    assert (got.tolist() if isinstance(got, np.ndarray) else got) == nil


@pytest.mark.parametrize("nil", [2, "1", True, [0]])
def test_a_nil_action_that_is_none_is_refused(nil: Any):
    with pytest.raises(UsageError, match=r"gym:Reused: nil=.* is not an action of Discrete\(3, start=-1\)"):
        GymnasiumTask(Reused(), nil=nil)


class Odd(gymnasium.Space[int]):
    """A space of somebody's own, of sevens."""

    def sample(self, *_args: Any, **_kwargs: Any) -> int:
        return 7

    def contains(self, value: Any) -> bool:
        return bool(value == 7)


def test_without_a_lowest_action_one_must_be_named():
    env = Reused()
    env.action_space = Odd()  # type: ignore[assignment]
    with pytest.raises(UsageError, match="gym:Reused: Odd has no lowest value; set nil="):
        GymnasiumTask(env)
    assert GymnasiumTask(env, nil=7).nil_action == 7


# Masks.


def test_a_mask_of_the_info_is_shown_and_held_to():
    task = GymnasiumTask(Masked(), action_mask=True)
    seen = task.reset(0)
    assert seen["action_mask"].tolist() == [1, 1, 1], "no mask allows everything"
    assert [task.is_legal(action) for action in range(4)] == [True, True, True, False]
    seen = task.step(None).observation
    assert seen["observation"].tolist() == [1, 0], "the default action"
    assert seen["action_mask"].tolist() == [0, 1, 0]
    assert seen in task.observation_space
    assert [task.is_legal(action) for action in range(4)] == [False, True, False, False]
    assert task.step(None).observation["observation"].tolist() == [2, 1], "the lowest that is allowed"


def test_where_the_mask_forbids_the_nil_action_the_lowest_it_allows_is_played():
    task = GymnasiumTask(Masked(), action_mask=True, nil=0)
    task.reset(0)
    assert task.step(0).observation["observation"].tolist() == [1, 0]
    assert task.step(0).observation["observation"].tolist() == [2, 1]


def test_a_mask_of_the_info_that_is_not_shown_is_nobodys_law():
    task = GymnasiumTask(Masked())
    task.reset(0)
    task.step(0)
    assert [task.is_legal(action) for action in range(4)] == [True, True, True, False]


def test_a_mask_is_for_discrete_actions():
    with pytest.raises(UsageError, match="action_mask needs a Discrete action space, got Box"):
        make_gymnasium_task("gym:Pendulum-v1?action_mask=true")


# Matches.


def sampler(seed: int) -> Callable[[Any], Any]:
    space = deepcopy(EVERY_SPACE)
    space.seed(seed)
    return lambda _seen: space.sample()


@pytest.mark.parametrize("virtual", [True, False])
def test_values_of_every_space_go_through_a_match_and_verify(tmp_path: Any, virtual: bool):
    env = Everything()
    result = run(
        GymnasiumTask(env, "everything"),
        sampler(3),
        clock="virtual" if virtual else "wall",
        journal=tmp_path / "j",
    )
    assert (result.seats[0].stats.illegal, result.seats[0].stats.turns) == (0, 4)
    assert result.tasks[0].solved == 1
    assert all(action in EVERY_SPACE for action in env.taken)
    again = Everything()
    scheduler = SequentialTaskScheduler([GymnasiumTask(again, "everything")], rounds=1)
    found = verify(tmp_path / "j", lambda _header: scheduler)
    assert found.ok, found
    assert encode(again.taken) == encode(env.taken), "the environment is given the very same again"


def test_an_agent_cannot_write_into_the_environment(tmp_path: Any):
    def meddler(seen: Any) -> int:
        with pytest.raises(ValueError, match="read-only"):
            seen[:] = 99
        return 1

    run(GymnasiumTask(Reused(), "reused"), meddler, clock="virtual", journal=tmp_path / "j")
    turns = [event for event in read_journal(tmp_path / "j") if type(event) is TurnPlayed]
    assert [turn.observation.tolist()[0] for turn in turns] == [0, 1, 2], "each turn as it was"


def test_actions_that_are_none_are_illegal_turns():
    task = GymnasiumTask(Reused())
    for odd in ("1", 1.0, None, [1], 2, float("nan"), object()):
        result = run(task, lambda _seen, odd=odd: odd, clock="virtual")
        assert result.seats[0].stats.illegal == result.turns == 3


def test_a_match_by_its_text_can_be_built_again(tmp_path: Any):
    for text in EASY:
        result = run(text, lambda _seen: 0, clock="virtual", journal=tmp_path / "j", steps=30)
        found = verify(tmp_path / "j", rebuild)
        assert found.ok, found
        assert found.turns == result.turns


# Seeds that do not arrive.


@pytest.mark.filterwarnings("always::flagfall.tasks.adapters.environment_task.SeedIgnoredWarning")
def test_an_environment_that_ignores_its_seed_is_reported(tmp_path: Any):
    task = GymnasiumTask(Unseeded())
    with pytest.warns(SeedIgnoredWarning, match="^gym:Unseeded: the environment ignores its seed") as told:
        run([task, task], lambda _seen: 0, clock="virtual", journal=tmp_path / "j")
    assert len(told) == 1, "once"
    ends = [event for event in read_journal(tmp_path / "j") if type(event) is TaskEnded]
    assert [end.metrics["ignores_seed"] for end in ends] == [True, True]
    again = SequentialTaskScheduler([GymnasiumTask(Unseeded())], rounds=2)
    with pytest.warns(SeedIgnoredWarning):
        found = verify(tmp_path / "j", lambda _header: again)
    assert found.difference is None
    assert found.not_repeatable is not None
    assert "the environment ignores its seed: two resets with the same one" in found.not_repeatable


def test_one_that_goes_by_it_is_reset_once_more_and_never_again():
    resets = []

    class Counted(Reused):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            resets.append(seed)
            return super().reset(seed=seed, options=options)

    task = GymnasiumTask(Counted())
    for seed in (7, 8, 9):
        task.reset(seed)
    assert resets == [7, 7, 8, 9]
    assert task.not_repeatable is None
    assert "ignores_seed" not in task.metrics()


# What cannot be.

BAD = {
    "gym:CartPol-v1": "unknown Gymnasium environment 'CartPol-v1'; nearest: CartPole-v1",
    "gym:CartPole-v9": "unknown Gymnasium environment 'CartPole-v9'; nearest: CartPole-v",
    "gym:": "cannot be made: Error: Malformed environment ID",
    "gym:CartPole-v1?gravity": "expected `name=value` after the question mark, got 'gravity'",
    "gym:CartPole-v1?": "expected `name=value` after the question mark, got ''",
    "gym:CartPole-v1?nil=0&nil=1": "nil is given twice",
    "gym:CartPole-v1?gravity=3": r"cannot be made: TypeError: .*unexpected keyword argument 'gravity'",
    "gym:CartPole-v1?action_mask=no": "action_mask='no': write true or false",
    "gym:flagfall/LangRoom-v0?vocab_size=5": "vocab_size is a whole number from 15",
    "gym:CartPole-v1?nil=2": r"nil=2 is not an action of Discrete\(2\)",
    "gym:no.such.module:Game-v0": "cannot be made: ModuleNotFoundError: No module named 'no'",
    "gym:GymV21Environment-v0": "cannot be made: ImportError: ",
}


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_made_says_why_in_one_line(text: str):
    with pytest.raises(UsageError, match=BAD[text]) as refused:
        make_gymnasium_task(text)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(text)


class Unrecordable(Reused):
    closed = False
    observation_space = gymnasium.spaces.Box(0, 1, (2,), np.longdouble)

    def close(self) -> None:
        Unrecordable.closed = True


def test_observations_that_cannot_be_recorded_are_refused_at_once(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UsageError, match=r"observations of Box.* cannot be recorded: "):
        GymnasiumTask(Unrecordable())
    monkeypatch.setattr(gymnasium, "registry", dict(gymnasium.registry))
    gymnasium.register("Unrecordable-v0", lambda **_options: Unrecordable())
    with pytest.raises(UsageError, match="cannot be recorded"):
        make_gymnasium_task("gym:Unrecordable-v0")
    assert Unrecordable.closed


def test_an_environment_that_breaks_is_the_hosts_fault():
    class Breaks(Reused):
        def step(self, action: Any) -> Any:
            del action
            raise RuntimeError("out of memory")

    with pytest.raises(HostFault, match="task gym:Breaks: RuntimeError: out of memory"):
        run(GymnasiumTask(Breaks()), lambda _seen: 0, clock="virtual")


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), None, "one", np.ones(1)])
def test_a_reward_that_is_no_number_is_the_hosts_fault(reward: Any, tmp_path: Any):
    class Pays(Reused):
        def step(self, action: Any) -> Any:
            observation, _reward, *ends = super().step(action)
            return observation, reward, *ends

    with pytest.raises(HostFault, match=r"task gym:Pays: ValueError: its reward is .*; rewards are finite"):
        run(GymnasiumTask(Pays()), lambda _seen: 0, clock="virtual", journal=tmp_path / "j")
    assert list(read_journal(tmp_path / "j"))  # it can be read


def test_one_that_cannot_be_closed_is_the_hosts_fault_in_one_line():
    class Stays(Reused):
        def close(self) -> None:
            raise RuntimeError("it is busy")

    with pytest.raises(HostFault, match=r"^gym:Stays cannot be closed: RuntimeError: it is busy$"):
        GymnasiumTask(Stays()).close()


def test_our_own_ids_need_no_module():
    task = make_gymnasium_task("gym:flagfall/LangRoom-v0?length=3")
    task.reset(0)
    assert task.is_legal({"move": 0, "talk": 0})
    assert task.env.unwrapped.rules.length == 3


def test_pictures_are_the_environments_own():
    task = make_gymnasium_task("gym:FrozenLake-v1?render_mode=ansi")
    task.reset(0)
    picture = task.render("ansi")
    assert isinstance(picture, str)
    assert "FFF" in picture
    with pytest.raises(NotImplementedError, match="has no render mode 'rgb'"):
        task.render()


def test_a_mask_in_json_is_plain():
    task = GymnasiumTask(Masked(), action_mask=True)
    assert json.loads(encode(task.reset(0)))["action_mask"]["$ndarray"] == "|i1"
