"""Admission of agents that connect: authenticates connections, and keeps them until a match wants one.

One admission serves all matches of a series, so a connection never belongs to a match that is over: an agent
that comes between two matches, or before the first, waits for the next one.
"""

from __future__ import annotations

__all__ = [
    "KEEPALIVE_SECONDS",
    "MAX_WAITING",
    "Admission",
    "Admitted",
    "Census",
    "Refusal",
    "SeriesDoor",
    "SeriesHost",
    "open_series",
]

import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, Generic, Protocol, TypeVar, runtime_checkable

import attrs
import trio

from flagfall.agents.connections.addresses import cannot_bind
from flagfall.agents.connections.handshakes import HANDSHAKE_SECONDS, Handshakes
from flagfall.errors import AgentFault, HostFault

MAX_WAITING: Final = 8
"""Authenticated connections that may wait for a match; a seat needs one. They are counted apart from those in
`Handshakes`, so strangers take no place from them."""

KEEPALIVE_SECONDS: Final = 30
"""After this time without data the system asks whether the other end is there: a client may wait for a match
without limit."""


class Admitted(Protocol):
    """An authenticated connection."""

    def is_open(self) -> bool:
        """Report whether the other end is still there."""

    def close(self) -> None:
        """Close it."""


AdmittedT = TypeVar("AdmittedT", bound=Admitted)


class Refusal(Exception):
    """A connection is not admitted; it is closed."""


class Admission(Generic[AdmittedT]):
    """The connections of one address, for a series of matches.

    Args:
        authenticate: performs the handshake on a new connection, and returns it when it is to be admitted. It
            closes the connection when it raises, whatever that is, also when it is cancelled. It raises
            `trio.EndOfChannel` where the other end closed without a complete message.
        seconds: the time for that.

    Attributes:
        connected: the number of connections so far.
        handshakes: those that are not authenticated yet.
    """

    def __init__(
        self,
        authenticate: Callable[[trio.SocketStream], Awaitable[AdmittedT]],
        seconds: float = HANDSHAKE_SECONDS,
    ) -> None:
        self.connected = 0
        self.handshakes = Handshakes(seconds)
        self._authenticate = authenticate
        self._waiting: deque[AdmittedT] = deque()
        self._news = trio.Event()

    async def serve(self, listeners: list[trio.SocketListener]) -> None:
        """Admit connections until cancelled; then close the listeners and the connections that wait."""
        try:
            await trio.serve_listeners(self._meet, listeners)
        finally:
            self.discard_waiting()

    @asynccontextmanager
    async def opened(self, address: str, port: int) -> AsyncIterator[None]:
        """Listen at an address while the context lasts; what its body raises is raised as it is.

        Args:
            address: a checked one, see `flagfall.agents.connections.addresses`.
            port: where to bind.

        Raises:
            HostFault: it cannot be bound.
        """
        try:
            listeners = await trio.open_tcp_listeners(port, host=None if address == "*" else address)
        except OSError as error:  # another program was faster: no agent pays for that
            raise HostFault(cannot_bind(address, port, error)) from error
        failed: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.serve, listeners)
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below, not in a group of the nursery's
                failed = error
            nursery.cancel_scope.cancel()
        if failed is not None:
            raise failed

    async def _meet(self, stream: trio.SocketStream) -> None:
        self.connected += 1
        try:
            peer = stream.socket.getpeername()
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS)
        except OSError:  # it is gone already
            stream.socket.close()
            self.handshakes.refused += 1
            return
        with self.handshakes.place(peer):
            try:
                connection = await self._authenticate(stream)
            except trio.EndOfChannel:
                self.handshakes.silent += 1
            except Exception:  # noqa: BLE001 - whatever a stranger does, and in whose code: no seat pays
                self.handshakes.refused += 1
            else:
                self._keep(connection)

    def _keep(self, connection: AdmittedT) -> None:
        if self.is_full():
            connection.close()
            self.handshakes.refused += 1
            return
        self._waiting.append(connection)
        self._news.set()

    def is_full(self) -> bool:
        """Report whether no more connections can wait; closed ones are forgotten first."""
        self._forget_closed()
        return len(self._waiting) >= MAX_WAITING

    def has_waiting(self) -> bool:
        """Report whether an open connection waits for a match."""
        self._forget_closed()
        return bool(self._waiting)

    def put_back(self, connection: AdmittedT) -> None:
        """Keep a connection for the next match, before all others."""
        self._waiting.appendleft(connection)
        self._news.set()

    async def next(self) -> AdmittedT:
        """Wait for an open connection, and take the one that has waited longest."""
        while not self.has_waiting():
            self._news = trio.Event()
            await self._news.wait()
        return self._waiting.popleft()

    def discard_waiting(self) -> None:
        """Close the connections that wait."""
        while self._waiting:
            self._waiting.popleft().close()

    def _forget_closed(self) -> None:
        for connection in [one for one in self._waiting if not one.is_open()]:
            self._waiting.remove(connection)
            connection.close()

    def census(self) -> Census:
        """Begin to count connections for one match; those that wait or shake hands now count, too."""
        return Census(
            self,
            self.connected - self.handshakes.open - len(self._waiting),
            self.handshakes.silent,
            self.handshakes.refused,
        )


@attrs.frozen
class Census:
    """Counts of connections since a match began, to explain why its seat is empty.

    Attributes:
        admission: the admission that is counted; then its counts when the match began.
    """

    admission: Admission[Any]
    connected: int
    silent: int
    refused: int

    def absence(self, where: str) -> AgentFault:
        """Explain why the seat is empty: `not connected`, or `silent` where a client sent nothing.

        Args:
            where: the address that is listened at.
        """
        handshakes = self.admission.handshakes
        connected = self.admission.connected - self.connected
        silent = handshakes.silent + handshakes.open - self.silent
        refused = handshakes.refused - self.refused
        if not connected:
            return AgentFault("not connected", f"no client connected to {where}")
        if not silent:
            return AgentFault(
                "not connected", f"no client joined at {where}: connections refused or lost: {connected}"
            )
        others = f"; connections refused: {refused}" if refused else ""
        return AgentFault(
            "silent",
            f"a client connected to {where} and sent nothing, or no complete handshake; connections of that"
            f" kind: {silent}{others}",
        )


DoorT = TypeVar("DoorT")


class SeriesDoor(Generic[DoorT]):
    """A door that is opened for a series, or else for each match.

    Args:
        opened: opens it for as long as the context lasts.
    """

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[DoorT]]) -> None:
        self._opened = opened
        self._door: DoorT | None = None

    @property
    def is_series(self) -> bool:
        """Report whether it is open for a series."""
        return self._door is not None

    @asynccontextmanager
    async def series(self) -> AsyncIterator[None]:
        """Open it for all matches that are played while the context lasts."""
        async with self._opened() as door:
            self._door = door
            try:
                yield
            finally:
                self._door = None

    @asynccontextmanager
    async def for_match(self) -> AsyncIterator[DoorT]:
        """Give what is open, or open it for as long as the context lasts."""
        if self._door is not None:
            yield self._door
            return
        async with self._opened() as door:
            yield door


@runtime_checkable
class SeriesHost(Protocol):
    """An agent host that keeps something open over all matches of a series."""

    def series(self) -> AbstractAsyncContextManager[None]:
        """Open it for as long as the context lasts."""


@asynccontextmanager
async def open_series(hosts: Iterable[object]) -> AsyncIterator[None]:
    """Keep open, over several matches, what the hosts among these need: the ports that agents connect to.

    Without it a host opens its port for each match anew, and an agent that comes too early has to try again.

    Args:
        hosts: agent hosts of any kind; one that is given twice is opened once.

    Raises:
        HostFault: a port cannot be bound.
    """
    async with AsyncExitStack() as stack:
        for host in {id(host): host for host in hosts}.values():
            if isinstance(host, SeriesHost):
                await stack.enter_async_context(host.series())
        yield
