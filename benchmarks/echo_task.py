"""The smallest task there is, for measurements of the kernel alone."""

from __future__ import annotations

__all__ = ["EchoTask", "OneTask"]

from typing import Any

from flagfall.kernel.outcomes import Outcome, StepResult


class EchoTask:
    """The smallest task there is, so that a round trip is all that is measured."""

    id = "echo"
    players = ("player_0",)
    continuous = True
    nil_action = 0

    def is_legal(self, action: Any) -> bool:
        return type(action) is int

    def reset(self, seed: int) -> int:  # noqa: ARG002 - nothing is random in it
        return 0

    def step(self, action: int) -> StepResult:
        return StepResult(action)

    def result(self) -> None:
        return None

    def metrics(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass


class OneTask:
    """A scheduler of one endless task."""

    def set_seed(self, seed: int) -> None:
        pass

    def next_task(self) -> EchoTask:
        return EchoTask()

    def report(self, outcome: Outcome) -> None:
        pass

    def close(self) -> None:
        pass
