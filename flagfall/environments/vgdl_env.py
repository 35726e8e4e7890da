"""VGDL games as Gymnasium environments.

gymnasium.make("flagfall/VGDL-v0", game="causeway", level=2, observation="image")
gymnasium.make("flagfall/VGDL-v0", game="my/game.txt", render_mode="rgb_array")
"""

from __future__ import annotations

__all__ = ["VgdlEnv"]

from typing import Any, Final

from flagfall.environments.gymnasium_env import TaskEnv
from flagfall.tasks.vgdl.actions import NIL
from flagfall.tasks.vgdl.task import VgdlTask
from flagfall.tasks.vgdl.task_id import DEFAULT_BLOCK, TaskId

DEFAULT_GAME: Final = "windfall"


class VgdlEnv(TaskEnv):
    """One level of one game; see `flagfall.tasks.vgdl.task.VgdlTask`.

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
