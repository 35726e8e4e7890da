"""Contracts of tasks and task schedulers, as protocols.

Every task implements `TaskRole`. The smaller protocols below it are optional: the kernel uses their members
if a task has them. This file knows no clock, no channel and no event loop.
"""

from __future__ import annotations

__all__ = [
    "AbortableTask",
    "ActorTask",
    "AskTurns",
    "DescribedScheduler",
    "DescribedTask",
    "PlainSpacesTask",
    "Player",
    "PlayerActionsTask",
    "PlayerSpacesTask",
    "RevisedTask",
    "SchedulerRole",
    "TaskRole",
    "TimedTask",
    "UnrepeatableTask",
    "WorldTask",
    "is_task",
]

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias, TypeGuard, runtime_checkable

from flagfall.kernel.outcomes import Outcome, StepResult

Player: TypeAlias = str
"""The name of a player, within a task."""


@runtime_checkable
class TaskRole(Protocol):
    """One goal-directed episode after another, as a synchronous machine with no event loop in it."""

    @property
    def id(self) -> str:
        """The task's name in configurations, journals and tables, such as `micro5.18`."""

    @property
    def players(self) -> Sequence[Player]:
        """The players. With one player, observations, rewards and actions are plain values."""

    @property
    def continuous(self) -> bool:
        """True if agents are kept unaware of where a task ends and the next begins.

        The last reward then comes with the first observation of the next task, and agents get
        neither `init` nor `result` (as in the byte stream of the General AI Challenge, round 1).
        """

    @property
    def nil_action(self) -> Any:
        """The action that is played for an agent that is late, absent or answers illegally."""

    def is_legal(self, action: Any) -> bool:
        """Return whether the action may be given to `step`; accepts any object without raising."""

    def reset(self, seed: int) -> Any:
        """Begin a new episode.

        Args:
            seed: from 0 to 2**63 - 1; equal seeds give equal episodes (else see `UnrepeatableTask`).

        Returns:
            The first observation (a mapping from player for several players).
        """

    def step(self, action: Any) -> StepResult:
        """Take one action (a mapping from player for several players)."""

    def result(self) -> bool | None:
        """Return the verdict on the episode that just ended; see `Outcome.result`."""

    def metrics(self) -> Mapping[str, Any]:
        """Return figures of the episode that just ended, for tables and records."""

    def close(self) -> None:
        """Release the task's resources. Called once, whatever happened before."""


_TASK_MEMBERS: Final = tuple(name for name in vars(TaskRole) if not name.startswith("_"))

_MAX_CACHED_CLASSES: Final = 64
"""Classes of tasks of which it is known what their objects must have; a program has a few."""


def is_task(value: object) -> TypeGuard[TaskRole]:
    """Return whether a value has every member of a task.

    Asked once a match; `isinstance` gives the same answer, and takes 25 us to read the protocol each time.

    Args:
        value: any object.
    """
    kind: Any = type(value)
    return all(hasattr(value, name) for name in _missing_in_class(kind))


@lru_cache(maxsize=_MAX_CACHED_CLASSES)
def _missing_in_class(kind: type) -> tuple[str, ...]:
    """Return the members of a task that a class does not define; its objects may."""
    return tuple(name for name in _TASK_MEMBERS if not hasattr(kind, name))


class AskTurns(Protocol):
    """The referee as seen by a task that is an actor."""

    async def ask(self, observation: Any, reward: Any = 0) -> Any:
        """Play one turn: show the observation, and wait for the actions that are to be played.

        Cancelling it withdraws the turn; an answer to it will be dropped.

        Args:
            observation: the observation; for several players a mapping from player, and only the players in
                it are asked.
            reward: the reward that comes with it; for several players a mapping from player.

        Returns:
            The action that is played, or a mapping from player.

        Raises:
            EndOfMatch: the match is over; a task must not catch it.
        """


class ActorTask(Protocol):
    """A task that is an actor: after `reset` it runs by itself, and may wait for anything between turns.

    `step` is not called. Equal seeds and equal actions must lead to equal observations and rewards, or it is
    an `UnrepeatableTask`. In a replay it runs on a virtual clock, so it should wait by trio alone.
    """

    async def run(self, turns: AskTurns) -> None:
        """Play the episode that was reset, until it is over."""


class PlayerActionsTask(Protocol):
    """A task whose players have different actions."""

    def is_legal_for(self, player: Player, action: Any) -> bool:
        """Return whether a player may play this action; called in place of `is_legal`."""


class TimedTask(Protocol):
    """A task that is given times when it begins, in nanoseconds since the match began. Each is optional."""

    play_until_ns: int
    """The moment after which its episode is ended, before the next turn."""

    result_until_ns: int
    """The moment until which agents may think about the result, even where the time control has less."""


class AbortableTask(Protocol):
    """A task whose episode can be aborted, for time controls with `act_abort`."""

    abort_action: Any
    """The action that ends the episode at once; `None` where there is none."""


class UnrepeatableTask(Protocol):
    """A task whose episodes do not follow from their seeds."""

    not_repeatable: str | None
    """The reason, from its first reset on; `None`, or no such attribute, if they do follow."""


class RevisedTask(Protocol):
    """A task whose rules have changed."""

    def follow_rules(self, revisions: Mapping[str, int]) -> str | None:
        """Use the rules of an earlier revision; called before the first reset in a replay.

        Args:
            revisions: `MatchStarted.rules` of the recorded match.

        Returns:
            The reason why it cannot; `None` if it can.
        """


class DescribedTask(Protocol):
    """A task that describes its observations and actions by Gymnasium's spaces. Each is optional."""

    observation_space: Any
    """The space of its observations."""

    action_space: Any
    """The space of its actions."""


class PlayerSpacesTask(Protocol):
    """A task that describes the spaces of each player; used in place of `DescribedTask`."""

    def observation_space_of(self, player: Player) -> Any:
        """Return the space of a player's observations."""

    def action_space_of(self, player: Player) -> Any:
        """Return the space of a player's actions."""


class PlainSpacesTask(Protocol):
    """A task that describes its spaces without Gymnasium, whose import takes 0.2 s."""

    plain_spaces: tuple[dict[str, Any], dict[str, Any]]
    """Its observation space and its action space, in the form of `flagfall.kernel.spaces.describe_space`."""


class WorldTask(Protocol):
    """A byte task in a world (`flagfall.tasks.commai.world`), which receives every byte first."""

    world: Any
    """The world; `None` for none. Tasks that name one object share it."""


class SchedulerRole(Protocol):
    """Chooses the next task, from the outcomes so far."""

    def set_seed(self, seed: int) -> None:
        """Set the seed; called once, before the first task is asked for."""

    def next_task(self) -> TaskRole | None:
        """Return the next task, or `None` when the match is over; or an awaitable of that."""

    def report(self, outcome: Outcome) -> None:
        """Take the outcome of the last task; called before the next one is asked for."""

    def close(self) -> None:
        """Close all its tasks. Called once."""


class DescribedScheduler(Protocol):
    """A scheduler whose tasks are known before the match begins."""

    tasks: Sequence[TaskRole]
    """The tasks. Agents get the spaces of the first of them before they are ready."""
