"""What the kernel asks of a task, a task scheduler and a sink: protocols, never a concrete one.

Everything here is a value or a contract; this file knows no clock, no channel and no event loop.
"""

from __future__ import annotations

__all__ = ["Player", "SchedulerRole", "TaskRole"]

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from flagfall.kernel.outcomes import Outcome, StepResult

Player: TypeAlias = str


@runtime_checkable
class TaskRole(Protocol):
    """One goal-directed episode after another, as a synchronous machine with no event loop in it.

    Two more attributes may be there when the task is given out, in nanoseconds since the match began:
    `play_until_ns`, after which its episode is ended before the next turn, and `result_until_ns`, until
    which agents may think about the result even where that is longer than the time control has it.

    A third, `abort_action`, is the action that ends the episode at once, for time controls with `act_abort`.
    """

    @property
    def id(self) -> str:
        """The task's name in configurations, journals and tables, such as `micro5.18`."""

    @property
    def players(self) -> Sequence[Player]:
        """Who plays. With one player, observations, rewards and actions are plain values."""

    @property
    def continuous(self) -> bool:
        """Whether agents are kept unaware of where a task ends and the next begins.

        The last reward then comes with the first observation of the next task, and agents get
        neither `init` nor `result` (as in the byte stream of the General AI Challenge, round 1).
        """

    @property
    def nil_action(self) -> Any:
        """The action that is played for a late, wrong or absent agent."""

    def is_legal(self, action: Any) -> bool:
        """Whether the action may be given to `step`; must accept any object without raising.

        Where players may do different things, a task also has `is_legal_for(player, action)`, which is
        asked instead.
        """

    def reset(self, seed: int) -> Any:
        """Begin a new episode; the first observation (a mapping from player for several players).

        A task whose episodes do not follow from their seeds says why in an attribute `not_repeatable`, from
        its first reset on; `None` there, or no such attribute, means that they do.

        A task whose rules have changed has a method `follow_rules(revisions)`. It is called before the first
        reset when a recorded match is executed again, with `MatchStarted.rules`: the task takes the rules of
        that time, or returns why it cannot.
        """

    def step(self, action: Any) -> StepResult:
        """Take one action (a mapping from player for several players)."""

    def result(self) -> bool | None:
        """The verdict on the episode that just ended; see `Outcome.result`."""

    def metrics(self) -> Mapping[str, Any]:
        """What is worth telling of the episode that just ended."""

    def close(self) -> None:
        """Release what the task holds. Called once, whatever happened before."""


class SchedulerRole(Protocol):
    """Decides which task comes next, from the outcomes so far.

    A sequence `tasks` may be there: then agents can know what the first of them shows and takes before they
    are up (`flagfall.kernel.spaces`).
    """

    def set_seed(self, seed: int) -> None:
        """Called once, before the first task is asked for."""

    def next_task(self) -> TaskRole | None:
        """The next task, or `None` when the match is over."""

    def report(self, outcome: Outcome) -> None:
        """How the last task went; called before the next one is asked for."""

    def close(self) -> None:
        """Close every task it holds. Called once."""
