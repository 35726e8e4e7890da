"""Contract of agent hosts, and the information that an agent gets before it plays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeGuard

import attrs

if TYPE_CHECKING:
    from flagfall.kernel.channels.turn_channel import PlayedTurn
    from flagfall.kernel.seat import HostSeat
    from flagfall.kernel.spaces import Spaces, TaskDescription
    from flagfall.kernel.usage import Usage
    from flagfall.timing.rates import Rate


HostKind: TypeAlias = Literal["task", "thread", "process", "wasm", "remote"]
"""Place of an agent: in the event loop, in a thread, in a process that is started for it, in a
virtual machine for WebAssembly, or in a program that connects."""

LocalHostKind: TypeAlias = Literal["task", "thread", "process", "wasm"]
"""The kinds of hosts that a user can choose; an agent that connects is always remote."""


@attrs.frozen
class Briefing:
    """Information for an agent before it plays.

    Attributes:
        seat: zero-based index of its seat.
        seed: a seed of its own, derived from the match's.
        time_control: the time control, in its text form.
        rate: the rate by which its work takes time on the virtual clock, such as `tokens(30/s)`; `None` for
            none.
        transcript: in a match that goes on from a recorded one (`flagfall branch`), the last turns of its
            seat, oldest first: at most `flagfall.recording.branching.MAX_TRANSCRIPT_TURNS`. Empty otherwise,
            and for an agent that is shown them one by one.
    """

    seat: int
    seats: int
    seed: int
    time_control: str
    _look_up_spaces: Callable[[], Spaces | None] = attrs.field(default=lambda: None, repr=False, eq=False)

    _note: Callable[[Any], None] = attrs.field(default=lambda _value: None, repr=False, eq=False)

    _look_up_task: Callable[[], TaskDescription | None] = attrs.field(
        default=lambda: None, repr=False, eq=False
    )

    _look_up_text: Callable[[], str] = attrs.field(default=lambda: "", repr=False, eq=False)

    transcript: Sequence[PlayedTurn] = attrs.field(default=(), repr=False, eq=False)

    _look_up_noted: Callable[[], Any] = attrs.field(default=lambda: None, repr=False, eq=False)

    _think: Callable[[Usage], Awaitable[None] | None] = attrs.field(
        default=lambda _usage: None, repr=False, eq=False
    )

    _real_time: Callable[[float], AbstractContextManager[Any, bool]] | None = attrs.field(
        default=None, repr=False, eq=False
    )

    rate: Rate | None = attrs.field(default=None, kw_only=True)

    def note(self, value: Any) -> None:
        """Attach a note to the turn that is answered next, for readers of the journal.

        A note changes nothing in the match. Numbers in a mapping are also added up by their names, and
        `flagfall run` prints the sums. A note made before the first turn belongs to that turn.

        Args:
            value: plain values, such as a mapping; at most 16 KiB as JSON, and 16 MiB in a match. A larger
                note is left out, and counted.
        """
        self._note(value)

    async def think(
        self,
        *,
        prompt_tokens: int | None,
        answer_tokens: int | None,
        cost: float | None = None,
        requests: int = 1,
    ) -> None:
        """Report what a language model used for the turn, and let the time pass that it takes for that.

        The record of the turn has the numbers, and budgets of tokens and cost are charged with them. Time
        passes on the virtual clock under a rate such as `tokens(30/s)`, which is for agents in the event loop
        with the attribute `measures = "tokens"`; everywhere else the model has taken its time itself.

        Args:
            prompt_tokens: tokens of the prompts; `None` if they are not known, which a rate does not allow.
            answer_tokens: tokens of the answers; the same.
            cost: in US dollars, if it is known.
            requests: number of requests that were answered, valid or not.

        Raises:
            ValueError: a number that cannot be.
        """
        from flagfall.kernel.usage import Usage  # noqa: PLC0415 - few agents need it

        waits = self._think(Usage(prompt_tokens, answer_tokens, cost, requests))
        if waits is not None:
            await waits

    def real_time(self, seconds: float) -> AbstractContextManager[Any, bool]:
        """Return a context in which an agent under trio waits for the real world, such as for a server.

        Inside of it the virtual clock of a match stands still, and on every clock its body is cancelled after
        some seconds of real time, as by `trio.move_on_after`, whose cancel scope it gives.

        Args:
            seconds: real time, at most.
        """
        if self._real_time is not None:
            return self._real_time(seconds)
        from flagfall.timing.clocks import real_limit  # noqa: PLC0415 - few agents need it

        return real_limit(seconds)

    @property
    def spaces(self) -> Spaces | None:
        """Spaces of the task that is played, or of the first one; `None` if no task is known yet."""
        return self._look_up_spaces()

    @property
    def task(self) -> TaskDescription | None:
        """Name, rules and names of the actions of the task that is played, or of the first one.

        `None` if no task is known yet, and in byte tasks: whoever plays them finds out what is wanted.
        """
        return self._look_up_task()

    @property
    def text(self) -> str:
        """The observation of the turn that is played, as people read it, such as a board as a grid.

        Empty between turns, and outside of the event loop for an agent without the attribute `texts = True`.
        """
        return self._look_up_text()

    @property
    def noted(self) -> Any:
        """The agent's own note on the turn that is played, where that is a recorded one which is shown again.

        `{}` if it made none there, and `None` in every other turn. An agent that finds its answer in its note
        need not work it out again; with the attribute `resumes = True` it says that it does so.
        """
        return self._look_up_noted()


class AgentHost(Protocol):
    """Runs one agent for one match."""

    @property
    def name(self) -> str:
        """The agent's name in tables and records."""

    @property
    def kind(self) -> HostKind:
        """The place of the agent."""

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat until `seat.agent.turn` reports the end of the match, then close the agent.

        Args:
            seat: the host's end of the seat; `seat.agent` is the end to play with.

        Cancellation stops the agent by all available means; the call returns when the agent has ended.

        On the virtual clock, time stands still while this runs and does not wait for a turn, unless `kind` is
        `task`, or `wasm`, which counts its agent's time itself. So where it waits for the real world, it
        limits that by `flagfall.timing.clocks.real_limit`.

        Raises:
            AgentFault: the agent failed; its seat is disqualified.
            UsageError: the host does not support this agent or these settings; the match is void.
        """


class SharingHost(Protocol):
    """A host that shares something with others, whose start is no agent's time."""

    async def warm_up(self) -> None:
        """Get ready to start the agent; `run` is called in any case, and releases what this has got."""


def is_sharing(host: object) -> TypeGuard[SharingHost]:
    """Return whether a host warms up before the match begins."""
    return hasattr(host, "warm_up")
