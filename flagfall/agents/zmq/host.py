"""A remote learner over ZeroMQ, as round 1 of the General AI Challenge has it.

The environment listens as a PAIR socket does; the learner connects, says `hello`, and then hears in every
turn a reward and a token, each a message of its own, and answers with a token. `docs/remote.md` has the wire.

Rule: the wire has no numbers of turns, so the order must say what answers what. A turn goes out only when
    the answer to the one before has come, however late; whatever else has come by then answers nothing, up
    to `MAX_DROPPED` messages.
"""

from __future__ import annotations

__all__ = ["RemoteLearnerHost", "is_remote", "parse_remote"]

import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal

import trio

from flagfall.agents.command_line import split_command
from flagfall.agents.connections.addresses import LOOPBACK, checked_address, checked_port, try_port
from flagfall.agents.connections.admission import Census, SeriesDoor
from flagfall.agents.process.isolation import NO_ISOLATION
from flagfall.agents.process.supervised import LAST_WORDS_SECONDS, Guarded, open_guarded
from flagfall.agents.wire.session import described
from flagfall.agents.zmq.messages import is_remote, read_reply, reward_text, token_text
from flagfall.agents.zmq.pair_socket import LearnerDoor, LearnerLink, LinkLost
from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.kernel.channels.envelope import Envelope
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.roles import TaskRole
from flagfall.kernel.seat import Seat
from flagfall.timing import NowNs, TimeControl

DEFAULT_PORT: Final = 5556
"""The port of round 1, which its example learners connect to."""

MAX_DROPPED: Final = 1_000
"""Replies that answer nothing and are dropped before a token is sent, at most: as many as a ZeroMQ socket
queues by default. Reading on would never end where the learner sends as fast as it is read."""

MAX_DROPPED_AT_ONCE: Final = 100
"""After so many of them the rest of the loop runs; each takes some microseconds."""

READ_LAST_SECONDS: Final = 0.05
"""How long a learner that we started has to read its last reward. It cannot know that the match is over, so
more would be waited in vain."""


READ_HELLO_SECONDS: Final = 0.05
"""The time after the end of a program to read a `hello` that it has sent: some passes of the loop."""

_BIT: Final = {"type": "discrete", "n": 2, "start": 0}


class RemoteLearnerHost:
    """Waits for a learner to connect, and plays the seat with it.

    The port is tried at once, so that a wrong one is reported before anything is played. It is bound while a
    match is played, or over a whole series (`flagfall.agents.connections.admission.open_series`).

    Args:
        port: where to bind, 1 to 65535.
        address: an IP address of this machine, `localhost`, or `*` for all: then everybody who can reach
            this machine can be the learner.
        command: a program to start, with its arguments; the port is appended as the last one. It is
            split as a shell would, without running one.
        name: for tables and records.
        token: what a learner must send as its first message, before `hello`; empty for none. Never shown.

    Raises:
        UsageError: a value that cannot be, a port that is not free, no such program.
    """

    kind: Literal["process"] = "process"

    def __init__(
        self,
        port: int = DEFAULT_PORT,
        address: str = LOOPBACK,
        command: str | None = None,
        name: str | None = None,
        token: str = "",
    ) -> None:
        self._token = token
        self._doors = SeriesDoor(self._opened)
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

    @asynccontextmanager
    async def series(self) -> AsyncIterator[None]:
        """Keep the port open over several matches; see `flagfall.agents.connections.admission.open_series`.

        A learner that stays connected plays the next match, without another `hello`.

        Raises:
            HostFault: it cannot be bound.
        """
        async with self._doors.series():
            yield

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[LearnerDoor]:
        door = LearnerDoor(self._token)
        async with door.admission.opened(self._address, self._port):
            yield door

    async def run(self, seat: Seat, briefing: Briefing) -> None:  # noqa: ARG002 - the wire has no place for it
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        try:
            start = await seat.turn()
        except trio.EndOfChannel:
            return
        self.check(seat.budget.control)
        stays = self._doors.is_series and self._command is None
        async with self._doors.for_match() as door:
            await self._play(door, seat, start, stays=stays)

    async def _play(self, door: LearnerDoor, seat: Seat, start: Envelope, *, stays: bool) -> None:
        if door.is_taken:
            raise UsageError(f"{self.name}: two seats at a time with one address: give each one its own")
        door.is_taken = True
        try:
            sitting = _Sitting(door, seat, start, f"{self._address}:{self._port}", stays=stays)
            if self._command is None:
                await sitting.play()
            else:
                await _play_with_program(sitting, self._command)
        finally:
            door.is_taken = False


class _Sitting:
    """One match of a learner: waits for it, and plays with it.

    Args:
        door: admits learners.
        seat: the seat that is played.
        start: the first envelope of the seat.
        where: the address, for messages.
        stays: its connection is kept for the next match.

    Attributes:
        seat: as in the arguments.
        joined: a learner has connected.
        parted: the learner has been sent a last reward.
        cpu_clock: where the learner's CPU time is to count, what it has used.
    """

    def __init__(self, door: LearnerDoor, seat: Seat, start: Envelope, where: str, *, stays: bool) -> None:
        self.seat = seat
        self.joined = False
        self.parted = False
        self.cpu_clock: NowNs | None = None
        self._door = door
        self._start = start
        self._where = where
        self._stays = stays
        self._census: Census = door.admission.census()
        door.wrong = ""
        self._waits = trio.CancelScope()
        self._lost = ""
        seat.absence = self._absence

    def begin_anew(self) -> None:
        """Discard learners that have connected already."""
        self._door.admission.discard_waiting()

    def lose(self, why: str) -> None:
        """Stop waiting for a learner."""
        self._lost = why
        self._waits.cancel()

    def _absence(self) -> AgentFault | None:
        if self.joined:
            return None
        if self._door.wrong:
            return AgentFault("garbage", f"a client connected to {self._where}: {self._door.wrong}")
        return self._census.absence(self._where)

    async def play(self) -> None:
        """From the first message to the last.

        Raises:
            AgentFault: the learner is gone, or none is to come.
        """
        talk = _Talk(self.seat, self._start.number)
        while not await self._play_on(talk):
            pass

    async def _next(self) -> LearnerLink:
        """Wait for a learner."""
        with trio.CancelScope() as self._waits:
            link = await self._door.admission.next()
            self.joined = True
            return link
        raise AgentFault("not started", f"the learner is gone: {self._lost}")

    async def _play_on(self, talk: _Talk) -> bool:
        """Play with the next learner; return whether the match is over.

        It is not over if the learner of the previous match had stayed and leaves now without a reply: that
        learner, or another one, connects anew.
        """
        link = await self._next()
        in_order = False
        try:
            await talk.come_up(link, self.cpu_clock)
            await talk.answer_turns(link)
            in_order = True
        except trio.Cancelled:
            in_order = self.seat.out is None
            raise
        except LinkLost as lost:
            if not self.seat.closed:
                if link.stayed and not talk.heard:
                    return False
                raise AgentFault("gone", f"the learner is gone: {lost}") from None
        finally:
            if in_order and self._stays and link.is_whole:
                link.stayed = True
                self._door.admission.put_back(link)
            else:
                self.parted = bool(link.owed)
                link.close()
        return True


class _Talk:
    """The conversation with the learner of one match.

    Args:
        seat: the seat that is played.
        newest: the number of the newest envelope of the seat.

    Attributes:
        heard: it has replied since the match began.
    """

    def __init__(self, seat: Seat, newest: int) -> None:
        self.heard = False
        self._seat = seat
        self._newest = newest
        self._is_up = False
        self._pending: Envelope | None = None
        self._task: TaskRole | None = None
        self._bits = False

    async def come_up(self, link: LearnerLink, cpu_clock: NowNs | None) -> None:
        """Report that the learner is there, and discard what it still sends of an earlier match."""
        if link.owes:
            await link.receive()
            link.owes = False
        if link.stayed:
            await _drop_surplus(link, lambda _frames: None)
        if self._is_up:
            return
        self._is_up = True
        self._seat.wants = frozenset({"act", "result"})
        self._seat.reply()
        self._seat.cpu_clock = cpu_clock  # from now on: coming up is timed by the wall, as in a process

    async def answer_turns(self, link: LearnerLink) -> None:
        """Play until there are no more turns.

        Raises:
            LinkLost: the learner is gone.
        """
        with suppress(trio.EndOfChannel):
            while True:
                envelope = self._pending = self._pending or await self._seat.turn()
                if envelope.phase == "act":
                    await self._answer(link, envelope)
                else:  # its reward comes with the next turn's: on this wire each has one, and a token
                    link.owed += envelope.reward
                    self._seat.reply(None, envelope.number)
                    self._newest = envelope.number
                self._pending = None

    async def _answer(self, link: LearnerLink, envelope: Envelope) -> None:
        self._look_at_task()
        token = token_text(envelope.observation, bits=self._bits)
        await self._drop_what_answers_nothing(link)
        reward = reward_text(envelope.reward + link.owed)
        link.owed = 0
        await link.send(reward, token)
        self._newest, link.owes = envelope.number, True
        frames = await link.receive()
        link.owes = False
        self.heard = True
        self._seat.reply(read_reply(frames, bits=self._bits), envelope.number)

    def _look_at_task(self) -> None:
        """Find out whether it is bit mode: what the task shows and takes is 0 or 1."""
        task = self._seat.task
        if task is self._task:
            return
        self._task = task
        if task is not None:
            spaces = described(task, self._seat.number)
            self._bits = spaces.observation == spaces.action == _BIT

    async def _drop_what_answers_nothing(self, link: LearnerLink) -> None:
        """Drop what has come before the token: it cannot be the reply to it."""
        await _drop_surplus(
            link, lambda frames: self._seat.reply(read_reply(frames, bits=self._bits), self._newest)
        )


async def _drop_surplus(link: LearnerLink, drop: Callable[[list[bytes]], None]) -> None:
    """Take the messages that have come already, `MAX_DROPPED` at most.

    Args:
        link: to the learner.
        drop: gets each of them, as its frames.

    Raises:
        LinkLost: the learner is gone.
    """
    for dropped in range(1, MAX_DROPPED + 1):
        frames = link.receive_nowait()
        if frames is None:
            return
        drop(frames)
        if dropped % MAX_DROPPED_AT_ONCE == 0:
            await trio.lowlevel.checkpoint()


async def _play_with_program(sitting: _Sitting, command: list[str]) -> None:
    """Play with a learner that is started for it, and is gone afterwards."""
    null = subprocess.DEVNULL
    sitting.begin_anew()
    guarded = await open_guarded(command, NO_ISOLATION, stdin=null, stdout=null)
    fault: AgentFault | HostFault | None = None
    try:
        if sitting.seat.budget.control.clock == "cpu":
            sitting.cpu_clock = guarded.cpu_clock()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(guarded.keep_tail)
            nursery.start_soon(_lose_when_ended, sitting, guarded)
            try:
                await sitting.play()
                if sitting.parted:
                    await guarded.has_ended(READ_LAST_SECONDS)
            except (AgentFault, HostFault) as caught:
                fault = caught
                await guarded.has_ended(LAST_WORDS_SECONDS)  # for an exit code of its own
            nursery.cancel_scope.cancel()
    finally:
        await guarded.end()
        sitting.seat.stderr_tail = guarded.said
    if fault is not None:
        raise guarded.with_last_words(fault) if isinstance(fault, AgentFault) else fault


async def _lose_when_ended(sitting: _Sitting, guarded: Guarded) -> None:
    """A learner that ends before it says hello will never say it."""
    await guarded.process.wait()
    await trio.sleep(READ_HELLO_SECONDS)
    sitting.lose("its program ended before it said hello")


# What is said on the command line.


def parse_remote(
    text: str, command: str | None = None, name: str | None = None, token: str = ""
) -> RemoteLearnerHost:
    """The host for a text such as `zmq:5556`, `zmq://127.0.0.1:5556`, `zmq://*:5556` or `zmq://[::1]:5556`.

    Args:
        text: see there; without a port it is 5556, without an address 127.0.0.1.
        command: a program to start, see `RemoteLearnerHost`.
        name: for tables and records.
        token: what a learner must send first, see `RemoteLearnerHost`.

    Raises:
        UsageError: it is no such text, or there can be no such host.
    """
    scheme, colon, rest = text.partition(":")
    address, port = LOOPBACK, rest
    if rest.startswith("//"):
        address, colon, port = rest[2:].rpartition(":")
    if scheme != "zmq" or not (text == "zmq" or (colon and address and port.isdecimal() and port.isascii())):
        raise UsageError(f"no remote learner: {text!r}; write zmq:PORT or zmq://ADDRESS:PORT")
    return RemoteLearnerHost(int(port) if port else DEFAULT_PORT, address, command, name, token)
