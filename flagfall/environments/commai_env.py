"""The byte tasks as Gymnasium environments.

gymnasium.make("flagfall/CommAI-v0", task="micro5.18", render_mode="ansi")
gymnasium.make("flagfall/CommAI-v0", config="challenge", max_episode_steps=100_000)
"""

from __future__ import annotations

__all__ = ["CommAIEnv"]

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from flagfall.environments.gymnasium_env import TaskEnv
from flagfall.errors import UsageError
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.tasks.catalog import check_imports, make_task
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.configs import Config, load_config
from flagfall.tasks.curriculum_task import CurriculumTask
from flagfall.tasks.scheduler_text import parse_policy

SHOWN_STEPS: Final = 80
"""Number of steps that `render` shows: a line on a terminal."""

_NOT_SHOWN: Final = "."
_BIT_VALUES: Final = 2


class CommAIEnv(TaskEnv):
    """A teacher and a learner that exchange one byte per step.

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
        """Return the latest steps of the dialogue, one column each; a reward stands below its reply.

        Args:
            mode: `ansi`.
            args: see `Task.render`.
            kwargs: see `Task.render`.
        """
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
