"""Tasks for one player as Gymnasium environments: any task, byte tasks, and VGDL games.

env = TaskEnv(make_task("langroom"))
    observation, info = env.reset(seed=7)      # the episode that `task.reset(7)` begins

Of Gymnasium, a task uses only the spaces; this module is the inverse of `flagfall.tasks.adapters`, which
makes tasks of environments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar, Final

import gymnasium
import numpy as np

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.tasks.adapters.space_values import contains
from flagfall.tasks.building import CurriculumTask
from flagfall.tasks.catalog import check_imports, make_task
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.configs import Config, load_config
from flagfall.tasks.schedulers import parse_policy
from flagfall.tasks.task import Task
from flagfall.tasks.vgdl.definition import NIL
from flagfall.tasks.vgdl.task import VgdlTask
from flagfall.tasks.vgdl.task_id import DEFAULT_BLOCK, TaskId

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
        """Start an episode; see `gymnasium.Env.reset`."""
        super().reset(seed=seed, options=options)
        if seed is None:
            seed = int(self.np_random.integers(SEEDS))
        self._shown = self.task.reset(seed)
        return own_copy(self._shown), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a step; see `gymnasium.Env.step`.

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
    """Return a deep copy of an observation; quick for arrays and dictionaries, which most of them are."""
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
    """Return the `info` of an episode that is over."""
    result = task.result()
    info = {"result": result, "metrics": task.metrics()}
    return info if result is None else {**info, "is_success": result}


SHOWN_STEPS: Final = 80
"""Number of steps that `render` shows: a line on a terminal."""

_NOT_SHOWN: Final = "."
_BIT_VALUES: Final = 2


class CommAIEnv(TaskEnv):
    """A teacher and a learner that exchange one byte per step.

    gymnasium.make("flagfall/CommAI-v0", task="micro5.18", render_mode="ansi")
    gymnasium.make("flagfall/CommAI-v0", config="challenge", max_episode_steps=100_000)

    The observation is the byte of the teacher, the action the reply of the learner: whole numbers from 0 to
    255, of which 32, a space, is silence. The reward of a reply comes with the next byte. `reset(seed=s)`
    starts the same tasks as `flagfall run --seed s`.

    An episode is one instance of a task, or the whole curriculum of a configuration, in which tasks follow
    each other without a break. A curriculum may have no end: then pass `max_episode_steps` to
    `gymnasium.make`. With a configuration in bit mode, observations and actions are bits, 0 and 1.

    Args:
        task: an id such as `micro1`, which is the default.
        config: a configuration instead of a task: a `Config`, or an argument of
            `flagfall.tasks.configs.load_config` (`challenge`, a file of round 1, a TOML file).
        render_mode: `ansi`: `render` returns the last steps of the dialogue in three lines: teacher, learner,
            and rewards (`+` and `-`).

    Raises:
        UsageError: there is no such task or configuration, both are given, or it is not a byte task.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self,
        task: str | None = None,
        *,
        config: str | Path | Config | None = None,
        render_mode: str | None = None,
    ) -> None:
        if task is not None and config is not None:
            raise UsageError("give a task or a config, not both: a config names its tasks")
        if config is None:
            build = _one_instance(task or "micro1")
        else:
            build = (config if isinstance(config, Config) else load_config(config)).build
        super().__init__(Dialogue(str(config or task or "micro1"), build), render_mode)


class Dialogue(CurriculumTask):
    """A curriculum of byte or bit tasks that keeps the latest steps for rendering."""

    render_modes: ClassVar[Sequence[str]] = ("ansi",)

    def __init__(self, id: str, build: Callable[[], SchedulerRole]) -> None:  # noqa: A002 - as everywhere
        self._steps_shown: deque[tuple[int, int, float]] = deque(maxlen=SHOWN_STEPS)
        self._unanswered: int | None = None
        super().__init__(id, build)

    def _reset(self, seed: int) -> Any:
        self._steps_shown.clear()
        self._unanswered = super()._reset(seed)
        return self._unanswered

    def _step(self, action: Any) -> StepResult:
        result = super()._step(action)
        assert self._unanswered is not None
        self._steps_shown.append((self._unanswered, int(action), result.reward))
        self._unanswered = result.observation
        return result

    def render(self, mode: str = "ansi", *args: Any, **kwargs: Any) -> Any:
        """Return the latest steps of the dialogue, one column each; a reward stands below its reply."""
        if mode != "ansi":
            return super().render(mode, *args, **kwargs)
        teacher = [byte for byte, _, _ in self._steps_shown]
        learner = [byte for _, byte, _ in self._steps_shown]
        rewards = ["+" if paid > 0 else "-" if paid < 0 else " " for _, _, paid in self._steps_shown]
        if self._unanswered is not None:
            teacher.append(self._unanswered)
        lines = {"teacher": self._text(teacher), "learner": self._text(learner), "reward": "".join(rewards)}
        return "\n".join(f"{who:<8}{text}".rstrip() for who, text in lines.items())

    def _text(self, units: list[int]) -> str:
        if getattr(self.action_space, "n", 0) == _BIT_VALUES:
            return "".join(map(str, units))
        return "".join(chr(byte) if chr(byte).isprintable() else _NOT_SHOWN for byte in units)


def _one_instance(task_id: str) -> Callable[[], SchedulerRole]:
    def build() -> SchedulerRole:
        check_imports(task_id)  # an id in a journal may contain this one as an option
        task = make_task(task_id)
        if not isinstance(task, ByteTask):
            task.close()
            raise UsageError(f"{task_id} is not a byte task; use flagfall.environments.gymnasium_env.TaskEnv")
        return parse_policy("sequential:1", [task])

    return build


DEFAULT_GAME: Final = "windfall"


class VgdlEnv(TaskEnv):
    """One level of one game, such as `gymnasium.make("flagfall/VGDL-v0", game="causeway", level=2)`.

    See `flagfall.tasks.vgdl.task.VgdlTask`.

    An action is a number: nothing, left, right, up, down, use. The reward of a step is the change of the
    score. An episode is terminated when the game is over, after 2001 steps at the latest; its last `info` has
    `is_success` and `metrics`.

    Args:
        game: the name of a shipped game, or a file.
        level: a number, or a file.
        observation: `planes`, `image`, `text` or `state`.
        block: size of a cell in the game, in pixels, on which speeds depend; `None` for the game's own.
        pixels: size of a cell in images, in pixels.
        render_mode: `rgb_array` or `ansi`.

    Raises:
        UsageError: the game, the level or an option is unknown or invalid.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self,
        game: str = DEFAULT_GAME,
        level: int | str = 0,
        *,
        observation: str = "planes",
        block: int | None = DEFAULT_BLOCK,
        pixels: int = DEFAULT_BLOCK,
        render_mode: str | None = None,
    ) -> None:
        chosen = TaskId(game, str(level), observation, block, pixels)
        super().__init__(VgdlTask.of(chosen), render_mode)

    def get_action_meanings(self) -> list[str]:
        """Return the names of the actions by number, as Atari's environments do; doing nothing is `NOOP`."""
        return ["NOOP" if name == NIL else name for name in VgdlTask.class_action_names()]
