"""Contract of what runs an agent for a match, and what the agent may know before it plays."""

from __future__ import annotations

__all__ = ["AgentHost", "Briefing", "HostKind", "LocalHostKind"]

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import attrs

if TYPE_CHECKING:
    from flagfall.kernel.seat import Seat
    from flagfall.kernel.spaces import Spaces


HostKind: TypeAlias = Literal["task", "thread", "process", "remote"]
"""Where an agent runs: in the event loop, in a thread, in a process that is started for it, or in a
program that connects."""

LocalHostKind: TypeAlias = Literal["task", "thread", "process"]
"""The kinds of hosts that a user may ask for: an agent that connects is always remote."""


@attrs.frozen
class Briefing:
    """Information for an agent before it plays.

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
