"""The host's end of a wire: asks the agent turn by turn, and hands what it says to the seat."""

from __future__ import annotations

__all__ = ["ask_over", "come_up"]

import itertools
import sys
from contextlib import suppress
from typing import Final

import trio

from flagfall.agents.wire import (
    WIRE_VERSION,
    Answer,
    Ask,
    Bye,
    Failed,
    FromAgent,
    Hello,
    Ready,
    Skip,
    decode_from_agent,
    encode,
)
from flagfall.errors import AgentFault, HostFault
from flagfall.kernel.channels.framing import FrameError
from flagfall.kernel.channels.pipes import FramedPipe
from flagfall.kernel.match import Briefing
from flagfall.kernel.seat import Seat
from flagfall.timing import NEVER_NS

CLOSE_SECONDS: Final = 0.5
"""How long an agent has to close and end by itself after the match."""


MAX_HEARD_AT_ONCE: Final = 100
"""After so many messages that answer nothing the rest of the loop runs; each takes some microseconds."""

FLOOD_PAUSE_SECONDS: Final = 0.002
"""For so long: whoever says more than that is held up himself, by a pipe that is full."""


async def come_up(pipe: FramedPipe, seat: Seat, briefing: Briefing, agent: str) -> None:
    """Greet the agent, and answer the seat's `start` when it is up.

    Raises:
        AgentFault: it could not be loaded, or it said something else.
    """
    arrays = "numpy" in sys.modules  # a task that has arrays has loaded it here
    said = briefing.seat, briefing.seats, briefing.seed, briefing.time_control
    hello = Hello(WIRE_VERSION, agent, *said, arrays)
    await _send(pipe, hello)
    message = await _receive(pipe)
    if not isinstance(message, Ready):
        raise AgentFault("garbage", f"expected Ready, got {type(message).__name__}")
    seat.wants = frozenset(message.wants)
    seat.reply()


async def ask_over(pipe: FramedPipe, seat: Seat) -> None:
    """Play the seat with the agent at the other end, until there are no more turns.

    Raises:
        AgentFault: the agent is gone, or said what is no message.
    """
    try:
        while True:
            envelope = await seat.turn()
            limit_ns = seat.limit_ns
            if limit_ns < NEVER_NS:
                limit_ns = max(0, seat.timer.remaining_ns)
            await _send(pipe, Ask(envelope, limit_ns))
            await _hear(pipe, seat, envelope.number)
    except trio.EndOfChannel:
        await _send(pipe, Bye())
        await _hear_the_end(pipe)


async def _hear(pipe: FramedPipe, seat: Seat, number: int) -> None:
    """Hand on what the agent says until it has dealt with this envelope."""
    for heard in itertools.count(1):
        message = await _receive(pipe)
        if isinstance(message, Answer):
            seat.reply(message.action, message.number)
        elif not isinstance(message, Skip):
            raise AgentFault("garbage", f"expected Answer, got {type(message).__name__}")
        if message.number == number:
            return
        if heard % MAX_HEARD_AT_ONCE == 0:
            await trio.sleep(FLOOD_PAUSE_SECONDS)


async def _hear_the_end(pipe: FramedPipe) -> None:
    """Hear whether the agent closed without failing; what it still answers is of no interest."""
    with trio.move_on_after(CLOSE_SECONDS):
        while True:
            try:
                message = decode_from_agent(await pipe.receive())
            except (trio.EndOfChannel, FrameError, AgentFault):
                return
            if isinstance(message, Failed):
                raise AgentFault(message.reason, message.detail)


async def _send(pipe: FramedPipe, message: Hello | Ask | Bye) -> None:
    try:
        data = encode(message)
    except (TypeError, ValueError, OverflowError) as error:
        raise HostFault(f"an observation cannot go over the wire: {error}") from error
    with suppress(trio.BrokenResourceError):  # it may have said why before it went: reading tells
        await pipe.send(data)


async def _receive(pipe: FramedPipe) -> FromAgent:
    try:
        message = decode_from_agent(await pipe.receive())
    except trio.EndOfChannel:
        raise AgentFault("gone", "its end of the wire was closed") from None
    except FrameError as error:
        raise AgentFault("garbage", str(error)) from error
    if isinstance(message, Failed):
        raise AgentFault(message.reason, message.detail)
    return message
