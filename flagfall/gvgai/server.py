"""A port where clients of the original connect; each plays the track of one game in a match of its own."""

from __future__ import annotations

__all__ = ["DEFAULT_PORT", "LOOPBACK", "Session", "TrackServer"]

import socket
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import attrs
import trio

from flagfall.agents.connections.addresses import LOOPBACK, checked_port
from flagfall.errors import HostFault, UsageError
from flagfall.gvgai.hosts import ConnectedHost, control_of_client
from flagfall.gvgai.track_statistics import TrackSink
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.seeding import derive_seed
from flagfall.recording.journal.writer import Journal
from flagfall.recording.series_names import series_path

if TYPE_CHECKING:
    from pathlib import Path

    from flagfall.kernel.sinks import Sink
    from flagfall.tasks.vgdl.learning_track_tasks import TrackSetup
    from flagfall.timing import TimeControl

DEFAULT_PORT: Final = 8080
"""The port of the original, which its clients connect to."""

ANY_PORT: Final = 0

ACCEPT_AGAIN_SECONDS: Final = 0.1
"""How long to wait where a client cannot be let in."""

MAX_AT_ONCE: Final = 64
"""So many clients play at a time; further ones wait to be accepted. A match takes some megabytes."""


@attrs.define(eq=False)
class Session:
    """One client's match.

    Attributes:
        number: in the order of connecting, from 0.
        name: the client's, for tables.
        seed: of the match.
        journal: its file, if it is recorded.
        result: how the match went; `None` while it goes on, and where it was void.
        sink: knows what the track came to so far.
        fault: why it was void, if it was.
    """

    number: int
    name: str
    seed: int
    journal: Path | None
    result: MatchResult | None = None
    sink: TrackSink = attrs.Factory(TrackSink)
    fault: HostFault | None = None


class TrackServer:
    """Listens, and plays.

    Args:
        setup: the game and the plan.
        control: the time control of every client.
        port: where to listen; 0 for any that is free.
        address: likewise; an address of this machine.
        sessions: it stops listening after so many clients, and returns when the last has played; `None` for
            no end.
        seed: of the first session; the others derive theirs from it.
        journal: a file for the record of each; numbered where there may be several.
        sinks: give, for a session, functions that get every event of its match.
        tell: called with each session when it begins and when it is over.

    Raises:
        UsageError: there is no such game, it cannot be played, the journal cannot be written, there is no
            such port, or clients cannot be timed like that.

    Attributes:
        sessions: all that there were.
    """

    def __init__(
        self,
        setup: TrackSetup,
        control: TimeControl,
        *,
        port: int = DEFAULT_PORT,
        address: str = LOOPBACK,
        sessions: int | None = 1,
        seed: int = 0,
        journal: Path | None = None,
        sinks: Callable[[int], Sequence[Sink]] = lambda _number: (),
        tell: Callable[[Session], None] = lambda _session: None,
    ) -> None:
        if control.clock == "cpu":
            raise UsageError(
                "clock=cpu cannot time clients that somebody else started: use clock=wall, or start them here"
                " with program:COMMAND"
            )
        if port != ANY_PORT:
            checked_port(port)
        self.sessions: list[Session] = []
        self._setup = setup
        self._control = control_of_client(control)
        self._port = port
        self._address = address
        self._limit = sessions
        self._seed = seed
        self._journal = journal
        self._sinks = sinks
        self._tell = tell
        # Mistakes are told before anybody connects.
        setup.build().close()
        if journal is not None:
            Journal.check(journal)

    async def run(
        self,
        *,
        stop: trio.Event | None = None,
        task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until all sessions are over.

        Args:
            stop: when it is set, nobody is let in any more, and matches end before their next turn.
            task_status: is told the port.

        Raises:
            UsageError: the port cannot be bound.
        """
        stop = trio.Event() if stop is None else stop
        try:
            listeners = await trio.open_tcp_listeners(self._port, host=self._address)
        except OSError as error:
            why = error.strerror or error
            raise UsageError(f"port {self._port} at {self._address} cannot be bound: {why}") from error
        async with trio.open_nursery() as matches:
            try:
                async with trio.open_nursery() as doors:
                    doors.start_soon(_cancel_when, stop, doors.cancel_scope)
                    limiter = trio.CapacityLimiter(MAX_AT_ONCE)
                    for listener in listeners:
                        doors.start_soon(self._let_in, listener, matches, doors.cancel_scope, limiter, stop)
                    task_status.started(listeners[0].socket.getsockname()[1])
            finally:
                for listener in listeners:
                    listener.socket.close()

    async def _let_in(
        self,
        listener: trio.SocketListener,
        matches: trio.Nursery,
        door: trio.CancelScope,
        limiter: trio.CapacityLimiter,
        stop: trio.Event,
    ) -> None:
        while not door.cancel_called:
            guest = object()
            await limiter.acquire_on_behalf_of(guest)
            try:
                stream = await listener.accept()
            except OSError:  # no more descriptors or memory: who waits is let in when there are some again
                limiter.release_on_behalf_of(guest)
                await trio.sleep(ACCEPT_AGAIN_SECONDS)
                continue
            session = self._new_session()
            matches.start_soon(self._play, session, stream, stop, limiter, guest)
            if self._limit is not None and len(self.sessions) >= self._limit:
                door.cancel()

    def _new_session(self) -> Session:
        number = len(self.sessions)
        session = Session(
            number=number,
            name=f"client {number}",
            seed=self._seed if number == 0 else derive_seed(self._seed, "session", number),
            journal=None if self._journal is None else series_path(self._journal, number, self._limit or 2),
        )
        self.sessions.append(session)
        return session

    async def _play(
        self,
        session: Session,
        stream: trio.SocketStream,
        stop: trio.Event,
        limiter: trio.CapacityLimiter,
        guest: object,
    ) -> None:
        self._tell(session)
        track = self._setup.build()
        host = ConnectedHost(_socket_of(stream), track, session.name)
        try:
            recorder = [] if session.journal is None else [Journal(session.journal)]
            session.result = await play_match(
                track,
                [host],
                control=self._control,
                seed=session.seed,
                sinks=[*recorder, session.sink, *self._sinks(session.number)],
                stop=stop,
                header={"flagfall": version("flagfall"), **self._setup.header()},
            )
        except HostFault as fault:  # the others play on
            session.fault = fault
        finally:
            host.close()
            limiter.release_on_behalf_of(guest)
            self._tell(session)


def _socket_of(stream: trio.SocketStream) -> socket.socket:
    """The connection without trio, for a pipe that does without passes of the loop."""
    connection = socket.socket(fileno=stream.socket.detach())
    connection.setblocking(False)
    return connection


async def _cancel_when(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
