"""The host's end of the agent protocol: asks the agent turn by turn, and hands its answers to the seat."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Protocol, TypeAlias

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
from flagfall.errors import UNAVAILABLE, AgentFault, HostFault
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES, FrameError, LineError
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.roles import TaskRole
from flagfall.kernel.seat import HostSeat
from flagfall.kernel.spaces import Spaces, TaskDescription, describe_observation, describe_task, spaces_of
from flagfall.timing import NEVER_NS
from flagfall.timing.clocks import real_limit, real_sleep

CLOSE_SECONDS: Final = 0.5
"""Maximum time for an agent to close and end by itself after the match."""

MAX_READ_AT_ONCE: Final = 100
"""After this many messages that answer nothing the rest of the loop runs; each takes some microseconds."""

FLOOD_PAUSE_SECONDS: Final = 0.002
"""The pause after `MAX_READ_AT_ONCE` of them: meanwhile the pipe of an agent that sends more fills up, and
holds the agent up."""

MAX_UNSOLICITED: Final = 1_000
"""The most messages that answer nothing while one answer is awaited, of an agent elsewhere or for which the
virtual clock stands still; then the agent is disqualified."""

MAX_UNWAITED_NS: Final = 1_000_000
"""The longest time in which answers are taken as soon as they are there, before the rest of the loop runs.
The seat lets it run after every eighth turn, too. It is shorter than what counts as a stall of the loop."""

_REASONS: Final = frozenset({"crashed", "not started", UNAVAILABLE})
"""The reasons that an agent may give for its own failure; any other becomes `crashed`."""


_Facts: TypeAlias = tuple[Spaces | UnsetType, TaskDescription | UnsetType | None]

_NOTHING_NEW: Final[_Facts] = (UNSET, UNSET)


class MessageStream(Protocol):
    """Whole messages each way, such as a `FramedStream`, whose contracts its methods have."""

    async def send(self, payload: bytes) -> None:
        """Send a message."""

    def send_nowait(self, payload: bytes) -> bool:
        """Send as much of a message as possible without waiting; false if `flush` must send the rest."""

    async def flush(self) -> None:
        """Send what `send_nowait` has left."""

    async def receive(self) -> bytes:
        """Return the next message."""

    def receive_nowait(self) -> bytes | None:
        """Return the next message if it is there."""

    def age_ns(self) -> int | None:
        """Return how long ago the input that was read last has arrived; `None` if that is unknown."""

    def allow(self, max_bytes: int) -> None:
        """Set the longest message that is accepted from now on."""

    def use_frames(self) -> None:
        """Send and expect MessagePack from now on."""

    def close(self) -> None:
        """Close the connection."""


class ProtocolChannel:
    """Messages of the agent protocol over a stream: JSON until the agent is ready, then as it chose."""

    def __init__(self, stream: MessageStream) -> None:
        self._stream = stream
        self._encoding: Encoding = "json"

    def age_ns(self) -> int | None:
        """Return how long ago the message that was received last has arrived; `None` if that is unknown."""
        return self._stream.age_ns()

    def choose(self, encoding: Encoding) -> None:
        """Use an encoding for all messages that follow."""
        if encoding != self._encoding:
            self._encoding = encoding
            self._stream.use_frames()

    async def send(self, message: ToAgent) -> None:
        """Send a message; it is lost if the agent is gone, which `receive` reports.

        Raises:
            HostFault: an observation cannot be encoded. No agent is disqualified for that.
        """
        if not self.send_nowait(message):
            await self.flush()

    def send_nowait(self, message: ToAgent) -> bool:
        """Send as much of a message as possible without waiting; raises as `send` does.

        True if nothing is left to send, also if the agent is gone; otherwise `flush` comes next.
        """
        try:
            data = encode(message, self._encoding)
        except CodecError as error:
            raise HostFault(f"an observation cannot be encoded for the agent: {error}") from error
        if len(data) > MAX_FRAME_BYTES:
            raise HostFault(
                f"an observation of {len(data)} bytes is too large for the agent protocol: {MAX_FRAME_BYTES}"
            )
        return self._stream.send_nowait(data)

    async def flush(self) -> None:
        """Send what `send_nowait` has left."""
        with suppress(trio.BrokenResourceError):  # it may have sent the reason before it went: read it first
            await self._stream.flush()

    async def receive(self) -> FromAgent:
        """Return the next message.

        Raises:
            AgentFault: the agent is gone, failed, or sent something that is not a message.
        """
        try:
            payload = await self._stream.receive()
        except (trio.EndOfChannel, FrameError, LineError) as error:
            raise _broken(error) from error
        return self._decode(payload)

    def receive_nowait(self) -> FromAgent | None:
        """Return the next message if it is there, else `None`; raises as `receive` does."""
        try:
            payload = self._stream.receive_nowait()
        except (trio.EndOfChannel, FrameError, LineError) as error:
            raise _broken(error) from error
        return None if payload is None else self._decode(payload)

    def _decode(self, payload: bytes) -> FromAgent:
        message = decode_from_agent(payload, self._encoding)
        if isinstance(message, Failed):
            if message.reason in _REASONS:
                raise AgentFault(message.reason, message.detail)
            raise AgentFault("crashed", f"{message.reason}: {message.detail}")
        return message

    async def wait_for_close(self) -> None:
        """Wait for the agent to close, at most `CLOSE_SECONDS`; answers that still come are discarded.

        Raises `AgentFault` if it failed.
        """
        with real_limit(CLOSE_SECONDS, patient=True):
            while True:
                try:
                    await self.receive()
                except AgentFault as fault:
                    if fault.reason in {"gone", "garbage"}:
                        return
                    raise

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def _broken(error: Exception) -> AgentFault:
    if isinstance(error, trio.EndOfChannel):
        return AgentFault("gone", "its end of the connection was closed")
    return AgentFault("garbage", str(error))


@attrs.define(eq=False)
class WireSession:
    """The conversation with one agent in one match, over one channel or, after a loss, over another.

    Args:
        max_unsolicited: the most messages in a row that answer nothing, before the agent is disqualified;
            `None` if it can do no harm by them: its time runs meanwhile.
        match: the id by which an agent names the match when it comes back; empty if it cannot.
        files: the modules of a Python agent that has no files to read them from, by their names.

    Attributes:
        is_up: the agent has been ready, on this channel or an earlier one.
    """

    _seat: HostSeat
    _briefing: Briefing
    _agent: str = ""
    _max_unsolicited: int | None = None
    _match: str = ""
    _files: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    is_up: bool = attrs.field(default=False, init=False)
    _taken: Envelope | None = attrs.field(default=None, init=False)
    _idle_ns: int = attrs.field(default=0, init=False)  # when the agent's last answer was read
    _shown_task: TaskRole | None = attrs.field(default=None, init=False)
    _sent_spaces: Spaces | None = attrs.field(default=None, init=False)
    _sent_task: TaskDescription | None = attrs.field(default=None, init=False)
    _wants_texts: bool = attrs.field(default=False, init=False)

    async def start(self, channel: ProtocolChannel) -> None:
        """Send `hello`, and answer the seat's `start` when the agent is ready.

        Raises:
            AgentFault: the agent could not be loaded, or sent another message.
        """
        seat, briefing = self._seat, self._briefing
        self._forget_sent()
        spaces, task = self._new_facts()
        hello = Hello(
            WIRE_VERSION,
            briefing.seat,
            briefing.seats,
            briefing.seed,
            briefing.time_control,
            None if spaces is UNSET else spaces,
            self.is_up,
            self._agent or UNSET,
            self._match or UNSET,
            task,
            tuple(briefing.transcript) or UNSET,
            self._files or UNSET,
        )
        await channel.send(hello)
        message = await channel.receive()
        if not isinstance(message, Ready):
            raise AgentFault("garbage", f"expected ready, got {_name(message)}")
        if message.version != WIRE_VERSION:
            what = f"it speaks version {message.version} of the protocol, and this host {WIRE_VERSION}"
            raise AgentFault("garbage", what)
        channel.choose(message.encoding)
        seat.agent.wants = frozenset({"act", *message.wants})
        self._wants_texts = message.texts
        if self.is_up:
            self._forget_sent()  # a client may keep this `hello` from an agent that has had one
        else:
            self.is_up = True
            seat.agent.reply()

    async def play(self, channel: ProtocolChannel) -> None:
        """Play the seat with the agent until there are no more turns; `end` comes next.

        On a second channel it begins with the turn that the agent had when the first was lost, if that still
        has time.

        Raises:
            AgentFault: the agent is gone, or sent something that is not a message.
        """
        seat, clock = self._seat, self._seat.clock
        turn, reply = seat.agent.turn, seat.agent.reply
        if seat.agent.timer.exceeded:
            self._taken = None
        since_ns = -NEVER_NS
        while True:
            envelope = self._taken
            if envelope is None:
                try:
                    envelope = self._taken = await turn()
                except trio.EndOfChannel:
                    return
            spaces, task = _NOTHING_NEW if seat.task is self._shown_task else self._new_facts()
            text: str | UnsetType = UNSET
            if self._wants_texts and seat.task is not None:
                text = describe_observation(seat.task, seat.number, envelope.observation) or UNSET
            number, limit_ns, now_ns = envelope.number, clock.limit_ns, seat.now()
            message = Ask(
                number,
                envelope.phase,
                envelope.observation,
                envelope.reward,
                None if limit_ns >= NEVER_NS else max(0, limit_ns - (now_ns - seat.taken_ns - seat.delay_ns)),
                UNSET if envelope.late is None else envelope.late,
                spaces,
                task,
                text,
                UNSET if envelope.noted is None else envelope.noted,
                *(UNSET if left is None else left for left in seat.budget.left),
            )
            # It waited for this turn, and gets it only now; what a model says of its latency is its own time.
            if seat.taken_ns >= self._idle_ns and seat.delay is None:
                clock.sent_ns = now_ns
            if not channel.send_nowait(message):
                await channel.flush()
            # Where host and agent share a core, the agent runs at once and its answer is there already. That
            # saves a wait, of which this loop makes one at least every `MAX_UNWAITED_NS`.
            answer = channel.receive_nowait() if now_ns - since_ns < MAX_UNWAITED_NS else None
            if type(answer) is Answer and answer.number == number:
                self._idle_ns = seat.now()
                if answer.note is not UNSET:
                    seat.agent.note(answer.note)
                reply(answer.action, number)
            else:
                await self._receive_answer(channel, number, answer)
                since_ns = seat.now()
            self._taken = None

    async def end(self, channel: ProtocolChannel) -> None:
        """Send `bye`, and give the agent time to close; raises `AgentFault` if it failed meanwhile."""
        await channel.send(Bye())
        await channel.wait_for_close()

    async def _receive_answer(self, channel: ProtocolChannel, number: int, first: FromAgent | None) -> None:
        """Hand messages to the seat until the agent has answered or skipped the envelope of a number."""
        most = self._max_unsolicited
        if most is None and self._seat.hold is not None:
            most = MAX_UNSOLICITED
        for received in itertools.count(1):
            message = await channel.receive() if first is None else first
            first = None
            self._idle_ns = self._seat.now()
            if isinstance(message, Answer):
                if message.note is not UNSET:
                    self._seat.agent.note(message.note)
                self._seat.agent.reply(message.action, message.number)
            elif not isinstance(message, Skip):
                raise AgentFault("garbage", f"expected answer, got {_name(message)}")
            if message.number == number:
                return
            if most is not None and received > most:
                raise AgentFault("garbage", f"more than {most} messages that answer nothing")
            if received % MAX_READ_AT_ONCE == 0:
                await real_sleep(FLOOD_PAUSE_SECONDS)

    def _forget_sent(self) -> None:
        self._shown_task = self._sent_spaces = self._sent_task = None

    def _new_facts(self) -> _Facts:
        """Return spaces and description of the running task, each only if the agent has been sent another."""
        task = self._shown_task = self._seat.task
        if task is None:
            return _NOTHING_NEW
        spaces = _encodable(describe_spaces(task, self._seat.number))
        has_spaces = self._sent_spaces is not None and _encoded(spaces) == _encoded(self._sent_spaces)
        told = describe_task(task, self._seat.number, spaces.action)
        facts = UNSET if has_spaces else spaces, UNSET if told == self._sent_task else told
        self._sent_spaces, self._sent_task = spaces, told
        return facts


def describe_spaces(task: TaskRole, seat: int) -> Spaces:
    """Describe what a task shows to a seat and takes from it.

    Raises:
        HostFault: the task's own code fails. No agent is disqualified for that.
    """
    try:
        return spaces_of(task, seat)
    except Exception as error:
        raise HostFault(f"task {task.id}: its spaces: {type(error).__name__}: {error}") from error


def _encodable(spaces: Spaces) -> Spaces:
    """Return the spaces, without the NIL action if that cannot be encoded."""
    try:
        _encoded(spaces)
    except CodecError:
        return attrs.evolve(spaces, nil=None)
    return spaces


def _encoded(spaces: Spaces) -> bytes:
    return encode(Ask(0, "act", None, None, None, UNSET, spaces), "json")


def _name(message: FromAgent) -> str:
    return type(message).__name__.lower()
