"""The smallest task there is, for measurements of the kernel alone."""

from __future__ import annotations

__all__ = ["EchoTask", "OneTask"]

from typing import Any

from flagfall.kernel.outcomes import Outcome, StepResult


class EchoTask:
    """The smallest task there is, so that a round trip is all that is measured."""

    id = "echo"
    players: tuple[str, ...] = ("player_0",)
    continuous = True
    nil_action = 0

    def is_legal(self, action: Any) -> bool:
        """Return true for a whole number."""
        return type(action) is int

    def reset(self, seed: int) -> Any:  # noqa: ARG002 - nothing is random in it
        """Begin an episode; nothing is random in it."""
        return 0

    def step(self, action: Any) -> StepResult:
        """Show the action."""
        return StepResult(action)

    def result(self) -> None:
        """Return no result."""

    def metrics(self) -> dict[str, Any]:
        """Return no metrics."""
        return {}

    def close(self) -> None:
        """Do nothing."""


class OneTask:
    """A scheduler of one endless task."""

    def set_seed(self, seed: int) -> None:
        """Do nothing."""

    def next_task(self) -> EchoTask:
        """Return the task."""
        return EchoTask()

    def report(self, outcome: Outcome) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
