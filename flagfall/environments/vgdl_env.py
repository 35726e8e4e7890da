"""VGDL games for Gymnasium.

gymnasium.make("flagfall/VGDL-v0", game="causeway", level=2, observation="image")
gymnasium.make("flagfall/VGDL-v0", game="my/game.txt", render_mode="rgb_array")
"""

from __future__ import annotations

__all__ = ["VgdlEnv"]

from typing import Any

from flagfall.environments.gymnasium_env import TaskEnv
from flagfall.tasks.vgdl.task import VgdlTask
from flagfall.tasks.vgdl.task_id import DEFAULT_BLOCK, TaskId


class VgdlEnv(TaskEnv):
    """One level of one game; see `flagfall.tasks.vgdl.task.VgdlTask`.

    An action is a number: nothing, left, right, up, down, use. The reward of a step is what it adds to the
    score. An episode is terminated when the game is over, after 2001 steps at the latest; its last `info` has
    `is_success` and `metrics`.

    Args:
        game: the name of a game that comes with flagfall, or a file.
        level: a number, or a file.
        observation: `planes`, `image`, `text` or `state`.
        block: pixels a cell in the game, of which the speed of things depends; `None` for the game's own.
        pixels: pixels a cell in pictures.
        render_mode: `rgb_array` or `ansi`.

    Raises:
        UsageError: there is no such game or level, it cannot be played, or an option cannot be.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 20}  # noqa: RUF012 - as there

    def __init__(
        self,
        game: str,
        level: int | str = 0,
        *,
        observation: str = "planes",
        block: int | None = DEFAULT_BLOCK,
        pixels: int = DEFAULT_BLOCK,
        render_mode: str | None = None,
    ) -> None:
        chosen = TaskId(game, str(level), observation, block, pixels)
        super().__init__(VgdlTask.of(chosen), render_mode)
