"""End of an instance of a micro-task: the streak to reach, and the limits on the number of questions.

The rules and figures are those of round 1 of the General AI Challenge. A learner succeeds by a streak of
right answers. As soon as it should know the answers, the streak has a soft limit of questions; after that it
fails, at the latest at the hard limit.
"""

from __future__ import annotations

__all__ = [
    "DEFAULT_RULES",
    "FAILED_TASK_TOLERANCE",
    "LENIENT_RULES",
    "MAX_TIME",
    "REQUIRED",
    "SUCCESS_TOLERANCE",
    "MicroRules",
    "Progress",
]

from typing import Final

import attrs

REQUIRED: Final = 10
"""Rewards in a row that solve an instance."""

SUCCESS_TOLERANCE: Final = 4.0
"""The soft limit allows `REQUIRED` more questions, plus this many times that number."""

FAILED_TASK_TOLERANCE: Final = 1.0
"""The hard limit is the number of questions at the soft limit, plus this many times that number."""

MAX_TIME: Final = 10_000
"""Time limit in steps; an instance fails at the first silence after it."""


@attrs.frozen
class MicroRules:
    """The constants of one task.

    Attributes:
        required: rewards in a row that solve an instance.
        success_tolerance: see `SUCCESS_TOLERANCE`.
        failed_task_tolerance: see `FAILED_TASK_TOLERANCE`; some sentence tasks allow 2.0.
        max_time: see `MAX_TIME`, in steps.
    """

    required: int = REQUIRED
    success_tolerance: float = SUCCESS_TOLERANCE
    failed_task_tolerance: float = FAILED_TASK_TOLERANCE
    max_time: int = MAX_TIME


DEFAULT_RULES: Final = MicroRules()
LENIENT_RULES: Final = MicroRules(failed_task_tolerance=2.0)


@attrs.define(eq=False)
class Progress:
    """The state of the limits in one instance.

    Attributes:
        rules: the constants of the task.
        asked: number of questions answered, rightly or wrongly.
        streak: number of rewards since the last punishment.
        soft_limit: the last question at which success counts; `None` until the learner should know.
        hard_limit: the last possible question; `None` before the soft limit is passed.
    """

    rules: MicroRules = DEFAULT_RULES
    asked: int = 0
    streak: int = 0
    soft_limit: float | None = None
    hard_limit: float | None = None

    def answered(self, reward: float, should_know: bool) -> bool | None:
        """Count one question.

        Args:
            reward: the reward of the answer; 0 leaves the streak unchanged.
            should_know: whether the learner has seen everything it needs for right answers.

        Returns:
            the result, if the instance ends with this question; else `None`.
        """
        self.asked += 1
        if reward > 0:
            self.streak += 1
            if self.streak >= self.rules.required:
                return self.soft_limit is None or self.asked <= self.soft_limit
        elif reward < 0:
            self.streak = 0
        return self._over_limit(should_know)

    def _over_limit(self, should_know: bool) -> bool | None:
        """Update the limits; return `False` beyond the hard one, else `None`."""
        if self.soft_limit is None:
            if not should_know:
                return None
            self.soft_limit = self.asked + self.rules.required * (1 + self.rules.success_tolerance)
        if self.hard_limit is None:
            if self.asked <= self.soft_limit:
                return None
            self.hard_limit = self.asked * (1 + self.rules.failed_task_tolerance)
        return False if self.asked > self.hard_limit else None
