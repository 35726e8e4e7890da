"""Base class of wrappers around byte tasks; by itself it changes nothing."""

from __future__ import annotations

__all__ = ["WrappedTask"]

from typing import TYPE_CHECKING, Any

from flagfall.tasks.task import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gymnasium.spaces import Space

    from flagfall.kernel.outcomes import StepResult
    from flagfall.tasks.commai.byte_task import ByteTask


class WrappedTask(Task):
    """A task that forwards everything to the task inside; subclasses change parts of it.

    Args:
        task: the task inside: a `ByteTask`, or a wrapped one.

    Attributes:
        task: the task inside.
        world: the world it is played in; `None` for none.
    """

    continuous = True

    def __init__(self, task: ByteTask | WrappedTask) -> None:
        self.task = task
        self.id: str = task.id
        self.nil_action: Any = task.nil_action
        self.max_steps: float = task.max_steps
        self.world: object = task.world

    @property
    def action_space(self) -> Space[Any]:
        """The action space of the task inside."""
        return self.task.action_space

    @property
    def observation_space(self) -> Space[Any]:
        """The observation space of the task inside."""
        return self.task.observation_space

    @property
    def plain_spaces(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The spaces of the task inside without Gymnasium; see `flagfall.kernel.roles.TaskRole`."""
        return self.task.plain_spaces

    def is_legal(self, action: Any) -> bool:
        """Return whether the task inside accepts an action.

        Args:
            action: any object.
        """
        return self.task.is_legal(action)

    def _reset(self, seed: int) -> Any:
        return self.task.reset(seed)

    def _step(self, action: Any) -> StepResult:
        return self.task.step(action)

    def reached_terminal_state(self) -> bool:
        """Return whether the task inside is over."""
        return self.task.reached_terminal_state()

    def result(self) -> bool | None:
        """Return the result of the task inside."""
        return self.task.result()

    def follow_rules(self, revisions: Mapping[str, int]) -> str | None:
        """Let the task inside take the rules of a recorded match.

        Args:
            revisions: the revisions in the journal, by family.

        Returns:
            why that is impossible; `None` if it is done.
        """
        return self.task.follow_rules(revisions)

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the task inside, with the length and the reward of this one."""
        return self.task.metrics() | super().metrics()

    def close(self) -> None:
        """Close the task inside."""
        self.task.close()
