"""The host's end of a wire: asks the agent turn by turn, and hands what it says to the seat."""

from __future__ import annotations

__all__ = ["CLOSE_SECONDS", "Payloads", "Wire", "WireTalk", "described"]

import itertools
from contextlib import suppress
from typing import Final, Protocol

import attrs
import trio
from msgspec import UNSET, UnsetType

from flagfall.agents.wire.messages import (
    WIRE_VERSION,
    Answer,
    Ask,
    Bye,
    Encoding,
    Failed,
    FromAgent,
    Hello,
    Ready,
    Skip,
    ToAgent,
    decode_from_agent,
    encode,
)
from flagfall.errors import AgentFault, HostFault
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.channels.envelope import Envelope
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES, FrameError
from flagfall.kernel.channels.lines import LineError
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.roles import TaskRole
from flagfall.kernel.seat import Seat
from flagfall.kernel.spaces import Spaces, spaces_of
from flagfall.timing import NEVER_NS

CLOSE_SECONDS: Final = 0.5
"""How long an agent has to close and end by itself after the match."""

MAX_HEARD_AT_ONCE: Final = 100
"""After so many messages that answer nothing the rest of the loop runs; each takes some microseconds."""

FLOOD_PAUSE_SECONDS: Final = 0.002
"""For so long: whoever says more than that is held up himself, by a pipe that is full."""

_REASONS: Final = frozenset({"crashed", "not started"})
"""What an agent may say of its own failure; anything else it says becomes `crashed`."""


class Payloads(Protocol):
    """Whole payloads each way, such as a `PayloadPipe`; the methods are as there."""

    async def send(self, payload: bytes) -> None:
        """Send one."""

    async def receive(self) -> bytes:
        """The next one."""

    def allow(self, max_bytes: int) -> None:
        """From now on they may be so long."""

    def use_frames(self) -> None:
        """From now on they are MessagePack."""

    def close(self) -> None:
        """Close the line."""


class Wire:
    """Messages over payloads: JSON until the agent is ready, then as it chose."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._encoding: Encoding = "json"

    def choose(self, encoding: Encoding) -> None:
        """All that follows is in this encoding."""
        if encoding != self._encoding:
            self._encoding = encoding
            self._payloads.use_frames()

    async def send(self, message: ToAgent) -> None:
        """Send a message; one who is not there any more is told nothing.

        Raises:
            HostFault: an observation cannot be sent. No agent pays for that.
        """
        try:
            data = encode(message, self._encoding)
        except CodecError as error:
            raise HostFault(f"an observation cannot go over the wire: {error}") from error
        if len(data) > MAX_FRAME_BYTES:
            raise HostFault(
                f"an observation of {len(data)} bytes is too large for the wire: {MAX_FRAME_BYTES}"
            )
        with suppress(trio.BrokenResourceError):  # it may have said why before it went: reading tells
            await self._payloads.send(data)

    async def receive(self) -> FromAgent:
        """The next message.

        Raises:
            AgentFault: the agent is gone, failed, or said what is no message.
        """
        try:
            message = decode_from_agent(await self._payloads.receive(), self._encoding)
        except trio.EndOfChannel:
            raise AgentFault("gone", "its end of the wire was closed") from None
        except (FrameError, LineError) as error:
            raise AgentFault("garbage", str(error)) from error
        if isinstance(message, Failed):
            told = message.reason in _REASONS
            raise AgentFault(
                message.reason if told else "crashed",
                message.detail if told else f"{message.reason}: {message.detail}",
            )
        return message

    async def hear_the_end(self) -> None:
        """Hear whether the agent closed without failing; what it still answers is of no interest.

        Raises:
            AgentFault: it failed.
        """
        with trio.move_on_after(CLOSE_SECONDS):
            while True:
                try:
                    await self.receive()
                except AgentFault as fault:
                    if fault.reason in {"gone", "garbage"}:
                        return
                    raise

    def close(self) -> None:
        """Close the line."""
        self._payloads.close()


class WireTalk:
    """What is said with one agent in one match, be it over one wire or, after a loss, over another.

    Args:
        seat: where the agent sits.
        briefing: what it may know.
        agent: what the other end is to load; empty where it knows.
        max_unasked: after so many messages in a row that answer nothing the agent is out; `None` where it
            can do no harm by them.
        match: the id by which an agent names the match when it comes back; empty where it cannot.

    Attributes:
        is_up: the agent has been ready, on this wire or an earlier one.
    """

    def __init__(
        self,
        seat: Seat,
        briefing: Briefing,
        agent: str = "",
        max_unasked: int | None = None,
        match: str = "",
    ) -> None:
        self._seat = seat
        self._briefing = briefing
        self._agent = agent
        self._max_unasked = max_unasked
        self._match = match
        self.is_up = False
        self._taken: Envelope | None = None
        self._told: Spaces | None = None
        self._told_of: TaskRole | None = None

    async def come_up(self, wire: Wire) -> None:
        """Greet the agent, and answer the seat's `start` when it is up.

        Raises:
            AgentFault: it could not be loaded, or it said something else.
        """
        seat, briefing = self._seat, self._briefing
        self._told = self._told_of = None
        news = self._new_spaces()
        hello = Hello(
            WIRE_VERSION,
            briefing.seat,
            briefing.seats,
            briefing.seed,
            briefing.time_control,
            None if news is UNSET else news,
            self.is_up,
            self._agent or UNSET,
            self._match or UNSET,
        )
        await wire.send(hello)
        message = await wire.receive()
        if not isinstance(message, Ready):
            raise AgentFault("garbage", f"expected ready, got {_name(message)}")
        if message.version != WIRE_VERSION:
            raise AgentFault(
                "garbage",
                f"it speaks version {message.version} of the protocol, and this host {WIRE_VERSION}",
            )
        wire.choose(message.encoding)
        seat.wants = frozenset({"act", *message.wants})
        if not self.is_up:
            self.is_up = True
            seat.reply()

    async def ask(self, wire: Wire) -> None:
        """Play the seat with the agent at the other end, until there are no more turns; `part` comes next.

        On a second wire it begins with the turn that the agent had when the first was lost, if it still has
        time for it.

        Raises:
            AgentFault: the agent is gone, or said what is no message.
        """
        seat = self._seat
        if seat.timer.exceeded:
            self._taken = None
        try:
            while True:
                envelope = self._taken
                if envelope is None:
                    envelope = self._taken = await seat.turn()
                limit_ns = seat.limit_ns
                late = UNSET if envelope.late is None else envelope.late
                message = Ask(
                    envelope.number,
                    envelope.phase,
                    envelope.observation,
                    envelope.reward,
                    None if limit_ns >= NEVER_NS else max(0, seat.timer.remaining_ns),
                    late,
                    UNSET if seat.task is self._told_of else self._new_spaces(),
                )
                await wire.send(message)
                await self._hear(wire, envelope.number)
                self._taken = None
        except trio.EndOfChannel:
            return

    async def part(self, wire: Wire) -> None:
        """Tell the agent that there are no more turns, and give it time to close.

        Raises:
            AgentFault: it failed meanwhile.
        """
        await wire.send(Bye())
        await wire.hear_the_end()

    async def _hear(self, wire: Wire, number: int) -> None:
        """Hand on what the agent says until it has dealt with this envelope."""
        for heard in itertools.count(1):
            message = await wire.receive()
            if isinstance(message, Answer):
                self._seat.reply(message.action, message.number)
            elif not isinstance(message, Skip):
                raise AgentFault("garbage", f"expected answer, got {_name(message)}")
            if message.number == number:
                return
            if self._max_unasked is not None and heard > self._max_unasked:
                raise AgentFault("garbage", f"more than {self._max_unasked} messages that answer nothing")
            if heard % MAX_HEARD_AT_ONCE == 0:
                await trio.sleep(FLOOD_PAUSE_SECONDS)

    def _new_spaces(self) -> Spaces | UnsetType:
        """What the agent has not been told yet of what it sees and does."""
        task = self._told_of = self._seat.task
        if task is None:
            return UNSET
        spaces = _sendable(described(task, self._seat.number))
        if self._told is not None and _text(spaces) == _text(self._told):
            return UNSET
        self._told = spaces
        return spaces


def described(task: TaskRole, seat: int) -> Spaces:
    """Describe what a task shows to a seat and takes from it.

    Raises:
        HostFault: the task's own code fails. No agent pays for that.
    """
    try:
        return spaces_of(task, seat)
    except Exception as error:  # a task's own code: no agent pays for that
        raise HostFault(f"task {task.id}: its spaces: {type(error).__name__}: {error}") from error


def _sendable(spaces: Spaces) -> Spaces:
    """The same; without the NIL action where no wire can carry it."""
    try:
        _text(spaces)
    except CodecError:
        return attrs.evolve(spaces, nil=None)
    return spaces


def _text(spaces: Spaces) -> bytes:
    return encode(Ask(0, "act", None, None, None, UNSET, spaces), "json")


def _name(message: FromAgent) -> str:
    return type(message).__name__.lower()
