"""A limit to what tasks of one name pay, so that nobody can live on an easy task for ever."""

from __future__ import annotations

__all__ = ["RewardCap"]

from typing import TYPE_CHECKING, Any

from flagfall.tasks.commai.wrapped_task import WrappedTask

if TYPE_CHECKING:
    from flagfall.kernel.outcomes import StepResult
    from flagfall.tasks.commai.byte_task import ByteTask


class RewardCap:
    """Makes tasks stop paying at a limit, as in `[cap(task) for task in tasks]`.

    A reward is paid in full as long as the task's name has been paid less than the limit before, so the last
    one may exceed it; punishments lower what was paid. The last reward of an instance counts for the task
    that earned it, though it comes with the first byte of the next.

    Args:
        most: the limit.

    Attributes:
        most: the limit.
        paid: what was paid so far, by the id of the task.
    """

    def __init__(self, most: float) -> None:
        self.most = most
        self.paid: dict[str, float] = {}

    def __call__(self, task: ByteTask | WrappedTask) -> WrappedTask:
        """The task under this cap."""
        return _CappedTask(task, self)

    def allow(self, task_id: str, reward: float) -> float:
        """What is left of a reward; what is allowed counts as paid."""
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
