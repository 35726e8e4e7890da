"""Server for clients of the original: each plays the track of one game in a match of its own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import attrs
import trio

from flagfall.agents.admission import LOOPBACK, checked_port
from flagfall.agents.hosts.registry import Player
from flagfall.errors import HostFault, UsageError
from flagfall.gvgai.hosts import ConnectedHost, control_of_client
from flagfall.gvgai.play_track import BuiltTrack
from flagfall.gvgai.track_statistics import TrackSink
from flagfall.kernel.outcomes import MatchResult, derive_seed
from flagfall.playing import MatchRequest, play_request
from flagfall.recording.journal.writer import Journal
from flagfall.recording.match_logs import series_path

if TYPE_CHECKING:
    from pathlib import Path

    from flagfall.kernel.dispatcher import Sink
    from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
    from flagfall.timing import TimeControl

DEFAULT_PORT: Final = 8080
"""Port of the original server, which its clients connect to."""

ANY_PORT: Final = 0

ACCEPT_AGAIN_SECONDS: Final = 0.1
"""Pause after a connection could not be accepted."""

MAX_CLIENTS: Final = 64
"""Most clients that play at the same time; others wait to be accepted. A match takes some megabytes."""


@attrs.define(eq=False)
class TrackSession:
    """Match of one client.

    Attributes:
        number: zero-based, in the order of connecting.
        result: result of the match; `None` while it runs, and if it was void.
    """

    number: int
    name: str
    seed: int
    journal: Path | None
    result: MatchResult | None = None
    sink: TrackSink = attrs.Factory(TrackSink)
    fault: HostFault | None = None


class TrackServer:
    """Server that plays a match with each client that connects.

    Args:
        port: port to listen on; 0 for any free one.
        sessions: number of clients after which the server stops listening; it returns when the last one has
            played. `None`: no limit.
        seed: seed of the first session; the others derive theirs from it.
        journal: file for the journal of each match; numbered if there may be several.
        on_change: called with each session when it begins and when it is over.

    Raises:
        UsageError: the game does not exist or cannot be played, the journal cannot be written, the port is
            invalid, or the time control cannot be applied to clients.
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
        on_change: Callable[[TrackSession], None] = lambda _session: None,
    ) -> None:
        if control.clock == "cpu":
            raise UsageError(
                "clock=cpu cannot time clients that were started elsewhere: use clock=wall, or start them"
                " here with program:COMMAND"
            )
        if port != ANY_PORT:
            checked_port(port)
        self.sessions: list[TrackSession] = []
        self._setup = setup
        self._control = control_of_client(control)
        self._port = port
        self._address = address
        self._limit = sessions
        self._seed = seed
        self._journal = journal
        self._sinks = sinks
        self._on_change = on_change
        # Report problems before the first client connects.
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
            stop: setting it ends matches before their next turn, and no further client is accepted.

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
                async with trio.open_nursery() as accepting:
                    accepting.start_soon(_cancel_when, stop, accepting.cancel_scope)
                    limiter = trio.CapacityLimiter(MAX_CLIENTS)
                    for listener in listeners:
                        accepting.start_soon(
                            self._accept, listener, matches, accepting.cancel_scope, limiter, stop
                        )
                    task_status.started(listeners[0].socket.getsockname()[1])
            finally:
                for listener in listeners:
                    listener.socket.close()

    async def _accept(
        self,
        listener: trio.SocketListener,
        matches: trio.Nursery,
        accepting: trio.CancelScope,
        limiter: trio.CapacityLimiter,
        stop: trio.Event,
    ) -> None:
        while not accepting.cancel_called:
            borrower = object()
            await limiter.acquire_on_behalf_of(borrower)
            try:
                stream = await listener.accept()
            except OSError:  # no descriptors or memory left: waiting clients are accepted later
                limiter.release_on_behalf_of(borrower)
                await trio.sleep(ACCEPT_AGAIN_SECONDS)
                continue
            session = self._new_session()
            matches.start_soon(self._play, session, stream, stop, limiter, borrower)
            if self._limit is not None and len(self.sessions) >= self._limit:
                accepting.cancel()

    def _new_session(self) -> TrackSession:
        number = len(self.sessions)
        session = TrackSession(
            number=number,
            name=f"client {number}",
            seed=self._seed if number == 0 else derive_seed(self._seed, "session", number),
            journal=None if self._journal is None else series_path(self._journal, number, self._limit or 2),
        )
        self.sessions.append(session)
        return session

    async def _play(
        self,
        session: TrackSession,
        stream: trio.SocketStream,
        stop: trio.Event,
        limiter: trio.CapacityLimiter,
        borrower: object,
    ) -> None:
        self._on_change(session)
        track = self._setup.build()
        host = ConnectedHost(_socket_of(stream), track, session.name)
        try:
            request = MatchRequest(
                tasks=BuiltTrack(track, self._setup),
                agents=(Player(host),),
                time_control=self._control,
                seed=session.seed,
                journal=session.journal,
                sinks=(session.sink, *self._sinks(session.number)),
            )
            session.result = await play_request(request, stop)
        except HostFault as fault:  # other sessions continue
            session.fault = fault
        finally:
            host.close()
            limiter.release_on_behalf_of(borrower)
            self._on_change(session)


def _socket_of(stream: trio.SocketStream) -> socket.socket:
    """Return the socket of a stream, detached from trio, for a pipe that reads without passes of the loop."""
    connection = socket.socket(fileno=stream.socket.detach())
    connection.setblocking(False)
    return connection


async def _cancel_when(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
