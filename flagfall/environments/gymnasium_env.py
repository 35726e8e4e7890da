"""Any task for one player as a Gymnasium environment.

    env = TaskEnv(make_task("langroom"))
    observation, info = env.reset(seed=7)      # the episode that `task.reset(7)` begins

A task of this package knows no Gymnasium but for its spaces; this is the other side of
`flagfall.tasks.adapters`, which makes tasks of environments.
"""

from __future__ import annotations

__all__ = ["SEEDS", "TaskEnv", "end_of", "pictures_of"]

from copy import deepcopy
from typing import Any, Final

import gymnasium

from flagfall.errors import UsageError
from flagfall.tasks.adapters.space_values import contains
from flagfall.tasks.task import Task

_RENDER_MODES: Final = {"rgb": "rgb_array"}
"""What Gymnasium calls pictures that tasks call otherwise."""

_FRAMES_PER_SECOND: Final = 10
"""How fast a film of it is pleasant to watch; a task has no time of its own."""

SEEDS: Final = 2**63
"""Episodes without a seed of their own draw one below this."""


class TaskEnv(gymnasium.Env[Any, Any]):
    """One task; an episode of it is an episode here.

    A reset with a seed begins the episode that `task.reset` begins with it; later resets without one draw
    their seeds from a generator that began with it, so that a seed makes all episodes after it.

    Observations are the caller's own. An action of the space that is not legal now (a mask forbids it) is
    played as the task's NIL action, as in a match, and `info` says `illegal`.

    The last `info` of an episode has its `result` (`True`, `False` or `None`), its `metrics`, and
    `is_success` where there is a result. Where the task shows nothing more when it is over, the last
    observation is shown again.

    Args:
        task: the task; the environment closes it.
        render_mode: one of those that the task can render: `rgb_array` for its `rgb`, others by their name.

    Raises:
        UsageError: the task is for several players, or has no such picture.

    Attributes:
        task: likewise.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(self, task: Task, render_mode: str | None = None) -> None:
        if len(task.players) != 1:
            raise UsageError(
                f"{task.id} seats {len(task.players)} players, and a Gymnasium environment is for one;"
                " flagfall.environments.pettingzoo_env is for several"
            )
        pictures = pictures_of(task, render_mode)
        self.metadata = {"render_fps": _FRAMES_PER_SECOND, **self.metadata, "render_modes": list(pictures)}
        self.task = task
        self.render_mode = render_mode
        # Copies: whoever seeds the spaces of an environment seeds nobody else's.
        self.action_space = deepcopy(task.action_space)
        self.observation_space = deepcopy(task.observation_space)
        self._picture = None if render_mode is None else pictures[render_mode]
        self._shown: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see `gymnasium.Env.reset`. There are no options."""
        super().reset(seed=seed, options=options)
        if seed is None:
            seed = int(self.np_random.integers(SEEDS))
        self._shown = self.task.reset(seed)
        return deepcopy(self._shown), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step; see `gymnasium.Env.step`.

        Raises:
            UsageError: it is no action of the task.
        """
        task = self.task
        legal = task.is_legal(action)
        if not legal and not contains(self.action_space, action):
            raise UsageError(f"{action!r} is no action of {task.id}: it takes {self.action_space}")
        result = task.step(action if legal else task.nil_action)
        info = dict(result.info) if legal else {**result.info, "illegal": True}
        if result.observation is not None:
            self._shown = result.observation
        if result.done:
            info |= end_of(task)
        return deepcopy(self._shown), float(result.reward), result.terminated, result.truncated, info

    def render(self) -> Any:
        """The picture that `render_mode` says: an array, or a text."""
        return None if self._picture is None else self.task.render(self._picture)

    def close(self) -> None:
        """Close the task."""
        self.task.close()


def pictures_of(task: Task, render_mode: str | None) -> dict[str, str]:
    """What the task can render: its own names by Gymnasium's.

    Raises:
        UsageError: it cannot render what is asked for.
    """
    pictures = {_RENDER_MODES.get(mode, mode): mode for mode in task.render_modes}
    if render_mode is not None and render_mode not in pictures:
        raise UsageError(
            f"{task.id} has no render_mode {render_mode!r}; it has {', '.join(pictures) or 'none'}"
        )
    return pictures


def end_of(task: Task) -> dict[str, Any]:
    """What there is to tell of an episode that is over."""
    result = task.result()
    told = {"result": result, "metrics": task.metrics()}
    return told if result is None else {**told, "is_success": result}
