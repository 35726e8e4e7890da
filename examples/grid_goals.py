"""Two tasks in one environment: "reach the flag" and "collect all coins" in a grid world.

    flagfall run --config examples/grid_goals.py --agent examples/grid_goals.py:Walker --journal walk.jsonl
    flagfall verify walk.jsonl --config examples/grid_goals.py

It uses AllenAct's interface: the environment is created once, tasks define goals in it, sensors define its
observations, and a sampler chooses the next task.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from random import Random
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete, Space

from flagfall.tasks import Sensor, StepResult, Task, TaskSampler

EMPTY, WALKER, FLAG, COIN = range(4)
MOVES: Final = {"stay": (0, 0), "up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
_SIGNS: Final = " @FO"

Place = tuple[int, int]


class GridWorld:
    """Square of cells with a walker, a flag and some coins, without a goal.

    Args:
        size: cells per side.
        coins: number of coins at the start.
    """

    def __init__(self, size: int = 6, coins: int = 3) -> None:
        self.size = size
        self._coin_count = coins
        self.worlds_made = 0
        self.is_open = True
        self.scatter(0)

    def scatter(self, seed: int) -> None:
        """Place walker, flag and coins at random.

        Args:
            seed: of the random numbers.
        """
        self.worlds_made += 1
        cells = [(row, column) for row in range(self.size) for column in range(self.size)]
        self.walker, self.flag, *coins = Random(seed).sample(cells, 2 + self._coin_count)
        self.coins = set(coins)

    def walk(self, move: str) -> None:
        """Move the walker by one cell; walls stop it, coins are picked up.

        Args:
            move: a name in `MOVES`.
        """
        row, column = (at + by for at, by in zip(self.walker, MOVES[move], strict=True))
        if 0 <= row < self.size and 0 <= column < self.size:
            self.walker = (row, column)
        self.coins.discard(self.walker)

    def cells(self) -> np.ndarray[Any, Any]:
        """Return the grid, an array of (size, size) bytes."""
        grid = np.full((self.size, self.size), EMPTY, np.int8)
        grid[self.flag] = FLAG
        for coin in self.coins:
            grid[coin] = COIN
        grid[self.walker] = WALKER
        return grid

    def close(self) -> None:
        """Close the world."""
        self.is_open = False


class GridSensor(Sensor):
    """Sensor of the whole grid."""

    def __init__(self, size: int) -> None:
        super().__init__("grid", Box(EMPTY, COIN, (size, size), np.int8))

    def get_observation(self, env: GridWorld, task: Task, **_kwargs: Any) -> Any:  # noqa: ARG002 - equal for all tasks
        """Return the grid.

        Args:
            env: the world.
            task: the current task.
        """
        return env.cells()


class GoalSensor(Sensor):
    """Sensor of the goal: 0 for the flag, 1 for the coins."""

    def __init__(self) -> None:
        super().__init__("goal", Discrete(2))

    def get_observation(self, env: GridWorld, task: Task, **_kwargs: Any) -> int:  # noqa: ARG002 - only the task matters
        """Return the index of the task's goal in `GOALS`.

        Args:
            env: the world.
            task: the current task.
        """
        return list(GOALS).index(task.task_info["goal"])


class GridTask(Task):
    """Task in a grid world: reward 1 when the goal is reached, -0.01 for each step before.

    Args:
        env: the world, shared with other tasks.
        goal: a name in `GOALS`.
    """

    nil_action = 0
    max_steps = 100
    render_modes = ("ansi",)

    def __init__(self, env: GridWorld, goal: str) -> None:
        super().__init__(env, [GridSensor(env.size), GoalSensor()], {"goal": goal})
        self.id = goal
        self._action_space = Discrete(len(MOVES))

    @property
    def action_space(self) -> Space[Any]:
        """Index of a move in `MOVES`."""
        return self._action_space

    def targets(self) -> set[Place]:
        """Return the cells that the walker must still reach."""
        raise NotImplementedError

    def _reset(self, seed: int) -> Mapping[str, Any]:
        self.env.scatter(seed)
        return self.get_observations()

    def _step(self, action: int) -> StepResult:
        self.env.walk(self.class_action_names()[action])
        done = self.reached_terminal_state()
        return StepResult(self.get_observations(), 1.0 if done else -0.01, terminated=done)

    def reached_terminal_state(self) -> bool:
        """Return True when no target is left."""
        return not self.targets()

    def result(self) -> bool:
        """Return True if the goal was reached."""
        return self.reached_terminal_state()

    @classmethod
    def class_action_names(cls) -> tuple[str, ...]:
        """Return the names of the actions."""
        return tuple(MOVES)

    def query_expert(self, **_kwargs: Any) -> tuple[int, bool]:
        """Return a step towards the nearest target, rows first, and whether there is a target."""
        if not self.targets():
            return self.nil_action, False
        return step_towards(self.env.walker, self.targets()), True

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> np.ndarray[Any, Any] | str:
        """Return the grid as text: `@` is the walker, `F` the flag, `O` a coin.

        Args:
            mode: `ansi`; other modes are those of `Task.render`.
            args: for other modes.
            kwargs: for other modes.
        """
        if mode != "ansi":
            return super().render(mode, *args, **kwargs)
        return "\n".join("".join(_SIGNS[cell] for cell in row) for row in self.env.cells())


class ReachFlag(GridTask):
    """Task to move onto the flag."""

    def targets(self) -> set[Place]:
        """Return the cell of the flag until the walker is there."""
        return {self.env.flag} - {self.env.walker}


class CollectCoins(GridTask):
    """Task to pick up every coin."""

    def targets(self) -> set[Place]:
        """Return the cells of the remaining coins."""
        return set(self.env.coins)


GOALS: Final[Mapping[str, type[GridTask]]] = {"reach the flag": ReachFlag, "collect all coins": CollectCoins}


class GoalSampler(TaskSampler):
    """Sampler of tasks in one world: creates each task on demand, with a random goal.

    Args:
        tasks: number of tasks.
        env: the world of all tasks; closed with the sampler.
    """

    def __init__(self, tasks: int = 6, env: GridWorld | None = None) -> None:
        self.env = GridWorld() if env is None else env
        self._tasks = tasks
        self._seed = 0
        self._last: GridTask | None = None
        self._open: GridTask | None = None
        self.reset()

    @property
    def length(self) -> float:
        """Number of remaining tasks."""
        return self._left

    @property
    def last_sampled_task(self) -> GridTask | None:
        """The newest task, also after the last one; `None` before the first."""
        return self._last

    @property
    def all_observation_spaces_equal(self) -> bool:
        """True: both goals use the same sensors."""
        return True

    def next_task(self, force_advance_scene: bool = False) -> GridTask | None:
        """Return a task with a random goal; `None` after the last one.

        Args:
            force_advance_scene: place everything anew now, not when the task is reset.
        """
        self._close_task()
        if not self._left:
            return None
        self._left -= 1
        if force_advance_scene:
            self.env.scatter(self._random.getrandbits(32))
        goal = self._random.choice(list(GOALS))
        self._last = self._open = GOALS[goal](self.env, goal)
        return self._last

    def reset(self) -> None:
        """Start again with the same seed."""
        self._last = None
        self._left = self._tasks
        self._random = Random(self._seed)

    def set_seed(self, seed: int) -> None:
        """Set the seed of the goals.

        Args:
            seed: of the random numbers.
        """
        self._seed = seed
        self._random = Random(seed)

    def close(self) -> None:
        """Close the world."""
        self._close_task()
        self.env.close()

    def _close_task(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


class Walker:
    """Agent that moves to the nearest target of its goal."""

    def act(self, observation: Mapping[str, Any]) -> int:
        """Return a step towards the nearest target, rows first.

        Args:
            observation: the values of both sensors by name.
        """
        grid = observation["grid"]
        (here,) = _places(grid, WALKER)
        targets = _places(grid, COIN if observation["goal"] else FLAG)
        if not targets:
            return 0
        return step_towards(here, targets)


def create_tasks() -> GoalSampler:
    """Return a sampler with its own world, for `--config`."""
    return GoalSampler()


def step_towards(here: Place, targets: Collection[Place]) -> int:
    """Return the first action that reduces the distance to the nearest target; rows first.

    Args:
        here: the cell of the walker.
        targets: at least one cell.
    """
    there = min(sorted(targets), key=lambda place: _distance(here, place))
    ahead = [_distance((here[0] + rows, here[1] + columns), there) for rows, columns in MOVES.values()]
    return ahead.index(min(ahead))


def _places(grid: np.ndarray[Any, Any], what: int) -> list[Place]:
    return [(int(row), int(column)) for row, column in np.argwhere(grid == what)]


def _distance(one: Place, other: Place) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])
