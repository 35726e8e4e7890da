"""The memory channel between the referee and one agent: capacity one, the newest envelope wins.

Envelopes go one way and replies the other. A sent envelope replaces one that was not taken yet, so sending
never blocks and an agent never works through a backlog. Every envelope has a number, and a reply belongs to
the envelope that was taken: if a newer one was sent or it was retracted meanwhile, the reply is stale.

Rule 1: one task receives at a time, and a woken receiver takes the newest envelope, not the one that woke it.
Rule 2: a cancelled `receive` has taken nothing.
Rule 3: replies are handed over in the call of `reply`, which never blocks. The handler may send the next
    envelope before that call returns.
Rule 4: this file knows no clock and no match.

`tests/testing/channel_contract.py` checks this contract.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, NoReturn, Protocol, TypeVar

import trio
from msgspec import Struct
from trio.lowlevel import Abort, Task, checkpoint, current_task, reschedule, wait_task_rescheduled

from flagfall.events import Verdict
from flagfall.timing.control import Phase


class LateNotice(Struct, frozen=True):
    """Notice to an agent that another action than its own was played in a turn.

    Attributes:
        verdict: `late` or `illegal`.
        played: the action that was played instead.
        by_ns: how late the answer was when that was decided; 0 for an illegal one.
    """

    turn: int
    verdict: Verdict
    played: Any
    by_ns: int = 0


class Envelope(Struct, frozen=True, gc=False):
    """One request to an agent; frozen, since an agent in the loop holds it while the referee judges by it.

    Attributes:
        number: identifies it within the match. Turns count 0, 1, 2, ...; the other phases count
            -1, -2, -3, ...
        reward: the reward for an earlier action, 0 if there was none.
        late: the notice of a turn that was late or illegal, once, in the first envelope after it.
        noted: in a recorded turn that is shown again, the agent's note on it, `{}` if it made none; else
            `None`.
    """

    number: int
    observation: Any = None
    reward: Any = 0
    phase: Phase = "act"
    late: LateNotice | None = None
    noted: Any = None


class PlayedTurn(Struct, frozen=True):
    """A turn that was played before the agent took its seat.

    Attributes:
        observation: as the seat was shown it.
        reward: came with the observation, for the action of an earlier turn.
        action: what was played for the seat.
        verdict: the result of the turn by the clock.
    """

    turn: int
    observation: Any
    reward: Any
    action: Any
    verdict: Verdict


BURST_ENVELOPES: Final = 8
"""After this many envelopes in a row that were ready, `receive` lets the rest of the loop run.

A pass of trio's loop costs about as much as two turns, so eight keep its share below a fifth, while a
deadline of another match waits less than 0.1 ms for each busy match."""


T = TypeVar("T")


class ReplyHandler(Protocol):
    """The referee's side of a channel: takes replies. No method may block or raise."""

    def answered(self, envelope: Envelope, value: Any) -> None:
        """Take the reply to the open envelope, which closes it."""

    def answered_stale(self, envelope: Envelope, value: Any) -> None:
        """Take the reply to an envelope that was taken, but was replaced or retracted."""

    def answered_nothing(self, number: object) -> None:
        """Take a reply to no envelope that was taken; `number` is the one that the agent gave, or `None`."""


class _NoHandler:
    """Takes the replies that come when the match is over, and does nothing with them."""

    def answered(self, *_reply: object) -> None:
        pass

    answered_stale = answered_nothing = answered


_NO_HANDLER: Final = _NoHandler()


class NoPublicConstructor(type):
    """Metaclass of classes whose instances a function of their module makes, as those of trio's channels."""

    def __call__(cls, *_args: object, **_named: object) -> NoReturn:
        """Refuse to make an instance."""
        raise TypeError(f"{cls.__module__}.{cls.__qualname__} has no public constructor")

    def _create(cls: type[T], *args: Any) -> T:
        return super().__call__(*args)  # type: ignore[misc, no-any-return]  # of `type`, which makes the instance


class TurnChannelStatistics(NamedTuple):
    """State of a turn channel at one moment: the numbers of its envelopes, and whether a task waits."""

    waiting: int | None
    taken: int | None
    open: int | None
    tasks_waiting_receive: int
    is_closed: bool


def open_turn_channel(handler: ReplyHandler) -> TurnChannel:
    """Open a channel between a referee and an agent."""
    return TurnChannel._create(handler)  # noqa: SLF001 - the one place that makes channels


class TurnChannel(metaclass=NoPublicConstructor):
    """A conflated, numbered channel with one sender and one receiver; see `open_turn_channel`.

    Attributes:
        waiting: the envelope that was sent and not taken yet.
        taken: the envelope that the receiver took last, until it is answered.
        under_way: the envelope that it took, and has not seen yet; see `begin_delivery`.
        open_envelope: the newest envelope, until it is answered or retracted.
        last_answered: the number of the envelope that was answered last.
        closed: no more envelopes come.
        is_receiving: a task is between `start_receiving` and the end of its wait.
    """

    __slots__ = (
        "_burst",
        "_handler",
        "_receiver",
        "closed",
        "is_receiving",
        "last_answered",
        "open_envelope",
        "taken",
        "under_way",
        "waiting",
    )

    def __init__(self, handler: ReplyHandler) -> None:
        self._handler: ReplyHandler = handler
        self.waiting: Envelope | None = None
        self.taken: Envelope | None = None
        self.under_way: Envelope | None = None
        self.open_envelope: Envelope | None = None
        self.last_answered: int | None = None
        self.closed: bool = False
        self.is_receiving: bool = False
        # The task that receives, while it is parked.
        self._receiver: Task | None = None
        self._burst = 0

    def statistics(self) -> TurnChannelStatistics:
        """Return the state of the channel, for debugging."""
        return TurnChannelStatistics(
            _number_of(self.waiting),
            _number_of(self.taken),
            _number_of(self.open_envelope),
            int(self.is_receiving),
            self.closed,
        )

    def __repr__(self) -> str:
        return f"<TurnChannel at {id(self):#x}: {self.statistics()}>"

    # The referee's end.

    def send_nowait(self, envelope: Envelope) -> None:
        """Send an envelope in place of one that was not taken yet. Never blocks.

        Raises:
            trio.ClosedResourceError: the channel is closed.
        """
        if self.closed:
            raise trio.ClosedResourceError
        self.waiting = self.open_envelope = envelope
        if self._receiver is not None:
            self._wake_receiver()

    def retract(self) -> None:
        """Take back an envelope that was not taken; a reply to the open envelope will be stale."""
        self.waiting = self.open_envelope = None

    def close(self) -> None:
        """Close: a waiting envelope is retracted, and `receive` ends. Closing again does nothing."""
        self.closed = True
        self.retract()
        if self._receiver is not None:
            self._wake_receiver()

    def release(self) -> None:
        """Hand over no more replies; so the channel and its handler do not keep each other in memory."""
        self._handler = _NO_HANDLER

    # The agent's end.

    def take(self) -> Envelope | None:
        """Take the envelope that waits; `None` if there is none, or if the loop must run first."""
        envelope = self.waiting
        if envelope is not None:
            if self._burst >= BURST_ENVELOPES or self.under_way is not None:
                return None
            self._burst += 1
            self.waiting = None
            self.taken = envelope
        return envelope

    def begin_delivery(self) -> None:
        """Let the envelope that was taken last travel: until `deliver` it cannot be answered."""
        self.under_way, self.taken = self.taken, None

    def deliver(self) -> None:
        """Let the receiver have the envelope that is under way."""
        self.taken, self.under_way = self.under_way, None

    def put_back(self) -> None:
        """Undo the taking of the envelope that is under way, for a receiver that was cancelled.

        The next call gets it, if it is still open.
        """
        if self.under_way is self.open_envelope:
            self.waiting = self.under_way
        self.under_way = None

    def receive_nowait(self) -> Envelope:
        """Take the envelope that waits.

        Raises:
            trio.WouldBlock: none waits.
            trio.EndOfChannel: the channel is closed.
        """
        envelope = self.waiting
        if envelope is None:
            raise trio.EndOfChannel if self.closed else trio.WouldBlock
        self.waiting = None
        self.taken = envelope
        return envelope

    async def receive(self) -> Envelope:
        """Take the newest envelope; wait until there is one.

        It is a checkpoint, except for up to `BURST_ENVELOPES` envelopes in a row that lay ready. If it is
        cancelled, nothing was taken: the next call gets the envelope.

        Raises:
            trio.EndOfChannel: the channel is closed.
            trio.BusyResourceError: another task waits here already.
        """
        envelope = self.take()
        if envelope is not None:
            return envelope
        self.start_receiving()
        try:
            return await self.receive_next()
        finally:
            self.is_receiving = False

    def start_receiving(self) -> None:
        """Begin to wait for `receive_next`; the caller resets `is_receiving` in the end.

        Raises:
            trio.BusyResourceError: another task waits here already.
        """
        if self.is_receiving or self.under_way is not None:
            raise trio.BusyResourceError("another task waits for this seat's next turn already")
        self.is_receiving = True

    async def receive_next(self) -> Envelope:
        """Take the newest envelope as `receive` does, always with a checkpoint; `take` found none."""
        self._burst = 0
        if self.waiting is not None or self.closed:
            await checkpoint()
        while self.waiting is None and not self.closed:
            # A woken task looks again: the envelope that woke it may have been retracted since.
            self._receiver = current_task()
            await wait_task_rescheduled(self._forget_receiver)
        return self.receive_nowait()

    def reply(self, action: Any = None, number: int | None = None) -> None:
        """Answer the envelope that was taken last, if it has this number; any number with `None`.

        Never blocks and never raises: a reply that comes too late or answers nothing is handed over as that.
        """
        taken = self.taken
        if taken is None or (number is not None and number != taken.number):
            self._handler.answered_nothing(number)
            return
        self.taken = None
        self.last_answered = taken.number
        if taken is self.open_envelope:
            self.open_envelope = None
            self._handler.answered(taken, action)
        else:
            self._handler.answered_stale(taken, action)

    def _wake_receiver(self) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            reschedule(receiver)

    def _forget_receiver(self, _raise_cancel: Any) -> Abort:
        self._receiver = None
        return Abort.SUCCEEDED


def _number_of(envelope: Envelope | None) -> int | None:
    return None if envelope is None else envelope.number
