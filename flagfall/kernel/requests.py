"""Requests of the script of a match, and the values that answer or end them."""

from __future__ import annotations

__all__ = [
    "Actions",
    "ActorResult",
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
    "add_rewards",
]

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from flagfall.errors import FlagfallError
from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.roles import TaskRole
from flagfall.timing.phases import Phase

Actions: TypeAlias = Any
"""One action, or a mapping from player to action where a task has several players."""

Request: TypeAlias = Any
"""A request of a script: a pair (observation, reward) is a turn; anything else goes to the environment."""


@attrs.frozen
class NextTask:
    """Request for the next task; is sent it, or `None` when the match is over.

    Attributes:
        outcome: the outcome of the last task; `None` before the first.
        index: zero-based index of the next task.
        seed: the seed of its reset.
        owed: a reward that was earned and comes with the next observation.
    """

    outcome: Outcome | None
    index: int
    seed: int
    owed: Any


@attrs.frozen
class RunTask:
    """Request to run a task that is an actor; is sent an `ActorResult`.

    Attributes:
        task: the task, which was reset.
        owed: a reward that was earned before, to be paid with its first turn.
    """

    task: TaskRole
    owed: Any


class ActorResult(NamedTuple):
    """Result of a task that ran as an actor.

    Attributes:
        steps: the number of turns whose actions it got.
        earned: the sum of the rewards it paid, over all players.
        ended: `finished`, or `cut` if the match ended first.
        owed: a reward from before that it never paid, since it asked for no turn.
    """

    steps: int
    earned: float
    ended: Literal["finished", "cut"]
    owed: Any


class MatchCut(Exception):
    """Thrown into the script when the match ends in the middle of a task."""


class TaskTimeout(Exception):
    """Thrown into the script when the time of a task is over, and the match continues."""


@attrs.frozen
class TaskExpired:
    """Result of turns: the time of the task is over, and its next turn was not opened."""


@attrs.frozen
class PhaseRequest:
    """Request to ask every seat outside the turns; each answers or runs out of time.

    Attributes:
        phase: `start`, `init` or `result`.
        observation: the observation of the seats; for several players a mapping from player.
        reward: the reward that comes with it; for several players a mapping from player.
    """

    phase: Phase
    observation: Any = None
    reward: Any = 0


@attrs.frozen
class Pause:
    """Result of turns: the environment has something to do before the next one.

    Attributes:
        request: the next turn.
    """

    request: Request


@attrs.frozen
class Stop:
    """Result of any request: the match is over before its scheduler is done.

    Attributes:
        reason: see `flagfall.events.MatchEnded`.
    """

    reason: Literal["steps", "seats", "stopped"]


class EndOfMatch(FlagfallError):
    """The match ended while a task that is an actor waited for its agents; a task must not catch it.

    Attributes:
        stop: the reason.
    """

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.stop = stop


@attrs.frozen
class PendingAction:
    """At real-time pace, the newest action of a seat, which the next tick plays.

    Attributes:
        action: the action.
        number: the number of the turn that it answers.
        at_ns: time of its arrival.
        spent_ns: time that the seat used of that turn.
        credit_ns: time that the host lost meanwhile.
    """

    action: Any
    number: int
    at_ns: int
    spent_ns: int
    credit_ns: int


def add_rewards(paid: Any, owed: Any) -> Any:
    """Return the sum of two rewards, or of two mappings of rewards by player."""
    if not isinstance(owed, Mapping):
        return paid + owed
    paid = paid if isinstance(paid, Mapping) else {}
    return {player: paid.get(player, 0) + owed.get(player, 0) for player in {**owed, **paid}}
