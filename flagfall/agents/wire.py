"""The messages between a host and an agent at the other end of a wire, as MessagePack.

    host                          agent
    Hello(version, agent, ...)  ->
                                <- Ready(wants), or Failed(reason, detail) and the end
    Ask(envelope, limit)        ->
                                <- Answer(number, action), or Skip(number) to see the newest turn instead
    ...
    Bye()                       ->     the agent closes, and ends

The host asks again only when the last ask was answered or skipped, so an agent that is late finds the
newest turn next, and a host never fills the pipe of an agent that does not read.
"""

from __future__ import annotations

__all__ = [
    "WIRE_VERSION",
    "Answer",
    "Ask",
    "Bye",
    "Failed",
    "FromAgent",
    "Hello",
    "Ready",
    "Skip",
    "ToAgent",
    "decode_from_agent",
    "decode_to_agent",
    "encode",
]

from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from flagfall.errors import AgentFault
from flagfall.kernel.channels.arrays import msgpack_decoder, msgpack_encoder
from flagfall.kernel.channels.envelope import Envelope

WIRE_VERSION: Final = 1


class Hello(Struct, frozen=True, array_like=True, tag=True):
    """The first message.

    Attributes:
        version: of these messages.
        agent: what to load; empty where the other end has it already.
        seat: the number of the seat.
        seats: how many there are.
        seed: a seed of the agent's own.
        time_control: text form.
        arrays: observations may have arrays: whatever reads them is to be loaded before a clock runs.
    """

    version: int
    agent: str
    seat: int
    seats: int
    seed: int
    time_control: str
    arrays: bool = False


class Ask(Struct, frozen=True, array_like=True, tag=True):
    """A turn, with the time left for it in nanoseconds."""

    envelope: Envelope
    limit_ns: int


class Bye(Struct, frozen=True, array_like=True, tag=True):
    """There will be no more turns."""


class Ready(Struct, frozen=True, array_like=True, tag=True):
    """The agent is up, and wants to be asked in these phases."""

    wants: list[str]


class Failed(Struct, frozen=True, array_like=True, tag=True):
    """The agent broke down, and why; the last message."""

    reason: str
    detail: str


class Answer(Struct, frozen=True, array_like=True, tag=True):
    """The answer to the envelope of that number."""

    number: int
    action: Any


class Skip(Struct, frozen=True, array_like=True, tag=True):
    """The agent does not answer that envelope; it wants the newest."""

    number: int


ToAgent: TypeAlias = Hello | Ask | Bye
FromAgent: TypeAlias = Ready | Failed | Answer | Skip

_encoder = msgpack_encoder()
_decode_from_agent = msgpack_decoder(FromAgent)
_decode_to_agent = msgpack_decoder(ToAgent)


def encode(message: ToAgent | FromAgent) -> bytes:
    """The bytes of a message.

    Raises:
        TypeError: an action or observation holds something that has no place in MessagePack.
    """
    return _encoder.encode(message)


def decode_from_agent(data: bytes) -> FromAgent:
    """The message in these bytes.

    Raises:
        AgentFault: they are no message of an agent.
    """
    try:
        return _decode_from_agent(data)  # type: ignore[no-any-return]  # the decoder was made for it
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise AgentFault("garbage", f"no message: {error}") from error


def decode_to_agent(data: bytes) -> ToAgent:
    """The message in these bytes; for the agent's end, which trusts its host."""
    return _decode_to_agent(data)  # type: ignore[no-any-return]  # the decoder was made for it
