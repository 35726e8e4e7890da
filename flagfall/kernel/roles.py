"""What the kernel asks of a task, a task scheduler and a sink: protocols, never a concrete one.

Everything here is a value or a contract; this file knows no clock, no channel and no event loop.
"""

from __future__ import annotations

__all__ = ["Outcome", "Player", "SchedulerRole", "Sink", "StepResult", "TaskRole", "TurnsSink"]

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import attrs

from flagfall.events import Event, TurnsPlayed

Player: TypeAlias = str
Sink: TypeAlias = Callable[[Event], None]
"""Takes every event of a match, in order. It is called inside a turn: it must not block."""


@runtime_checkable
class TurnsSink(Protocol):
    """A sink that takes plain turns many at a time: an event of each would cost more than all else about it.

    Everything else it is called with, in its order. Plain turns are held back until there are
    `flagfall.kernel.dispatcher.HELD_TURNS` of them, or another event comes.
    """

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks."""

    def take_turns(self, turns: TurnsPlayed) -> None:
        """Take plain turns; never blocks."""

    def may_ask(self, hand_over: Callable[[], None]) -> None:
        """The match begins; `hand_over` gives at once what turns are held back, if any are."""


class StepResult(NamedTuple):
    """What one step of a task gives back; unpacks like a Gymnasium step.

    Attributes:
        observation: what the agent sees next; `None` where the task is over and shows nothing more.
            A task of several players gives a mapping from player to observation.
        reward: the reward for the action just taken (a mapping from player for several players).
        terminated: the task reached an end of its own.
        truncated: the task was cut short by a limit on its steps or its time.
        info: whatever else the task tells; never shown to an agent by the kernel.
    """

    observation: Any
    reward: Any = 0
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = {}

    @property
    def done(self) -> bool:
        """Whether the episode is over, either way: AllenAct's third value."""
        return self.terminated or self.truncated


@attrs.frozen
class Outcome:
    """How one task went, as a task scheduler is told it.

    Attributes:
        task: the id of the task.
        index: the how-manieth task of the match this was, from 0.
        result: `True` solved, `False` failed, `None` where the task judges nothing or was cut short.
        reward: the sum of the rewards it paid (over all players).
        steps: the number of its steps.
        ended: `finished`, `truncated` (by the task's own limit), `time` (its `play_until_ns` had come) or
            `cut` (the match ended first).
        metrics: what `Task.metrics` said at the end.
        answers: what each seat answered to the result, by seat number; empty where it was not asked.
        at_ns: when that was, in nanoseconds since the match began; 0 where there is no clock.
    """

    task: str
    index: int
    result: bool | None
    reward: float
    steps: int
    ended: Literal["finished", "truncated", "time", "cut"] = "finished"
    metrics: Mapping[str, Any] = attrs.Factory(dict)
    answers: Mapping[int, Any] = attrs.Factory(dict)
    at_ns: int = 0


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
