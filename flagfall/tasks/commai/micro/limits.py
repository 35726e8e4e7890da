"""When an instance of a micro-task ends: the streak to reach, and the limits on questions.

The rules and figures are those of round 1 of the General AI Challenge. A learner succeeds by a streak of
right answers; a learner that should know enough by now has a soft limit of questions for it, and one that
goes on beyond the soft limit is stopped at the hard limit.
"""

from __future__ import annotations

__all__ = [
    "DEFAULT_RULES",
    "FAILED_TASK_TOLERANCE",
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
"""The soft limit leaves room for `REQUIRED` questions and for this many times as many again."""

FAILED_TASK_TOLERANCE: Final = 1.0
"""The hard limit leaves room for this many times the questions asked when the soft limit was passed."""

MAX_TIME: Final = 10_000
"""Steps after which an instance fails at the next moment of silence."""


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


@attrs.define(eq=False)
class Progress:
    """How far one instance has come.

    Attributes:
        rules: the constants in force.
        asked: questions answered, rightly or wrongly.
        streak: rewards since the last punishment.
        soft_limit: the last question at which success still counts; `None` while the learner need not know.
        hard_limit: the last question there can be; `None` before the soft limit is passed.
    """

    rules: MicroRules = DEFAULT_RULES
    asked: int = 0
    streak: int = 0
    soft_limit: float | None = None
    hard_limit: float | None = None

    def answered(self, reward: float, should_know: bool) -> bool | None:
        """Count one question; the result if the instance ends with it, else `None`.

        Args:
            reward: what the answer earned; 0 leaves the streak alone.
            should_know: whether the learner has been told all it needs to answer rightly.
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
        """Move the limits on; `False` beyond the hard one."""
        if self.soft_limit is None:
            if not should_know:
                return None
            self.soft_limit = self.asked + self.rules.required * (1 + self.rules.success_tolerance)
        if self.hard_limit is None:
            if self.asked <= self.soft_limit:
                return None
            self.hard_limit = self.asked * (1 + self.rules.failed_task_tolerance)
        return False if self.asked > self.hard_limit else None
