"""Seats for clients of the original: one that has connected, and one that is started as a program."""

from __future__ import annotations

__all__ = ["ConnectedHost", "ProgramHost", "split_command"]

import shlex
import shutil
import socket
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import trio

from flagfall.agents.process_host import open_process, play_with
from flagfall.errors import UsageError
from flagfall.gvgai.talk import Capture, Talk
from flagfall.kernel.channels.pipes import BytePipe
from flagfall.timing import process_cpu_clock

if TYPE_CHECKING:
    from flagfall.kernel.match import Briefing
    from flagfall.kernel.seat import Seat
    from flagfall.tasks.vgdl.track import Track

GOODBYE_SECONDS: Final = 0.5
"""How long a client has to read `FINISH` and close its end."""


class ConnectedHost:
    """Plays a seat with a client that has connected.

    Args:
        connection: its socket; the host closes it.
        track: the plan that is played.
        name: for tables and records.
        heard: hears the session, see `flagfall.gvgai.talk.Capture`.
    """

    kind: Literal["process"] = "process"

    def __init__(
        self, connection: socket.socket, track: Track, name: str, heard: Capture | None = None
    ) -> None:
        self.name = name
        self._connection = connection
        self._track = track
        self._heard = heard

    async def run(self, seat: Seat, briefing: Briefing) -> None:  # noqa: ARG002 - the wire has no place for it
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        # A state must not wait until the one before is acknowledged.
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pipe = BytePipe(self._connection.detach())
        try:
            await _play(Talk(pipe, self._track, self._heard), seat)
            await _part(pipe)
        finally:
            pipe.close()


class ProgramHost:
    """Starts a client as a program, and talks to it over its standard input and output.

    Args:
        command: the program with its arguments; split as a shell would, without running one.
        track: the plan that is played.
        name: for tables and records.
        heard: hears the session.

    Raises:
        UsageError: there is no such program.
    """

    kind: Literal["process"] = "process"

    def __init__(self, command: str, track: Track, name: str, heard: Capture | None = None) -> None:
        self.name = name
        self._command = split_command(command)
        self._track = track
        self._heard = heard

    async def run(self, seat: Seat, briefing: Briefing) -> None:  # noqa: ARG002 - the wire has no place for it
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        process = await open_process(self._command)
        if seat.budget.control.clock == "cpu":
            seat.cpu_clock = process_cpu_clock(process.pid)
        await play_with(process, partial(self._play, process, seat))

    async def _play(self, process: trio.Process, seat: Seat, pipe: BytePipe) -> None:
        await _play(Talk(pipe, self._track, self._heard), seat)
        pipe.close()
        with trio.move_on_after(GOODBYE_SECONDS):
            await process.wait()


async def _play(talk: Talk, seat: Seat) -> None:
    try:
        start = await seat.turn()
    except trio.EndOfChannel:
        return
    await talk.play(seat, start)


async def _part(pipe: BytePipe) -> None:
    """Let the client read the last message; to close a socket that holds unread lines would lose it."""
    pipe.say_no_more()
    with trio.move_on_after(GOODBYE_SECONDS):
        while await pipe.read():
            pass


def split_command(command: str) -> list[str]:
    """A command as words.

    Raises:
        UsageError: there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"command {command!r}: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"command {command!r}: there is no such program")
    return words
