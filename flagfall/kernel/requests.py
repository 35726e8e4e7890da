"""What the script of a match asks for, and how it is told that the match is over."""

from __future__ import annotations

__all__ = [
    "Actions",
    "EndOfMatch",
    "MatchCut",
    "NextTask",
    "Pause",
    "PendingAction",
    "PhaseRequest",
    "Request",
    "RunTask",
    "Stop",
    "TaskExpired",
    "TaskTimeout",
    "added",
]

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

from flagfall.errors import FlagfallError
from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.roles import TaskRole
from flagfall.timing.phases import Phase

Actions: TypeAlias = Any
"""One action, or a mapping from player to action where a task has several players."""

Request: TypeAlias = Any
"""What a script asks for: a pair (observation, reward) is a turn; anything else goes to the environment."""


@attrs.frozen
class NextTask:
    """Asks for the next task; is sent it, or `None` when the match is over.

    Attributes:
        outcome: how the last task went; `None` before the first.
        index: the number that the next task will have.
        seed: what it will be reset with.
        owed: a reward that was earned and comes with the next observation.
    """

    outcome: Outcome | None
    index: int
    seed: int
    owed: Any


@attrs.frozen
class RunTask:
    """Asks to run a task in an actor of its own; is sent the number of steps and the reward paid."""

    task: TaskRole
    owed: Any


class MatchCut(Exception):
    """Thrown into the script when the match ends in the middle of a task."""


class TaskTimeout(Exception):
    """Thrown into the script when the time of a task is up, and the match goes on."""


@attrs.frozen
class TaskExpired:
    """The time of the task is up; its next turn is not opened."""


@attrs.frozen
class PhaseRequest:
    """A request outside the turns: every seat is asked, and answers or runs out of time.

    Attributes:
        phase: `start`, `init` or `result`.
        observation: what the seats are shown; a mapping from player for several players.
        reward: likewise.
    """

    phase: Phase
    observation: Any = None
    reward: Any = 0


@attrs.frozen
class Pause:
    """Somebody who records the match must catch up before the next turn."""

    request: Request


@attrs.frozen
class Stop:
    """The match is over before its scheduler is done."""

    reason: Literal["steps", "seats", "stopped"]


class EndOfMatch(FlagfallError):
    """The match ended while a task waited for its agents; a task lets it pass.

    Attributes:
        stop: why.
    """

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.stop = stop


def added(paid: Any, owed: Any) -> Any:
    """Two rewards, or mappings of rewards, in one."""
    if not isinstance(owed, Mapping):
        return paid + owed
    paid = paid if isinstance(paid, Mapping) else {}
    return {player: paid.get(player, 0) + owed.get(player, 0) for player in {**owed, **paid}}


@attrs.frozen
class PendingAction:
    """At real-time pace: the newest that an agent said, for the next tick."""

    action: Any
    number: int
    at_ns: int
    spent_ns: int
    credit_ns: int
