"""Host of a learner of round 1 of the General AI Challenge, which connects over ZeroMQ.

The environment listens as a PAIR socket does; the learner connects, sends `hello`, and then receives in every
turn a reward and a token, each a message of its own, and answers with a token. `docs/remote.md` describes the
protocol.

Rule: the protocol does not number turns, so the order must tell which token a reply answers. A turn is sent
    only when the reply to the one before has come, however late; anything else that has come by then answers
    nothing.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import attrs
import trio

from flagfall.agents.admission import LOOPBACK
from flagfall.agents.listening import ListeningHost
from flagfall.agents.process.isolation import NO_ISOLATION
from flagfall.agents.process.supervised import SupervisedProcess, open_supervised
from flagfall.agents.spec import LEARNER_PORT, split_command
from flagfall.agents.wire.session import describe_spaces
from flagfall.agents.zmq.pair_socket import (
    ConnectionLost,
    LearnerAdmission,
    LearnerConnection,
    LearnerPlace,
    read_reply,
    reward_text,
    token_text,
)
from flagfall.errors import AgentFault, HostFault
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.roles import TaskRole
from flagfall.kernel.seat import HostSeat
from flagfall.timing import NowNs
from flagfall.timing.clocks import real_sleep

MAX_DROPPED: Final = 1_000
"""The most replies that answer nothing and are dropped before a token is sent: as many as a ZeroMQ socket
queues by default. Reading on would never end where the learner sends as fast as it is read."""

MAX_DROPPED_AT_ONCE: Final = 100
"""After this many of them the rest of the loop runs; each takes some microseconds."""

READ_LAST_SECONDS: Final = 0.05
"""Time for a learner that flagfall started to read its last reward. It cannot know that the match is
over, so a longer wait would be in vain."""

READ_HELLO_SECONDS: Final = 0.05
"""The time after the end of a program to read a `hello` that it has sent: some passes of the loop."""

_BIT: Final = {"type": "discrete", "n": 2, "start": 0}


class RemoteLearnerHost(ListeningHost[LearnerAdmission]):
    """Waits for a learner to connect, and plays the seat with it.

    The port is tried at once, so that a wrong one is reported before anything is played. In a series a
    learner that stays connected plays the next match, without another `hello`.

    Args:
        address: an IP address of this machine, `localhost`, or `*` for all: then every client that can reach
            this machine can be the learner.
        command: a program to start, with its arguments; the port is appended as the last one. It is
            split as a shell would, without running one.
        token: the token that a learner must send as its first message, before `hello`; empty for none. Never
            shown.

    Raises:
        UsageError: a value is invalid, the port is not free, or there is no such program.
    """

    def __init__(
        self,
        port: int = LEARNER_PORT,
        address: str = LOOPBACK,
        command: str | None = None,
        name: str | None = None,
        token: str = "",
    ) -> None:
        super().__init__(address, port, name or f"zmq:{port}")
        self._token = token
        self._command = None if command is None else [*split_command(command), str(port)]
        self.try_port()

    @property
    def kind(self) -> HostKind:
        """`remote`, or `process` if the learner is started here."""
        return "remote" if self._command is None else "process"

    @property
    def measures_cpu(self) -> bool:
        """True if the learner is started here."""
        return self._command is not None

    def make_admission(self) -> LearnerAdmission:
        """Return a new admission of learners."""
        return LearnerAdmission(self._token, f"{self.address}:{self.port}")

    async def play(
        self,
        admission: LearnerAdmission,
        seat: HostSeat,
        briefing: Briefing,  # noqa: ARG002 - the protocol has no place for it
        start: Envelope,
        *,
        in_series: bool,
    ) -> None:
        """Play one match with a learner; see `ListeningHost.play`."""
        with admission.occupied_by(LearnerPlace(admission)) as place:
            seat.absence = place.absence
            match = _LearnerMatch(admission, place, seat, in_series and self._command is None)
            if self._command is None:
                await match.play(start)
            else:
                admission.discard_waiting()
                await _play_with_program(match, start, self._command)


@attrs.define(eq=False)
class _LearnerMatch:
    """One match of a learner: waits for it, and plays with it.

    Attributes:
        sent_last_reward: the learner has been sent a last reward, without a token.
        cpu_clock: the clock of the learner's CPU time, if that is to count.
    """

    _admission: LearnerAdmission
    _place: LearnerPlace
    seat: HostSeat
    _keeps: bool
    sent_last_reward: bool = False
    cpu_clock: NowNs | None = None
    _waiting: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    _gave_up: str = ""

    def give_up(self, why: str) -> None:
        """Stop waiting for a learner."""
        self._gave_up = why
        self._waiting.cancel()

    async def play(self, start: Envelope) -> None:
        """Play from the first envelope of the seat to the last.

        Raises:
            AgentFault: the learner is gone, or none will come.
        """
        session = _LearnerSession(self.seat, start.number)
        while not await self._play_on(session):
            pass

    async def _next(self) -> LearnerConnection:
        with trio.CancelScope() as self._waiting:
            return await self._place.next()
        raise AgentFault("not started", f"the learner is gone: {self._gave_up}")

    async def _play_on(self, session: _LearnerSession) -> bool:
        """Play with the next learner; return true if the match is over.

        It is not over if the learner of the previous match was kept and leaves now without a reply: that
        learner, or another one, connects anew.
        """
        connection = await self._next()
        in_order = False
        try:
            await session.start(connection, self.cpu_clock)
            await session.answer_turns(connection)
            in_order = True
        except trio.Cancelled:
            in_order = self.seat.disqualified is None
            raise
        except ConnectionLost as lost:
            if not self.seat.is_closed():
                if connection.was_kept and not session.has_replied:
                    return False
                raise AgentFault("gone", f"the learner is gone: {lost}") from None
        finally:
            if in_order and self._keeps and connection.is_whole:
                connection.was_kept = True
                self._admission.put_back(connection)
            else:
                self.sent_last_reward = bool(connection.unsent_reward)
                connection.close()
        return True


@attrs.define(eq=False)
class _LearnerSession:
    """The conversation with the learner of one match.

    Attributes:
        has_replied: the learner has replied since the match began.
    """

    _seat: HostSeat
    _newest: int
    has_replied: bool = False
    _is_up: bool = False
    _pending: Envelope | None = None
    _task: TaskRole | None = None
    _bits: bool = False

    async def start(self, connection: LearnerConnection, cpu_clock: NowNs | None) -> None:
        """Report that the learner is there, and discard what it still sends of an earlier match."""
        if connection.awaits_reply:
            await connection.receive()
            connection.awaits_reply = False
        if connection.was_kept:
            await _drop_surplus(connection, lambda _frames: None)
        if not self._is_up:
            self._is_up = True
            self._seat.agent.wants = frozenset({"act", "result"})
            self._seat.agent.reply()
            self._seat.clock.cpu_clock = cpu_clock  # only now: the wall clock times the start
        if self._seat.hold is None:
            self._seat.clock.use_arrivals(connection.age_ns)

    async def answer_turns(self, connection: LearnerConnection) -> None:
        """Play until there are no more turns; raises `ConnectionLost` if the learner is gone."""
        with suppress(trio.EndOfChannel):
            while True:
                envelope = self._pending = self._pending or await self._seat.agent.turn()
                if envelope.phase == "act":
                    await self._answer(connection, envelope)
                else:  # its reward is sent with the next turn's: here every reward goes with a token
                    connection.unsent_reward += envelope.reward
                    self._seat.agent.reply(None, envelope.number)
                    self._newest = envelope.number
                self._pending = None

    async def _answer(self, connection: LearnerConnection, envelope: Envelope) -> None:
        self._look_at_task()
        token = token_text(envelope.observation, bits=self._bits)
        if self._seat.hold is None:  # on the virtual clock the order alone counts, not when a reply comes
            await _drop_surplus(
                connection,  # what has come before the token cannot be the reply to it
                lambda frames: self._seat.agent.reply(read_reply(frames, bits=self._bits), self._newest),
            )
        reward = reward_text(envelope.reward + connection.unsent_reward)
        connection.unsent_reward = 0
        await connection.send(reward, token)
        self._newest, connection.awaits_reply = envelope.number, True
        frames = await connection.receive()
        connection.awaits_reply = False
        self.has_replied = True
        self._seat.agent.reply(read_reply(frames, bits=self._bits), envelope.number)

    def _look_at_task(self) -> None:
        """Find out if the task is in bit mode: its observations and actions are 0 or 1."""
        task = self._seat.task
        if task is self._task:
            return
        self._task = task
        if task is not None:
            spaces = describe_spaces(task, self._seat.number)
            self._bits = spaces.observation == spaces.action == _BIT


async def _drop_surplus(connection: LearnerConnection, drop: Callable[[list[bytes]], None]) -> None:
    """Receive the messages that have come already, at most `MAX_DROPPED`.

    Raises:
        ConnectionLost: the learner is gone.
    """
    for dropped in range(1, MAX_DROPPED + 1):
        frames = connection.receive_nowait()
        if frames is None:
            return
        drop(frames)
        if dropped % MAX_DROPPED_AT_ONCE == 0:
            await trio.lowlevel.checkpoint()


async def _play_with_program(match: _LearnerMatch, start: Envelope, command: list[str]) -> None:
    """Play with a learner that is started for the match, and ended after it."""
    null = subprocess.DEVNULL
    supervised = await open_supervised(command, NO_ISOLATION, stdin=null, stdout=null)
    fault: AgentFault | HostFault | None = None
    supervised.keep_prints(match.seat)
    try:
        if match.seat.budget.control.clock == "cpu":
            match.cpu_clock = supervised.cpu_clock()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervised.read_stderr)
            nursery.start_soon(_give_up_at_exit, match, supervised)
            try:
                await match.play(start)
                if match.sent_last_reward:
                    await supervised.wait_for_exit(READ_LAST_SECONDS)
            except (AgentFault, HostFault) as caught:
                fault = caught
                if isinstance(caught, AgentFault):
                    await supervised.wait_after(caught, match.seat)
            nursery.cancel_scope.cancel()
    finally:
        await supervised.end()
        match.seat.printed = supervised.prints.parts()
    if fault is not None:
        raise supervised.with_stderr_tail(fault) if isinstance(fault, AgentFault) else fault


async def _give_up_at_exit(match: _LearnerMatch, supervised: SupervisedProcess) -> None:
    """Stop waiting for a learner that ends before it sends `hello`."""
    await supervised.process.wait()
    await real_sleep(READ_HELLO_SECONDS)
    match.give_up("its program ended before it said hello")
