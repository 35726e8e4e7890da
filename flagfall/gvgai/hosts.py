"""Hosts for clients of the original: one that has connected, and one that runs as a program over pipes."""

from __future__ import annotations

__all__ = ["ConnectedHost", "ProgramHost", "control_of_client"]

import socket
from functools import partial
from typing import TYPE_CHECKING

import attrs
import trio

from flagfall.agents.command_line import split_command
from flagfall.agents.process.isolation import NO_ISOLATION, Isolation
from flagfall.agents.process.supervised import SupervisedProcess, run_supervised
from flagfall.agents.process.visible import code_of_command
from flagfall.gvgai.server_session import FINISH_SECONDS, ClientSession
from flagfall.kernel.channels.pipes import PipeStream, TcpStream

if TYPE_CHECKING:
    from flagfall.kernel.hosting import Briefing, HostKind
    from flagfall.kernel.seat import HostSeat
    from flagfall.tasks.vgdl.learning_track import Track
    from flagfall.timing import TimeControl


def control_of_client(control: TimeControl) -> TimeControl:
    """Return the time control for a client of the original.

    If a turn can abort the level (`act_abort`), the rules are those of the published program. There the
    client enforces `act`: it starts its timer when it has read the state, and sends `ACTION_NIL` by itself,
    and the server plays the action that arrives. So every answer before `act_abort` is played here.

    Args:
        control: time control of the rules.
    """
    return control if control.act_abort is None else attrs.evolve(control, act=control.act_abort)


class ConnectedHost:
    """Host of a client that has connected.

    Args:
        connection: its socket; the host closes it.
        track: schedule of the levels.
        name: name in tables and records.
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
        track: schedule of the levels.
        name: name in tables and records.
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
