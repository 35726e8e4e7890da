"""The agent's end of a seat: all that an agent in the event loop holds of its match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import trio

from flagfall.kernel.channels.turn_channel import Envelope, NoPublicConstructor

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from flagfall.timing import ElapsedTimer


class Reply(Protocol):
    """Function with which an agent answers."""

    def __call__(self, action: Any = None, number: int | None = None) -> None:
        """Answer the turn that was taken last, or the one with this number.

        Never blocks, and never raises for a reply that comes too late: such a reply is dropped and
        counted. The world may move on inside this call.
        """


class SeatTurns:
    """The turns of a seat as an iteration, which ends with the match."""

    __slots__ = ()

    turn: Callable[[], Coroutine[Any, Any, Envelope]]

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Envelope:
        try:
            return await self.turn()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None


_ACTS: Final = frozenset({"act"})


class Seat(SeatTurns, metaclass=NoPublicConstructor):
    """The agent's end of a match.

    An agent that is a full actor gets it as `run(seat)`:

        async for turn in seat:
            seat.reply(choose(turn.observation))

    It is all that an agent in the loop holds of its match, so no attribute of it leads to the clock by which
    the agent is judged, nor to the host's end. What it needs of these are functions, bound when it is made:
    only the inside of a function, such as `__self__`, leads further.

    Attributes:
        number: zero-based index of the seat in the match.
        timer: the elapsed and remaining time of the turn that was taken last.
        turn: takes the newest turn that waits for an answer, and waits until there is one. Turns that were
            judged before the agent asked for them are not shown. If it is cancelled, nothing was taken: the
            next call gets the turn. Raises `trio.EndOfChannel` when the match is over or the seat is
            disqualified, and `trio.BusyResourceError` where another task of the agent waits already.
        reply: answers the turn that was taken last (see `Reply`).
        note: attaches a note to the turn that is answered next (see `flagfall.kernel.hosting.Briefing.note`).
        close: leaves the match: the seat is disqualified as `gone`, unless the match is over.
        closed: there will be no more turns.
    """

    __slots__ = ("_wants", "close", "closed", "note", "number", "reply", "timer", "turn")

    def __init__(
        self,
        number: int,
        timer: ElapsedTimer,
        turn: Callable[[], Coroutine[Any, Any, Envelope]],
        reply: Reply,
        note: Callable[[Any], None],
        close: Callable[[], None],
    ) -> None:
        self.number: int = number
        self.timer: ElapsedTimer = timer
        self.turn: Callable[[], Coroutine[Any, Any, Envelope]] = turn
        self.reply: Reply = reply
        self.note: Callable[[Any], None] = note
        self.close: Callable[[], None] = close
        self.closed: bool = False
        self._wants: frozenset[str] = _ACTS

    def __repr__(self) -> str:
        return f"<Seat {self.number}{' (closed)' if self.closed else ''}>"

    @property
    def wants(self) -> frozenset[str]:
        """Return the phases that the agent wants to be asked in; the others are answered for it."""
        return self._wants

    @wants.setter
    def wants(self, phases: Iterable[str]) -> None:
        self._wants = frozenset(phases)  # here, so that whatever else it may be fails in the agent
