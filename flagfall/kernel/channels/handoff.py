"""A channel between actors that hands values over directly; trio's channel contracts, at less cost a turn.

What it saves against `trio.open_memory_channel`: an operation that has to wait parks at once (parking
checks for cancellation itself) instead of trying first and catching `WouldBlock`; one object is the place
in the queue, the abort function and the parcel a task is woken with.

Rule 1: a task is woken with what it waited for. No woken task looks again, so nobody can overtake it.
Rule 2: receivers wait only while there is no value, senders only while there is no room.
Rule 3: between the look at the queues and the change of them nothing yields (a checkpoint that is not
        cancelled does not), and Ctrl-C waits.
"""

from __future__ import annotations

__all__ = ["HandoffReceiveChannel", "HandoffSendChannel", "HandoffStatistics", "open_handoff_channel"]

from abc import abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

import attrs
import trio
from outcome import Error, Outcome
from trio.lowlevel import (
    Abort,
    Task,
    cancel_shielded_checkpoint,
    checkpoint_if_cancelled,
    current_task,
    enable_ki_protection,
    reschedule,
    wait_task_rescheduled,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from types import TracebackType
    from typing import Self

T = TypeVar("T")
SendT_contra = TypeVar("SendT_contra", contravariant=True)
ReceiveT_co = TypeVar("ReceiveT_co", covariant=True)
EndT = TypeVar("EndT", bound="_End")
ResultT = TypeVar("ResultT")


@attrs.frozen
class HandoffStatistics:
    """How a channel stands.

    Attributes:
        capacity: how many values it can hold for nobody in particular.
        buffered: how many it holds.
        peak_buffered: the most it ever held.
        open_senders: sending ends that are not closed.
        open_receivers: receiving ends that are not closed.
        waiting_senders: tasks parked in `send`.
        waiting_receivers: tasks parked in `receive`.
    """

    capacity: int
    buffered: int
    peak_buffered: int
    open_senders: int
    open_receivers: int
    waiting_senders: int
    waiting_receivers: int


@final
class _Ticket(Outcome[Any]):
    """A parked task's place in the queue, and the outcome it is woken with.

    `outcome.Value` would do for waking; but it takes an allocation and two guarded writes a value.
    """

    __slots__ = ("end", "queue", "task", "value")

    def __init__(self, end: _End, queue: deque[_Ticket], value: Any) -> None:
        self.end = end
        self.queue = queue
        self.value = value
        self.task: Task = current_task()

    # Outcomes are equal by content; places in a queue are not.
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None

    def abort(self, _raise_cancel: object) -> Abort:
        """Leave the queue; called by trio where the task is cancelled before it was woken."""
        self.queue.remove(self)
        return Abort.SUCCEEDED

    def unwrap(self) -> Any:
        """The value; trio takes it this way."""
        return self.value

    def send(self, gen: Generator[ResultT, Any, object]) -> ResultT:
        """Part of `Outcome`."""
        return gen.send(self.value)

    async def asend(self, agen: AsyncGenerator[ResultT, Any]) -> ResultT:
        """Part of `Outcome`."""
        return await agen.asend(self.value)


@attrs.define(eq=False)
class _State:
    """What the ends of one channel share. The queues are changed, never replaced: ends keep them."""

    capacity: int
    values: deque[Any] = attrs.Factory(deque)
    senders: deque[_Ticket] = attrs.Factory(deque)
    receivers: deque[_Ticket] = attrs.Factory(deque)
    peak_buffered: int = 0
    open_senders: int = 0
    open_receivers: int = 0

    def put(self, value: Any) -> None:
        """Hand a value to the first receiver, or into the buffer; there is one, or room."""
        if self.receivers:
            ticket = self.receivers.popleft()
            ticket.value = value
            reschedule(ticket.task, ticket)
        else:
            self.values.append(value)
            self.peak_buffered = max(self.peak_buffered, len(self.values))

    def take(self) -> Any:
        """The first value; there is one, in the buffer or with a sender, who is woken."""
        if not self.senders:
            return self.values.popleft()
        ticket = self.senders.popleft()
        value, ticket.value = ticket.value, None
        reschedule(ticket.task, ticket)
        if not self.values:
            return value
        self.values.append(value)
        return self.values.popleft()

    def statistics(self) -> HandoffStatistics:
        return HandoffStatistics(
            capacity=self.capacity,
            buffered=len(self.values),
            peak_buffered=self.peak_buffered,
            open_senders=self.open_senders,
            open_receivers=self.open_receivers,
            waiting_senders=len(self.senders),
            waiting_receivers=len(self.receivers),
        )


def _make(end_type: type[EndT], state: _State) -> EndT:
    end = end_type.__new__(end_type)
    end._join(state)  # noqa: SLF001 - ends are built here and nowhere else
    return end


def _wake(queue: deque[_Ticket], error: type[Exception], end: _End | None = None) -> None:
    """Wake those who wait in this queue (through this end only, where one is given) with an error."""
    for ticket in [ticket for ticket in queue if end is None or ticket.end is end]:
        queue.remove(ticket)
        reschedule(ticket.task, Error(error()))


class _End(trio.abc.AsyncResource):
    """What the two kinds of ends have in common."""

    __slots__ = ("_closed", "_others", "_own", "_state", "_values")

    _closed: bool
    _state: _State
    _values: deque[Any]
    _own: deque[_Ticket]
    _others: deque[_Ticket]

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        raise TypeError(f"{type(self).__name__} cannot be built by hand: use open_handoff_channel(capacity)")

    @abstractmethod
    def _join(self, state: _State) -> None:
        """Become an open end of that channel."""

    @abstractmethod
    def _leave(self) -> None:
        """Stop being one; where it was the last of its kind, tell the other side."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def statistics(self) -> HandoffStatistics:
        """How the channel stands; the same from each of its ends."""
        return self._state.statistics()

    @enable_ki_protection
    def clone(self) -> Self:
        """A further end of the same kind, that is closed on its own.

        Raises:
            trio.ClosedResourceError: this end is closed.
        """
        if self._closed:
            raise trio.ClosedResourceError
        return _make(type(self), self._state)

    @enable_ki_protection
    def close(self) -> None:
        """Close this end, at once; closing it again does nothing.

        Tasks that wait through this end get `trio.ClosedResourceError`; what they wanted to send is not
        sent. With the last sending end, receivers get `trio.EndOfChannel` once no value is left. With the
        last receiving end, senders get `trio.BrokenResourceError` and buffered values are dropped.
        """
        if self._closed:
            return
        self._closed = True
        _wake(self._own, trio.ClosedResourceError, self)
        self._leave()

    @enable_ki_protection
    async def aclose(self) -> None:
        """`close`, then a checkpoint. Cancelled, it has closed all the same."""
        self.close()
        await trio.lowlevel.checkpoint()


@final
class HandoffSendChannel(_End, trio.abc.SendChannel[SendT_contra], Generic[SendT_contra]):
    """The sending end of a channel. Several tasks may send at once; they are served in turn."""

    __slots__ = ()

    def _join(self, state: _State) -> None:
        self._closed, self._state, self._values = False, state, state.values
        self._own, self._others = state.senders, state.receivers
        state.open_senders += 1

    def _leave(self) -> None:
        self._state.open_senders -= 1
        if not self._state.open_senders:
            _wake(self._others, trio.EndOfChannel)

    def _has_room(self) -> bool:
        """Whether a value can go without waiting.

        Raises:
            trio.ClosedResourceError: this end is closed.
            trio.BrokenResourceError: every receiving end is closed.
        """
        if self._closed:
            raise trio.ClosedResourceError
        if self._others:
            return True
        if not self._state.open_receivers:
            raise trio.BrokenResourceError
        return len(self._values) < self._state.capacity

    @enable_ki_protection
    def send_nowait(self, value: SendT_contra) -> None:
        """Hand a value to a waiting receiver, or into the buffer.

        Raises:
            trio.WouldBlock: no receiver waits and the buffer is full; nothing was sent.
            trio.ClosedResourceError: this end is closed.
            trio.BrokenResourceError: every receiving end is closed.
        """
        if not self._has_room():
            raise trio.WouldBlock
        self._state.put(value)

    @enable_ki_protection
    async def send(self, value: SendT_contra) -> None:
        """Hand a value to a receiver or into the buffer; wait for one or the other.

        Always a checkpoint. If cancelled, nothing was sent.

        Raises:
            trio.ClosedResourceError: this end is closed, or was while the task waited.
            trio.BrokenResourceError: every receiving end is, or was.
        """
        if self._has_room():
            await checkpoint_if_cancelled()
            self._state.put(value)
            await cancel_shielded_checkpoint()
        else:
            ticket = _Ticket(self, self._own, value)
            self._own.append(ticket)
            await wait_task_rescheduled(ticket.abort)


@final
class HandoffReceiveChannel(_End, trio.abc.ReceiveChannel[ReceiveT_co], Generic[ReceiveT_co]):
    """The receiving end of a channel. Several tasks may receive at once; they are served in turn."""

    __slots__ = ()

    def _join(self, state: _State) -> None:
        self._closed, self._state, self._values = False, state, state.values
        self._own, self._others = state.receivers, state.senders
        state.open_receivers += 1

    def _leave(self) -> None:
        self._state.open_receivers -= 1
        if not self._state.open_receivers:
            _wake(self._others, trio.BrokenResourceError)
            self._values.clear()

    def _has_value(self) -> bool:
        """Whether a value is there to take.

        Raises:
            trio.ClosedResourceError: this end is closed.
            trio.EndOfChannel: none is there, and every sending end is closed.
        """
        if self._closed:
            raise trio.ClosedResourceError
        if self._others or self._values:
            return True
        if not self._state.open_senders:
            raise trio.EndOfChannel
        return False

    @enable_ki_protection
    def receive_nowait(self) -> ReceiveT_co:
        """Take a value from the buffer or from a waiting sender.

        Raises:
            trio.WouldBlock: there is none.
            trio.ClosedResourceError: this end is closed.
            trio.EndOfChannel: there is none, and every sending end is closed.
        """
        if not self._has_value():
            raise trio.WouldBlock
        value: ReceiveT_co = self._state.take()
        return value

    @enable_ki_protection
    async def receive(self) -> ReceiveT_co:
        """Take a value; wait for one.

        Always a checkpoint. If cancelled, nothing was taken: the next call gets it. A value that was
        handed over before the cancellation came is returned.

        Raises:
            trio.ClosedResourceError: this end is closed, or was while the task waited.
            trio.EndOfChannel: every sending end is, or was, and no value is left.
        """
        value: ReceiveT_co
        if self._has_value():
            await checkpoint_if_cancelled()
            value = self._state.take()
            await cancel_shielded_checkpoint()
        else:
            ticket = _Ticket(self, self._own, None)
            self._own.append(ticket)
            value = await wait_task_rescheduled(ticket.abort)
        return value


def open_handoff_channel(capacity: int = 0) -> tuple[HandoffSendChannel[T], HandoffReceiveChannel[T]]:
    """Open a channel for passing objects from task to task of one event loop.

    Args:
        capacity: how many values it holds for nobody in particular; with 0, `send` waits for a receiver.

    Returns:
        The sending end and the receiving end. Close them; nothing does it for you.

    Raises:
        TypeError: the capacity is no integer (there is no unbounded channel).
        ValueError: it is negative.
    """
    if isinstance(capacity, bool) or not isinstance(capacity, int):
        raise TypeError(f"capacity must be an integer, not {capacity!r}")
    if capacity < 0:
        raise ValueError(f"capacity must be 0 or more, not {capacity}")
    state = _State(capacity)
    sending: HandoffSendChannel[T] = _make(HandoffSendChannel, state)
    receiving: HandoffReceiveChannel[T] = _make(HandoffReceiveChannel, state)
    return sending, receiving
