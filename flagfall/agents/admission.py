"""Admission of agents that connect: authenticates connections, and keeps them until a match wants one.

One admission serves all matches of a series, so a connection never belongs to a match that is over: an agent
that comes between two matches, or before the first, waits for the next one.
"""

from __future__ import annotations

import select
import socket
import sys
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, Generic, Protocol, TypeVar

import attrs
import trio

from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.recording.operations import report
from flagfall.texts import one_line
from flagfall.timing.clocks import real_limit

LOOPBACK: Final = "127.0.0.1"
"""The default address to bind: only clients on this machine can connect."""

_MAX_PORT: Final = 65535


def checked_port(port: Any) -> int:
    """Return a port: a whole number from 1 to 65535; raises `UsageError` for another value."""
    if type(port) is not int or not 1 <= port <= _MAX_PORT:
        raise UsageError(f"invalid port {port!r}: write a number from 1 to {_MAX_PORT}")
    return port


def checked_address(address: str) -> str:
    """Return an IP address in its canonical form, or `*` for all addresses.

    Args:
        address: an IP address, `localhost`, or `*`.

    Raises:
        UsageError: it is another text.
    """
    if address == "*":
        return address
    if address == "localhost":
        return LOOPBACK
    try:
        return str(ip_address(address.removeprefix("[").removesuffix("]")))
    except ValueError:
        raise UsageError(
            f"invalid address {address!r}: write an IP address of this machine, localhost, or * for all"
        ) from None


def is_loopback(address: str) -> bool:
    """Return true if only this machine can reach an address."""
    return address != "*" and ip_address(address).is_loopback


def try_port(address: str, port: int) -> None:
    """Bind a port for a moment, to find out that it can be bound.

    Raises:
        UsageError: it cannot be bound.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the host that binds it later
            probe.bind(("" if address == "*" else address, port))
    except OSError as error:
        raise UsageError(cannot_bind(address, port, error)) from error


def cannot_bind(address: str, port: int, error: Exception) -> str:
    """Return the message for a port that cannot be bound."""
    why = getattr(error, "strerror", None) or error
    return f"port {port} at {address} cannot be bound for a remote agent: {why}"


# Bounds on connections that have not been authenticated: few, short-lived, shared among addresses.
#
# Rule 1: a connection has `HANDSHAKE_SECONDS` to authenticate, or another time that its protocol needs, no
#     matter how much it sends.
# Rule 2: where `MAX_HANDSHAKES` of them are open, a new one takes the place of the oldest one of the
#     address that has most. Silent connections cost an honest client nothing, and no address crowds
#     out others.

HANDSHAKE_SECONDS: Final = 2.0
"""The time for TLS, WebSocket and the first message together: three round trips of 300 ms, and one packet
that is lost and sent again after a second."""

MAX_HANDSHAKES: Final = 64
"""Unauthenticated connections at a time. Each costs a descriptor and, with TLS, up to 1 MiB. A flood of 1000
connections a second leaves each of them 64 ms; a handshake on the same machine takes 2 ms."""

MAX_BLANKS: Final = 256
"""Most blanks and tabs in a row in a request of HTTP. The library h11 tries every division of them in two:
60,000 in a header that is invalid hold up all matches of the loop for 16 s."""

_IPV6_NETWORK_BITS: Final = 64
"""Leading bits of an IPv6 address that count: one host usually owns all addresses that begin with them."""


@attrs.define
class Handshakes:
    """The connections that are being authenticated, with counts for the explanation of an empty seat.

    Attributes:
        silent: connections that ended without a complete handshake, for lack of time or place.
    """

    _seconds: float = HANDSHAKE_SECONDS
    silent: int = attrs.field(default=0, init=False)
    refused: int = attrs.field(default=0, init=False)
    _open: dict[trio.CancelScope, str] = attrs.field(factory=dict, init=False, repr=False)

    @property
    def open(self) -> int:
        """The number of connections that are being authenticated now."""
        return len(self._open)

    @contextmanager
    def place(self, peer: Any) -> Iterator[trio.CancelScope]:
        """Hold a place for one connection; the body is cancelled when it has to give way."""
        if len(self._open) >= MAX_HANDSHAKES:
            self._evict()
        with real_limit(self._seconds) as scope:
            self._open[scope] = _origin(peer)
            try:
                yield scope
            finally:
                self._open.pop(scope, None)
        if scope.cancelled_caught:
            self.silent += 1

    def _evict(self) -> None:
        """Cancel the oldest handshake of the address that has most of them."""
        counts = Counter(self._open.values())
        most = max(counts.values())
        oldest = next(scope for scope, origin in self._open.items() if counts[origin] == most)
        del self._open[oldest]
        oldest.cancel()


def _origin(peer: Any) -> str:
    """Return the key under which connections from one address are counted."""
    address = ip_address(str(peer[0]).partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(int(address) >> (address.max_prefixlen - _IPV6_NETWORK_BITS))


def _shown_peer(peer: Any) -> str:
    return ":".join(map(str, peer[:2]))


def is_hung_up(fd: int) -> bool:
    """Return true if the other end of a socket has closed, even if data before that is still unread."""
    hung_up = select.POLLHUP
    if sys.platform == "linux":  # elsewhere the other one tells of an end that is closed for writing, too
        hung_up = select.POLLRDHUP
    poll = select.poll()
    poll.register(fd, hung_up)
    return bool(poll.poll(0))


def keep_alive(stream: trio.SocketStream) -> None:
    """Let the system find out that the other end of a connection is gone, even if nothing is sent.

    Raises:
        OSError: the connection is closed.
    """
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "darwin":
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPALIVE, _KEEPALIVE_SECONDS)
    else:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_SECONDS)


def has_many_blanks(data: bytes) -> bool:
    """Return whether a part of a request of HTTP has more than `MAX_BLANKS` blanks and tabs in a row.

    Args:
        data: the bytes that have come, after the last `MAX_BLANKS` of those before.
    """
    return b" " * (MAX_BLANKS + 1) in data.replace(b"\t", b" ")


MAX_REASON_CHARS: Final = 200
"""Longest reason of a refusal that is reported: it may quote what the client sent."""

MAX_WAITING: Final = 8
"""Authenticated connections that may wait for a match; a seat needs one. They are counted apart from those in
`Handshakes`, so unauthenticated clients take no place from them."""

_KEEPALIVE_SECONDS: Final = 30
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

    Attributes:
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

        Raises:
            Refusal: it is not admitted.
            trio.EndOfChannel: the other end closed without a complete message.
        """

    @asynccontextmanager
    async def listening(self, address: str, port: int) -> AsyncIterator[None]:
        """Admit connections at an address while the context lasts; then close those that wait.

        What the body raises is raised as it is.

        Raises:
            HostFault: it cannot be bound.
        """
        try:
            listeners = await trio.open_tcp_listeners(port, host=None if address == "*" else address)
        except OSError as error:  # another program was faster: no agent is disqualified for that
            raise HostFault(cannot_bind(address, port, error)) from error
        async with self.served_by(partial(trio.serve_listeners, self._handle, listeners)):
            yield

    @asynccontextmanager
    async def served_by(self, serve: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
        """Admit the connections that a task takes while the context lasts; see `listening`.

        Args:
            serve: takes connections until it is cancelled, and calls `admit` for each, in a task of its own.
        """
        failed: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve, serve)
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised below, not in a group of the nursery's
                failed = error
            nursery.cancel_scope.cancel()
        if failed is not None:
            raise failed

    async def _serve(self, serve: Callable[[], Awaitable[object]]) -> None:
        try:
            await serve()
        finally:
            self.discard_waiting()

    async def _handle(self, stream: trio.SocketStream) -> None:
        self.connected += 1
        try:
            peer = stream.socket.getpeername()
            keep_alive(stream)
        except OSError:  # it is closed already
            stream.socket.close()
            self._refuse("", "closed")
            return
        await self.admit(peer, partial(self.authenticate, stream))

    async def admit(self, peer: Any, authenticate: Callable[[], Awaitable[AdmittedT]]) -> None:
        """Authenticate a connection in one of the places for that, and keep it for a match."""
        with self.handshakes.place(peer) as scope:
            try:
                connection = await authenticate()
            except trio.EndOfChannel:
                self.handshakes.silent += 1
                self._report_refused(peer, "silent: it closed without a complete handshake")
            except Exception as error:  # noqa: BLE001 - an unauthenticated client must not end a match
                self._refuse(peer, str(error) or type(error).__name__)
            else:
                self._keep(connection, peer)
        if scope.cancelled_caught:
            self._report_refused(peer, "silent: no complete handshake in time, or other clients came")

    def _keep(self, connection: AdmittedT, peer: Any) -> None:
        if self.is_full():
            connection.close()
            self._refuse(peer, "taken")
            return
        self._waiting.append(connection)
        self._news.set()
        report("agent joined", address=self.where, peer=_shown_peer(peer))

    def _refuse(self, peer: Any, reason: str) -> None:
        self.handshakes.refused += 1
        self._report_refused(peer, reason)

    def _report_refused(self, peer: Any, reason: str) -> None:
        shown = one_line(reason, MAX_REASON_CHARS)
        report("agent refused", address=self.where, peer=_shown_peer(peer), reason=shown)

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

    # The match that is played.

    @contextmanager
    def occupied_by(self, place: PlaceT) -> Iterator[PlaceT]:
        """Admit agents for one match while the context lasts, or until `leave`; gives its place.

        Agents that wait already are for that match, too.

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
        """Give up a place: agents that join from now on are for the next match."""
        if self.occupant is place:
            self.occupant = None


class Place(Generic[AdmittedT]):
    """The place of one match at an admission; counts connections, to explain why its seat is empty.

    Attributes:
        held: an agent has joined this match.
    """

    def __init__(self, admission: Admission[AdmittedT, Any]) -> None:
        self.held: bool = False
        self._admission = admission
        handshakes = admission.handshakes
        # Connections that wait or are in their handshake are for this match, too.
        self._connected = admission.connected - handshakes.open - len(admission._waiting)  # noqa: SLF001 - of this module
        self._silent, self._refused = handshakes.silent, handshakes.refused

    async def next(self) -> AdmittedT:
        """Wait for the connection of the next agent, which holds the place from now on."""
        connection = await self._admission.next()
        self.held = True
        return connection

    def absence(self) -> AgentFault | None:
        """Explain why the seat is empty: `not connected`, or `silent` where a client sent nothing.

        `None` if an agent has joined, and is merely late.
        """
        if self.held:
            return None
        where, handshakes = self._admission.where, self._admission.handshakes
        connected = self._admission.connected - self._connected
        silent = handshakes.silent + handshakes.open - self._silent
        refused = handshakes.refused - self._refused
        if not connected:
            return AgentFault("not connected", f"no client connected to {where}")
        if not silent:
            what = f"no client joined at {where}: connections refused or lost: {connected}"
            return AgentFault("not connected", what)
        others = f"; connections refused: {refused}" if refused else ""
        return AgentFault(
            "silent",
            f"a client connected to {where} and sent nothing, or no complete handshake; connections of that"
            f" kind: {silent}{others}",
        )
