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
    "ConnectionCounts",
    "Place",
    "Refusal",
]

import socket
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Generic, Protocol, TypeVar

import attrs
import trio

from flagfall.agents.connections.addresses import cannot_bind
from flagfall.agents.connections.handshakes import HANDSHAKE_SECONDS, Handshakes
from flagfall.errors import AgentFault, HostFault, UsageError

MAX_WAITING: Final = 8
"""Authenticated connections that may wait for a match; a seat needs one. They are counted apart from those in
`Handshakes`, so unauthenticated clients take no place from them."""

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
PlaceT = TypeVar("PlaceT", bound="Place[Any]")


class Refusal(Exception):
    """A connection is not admitted; it is closed."""


class Admission(ABC, Generic[AdmittedT, PlaceT]):
    """The connections of one address, for a series of matches.

    Args:
        where: the address, for messages.
        seconds: the longest time of a handshake.

    Attributes:
        where: as in the arguments.
        connected: the number of connections so far.
        handshakes: those that are not authenticated yet.
        occupant: the place of the match for which agents are admitted; `None` between matches.
    """

    def __init__(self, where: str, seconds: float = HANDSHAKE_SECONDS) -> None:
        self.where = where
        self.connected: int = 0
        self.handshakes: Handshakes = Handshakes(seconds)
        self._waiting: deque[AdmittedT] = deque()
        self._news = trio.Event()
        self.occupant: PlaceT | None = None

    @abstractmethod
    async def authenticate(self, stream: trio.SocketStream) -> AdmittedT:
        """Perform the handshake on a new connection.

        It closes the connection when it raises, whatever that is, also when it is cancelled.

        Args:
            stream: the connection.

        Returns:
            The connection, to be admitted.

        Raises:
            Refusal: it is not admitted.
            trio.EndOfChannel: the other end closed without a complete message.
        """

    @asynccontextmanager
    async def listening(self, address: str, port: int) -> AsyncIterator[None]:
        """Admit connections at an address while the context lasts; then close those that wait.

        What the body raises is raised as it is.

        Args:
            address: a checked one, see `flagfall.agents.connections.addresses`.
            port: the port to bind.

        Raises:
            HostFault: it cannot be bound.
        """
        try:
            listeners = await trio.open_tcp_listeners(port, host=None if address == "*" else address)
        except OSError as error:  # another program was faster: no agent is disqualified for that
            raise HostFault(cannot_bind(address, port, error)) from error
        failed: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve, listeners)
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below, not in a group of the nursery's
                failed = error
            nursery.cancel_scope.cancel()
        if failed is not None:
            raise failed

    async def _serve(self, listeners: list[trio.SocketListener]) -> None:
        try:
            await trio.serve_listeners(self._handle, listeners)
        finally:
            self.discard_waiting()

    async def _handle(self, stream: trio.SocketStream) -> None:
        self.connected += 1
        try:
            peer = stream.socket.getpeername()
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS)
        except OSError:  # it is closed already
            stream.socket.close()
            self.handshakes.refused += 1
            return
        with self.handshakes.place(peer):
            try:
                connection = await self.authenticate(stream)
            except trio.EndOfChannel:
                self.handshakes.silent += 1
            except Exception:  # noqa: BLE001 - an unauthenticated client must not be able to end a match
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

    # Connections that wait for a match.

    def is_full(self) -> bool:
        """Report whether no more connections can wait; closed ones are forgotten first."""
        self._forget_closed()
        return len(self._waiting) >= MAX_WAITING

    def has_waiting(self) -> bool:
        """Report whether an open connection waits for a match."""
        self._forget_closed()
        return bool(self._waiting)

    def put_back(self, connection: AdmittedT) -> None:
        """Keep a connection for the next match, before all others.

        Args:
            connection: one that was admitted.
        """
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

    # The match that is played.

    @contextmanager
    def occupied_by(self, place: PlaceT) -> Iterator[PlaceT]:
        """Admit agents for one match while the context lasts, or until `leave`; gives its place.

        Agents that wait already are for that match, too.

        Args:
            place: the place of that match.

        Raises:
            UsageError: another seat plays with the agent of this address.
        """
        if self.occupant is not None:
            raise UsageError(f"{self.where}: two seats at a time with one address: give each one its own")
        self.occupant = place
        try:
            yield place
        finally:
            self.leave(place)

    def leave(self, place: PlaceT) -> None:
        """Give up a place: agents that join from now on are for the next match.

        Args:
            place: the place of the match.
        """
        if self.occupant is place:
            self.occupant = None


class Place(Generic[AdmittedT]):
    """The place of one match at an admission.

    Args:
        admission: the admission; connections that wait there are for this match, too.

    Attributes:
        held: an agent has joined this match.
    """

    def __init__(self, admission: Admission[AdmittedT, Any]) -> None:
        self.held: bool = False
        self._admission = admission
        self._counts = ConnectionCounts.since_now(admission)

    async def next(self) -> AdmittedT:
        """Wait for the connection of the next agent, which holds the place from now on."""
        connection = await self._admission.next()
        self.held = True
        return connection

    def absence(self) -> AgentFault | None:
        """Explain why the seat is empty; `None` if an agent has joined, and is merely late."""
        return None if self.held else self._counts.absence(self._admission.where)


@attrs.frozen
class ConnectionCounts:
    """Counts of connections since a match began, to explain why its seat is empty.

    Attributes:
        admission: the admission that is counted.
        connected: its connections when the match began.
        silent: those of them that ended without a complete handshake.
        refused: those of them that were refused.
    """

    admission: Admission[Any, Any]
    connected: int
    silent: int
    refused: int

    @classmethod
    def since_now(cls, admission: Admission[Any, Any]) -> ConnectionCounts:
        """Begin to count; connections that wait or are in their handshake count, too.

        Args:
            admission: the admission to count.
        """
        handshakes = admission.handshakes
        waiting = len(admission._waiting)  # noqa: SLF001 - of this module
        return cls(
            admission, admission.connected - handshakes.open - waiting, handshakes.silent, handshakes.refused
        )

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
