"""Hosts for clients of the original: one that has connected, and one that runs as a program over pipes."""

from __future__ import annotations

import socket
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.agents.process.isolation import NO_ISOLATION, Isolation, code_of_command
from flagfall.agents.process.supervised import SupervisedProcess, run_supervised
from flagfall.agents.spec import split_command
from flagfall.errors import AgentFault, HostFault
from flagfall.gvgai.protocol import (
    FINISH,
    INIT_FAILED,
    START,
    START_DONE,
    Drop,
    Overspent,
    ServerProtocol,
    read_action,
    read_choice,
)
from flagfall.gvgai.states import StateLines
from flagfall.kernel.channels.framing import LineError
from flagfall.kernel.channels.pipes import PipeStream, TcpStream
from flagfall.tasks.vgdl.definition import ESCAPE
from flagfall.tasks.vgdl.learning_track import LOST_ROUND
from flagfall.tasks.vgdl.views.observer import StateObservation
from flagfall.timing import NEVER_NS

if TYPE_CHECKING:
    from flagfall.kernel.channels.turn_channel import Envelope
    from flagfall.kernel.hosting import Briefing, HostKind
    from flagfall.kernel.seat import HostSeat
    from flagfall.tasks.vgdl.learning_track import Track
    from flagfall.timing import TimeControl


# Server's end of a session with a client of the original, over any stream.
#
# Rule 1: one message at a time. The next one is sent when the answer to the last one has arrived, however
#     late: a client that is late receives the newest state next, and its pipe never fills up.
# Rule 2: the seat judges. An answer that comes too late is passed to the seat anyway, which drops and counts
#     it; so is every line that answers nothing.
# Rule 3: `FINISH` is the last message to every client, including a disqualified one: the original's Python
#     client reads a closed connection for ever, without a pause.

FINISH_SECONDS: Final = 0.5
"""Grace period of a client for its last answer, and again to read `FINISH` and close its end."""

MAX_SHOWN_CHARS: Final = 40
"""Characters of a wrong answer that a message shows."""

_NO_TURN: Final = -NEVER_NS
"""Number that no turn has, for lines that answer no message."""


class ClientSession:
    """A session.

    Args:
        pipe: connection to the client; the caller closes it.
    """

    def __init__(self, pipe: PipeStream, track: Track) -> None:
        self.protocol: ServerProtocol = ServerProtocol()
        self._pipe = pipe
        self._track = track
        self._lines = StateLines(self._picture)
        self._dropped: Counter[Drop] = Counter()
        self._last = _NO_TURN
        self._init_failed = False
        self._sent_whole = True
        self._awaits_answer = False

    async def play(self, seat: HostSeat, start: Envelope) -> None:
        """Play all turns from `START` on; `finish` is called afterwards.

        Args:
            start: the first envelope; its clock is already running.

        Raises:
            AgentFault: the client has disconnected, given up, or sent an invalid line.
        """
        word = await self._ask(seat, START)
        if word != START_DONE:
            raise AgentFault("not started", f"it answered {START} with {word[:MAX_SHOWN_CHARS]!r}")
        seat.agent.wants = frozenset({"init", "act", "result"})
        self._last = start.number
        seat.agent.reply()
        seat.clock.use_arrivals(self._pipe.age_ns)
        with suppress(trio.EndOfChannel):
            while True:
                envelope = await seat.agent.turn()
                seat.agent.reply(await self._answer(seat, envelope), envelope.number)
                self._last = envelope.number

    async def finish(self) -> None:
        """Send `FINISH`, in any state of the session; takes `FINISH_SECONDS` at most.

        An outstanding answer is awaited first: the original's Python client loses a message that arrives
        together with another one.
        """
        with trio.move_on_after(FINISH_SECONDS / 2), suppress(LineError):
            while self._awaits_answer and self.protocol.next_answer() is None:
                data = await self._pipe.read()
                if not data:
                    break
                self.protocol.feed(data)
        if self._sent_whole:  # else the word would be part of an incomplete state
            with trio.move_on_after(FINISH_SECONDS / 2):
                await self._send(FINISH)

    async def _answer(self, seat: HostSeat, envelope: Envelope) -> Any:
        state = envelope.observation
        if not isinstance(state, StateObservation):
            raise HostFault(
                f"a client of the learning track takes states of games, not {type(state).__name__}"
            )
        if envelope.phase == "act":
            if self._init_failed:
                return ESCAPE
            return read_action(await self._ask(seat, self._lines.act(state, self.protocol.wants)))
        if envelope.phase == "init":
            validates = self._track.phase == "validation"
            word = await self._ask(seat, self._lines.init(state, is_validation=validates))
            if word == INIT_FAILED:
                if not self._track.loses_rounds:
                    raise AgentFault("not started", f"it said {INIT_FAILED}")
                self._init_failed = True
            return None
        if self._init_failed:  # as in the original, the client is not shown the end of such a level
            self._init_failed = False
            return LOST_ROUND
        try:
            return read_choice(await self._ask(seat, self._lines.end(state, self._last_tick(state))))
        except Overspent as error:
            if self._track.loses_rounds:
                return LOST_ROUND
            raise AgentFault("late", str(error)) from None

    def _last_tick(self, state: StateObservation) -> int:
        current = self._track.current
        return state.game_tick if current is None else int(current.metrics().get("ticks", state.game_tick))

    async def _ask(self, seat: HostSeat, payload: str) -> str:
        self._awaits_answer = True
        await self._send(payload)
        protocol = self.protocol
        try:
            while (word := protocol.next_answer()) is None:
                self._drop(seat)
                data = await self._pipe.read()
                if not data:
                    lost = ", in the middle of a line" if protocol.half_line else ""
                    raise AgentFault("gone", f"the client closed the connection{lost}")
                protocol.feed(data)
        except LineError as error:
            self._drop(seat)
            raise AgentFault("garbage", str(error)) from error
        self._awaits_answer = False
        self._drop(seat)
        return word

    def _drop(self, seat: HostSeat) -> None:
        """Report the lines that answered nothing to the seat, which counts them."""
        if self.protocol.dropped != self._dropped:
            for why, count in (self.protocol.dropped - self._dropped).items():
                for _ in range(count):
                    seat.agent.reply(None, self._last if why == "stale" else _NO_TURN)
            self._dropped = self.protocol.dropped.copy()

    async def _send(self, payload: str) -> None:
        data = self.protocol.ask(payload)
        self._sent_whole = False
        with suppress(trio.BrokenResourceError):  # the next read reports the closed connection
            await self._pipe.write(data)
        self._sent_whole = True

    def _picture(self) -> Any:
        current = self._track.current
        return None if current is None else current.picture()


def control_of_client(control: TimeControl) -> TimeControl:
    """Return the time control for a client of the original.

    If a turn can abort the level (`act_abort`), the rules are those of the published program. There the
    client enforces `act`: it starts its timer when it has read the state, and sends `ACTION_NIL` by itself,
    and the server plays the action that arrives. So every answer before `act_abort` is played here.
    """
    return control if control.act_abort is None else attrs.evolve(control, act=control.act_abort)


class ConnectedHost:
    """Host of a client that has connected.

    Args:
        connection: its socket; the host closes it.
    """

    kind: HostKind = "remote"

    def __init__(self, connection: socket.socket, track: Track, name: str) -> None:
        self.name = name
        self._connection = connection
        self._track = track

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:  # noqa: ARG002 - the protocol has no field for it
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        pipe = TcpStream(self._connection)
        session = ClientSession(pipe, self._track)
        try:
            await _play(session, seat)
        finally:
            try:
                with trio.CancelScope(shield=True):  # the call is cancelled when the client is disqualified
                    await session.finish()
                    await _wait_for_close(pipe)
            finally:
                pipe.close()

    def close(self) -> None:
        """Close the connection if the match was void before the client was seated."""
        self._connection.close()


class ProgramHost:
    """Host of a client that runs as a program and communicates over its standard input and output.

    Args:
        command: program with its arguments; split as by a shell, without running one.
        isolation: isolation of its process. In a sandbox it can read the files that its command names, and
            those in `isolation.readable`.

    Raises:
        UsageError: there is no such program.
    """

    kind: HostKind = "process"

    def __init__(self, command: str, track: Track, name: str, isolation: Isolation = NO_ISOLATION) -> None:
        self.name = name
        self._command = split_command(command)
        self._track = track
        self._isolation = isolation
        self._shown = code_of_command(self._command) if isolation.kind == "sandbox" else ()

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:  # noqa: ARG002 - the protocol has no field for it
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        play = partial(self._play_program, seat)
        await run_supervised(self._command, self._isolation, seat, play, shown=self._shown)

    async def _play_program(self, seat: HostSeat, supervised: SupervisedProcess, pipe: PipeStream) -> None:
        if seat.budget.control.clock == "cpu":
            seat.clock.cpu_clock = supervised.cpu_clock()
        session = ClientSession(pipe, self._track)
        await _play(session, seat)
        await session.finish()
        pipe.close()  # ends a client that does not know `FINISH`
        await supervised.wait_for_exit(FINISH_SECONDS)


async def _play(session: ClientSession, seat: HostSeat) -> None:
    try:
        start = await seat.agent.turn()
    except trio.EndOfChannel:
        return
    await session.play(seat, start)


async def _wait_for_close(pipe: TcpStream) -> None:
    """Wait until the client has read the last message: closing a socket with unread lines would lose it."""
    pipe.end_output()
    with trio.move_on_after(FINISH_SECONDS):
        while await pipe.read():
            pass
