"""Seats for clients of the original: one that has connected, and one that is started as a program."""

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
from flagfall.gvgai.server_session import GOODBYE_SECONDS, Talk
from flagfall.kernel.channels.pipes import PipeStream, TcpStream

if TYPE_CHECKING:
    from flagfall.kernel.hosting import Briefing, HostKind
    from flagfall.kernel.seat import Seat
    from flagfall.tasks.vgdl.learning_track import Track
    from flagfall.timing import TimeControl


def control_of_client(control: TimeControl) -> TimeControl:
    """Return the time control for a client of the original.

    Where a turn can abort the level (`act_abort`), the rules are those of the published program. There the
    client keeps `act`: it begins to measure when it has read the state, and says `ACTION_NIL` by itself. The
    server plays the action that arrives. So every answer that comes before `act_abort` is played here.
    """
    return control if control.act_abort is None else attrs.evolve(control, act=control.act_abort)


class ConnectedHost:
    """Plays a seat with a client that has connected.

    Args:
        connection: its socket; the host closes it.
        track: the plan that is played.
        name: for tables and records.
    """

    kind: HostKind = "remote"

    def __init__(self, connection: socket.socket, track: Track, name: str) -> None:
        self.name = name
        self._connection = connection
        self._track = track

    async def run(self, seat: Seat, briefing: Briefing) -> None:  # noqa: ARG002 - the wire has no place for it
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        pipe = TcpStream(self._connection)
        talk = Talk(pipe, self._track)
        try:
            await _play(talk, seat)
        finally:
            try:
                with trio.CancelScope(shield=True):  # a client that is out is cancelled here
                    await talk.finish()
                    await _part(pipe)
            finally:
                pipe.close()

    def close(self) -> None:
        """Close the connection, if the match was void before the client had its seat."""
        self._connection.close()


class ProgramHost:
    """Starts a client as a program, and talks to it over its standard input and output.

    Args:
        command: the program with its arguments; split as a shell would, without running one.
        track: the plan that is played.
        name: for tables and records.
        isolation: how its process is kept apart. In a sandbox it can read the files among its words, and what
            `isolation.readable` names.

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

    async def run(self, seat: Seat, briefing: Briefing) -> None:  # noqa: ARG002 - the wire has no place for it
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        play = partial(self._play_program, seat)
        await run_supervised(self._command, self._isolation, seat, play, shown=self._shown)

    async def _play_program(self, seat: Seat, supervised: SupervisedProcess, pipe: PipeStream) -> None:
        if seat.budget.control.clock == "cpu":
            seat.cpu_clock = supervised.cpu_clock()
        talk = Talk(pipe, self._track)
        await _play(talk, seat)
        await talk.finish()
        pipe.close()  # the end of its input, for a client that does not know `FINISH`
        await supervised.wait_for_exit(GOODBYE_SECONDS)


async def _play(talk: Talk, seat: Seat) -> None:
    try:
        start = await seat.turn()
    except trio.EndOfChannel:
        return
    await talk.play(seat, start)


async def _part(pipe: TcpStream) -> None:
    """Let the client read the last message; to close a socket that holds unread lines would lose it."""
    pipe.end_output()
    with trio.move_on_after(GOODBYE_SECONDS):
        while await pipe.read():
            pass
