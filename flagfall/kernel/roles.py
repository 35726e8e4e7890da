"""Contracts of tasks and task schedulers, as protocols.

Every task is a `RequiredTask`; `TaskDefaults` are its optional members. This file knows no clock, no
channel and no event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias, TypeGuard

from flagfall.kernel.descriptions import describe_value, name_of
from flagfall.kernel.outcomes import Outcome, StepResult
from flagfall.timing.durations import NEVER_NS

Player: TypeAlias = str
"""The name of a player, within a task."""


Area: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom edge of an area, as shares of the width and the height of a picture, 0 to 1."""


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


class TaskDefaults(Protocol):
    """The optional members of a task, with the values that a task without them has."""

    run: Callable[[AskTurns], Awaitable[None]] | None = None
    """For a task that is an actor, called in place of `step`: plays the episode that was reset, to its end.

    It may wait for anything between turns. Equal seeds and equal actions must lead to equal observations and
    rewards, or it is `not_repeatable`. In a replay it runs on a virtual clock: it should wait by trio alone.
    """

    is_legal_for: Callable[[Player, Any], bool] | None = None
    """For a task whose players have different actions, called in place of `is_legal`."""

    abort_action: Any = None
    """The action that ends the episode at once, for time controls with `act_abort`; `None` for none."""

    play_until_ns: int = NEVER_NS
    """The time since the match began after which the episode is ended, before its next turn."""

    result_until_ns: int = 0
    """The time since the match began until which agents may think about the result in any case."""

    not_repeatable: str | None = None
    """The reason why episodes do not follow from their seeds, from the first reset on; `None` if they do."""

    instructions: str = ""
    """The goal and the rules in plain text, for people and language models.

    By default that of a `flagfall.Task` is the docstring of its own class. Empty if it has none.
    """

    world: Any = None
    """The world (`flagfall.tasks.commai.world`) of a byte task, which receives every byte first."""

    def follow_rules(self, revisions: Mapping[str, int]) -> str | None:  # noqa: ARG002 - most have only one
        """Use the rules of an earlier revision; called before the first reset in a replay.

        Args:
            revisions: `MatchStarted.rules` of the recorded match.

        Returns:
            The reason why it cannot; `None` if it can.
        """
        return None

    @property
    def plain_spaces(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The observation space and the action space as `flagfall.kernel.spaces.describe_space` returns them.

        For a task that describes them without Gymnasium, whose import takes 0.2 s; `None` otherwise.
        """
        return None

    @property
    def observation_space(self) -> Any:
        """The Gymnasium space of a player's observations; `None` if it is not described."""
        return None

    @property
    def action_space(self) -> Any:
        """The Gymnasium space of a player's actions; `None` if it is not described."""
        return None

    def observation_space_of(self, player: Player) -> Any:  # noqa: ARG002 - equal by default
        """Return the observation space of a player.

        Args:
            player: one of `players`.
        """
        return self.observation_space

    def action_space_of(self, player: Player) -> Any:  # noqa: ARG002 - equal by default
        """Return the action space of a player; a task where these differ also has `is_legal_for`.

        Args:
            player: one of `players`.
        """
        return self.action_space

    def describe_action(self, action: Any, player: Player | None = None) -> str:  # noqa: ARG002 - see above
        """Return an action of a player as people and language models read it, such as `UP`.

        Args:
            action: of the player alone; a legal one, or NIL.
            player: one of `players`; the first one by default.
        """
        return name_of(action, ())

    def describe_observation(self, observation: Any, player: Player | None = None) -> str:
        """Return an observation of a player as people and language models read it, such as a board as a grid.

        Args:
            observation: of the player alone, as `reset` or `step` has returned it, or as a journal has it.
            player: one of `players`; the first one by default.
        """

        def named(place: int) -> str:
            space = self.action_space if player is None else self.action_space_of(player)
            return self.describe_action(place + int(getattr(space, "start", 0)), player)

        return describe_value(observation, named)

    def describe_player(self, player: Player) -> str:
        """Return a player as people know it, such as `white` or `X`; by default its name.

        Args:
            player: one of `players`.
        """
        return player

    def layout_of_actions(self, player: Player) -> Mapping[int, Sequence[Area]]:  # noqa: ARG002 - see above
        """Return where the `rgb` picture is clicked to play an action; empty for a task that is no board.

        Args:
            player: one of `players`.

        Returns:
            For each action the areas that are clicked one after the other, such as a piece and its goal.
        """
        return {}


class RequiredTask(Protocol):
    """What every task has: one goal-directed episode after another, as a machine without an event loop."""

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
            seed: from 0 to 2**63 - 1; equal seeds give equal episodes (else see `not_repeatable`).

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


class TaskRole(RequiredTask, TaskDefaults, Protocol):
    """A task with all members: one derived from `flagfall.tasks.Task`, or made so by `complete_task`."""


_TASK_MEMBERS: Final = tuple(name for name in vars(RequiredTask) if not name.startswith("_"))

_MAX_CACHED_CLASSES: Final = 64
"""Classes of tasks of which it is known what their objects must have; a program has a few."""


def is_task(value: object) -> TypeGuard[RequiredTask]:
    """Return whether a value has every member of a `RequiredTask`.

    Asked once a match; to read the protocol takes 25 us each time.
    """
    kind: Any = type(value)
    return all(hasattr(value, name) for name in _missing_in_class(kind))


@lru_cache(maxsize=_MAX_CACHED_CLASSES)
def _missing_in_class(kind: type) -> tuple[str, ...]:
    """Return the members of a task that a class does not define; its objects may."""
    return tuple(name for name in _TASK_MEMBERS if not hasattr(kind, name))


def complete_task(task: RequiredTask) -> TaskRole:
    """Return a task with all optional members: one that does not inherit their defaults, in a wrapper.

    Called where a scheduler has returned a task; everything else reads plain attributes.
    """
    complete: Any = task if TaskDefaults in type(task).__mro__ else _CompletedTask(task)
    return complete  # type: ignore[no-any-return]  # it has the members of both


class _CompletedTask:
    """A task that is not derived from `TaskRole`, with the defaults of the members that it lacks."""

    def __init__(self, task: Any) -> None:
        self._task = task

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._task, name)
        except AttributeError:
            if name not in vars(TaskDefaults):
                raise
        default = vars(TaskDefaults)[name]
        return default.__get__(self) if hasattr(default, "__get__") else default


class SchedulerRole(Protocol):
    """Chooses the next task, from the outcomes so far."""

    def set_seed(self, seed: int) -> None:
        """Set the seed; called once, before the first task is asked for."""

    def next_task(self) -> RequiredTask | None:
        """Return the next task, or `None` when the match is over; or an awaitable of that."""

    def report(self, outcome: Outcome) -> None:
        """Take the outcome of the last task; called before the next one is asked for."""

    def close(self) -> None:
        """Close all its tasks. Called once."""
