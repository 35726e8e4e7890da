"""Limits on the total reward of each task, so that an easy task cannot be exploited for ever."""

from __future__ import annotations

__all__ = ["RewardCap"]

from typing import TYPE_CHECKING, Any

from flagfall.tasks.commai.wrapped_task import WrappedTask

if TYPE_CHECKING:
    from flagfall.kernel.outcomes import StepResult
    from flagfall.tasks.commai.byte_task import ByteTask


class RewardCap:
    """Stops the rewards of tasks at a limit, as in `[cap(task) for task in tasks]`.

    A reward is paid in full while the sum for the task's id is below the limit, so the last one may exceed
    it; punishments lower the sum. The last reward of an instance counts for the task that earned it, though
    it comes with the first byte of the next one.

    Args:
        most: the limit.

    Attributes:
        most: the limit.
        paid: sum of the rewards paid so far, by task id.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.paid: dict[str, float] = {}

    def __call__(self, task: ByteTask | WrappedTask) -> WrappedTask:
        """Return the task under this cap."""
        return _CappedTask(task, self)

    def allow(self, task_id: str, reward: float) -> float:
        """Return the part of a reward that may be paid, and count it as paid.

        Args:
            task_id: the id of the task.
            reward: the reward before the cap.
        """
        paid = self.paid.get(task_id, 0)
        if not reward or paid >= self.most:
            return 0
        self.paid[task_id] = paid + reward
        return reward


class _CappedTask(WrappedTask):
    def __init__(self, task: ByteTask | WrappedTask, cap: RewardCap) -> None:
        super().__init__(task)
        self.cap = cap

    def _step(self, action: Any) -> StepResult:
        result = self.task.step(action)
        return result._replace(reward=self.cap.allow(self.id, result.reward))
