"""What comes to a match from outside, and what comes out of it: values and contracts, nothing that runs."""

from __future__ import annotations

__all__ = [
    "AgentHost",
    "Briefing",
    "HostKind",
    "LocalHostKind",
    "MatchResult",
    "SeatReport",
    "TaskTally",
    "WritingSink",
]

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

import attrs

from flagfall.events import Event

if TYPE_CHECKING:
    from flagfall.kernel.outcomes import SeatTally
    from flagfall.kernel.roles import Outcome
    from flagfall.kernel.seat import Seat
    from flagfall.kernel.spaces import Spaces


HostKind: TypeAlias = Literal["task", "thread", "process", "remote"]
"""Where an agent runs: in the event loop, in a thread, in a process that is started for it, or in a
program that connects."""

LocalHostKind: TypeAlias = Literal["task", "thread", "process"]
"""The kinds of hosts that a user may ask for: an agent that connects is always remote."""


@attrs.frozen
class Briefing:
    """What an agent may know before it plays.

    Attributes:
        seat: the number of its seat.
        seats: how many seats there are.
        seed: a seed of its own, derived from the match's.
        time_control: text form.
    """

    seat: int
    seats: int
    seed: int
    time_control: str
    _look_up_spaces: Callable[[], Spaces | None] = attrs.field(default=lambda: None, repr=False, eq=False)

    @property
    def spaces(self) -> Spaces | None:
        """What the first task shows and takes, where the match knows its tasks before it begins."""
        return self._look_up_spaces()


class AgentHost(Protocol):
    """Runs one agent for one match, somewhere."""

    @property
    def name(self) -> str:
        """The agent's name in tables and records."""

    @property
    def kind(self) -> HostKind:
        """Where the agent runs."""

    async def run(self, seat: Seat, briefing: Briefing) -> None:
        """Play the seat until `seat.turn` says that the match is over, then close the agent.

        Cancelling it stops the agent by whatever means there are; it returns when the agent is gone.

        Raises:
            AgentFault: the agent broke down; its seat is out.
            UsageError: the agent cannot be hosted as asked; the match is void.
        """


@runtime_checkable
class WritingSink(Protocol):
    """A sink that writes: an actor of its own, which may ask the match to wait for it between turns."""

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks."""

    def attach(
        self, pause: Callable[[], None], real_work: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """The match begins.

        Args:
            pause: asks the match to wait for `drain` before the next turn.
            real_work: goes around waiting for a disk or a thread: no virtual time passes meanwhile.
        """

    async def run(self) -> None:
        """Write until `finish` was called and everything is written; raises HostFault if it cannot."""

    async def drain(self) -> None:
        """Wait until there is room again."""

    def finish(self) -> None:
        """There will be no more events."""


@attrs.define
class TaskTally:
    """How the instances of one task went, in counts.

    Attributes:
        task: its id.
        played: instances that ended.
        solved: with result `True`.
        failed: with result `False`.
        steps: in all.
        reward: in all.
    """

    task: str
    played: int = 0
    solved: int = 0
    failed: int = 0
    steps: int = 0
    reward: float = 0

    def add(self, outcome: Outcome) -> None:
        """One more instance."""
        self.played += outcome.ended != "cut"
        self.solved += outcome.result is True
        self.failed += outcome.result is False
        self.steps += outcome.steps
        self.reward += outcome.reward


@attrs.frozen
class SeatReport:
    """What became of a seat.

    Attributes:
        agent: the agent's name.
        fell: why it is out, or `None`.
        detail: what to show the agent's author of that.
        tally: what it did, in counts and nanoseconds.
        said: the newest of what it wrote to its standard error, where its host has one of its own.
    """

    agent: str
    fell: str | None
    detail: str
    tally: SeatTally
    said: str = ""


@attrs.frozen
class MatchResult:
    """What `play` returns.

    Attributes:
        reason: why the match ended; see `flagfall.events.MatchEnded`.
        turns: how many were played.
        seats: one report for each seat.
        tasks: one tally for each task that was played, in the order of their first instance.
        elapsed_ns: from the first event to the last.
    """

    reason: str
    turns: int
    seats: tuple[SeatReport, ...]
    tasks: tuple[TaskTally, ...]
    elapsed_ns: int
