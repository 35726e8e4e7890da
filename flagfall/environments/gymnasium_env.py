"""Tasks for one player as Gymnasium environments.

    env = TaskEnv(make_task("langroom"))
    observation, info = env.reset(seed=7)      # the episode that `task.reset(7)` begins

Of Gymnasium, a task uses only the spaces; this module is the inverse of `flagfall.tasks.adapters`, which
makes tasks of environments.
"""

from __future__ import annotations

__all__ = ["SEEDS", "TaskEnv", "end_of", "own_copy", "pictures_of"]

from copy import deepcopy
from typing import Any, Final

import gymnasium
import numpy as np

from flagfall.errors import UsageError
from flagfall.tasks.adapters.space_values import contains
from flagfall.tasks.task import Task

_RENDER_MODES: Final = {"rgb": "rgb_array"}
"""Gymnasium's names of render modes, where they differ from those of tasks."""

_FRAMES_PER_SECOND: Final = 10
"""Frame rate of videos; a task has no time of its own."""

SEEDS: Final = 2**63
"""Bound of the seeds that are drawn for episodes without a given seed."""


class TaskEnv(gymnasium.Env[Any, Any]):
    """One task as an environment; episodes correspond.

    A reset with a seed starts the episode of `task.reset` with that seed; later resets without one draw their
    seeds from a generator seeded with it, so a seed determines all episodes after it.

    Observations are copies. An action of the space that is illegal now (a mask forbids it) is replaced by the
    task's NIL action, as in a match, and `info` has `illegal`.

    The last `info` of an episode has its `result` (`True`, `False` or `None`), its `metrics`, and
    `is_success` if there is a result. If the task has no observation at its end, the last one is repeated.

    Args:
        task: the task; the environment closes it.
        render_mode: one of the task's render modes; `rgb_array` for its `rgb`, others by their name.

    Raises:
        UsageError: the task is for several players, or does not have this render mode.

    Attributes:
        task: the task.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, task: Task, render_mode: str | None = None) -> None:
        if len(task.players) != 1:
            raise UsageError(
                f"{task.id} is for {len(task.players)} players, and a Gymnasium environment is for one;"
                " use flagfall.environments.pettingzoo_env"
            )
        pictures = pictures_of(task, render_mode)
        self.metadata = {"render_fps": _FRAMES_PER_SECOND, **self.metadata, "render_modes": list(pictures)}
        self.task = task
        self.render_mode = render_mode
        # Copies, because seeding the spaces of one environment must not affect another one.
        self.action_space: gymnasium.Space[Any] = deepcopy(task.action_space)
        self.observation_space: gymnasium.Space[Any] = deepcopy(task.observation_space)
        self._picture = None if render_mode is None else pictures[render_mode]
        self._shown: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `gymnasium.Env.reset`.

        Args:
            seed: the seed of the episode; `None` to draw one.
            options: not used.
        """
        super().reset(seed=seed, options=options)
        if seed is None:
            seed = int(self.np_random.integers(SEEDS))
        self._shown = self.task.reset(seed)
        return own_copy(self._shown), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a step; see `gymnasium.Env.step`.

        Args:
            action: an action of the space.

        Raises:
            UsageError: the action does not lie in the space.
        """
        task = self.task
        legal = task.is_legal(action)
        if not legal and not contains(self.action_space, action):
            raise UsageError(f"{action!r} is not an action of {task.id}: it takes {self.action_space}")
        result = task.step(action if legal else task.nil_action)
        info = dict(result.info) if legal else {**result.info, "illegal": True}
        if result.observation is not None:
            self._shown = result.observation
        if result.done:
            info |= end_of(task)
        return own_copy(self._shown), float(result.reward), result.terminated, result.truncated, info

    def render(self) -> Any:
        """Render the task in the mode `render_mode`: an array or a text."""
        return None if self._picture is None else self.task.render(self._picture)

    def close(self) -> None:
        """Close the task."""
        self.task.close()


_IMMUTABLE: Final = frozenset({int, float, bool, str, bytes, type(None)})


def own_copy(value: Any) -> Any:
    """Return a deep copy of an observation; quick for arrays and dictionaries, which most of them are.

    Args:
        value: any value.
    """
    kind = type(value)
    if kind in _IMMUTABLE:
        return value
    if kind is np.ndarray and not value.dtype.hasobject:
        return value.copy(order="K")
    if kind is dict:
        return {key: own_copy(part) for key, part in value.items()}
    return deepcopy(value)


def pictures_of(task: Task, render_mode: str | None) -> dict[str, str]:
    """Return the render modes of a task, by Gymnasium's names of them.

    Args:
        task: the task.
        render_mode: the requested mode; `None` for none.

    Raises:
        UsageError: the task does not have the requested mode.
    """
    pictures = {_RENDER_MODES.get(mode, mode): mode for mode in task.render_modes}
    if render_mode is not None and render_mode not in pictures:
        raise UsageError(
            f"{task.id} has no render_mode {render_mode!r}; it has {', '.join(pictures) or 'none'}"
        )
    return pictures


def end_of(task: Task) -> dict[str, Any]:
    """Return the `info` of an episode that is over.

    Args:
        task: the task.
    """
    result = task.result()
    info = {"result": result, "metrics": task.metrics()}
    return info if result is None else {**info, "is_success": result}
