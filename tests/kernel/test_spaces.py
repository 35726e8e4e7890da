"""Spaces in plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from gymnasium import spaces

from flagfall.kernel.roles import complete_task
from flagfall.kernel.spaces import describe_space, has_arrays, player_names, spaces_of
from flagfall.tasks.catalog import make_task
from flagfall.tasks.commai.wrapped_task import BitTask, WrappedTask
from flagfall.tasks.task import Task
from tests.fakes import CountTask, play_here

DESCRIBED = [
    (spaces.Discrete(5, start=-2), {"type": "discrete", "n": 5, "start": -2}, False),
    (
        spaces.Box(0, 255, (2, 3), np.uint8),
        {"type": "box", "shape": [2, 3], "dtype": "|u1", "low": 0, "high": 255},
        True,
    ),
    (
        spaces.Box(np.array([-1.0, -np.inf]), np.array([1.0, np.inf]), dtype=np.float64),
        {"type": "box", "shape": [2], "dtype": "<f8", "low": [-1.0, None], "high": [1.0, None]},
        True,
    ),
    (spaces.MultiBinary(4), {"type": "multi_binary", "shape": [4]}, True),
    (spaces.MultiDiscrete([2, 3]), {"type": "multi_discrete", "shape": [2], "nvec": [2, 3]}, True),
    (
        spaces.Text(5, charset="ba"),
        {"type": "text", "min_length": 1, "max_length": 5, "characters": "ab"},
        False,
    ),
    (
        spaces.Tuple([spaces.Discrete(2), spaces.MultiBinary(1)]),
        {
            "type": "tuple",
            "spaces": [{"type": "discrete", "n": 2, "start": 0}, {"type": "multi_binary", "shape": [1]}],
        },
        True,
    ),
    (
        spaces.Dict({"a": spaces.Discrete(2)}),
        {"type": "dict", "spaces": {"a": {"type": "discrete", "n": 2, "start": 0}}},
        False,
    ),
    (
        spaces.Sequence(spaces.Discrete(2)),
        {"type": "sequence", "space": {"type": "discrete", "n": 2, "start": 0}},
        False,
    ),
]


@pytest.mark.parametrize(("space", "expected", "arrays"), DESCRIBED, ids=lambda value: type(value).__name__)
def test_every_kind(space: spaces.Space[Any], expected: dict[str, Any], arrays: bool):
    described = describe_space(space)
    assert described == expected
    assert has_arrays(described) is arrays
    assert msgspec.json.decode(msgspec.json.encode(described)) == expected


def test_bounds_that_are_many_are_not_told_one_by_one():
    low = np.zeros((50, 50))
    low[0, 0] = -1
    assert describe_space(spaces.Box(low, 1.0, dtype=np.float64))["low"] is None


def test_a_space_of_ones_own():
    class Odd(spaces.Discrete[Any]):
        pass

    class Strange(spaces.Space[Any]):
        pass

    assert describe_space(Odd(3))["type"] == "discrete"
    assert describe_space(Strange())["type"] == "other"


def test_what_a_task_says():
    assert spaces_of(make_task("micro1"), 0).action == {"type": "discrete", "n": 256, "start": 0}
    assert spaces_of(make_task("micro1"), 0).nil == 32
    assert spaces_of(complete_task(CountTask()), 0).observation == {}


@pytest.mark.parametrize("name", ["micro1", "mini0"])
@pytest.mark.parametrize("wrap", [lambda task: task, WrappedTask, BitTask], ids=["bytes", "wrapped", "bits"])
def test_spaces_described_without_gymnasium_are_those_of_the_task(name: str, wrap: Callable[[Any], Task]):
    task = wrap(make_task(name))
    described = spaces_of(task, 0)
    assert described.observation == describe_space(task.observation_space)
    assert described.action == describe_space(task.action_space)


@pytest.mark.parametrize(
    ("players", "names"),
    [
        (("player_0", "player_1", "player_10"), []),
        (("0", "1"), []),
        (("white",), []),
        (("archer_0", "archer_1", "knight_0"), ["archer_0", "archer_1", "knight_0"]),
        (("X", "O"), ["X", "O"]),
    ],
)
def test_names_of_players_that_differ_in_a_number_alone_are_none(players, names):
    task: Any = complete_task(CountTask())
    task.players = players
    assert player_names(task) == names


class SlowlyDescribed(CountTask):
    described = 0

    @property
    def observation_space(self) -> spaces.Space[Any]:
        self.described += 1
        return spaces.Discrete(4)


class AsItStarts:
    """How often its task had been described when its time began."""

    kind = "process"
    name = "as it starts"
    described = -1

    async def run(self, seat: Any, _briefing: Any) -> None:
        await seat.agent.turn()
        self.described = seat.task.described
        seat.agent.reply()
        async for _ in seat.agent:
            seat.agent.reply(1)


async def test_spaces_are_described_before_the_time_of_an_agent_that_is_told_of_them_begins():
    host = AsItStarts()
    await play_here(SlowlyDescribed(), host)
    assert host.described == 1
