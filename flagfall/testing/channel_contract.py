"""`check_channel`: the contract of a channel between actors, as a check to run on your own.

    async def test_my_channel_keeps_the_contract():
        await check_channel(open_my_channel)

`open_handoff_channel` and `trio.open_memory_channel` both pass. Every rule is a function of its own in
`RULES`; a rule that is broken, or never ends, is an `AssertionError` that says which it is.
"""

from __future__ import annotations

__all__ = ["RULES", "ChannelOpener", "Receiver", "Sender", "check_channel"]

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, Protocol, Self, TypeAlias

import trio
from trio.testing import assert_checkpoints, wait_all_tasks_blocked


class _End(Protocol):
    def clone(self) -> Self: ...
    def close(self) -> None: ...
    async def aclose(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...


class Sender(_End, Protocol):
    """The sending end: `trio.abc.SendChannel` with `send_nowait`, `clone` and `close`."""

    async def send(self, value: Any) -> None:
        """Give a value to a receiver or the buffer; wait for one or the other."""

    def send_nowait(self, value: Any) -> None:
        """The same without waiting."""


class Receiver(_End, Protocol):
    """The receiving end: `trio.abc.ReceiveChannel` with `receive_nowait`, `clone` and `close`."""

    async def receive(self) -> Any:
        """Take a value; wait for one."""

    def receive_nowait(self) -> Any:
        """The same without waiting."""

    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> Any: ...


ChannelOpener: TypeAlias = Callable[[int], tuple[Any, Any]]
"""Opens a channel of some capacity: a `Sender` and a `Receiver`."""

Open: TypeAlias = Callable[[int], tuple[Sender, Receiver]]
Log: TypeAlias = list[Any]

PATIENCE_S: Final = 10.0
"""How long one rule may take. All of them together take some milliseconds; the rest is for a busy machine."""


async def check_channel(open_pair: ChannelOpener) -> None:
    """Check that a channel keeps the contract that the kernel relies on.

    Args:
        open_pair: opens a fresh channel that holds so many values: a sending and a receiving end. It is
            asked for capacities 0 to 3.

    Raises:
        AssertionError: a rule is broken; the message says which.
    """
    for rule in RULES:
        try:
            with trio.fail_after(PATIENCE_S):
                await rule(open_pair)
        except trio.TooSlowError as error:
            raise AssertionError(f"{rule.__name__}: it never ended") from error
        except Exception as error:
            cause = _first(error)
            raise AssertionError(f"{rule.__name__}: {cause if str(cause) else repr(cause)}") from error


def _first(error: Exception) -> Exception:
    """The first error that is no group: nurseries wrap what their tasks raise."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _must(kept: bool, broken: str) -> None:
    if not kept:
        raise AssertionError(broken)


def _same(got: object, wanted: object, what: str) -> None:
    _must(got == wanted, f"{what}: got {got!r}, not {wanted!r}")


@contextlib.contextmanager
def _raises(error: type[Exception], what: str) -> Iterator[None]:
    try:
        yield
    except error:
        return
    raise AssertionError(f"{what} must raise {error.__name__}")


async def _send(sender: Sender, value: Any, log: Log) -> None:
    """Send, and log what became of it: the value, or the name of the error."""
    try:
        await sender.send(value)
    except (trio.ClosedResourceError, trio.BrokenResourceError) as error:
        log.append(type(error).__name__)
    else:
        log.append(value)


async def _receive(receiver: Receiver, log: Log) -> None:
    """Receive, and log what came: the value, or the name of the error."""
    try:
        log.append(await receiver.receive())
    except (trio.ClosedResourceError, trio.EndOfChannel) as error:
        log.append(type(error).__name__)


async def values_arrive_once_and_in_order(open_pair: Open) -> None:
    """Whatever the capacity, what goes in comes out; iteration ends with the last sending end."""

    async def send_all(sender: Sender) -> None:
        with sender:
            for value in range(10):
                await sender.send(value)

    for capacity in range(4):
        sender, receiver = open_pair(capacity)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_all, sender)
            _same([value async for value in receiver], [*range(10)], f"values through capacity {capacity}")


async def every_operation_is_a_checkpoint(open_pair: Open) -> None:
    """Operations that need not wait let others run all the same."""
    sender, receiver = open_pair(0)
    log: Log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, receiver, log)
        await wait_all_tasks_blocked()
        with assert_checkpoints():
            await sender.send("to one who waits")
        nursery.start_soon(_send, sender, "from one who waits", log)
        await wait_all_tasks_blocked()
        with assert_checkpoints():
            await receiver.receive()
    sender, receiver = open_pair(1)
    with assert_checkpoints():
        await sender.send("into the buffer")
    with assert_checkpoints():
        await receiver.receive()
    for end in (sender, receiver):
        with assert_checkpoints():
            await end.aclose()


async def nowait_never_waits(open_pair: Open) -> None:
    """`WouldBlock` where there is nobody and no room; else the same as waiting."""
    sender, receiver = open_pair(0)
    with _raises(trio.WouldBlock, "send_nowait to nobody"):
        sender.send_nowait("lost")
    with _raises(trio.WouldBlock, "receive_nowait from nobody"):
        receiver.receive_nowait()
    log: Log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, receiver, log)
        await wait_all_tasks_blocked()
        sender.send_nowait("direct")
        with _raises(trio.WouldBlock, "a second send_nowait to one receiver"):
            sender.send_nowait("lost")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send, sender, "sent", log)
        await wait_all_tasks_blocked()
        _same(receiver.receive_nowait(), "sent", "receive_nowait from one who waits")
    _same(log, ["direct", "sent"], "what was sent and received")


async def the_buffer_holds_its_capacity(open_pair: Open) -> None:
    """So many values and no more; a sender who waits fills the place that one receive frees."""
    sender, receiver = open_pair(2)
    sender.send_nowait(0)
    sender.send_nowait(1)
    with _raises(trio.WouldBlock, "send_nowait into a full buffer"):
        sender.send_nowait("lost")
    log: Log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send, sender, 2, log)
        await wait_all_tasks_blocked()
        _same(log, [], "senders into a full buffer who did not wait")
        _same(receiver.receive_nowait(), 0, "the first value of a full buffer")
        with _raises(trio.WouldBlock, "send_nowait past one who waited longer"):
            sender.send_nowait("overtaking")
    _same([receiver.receive_nowait() for _ in range(2)], [1, 2], "the rest of the buffer")


async def waiting_is_first_come_first_served(open_pair: Open) -> None:
    """Receivers are served in the order they came, and so are senders."""
    sender, receiver = open_pair(0)
    logs: list[Log] = [[], [], []]
    async with trio.open_nursery() as nursery:
        for log in logs:
            nursery.start_soon(_receive, receiver, log)
            await wait_all_tasks_blocked()
        for value in range(3):
            sender.send_nowait(value)
    _same(logs, [[0], [1], [2]], "values to three receivers in turn")
    async with trio.open_nursery() as nursery:
        for value in range(3):
            nursery.start_soon(_send, sender, value, [])
            await wait_all_tasks_blocked()
        _same([receiver.receive_nowait() for _ in range(3)], [0, 1, 2], "values of three senders in turn")


async def a_cancelled_receive_took_nothing(open_pair: Open) -> None:
    """Cancelled before or while it waits, it leaves the value to the next."""
    for capacity in range(2):
        sender, receiver = open_pair(capacity)
        with trio.move_on_after(0):
            await receiver.receive()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(receiver.receive)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_send, sender, "kept", [])
            await wait_all_tasks_blocked()
            with trio.CancelScope() as scope:
                scope.cancel()
                await receiver.receive()
            _must(scope.cancelled_caught, "receive in a cancelled scope must be cancelled")
            _same(receiver.receive_nowait(), "kept", "the value after cancelled receives")


async def a_cancelled_send_delivered_nothing(open_pair: Open) -> None:
    """Cancelled before or while it waits, its value is never seen."""
    sender, receiver = open_pair(0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sender.send, "cancelled")
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    with _raises(trio.WouldBlock, "receive_nowait after a cancelled send"):
        receiver.receive_nowait()
    log: Log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, receiver, log)
        await wait_all_tasks_blocked()
        with trio.CancelScope() as scope:
            scope.cancel()
            await sender.send("cancelled")
        _must(scope.cancelled_caught, "send in a cancelled scope must be cancelled")
        sender.send_nowait("delivered")
    _same(log, ["delivered"], "what the receiver got after a cancelled send")


async def what_was_handed_over_is_not_lost(open_pair: Open) -> None:
    """A cancellation that comes after the value does not take it back."""
    sender, receiver = open_pair(0)
    log: Log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, receiver, log)
        await wait_all_tasks_blocked()
        sender.send_nowait("handed over")
        nursery.cancel_scope.cancel()
    _same(log, ["handed over"], "what a receiver got that was cancelled too late")


async def a_closed_end_is_closed(open_pair: Open) -> None:
    """Nothing can be done with it but closing it again."""
    for close_sender in (True, False):
        sender, receiver = open_pair(1)
        end: _End = sender if close_sender else receiver
        with end:
            pass
        end.close()
        await end.aclose()
        with _raises(trio.ClosedResourceError, "clone of a closed end"):
            end.clone()
        with _raises(trio.ClosedResourceError, "an operation on a closed end"):
            await (sender.send(0) if close_sender else receiver.receive())
        with _raises(trio.ClosedResourceError, "a nowait operation on a closed end"):
            if close_sender:
                sender.send_nowait(0)
            else:
                receiver.receive_nowait()


async def a_cancelled_aclose_has_closed(open_pair: Open) -> None:
    """Closing cannot be prevented."""
    sender, receiver = open_pair(0)
    with trio.CancelScope() as scope:
        scope.cancel()
        await sender.aclose()
    _must(scope.cancelled_caught, "aclose in a cancelled scope must be cancelled")
    with _raises(trio.EndOfChannel, "receive after a cancelled aclose of the sending end"):
        await receiver.receive()


async def closing_the_senders_ends_the_channel(open_pair: Open) -> None:
    """What is in the buffer is still received, then comes `EndOfChannel`, for those who wait too."""
    sender, receiver = open_pair(1)
    sender.send_nowait("last")
    sender.close()
    _same(await receiver.receive(), "last", "the value in the buffer when the sender closed")
    with _raises(trio.EndOfChannel, "receive after the last value"):
        await receiver.receive()
    with _raises(trio.EndOfChannel, "receive_nowait after the last value"):
        receiver.receive_nowait()
    sender, receiver = open_pair(0)
    log: Log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, receiver, log)
        nursery.start_soon(_receive, receiver, log)
        await wait_all_tasks_blocked()
        sender.close()
    _same(log, ["EndOfChannel"] * 2, "what receivers got who waited when the sender closed")


async def closing_the_receivers_breaks_the_channel(open_pair: Open) -> None:
    """Senders get `BrokenResourceError`, those who wait too."""
    sender, receiver = open_pair(0)
    log: Log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send, sender, 0, log)
        nursery.start_soon(_send, sender, 1, log)
        await wait_all_tasks_blocked()
        receiver.close()
    _same(log, ["BrokenResourceError"] * 2, "what senders got who waited when the receiver closed")
    with _raises(trio.BrokenResourceError, "send to a closed receiver"):
        await sender.send(0)
    with _raises(trio.BrokenResourceError, "send_nowait to a closed receiver"):
        sender.send_nowait(0)


async def closing_wakes_those_who_wait_through_this_end(open_pair: Open) -> None:
    """They get `ClosedResourceError`; those who wait through a clone do not notice."""
    sender, receiver = open_pair(0)
    other_receiver = receiver.clone()
    log: Log = []
    other_log: Log = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, receiver, log)
        nursery.start_soon(_receive, other_receiver, other_log)
        await wait_all_tasks_blocked()
        receiver.close()
        await wait_all_tasks_blocked()
        _same((log, other_log), (["ClosedResourceError"], []), "receivers, one of whose ends was closed")
        sender.send_nowait("still open")
    _same(other_log, ["still open"], "what came through the clone")
    other_sender = sender.clone()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send, sender, "withdrawn", log)
        nursery.start_soon(_send, other_sender, "sent", other_log)
        await wait_all_tasks_blocked()
        sender.close()
        _same(await other_receiver.receive(), "sent", "the value of the sender whose end is open")
    _same(log, ["ClosedResourceError"] * 2, "the sender whose end was closed")


async def a_channel_lives_as_long_as_its_last_clone(open_pair: Open) -> None:
    """Ends are counted: only the last of a kind tells the other side."""
    sender, receiver = open_pair(1)
    second_sender, second_receiver = sender.clone(), receiver.clone()
    sender.close()
    receiver.close()
    second_sender.send_nowait("through the clones")
    _same(second_receiver.receive_nowait(), "through the clones", "a value through clones")
    third_sender = second_sender.clone()
    second_sender.close()
    with _raises(trio.WouldBlock, "receive_nowait while a clone of the sender is open"):
        second_receiver.receive_nowait()
    second_receiver.close()
    with _raises(trio.BrokenResourceError, "send after the last receiver closed"):
        third_sender.send_nowait("lost")


RULES: Final[tuple[Callable[[Open], Awaitable[None]], ...]] = (
    values_arrive_once_and_in_order,
    every_operation_is_a_checkpoint,
    nowait_never_waits,
    the_buffer_holds_its_capacity,
    waiting_is_first_come_first_served,
    a_cancelled_receive_took_nothing,
    a_cancelled_send_delivered_nothing,
    what_was_handed_over_is_not_lost,
    a_closed_end_is_closed,
    a_cancelled_aclose_has_closed,
    closing_the_senders_ends_the_channel,
    closing_the_receivers_breaks_the_channel,
    closing_wakes_those_who_wait_through_this_end,
    a_channel_lives_as_long_as_its_last_clone,
)
