"""`check_channel`: the contract of the channel between a referee and an agent.

    async def test_my_channel_keeps_the_contract():
        await check_channel(open_my_channel)

`flagfall.kernel.channels.turn_channel.open_turn_channel` passes. Every rule is a function of its own in
`RULES`; a rule that is broken, or never ends, is an `AssertionError` that says which it is.
"""

from __future__ import annotations

__all__ = ["RULES", "ChannelOpener", "Replies", "check_channel"]

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, TypeAlias

import trio
from trio.testing import wait_all_tasks_blocked

from flagfall.kernel.channels.turn_channel import BURST_ENVELOPES, Envelope, ReplyHandler, TurnChannel

ChannelOpener: TypeAlias = Callable[[ReplyHandler], Any]
"""Opens a channel with the interface of `TurnChannel`, whose replies go to a handler."""

Open: TypeAlias = Callable[[ReplyHandler], TurnChannel]

PATIENCE_S: Final = 10.0
"""Maximum duration of one rule. All of them take some milliseconds; the rest is for a busy machine."""


class Replies:
    """A handler that keeps what it was given, as tuples."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def answered(self, envelope: Envelope, value: Any) -> None:
        """Keep `("answer", number, value)`."""
        self.seen.append(("answer", envelope.number, value))

    def answered_stale(self, envelope: Envelope, value: Any) -> None:
        """Keep `("stale", number, value)`."""
        self.seen.append(("stale", envelope.number, value))

    def answered_nothing(self, number: object) -> None:
        """Keep `("nothing", number)`."""
        self.seen.append(("nothing", number))


async def check_channel(open_channel: ChannelOpener) -> None:
    """Check that a channel keeps the contract that the kernel relies on.

    Args:
        open_channel: opens a fresh channel; takes the handler of its replies.

    Raises:
        AssertionError: a rule is broken; the message says which.
    """
    for rule in RULES:
        try:
            with trio.fail_after(PATIENCE_S):
                await rule(open_channel)
        except trio.TooSlowError as error:
            raise AssertionError(f"{rule.__name__}: it never ended") from error
        except Exception as error:
            cause = _first(error)
            raise AssertionError(f"{rule.__name__}: {cause if str(cause) else repr(cause)}") from error


def _first(error: Exception) -> Exception:
    """Return the first error that is not a group: nurseries wrap what their tasks raise."""
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


async def _receive(channel: TurnChannel, log: list[Any]) -> None:
    """Receive, and log the number, or the name of the error."""
    try:
        log.append((await channel.receive()).number)
    except (trio.EndOfChannel, trio.BusyResourceError) as error:
        log.append(type(error).__name__)


async def the_newest_envelope_wins(open_channel: Open) -> None:
    """Capacity one: what was not taken is replaced, and an envelope is received once."""
    channel = open_channel(Replies())
    for number in range(3):
        channel.send_nowait(Envelope(number))
    _same((await channel.receive()).number, 2, "the envelope that was received after three were sent")
    with _raises(trio.WouldBlock, "receive_nowait after the newest was taken"):
        channel.receive_nowait()
    channel.send_nowait(Envelope(3))
    _same(channel.receive_nowait().number, 3, "the next envelope")


async def a_receiver_waits_and_takes_the_newest(open_channel: Open) -> None:
    """Check that the first envelope wakes a receiver, which takes the newest one when it runs."""
    channel = open_channel(Replies())
    log: list[Any] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, channel, log)
        await wait_all_tasks_blocked()
        _same(log, [], "what came before anything was sent")
        channel.send_nowait(Envelope(0))
        channel.send_nowait(Envelope(1))
    _same(log, [1], "what a waiting receiver got of two envelopes")


async def a_retracted_envelope_is_not_received(open_channel: Open) -> None:
    """Check that a receiver goes on waiting where the envelope that woke it was retracted."""
    channel = open_channel(Replies())
    log: list[Any] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, channel, log)
        await wait_all_tasks_blocked()
        channel.send_nowait(Envelope(0))
        channel.retract()
        await wait_all_tasks_blocked()
        _same(log, [], "what a receiver got of a retracted envelope")
        channel.send_nowait(Envelope(1))
    _same(log, [1], "what it got then")
    channel.send_nowait(Envelope(2))
    channel.retract()
    with _raises(trio.WouldBlock, "receive_nowait after retract"):
        channel.receive_nowait()


async def receiving_lets_the_loop_run(open_channel: Open) -> None:
    """Check that receiving is a checkpoint when it waits, else once in `BURST_ENVELOPES` + 1 calls."""
    channel = open_channel(Replies())
    passes = 0

    async def count() -> None:
        nonlocal passes
        while True:
            await trio.lowlevel.checkpoint()
            passes += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await trio.lowlevel.checkpoint()
        before = passes
        for number in range(3 * (BURST_ENVELOPES + 1)):
            channel.send_nowait(Envelope(number))
            await channel.receive()
        _must(passes > before + 1, f"{passes - before} passes of the loop in three bursts of receives")
        nursery.cancel_scope.cancel()


async def a_cancelled_receive_took_nothing(open_channel: Open) -> None:
    """Check that a receive cancelled before or while it waits leaves the envelope to the next call."""
    channel = open_channel(Replies())
    with trio.move_on_after(0):
        await channel.receive()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.receive)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    log: list[Any] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, channel, log)
        await wait_all_tasks_blocked()
        channel.send_nowait(Envelope(7))
        nursery.cancel_scope.cancel()
    if not log:  # it may have been too late to be cancelled, or not
        log.append(channel.receive_nowait().number)
    _same(log, [7], "the envelope after receives that were cancelled")


async def one_task_receives_at_a_time(open_channel: Open) -> None:
    """Check that a second receiver gets `BusyResourceError`, and that the first one goes on."""
    channel = open_channel(Replies())
    log: list[Any] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, channel, log)
        await wait_all_tasks_blocked()
        with _raises(trio.BusyResourceError, "receive beside another task that waits"):
            await channel.receive()
        channel.send_nowait(Envelope(0))
        channel.send_nowait(Envelope(1))  # replaces it before the receiver that was woken runs
        channel.receive_nowait()
        with _raises(trio.BusyResourceError, "receive beside a task that was woken for nothing"):
            await channel.receive()
        channel.send_nowait(Envelope(2))
    _same(log, [2], "what the first receiver got")


async def closing_ends_the_channel(open_channel: Open) -> None:
    """Check that closing retracts the envelope, and raises `EndOfChannel` for receivers."""
    channel = open_channel(Replies())
    log: list[Any] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_receive, channel, log)
        await wait_all_tasks_blocked()
        channel.close()
    _same(log, ["EndOfChannel"], "what a receiver got that waited when the channel was closed")
    channel.close()
    with _raises(trio.EndOfChannel, "receive after close"):
        await channel.receive()
    with _raises(trio.EndOfChannel, "receive_nowait after close"):
        channel.receive_nowait()
    with _raises(trio.ClosedResourceError, "send_nowait after close"):
        channel.send_nowait(Envelope(0))
    channel = open_channel(Replies())
    channel.send_nowait(Envelope(2))
    channel.close()
    with _raises(trio.EndOfChannel, "receive after an envelope that was not taken and close"):
        await channel.receive()


async def a_reply_answers_what_was_taken(open_channel: Open) -> None:
    """Check that a reply reaches the handler within the call, once, and a second one answers no turn."""
    replies = Replies()
    channel = open_channel(replies)
    channel.reply("early")
    channel.send_nowait(Envelope(4))
    channel.reply("not taken yet")
    await channel.receive()
    channel.reply("a", 4)
    channel.reply("again")
    seen = [("nothing", None), ("nothing", None), ("answer", 4, "a"), ("nothing", None)]
    _same(replies.seen, seen, "replies")


async def a_reply_by_number_answers_no_other_envelope(open_channel: Open) -> None:
    """Check that a reply with another number answers no turn, and that the right one still answers."""
    replies = Replies()
    channel = open_channel(replies)
    channel.send_nowait(Envelope(4))
    await channel.receive()
    channel.reply("other", 5)
    channel.reply("right", 4)
    _same(replies.seen, [("nothing", 5), ("answer", 4, "right")], "replies by number")


async def a_reply_that_comes_too_late_is_stale(open_channel: Open) -> None:
    """Check replies to an envelope that was replaced, retracted or closed after it was taken."""
    replies = Replies()
    for number, end in enumerate(("replace", "retract", "close")):
        channel = open_channel(replies)
        channel.send_nowait(Envelope(number))
        await channel.receive()
        if end == "replace":
            channel.send_nowait(Envelope(number + 10))
        elif end == "retract":
            channel.retract()
        else:
            channel.close()
        channel.reply(end)
    seen = [("stale", 0, "replace"), ("stale", 1, "retract"), ("stale", 2, "close")]
    _same(replies.seen, seen, "replies that came too late")


async def a_handler_may_send_the_next_envelope(open_channel: Open) -> None:
    """Within the call of `reply`; the receiver finds it there."""

    class Asks(Replies):
        def answered(self, envelope: Envelope, value: Any) -> None:
            super().answered(envelope, value)
            if envelope.number < last:
                channel.send_nowait(Envelope(envelope.number + 1))
            else:
                channel.close()

    last = 4
    replies = Asks()
    channel = open_channel(replies)
    channel.send_nowait(Envelope(0))
    while not channel.closed:
        envelope = await channel.receive()
        channel.reply(envelope.number * 10, envelope.number)
    _same(replies.seen, [("answer", n, n * 10) for n in range(last + 1)], "replies to what a handler sent")


RULES: Final[tuple[Callable[[Open], Awaitable[None]], ...]] = (
    the_newest_envelope_wins,
    a_receiver_waits_and_takes_the_newest,
    a_retracted_envelope_is_not_received,
    receiving_lets_the_loop_run,
    a_cancelled_receive_took_nothing,
    one_task_receives_at_a_time,
    closing_ends_the_channel,
    a_reply_answers_what_was_taken,
    a_reply_by_number_answers_no_other_envelope,
    a_reply_that_comes_too_late_is_stale,
    a_handler_may_send_the_next_envelope,
)
