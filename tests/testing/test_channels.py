from __future__ import annotations

import contextlib
from typing import Any, Self

import pytest
import trio

from flagfall.kernel.channels.handoff import HandoffReceiveChannel, HandoffSendChannel, open_handoff_channel
from flagfall.testing import channel_contract
from flagfall.testing.channel_contract import RULES, check_channel


def open_ends(capacity: int) -> tuple[HandoffSendChannel[Any], HandoffReceiveChannel[Any]]:
    return open_handoff_channel(capacity)


class Wrapped:
    """An end that does everything as the end it wraps."""

    def __init__(self, end: Any) -> None:
        self.end = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self.end, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end.close()

    def clone(self) -> Wrapped:
        return type(self)(self.end.clone())

    def __aiter__(self) -> Wrapped:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except trio.EndOfChannel:
            raise StopAsyncIteration from None


class NoCheckpoint(Wrapped):
    async def send(self, value: Any) -> None:
        try:
            self.end.send_nowait(value)
        except trio.WouldBlock:
            await self.end.send(value)


class LosesOnCancel(Wrapped):
    async def receive(self) -> Any:
        value = await self.end.receive()
        await trio.lowlevel.checkpoint()
        return value


class ReceivesTwice(Wrapped):
    async def receive(self) -> Any:
        value = await self.end.receive()
        return value if value != 3 else await self.end.receive()


class DropsSilently(Wrapped):
    def send_nowait(self, value: Any) -> None:
        with contextlib.suppress(trio.WouldBlock):
            self.end.send_nowait(value)


class Hangs(Wrapped):
    async def receive(self) -> Any:
        await trio.sleep_forever()


class Unclosable(Wrapped):
    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("sender", "receiver", "says"),
    [
        (NoCheckpoint, Wrapped, "checkpoint"),
        (DropsSilently, Wrapped, "nowait_never_waits: send_nowait to nobody must raise WouldBlock"),
        (Wrapped, LosesOnCancel, "cancelled too late"),
        (Wrapped, ReceivesTwice, "values through capacity 0: got"),
        (Wrapped, Unclosable, "closing_the_receivers_breaks_the_channel: it never ended"),
        (Wrapped, Hangs, "values_arrive_once_and_in_order: it never ended"),
    ],
)
async def test_a_broken_channel_is_found_out(
    sender: Any, receiver: Any, says: str, autojump_clock: trio.testing.MockClock
) -> None:
    autojump_clock.autojump_threshold = 0.05

    def open_pair(capacity: int) -> tuple[Any, Any]:
        send_end, receive_end = open_ends(capacity)
        return sender(send_end), receiver(receive_end)

    with pytest.raises(AssertionError, match=says):
        await check_channel(open_pair)


async def test_a_wrapped_sound_channel_passes() -> None:
    def open_pair(capacity: int) -> tuple[Any, Any]:
        send_end, receive_end = open_ends(capacity)
        return Wrapped(send_end), Wrapped(receive_end)

    await check_channel(open_pair)


def test_every_rule_is_on_the_list() -> None:
    rules = [
        name
        for name, value in vars(channel_contract).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "") == channel_contract.__name__
        and getattr(value, "__annotations__", {}).get("open_pair") == "Open"
    ]
    assert rules == [rule.__name__ for rule in RULES]
