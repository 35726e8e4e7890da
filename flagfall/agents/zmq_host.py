"""A remote learner over ZeroMQ, as round 1 of the General AI Challenge has it.

The environment binds a PAIR socket; the learner connects, says `hello`, and then hears in every turn
a reward and a byte, each a message of its own, and answers with a byte. `docs/remote.md` has the wire.

Rule: the wire has no numbers of turns, so the order must say what answers what. A turn goes out only when
    the answer to the one before has come, however late; whatever else has come by then answers nothing.
"""

from __future__ import annotations

__all__ = ["RemoteLearnerHost", "is_remote", "parse_remote"]

import subprocess
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import trio

from flagfall.agents.addresses import LOOPBACK, cannot_bind, checked_address, checked_port, try_port
from flagfall.agents.commands import split_command
from flagfall.agents.guarded import LAST_WORDS_SECONDS, Guarded, open_guarded
from flagfall.agents.isolation import NO_ISOLATION
from flagfall.agents.zmq_wire import HELLO, byte_text, is_remote, read_reply, reward_text, shown
from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.kernel.channels.envelope import Envelope
from flagfall.kernel.match import Briefing
from flagfall.kernel.seat import Seat
from flagfall.timing import NowNs, TimeControl

if TYPE_CHECKING:
    from flagfall.agents.zmq_link import PairLink

DEFAULT_PORT: Final = 5556
"""The port of round 1, which its example learners connect to."""

MAX_DROPPED_AT_ONCE: Final = 100
"""After so many replies that answer nothing the rest of the loop runs; each takes some microseconds."""

READ_LAST_SECONDS: Final = 0.05
"""How long a learner that we started has to read its last reward. It cannot know that the match is over, so
more would be waited in vain."""


class RemoteLearnerHost:
    """Waits for a learner to connect, and plays the seat with it.

    The port is tried at once, so that a wrong one is told before anything is played, and bound when
    the match begins; nothing is held between.

    Args:
        port: where to bind, 1 to 65535.
        address: an IP address of this machine, `localhost`, or `*` for all: then everybody who can reach
            this machine can be the learner.
        command: a program to start, with its arguments; the port is appended as the last one. It is
            split as a shell would, without running one.
        name: for tables and records.

    Raises:
        UsageError: a value that cannot be, a port that is not free, no such program, no ZeroMQ.
    """

    kind: Literal["process"] = "process"

    def __init__(
        self,
        port: int = DEFAULT_PORT,
        address: str = LOOPBACK,
        command: str | None = None,
        name: str | None = None,
    ) -> None:
        _need_zmq()
        self._port = checked_port(port)
        self.name = name or f"zmq:{port}"
        self._address = checked_address(address)
        self._command = None if command is None else [*split_command(command), str(port)]
        try_port(self._address, port)

    def check(self, control: TimeControl) -> None:
        """Whether the learner can be timed like that.

        Raises:
            UsageError: it cannot; the message says why.
        """
        if control.clock == "cpu" and self._command is None:
            raise UsageError(
                f"clock=cpu cannot time {self.name}: the CPU time of a program that somebody else started"
                " is not known here; give a command to start it with, or use clock=wall"
            )

    async def run(self, seat: Seat, briefing: Briefing) -> None:  # noqa: ARG002 - the wire has no place for it
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        try:
            start = await seat.turn()
        except trio.EndOfChannel:
            return
        self.check(seat.budget.control)
        link = self._bind()
        try:
            talk = _Talk(link, seat, start)
            if self._command is None:
                fault = await _play_watched(talk)
            else:
                fault = await _play_with_program(talk, self._command)
        finally:
            link.close()
        if fault is not None:
            raise fault

    def _bind(self) -> PairLink:
        import zmq  # noqa: PLC0415 - an extra: `_need_zmq` has looked

        from flagfall.agents.zmq_link import PairLink  # noqa: PLC0415 - imports it

        host = f"[{self._address}]" if ":" in self._address else self._address
        try:
            return PairLink(f"tcp://{host}:{self._port}")
        except zmq.ZMQError as error:  # somebody was faster: no agent pays for that
            raise HostFault(cannot_bind(self._address, self._port, error)) from error


class _Talk:
    """The messages of one match.

    Args:
        link: to the learner.
        seat: its seat.
        start: what the seat was asked first.

    Attributes:
        cpu_clock: where the learner's CPU time is to count, what it has used.
    """

    def __init__(self, link: PairLink, seat: Seat, start: Envelope) -> None:
        self.link = link
        self.seat = seat
        self._newest = start.number
        self._waits = False
        self._owed: Any = 0
        self.cpu_clock: NowNs | None = None

    async def play(self) -> None:
        """From the first message to the last.

        Raises:
            AgentFault: the learner is gone, or never was one.
        """
        with self.link.while_there:
            await self._greet()
            await self._answer_turns()
            return
        if self.seat.closed:
            return
        why = f"the learner is gone: {self.link.lost}"
        if not self.link.heard:
            raise AgentFault("not started", why)
        if self._waits and (last := self.link.receive_nowait()) is not None:  # it answered, and went
            self.seat.reply(read_reply(last), self._newest)
        raise AgentFault("gone", why)

    async def _greet(self) -> None:
        frames = await self.link.receive()
        if frames != [HELLO]:
            raise AgentFault("garbage", f"expected hello, got {shown(b'|'.join(frames))}")
        self.seat.wants = frozenset({"act", "result"})
        self.seat.reply()
        self.seat.cpu_clock = self.cpu_clock  # from now on: coming up is timed by the wall, as in a process

    async def _answer_turns(self) -> None:
        with suppress(trio.EndOfChannel):
            while True:
                envelope = await self.seat.turn()
                if envelope.phase == "act":
                    await self._answer(envelope)
                else:  # its reward comes with the next turn's: on this wire each has one, and a byte
                    self._owed += envelope.reward
                    self.seat.reply(None, envelope.number)
                    self._newest = envelope.number
        if self._owed:
            self.link.send_last(reward_text(self._owed))

    async def _answer(self, envelope: Envelope) -> None:
        byte = byte_text(envelope.observation)
        await self.link.send(reward_text(envelope.reward + self._owed))
        self._owed = 0
        await self._drop_what_answers_nothing()
        await self.link.send(byte)
        self._newest, self._waits = envelope.number, True
        reply = read_reply(await self.link.receive())
        self._waits = False
        self.seat.reply(reply, envelope.number)

    async def _drop_what_answers_nothing(self) -> None:
        """Before a byte is sent, all replies are answers to earlier ones, and those have theirs."""
        dropped = 0
        while (frames := self.link.receive_nowait()) is not None:
            self.seat.reply(read_reply(frames), self._newest)
            dropped += 1
            if dropped % MAX_DROPPED_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()


async def _play_watched(talk: _Talk, *others: Callable[[], Awaitable[None]]) -> AgentFault | HostFault | None:
    """Play, and look meanwhile who comes and goes; gives what went wrong."""
    fault: AgentFault | HostFault | None = None
    async with trio.open_nursery() as nursery:
        for other in (talk.link.keep_door, talk.link.watch, *others):
            nursery.start_soon(other)
        try:
            await talk.play()
        except (AgentFault, HostFault) as caught:
            fault = caught
        nursery.cancel_scope.cancel()
    return fault


async def _play_with_program(talk: _Talk, command: list[str]) -> AgentFault | HostFault | None:
    """Play with a learner that is started for it, and is gone afterwards."""
    null = subprocess.DEVNULL
    guarded = await open_guarded(command, NO_ISOLATION, stdin=null, stdout=null)
    try:
        if talk.seat.budget.control.clock == "cpu":
            talk.cpu_clock = guarded.cpu_clock()
        fault = await _play_watched(talk, guarded.keep_tail, partial(_expect_hello, guarded, talk.link))
        if fault is not None:
            await guarded.has_ended(LAST_WORDS_SECONDS)  # for an exit code of its own
        elif talk.link.last_words:
            await guarded.has_ended(READ_LAST_SECONDS)
    finally:
        await guarded.end()
        talk.seat.said = guarded.said
    return guarded.with_last_words(fault) if isinstance(fault, AgentFault) else fault


async def _expect_hello(guarded: Guarded, link: PairLink) -> None:
    """A learner that ends before it says hello will never say it."""
    await guarded.process.wait()
    if not link.heard:
        link.lose("its program ended before it said hello")


# What is said on the command line.


def parse_remote(text: str, command: str | None = None, name: str | None = None) -> RemoteLearnerHost:
    """The host for a text such as `zmq:5556`, `zmq://127.0.0.1:5556`, `zmq://*:5556` or `zmq://[::1]:5556`.

    Args:
        text: see there; without a port it is 5556, without an address 127.0.0.1.
        command: a program to start, see `RemoteLearnerHost`.
        name: for tables and records.

    Raises:
        UsageError: it is no such text, or there can be no such host.
    """
    scheme, colon, rest = text.partition(":")
    address, port = LOOPBACK, rest
    if rest.startswith("//"):
        address, colon, port = rest[2:].rpartition(":")
    if scheme != "zmq" or not (text == "zmq" or (colon and address and port.isdecimal() and port.isascii())):
        raise UsageError(f"no remote learner: {text!r}; write zmq:PORT or zmq://ADDRESS:PORT")
    return RemoteLearnerHost(int(port) if port else DEFAULT_PORT, address, command, name)


def _need_zmq() -> None:
    try:
        import zmq  # noqa: F401, PLC0415 - an extra, and not quick to import
    except ImportError as error:
        raise UsageError("a remote learner needs ZeroMQ: pip install 'flagfall[zmq]'") from error
