"""Bounds on connections that have not been authenticated: few, short-lived, shared among addresses.

Rule 1: a connection has `HANDSHAKE_SECONDS` to authenticate, or another time that its protocol needs, no
    matter how much it sends.
Rule 2: where `MAX_HANDSHAKES` of them are open, a new one takes the place of the oldest one of the address
    that has most. Silent connections cost an honest client nothing, and one address cannot crowd out others.
"""

from __future__ import annotations

__all__ = ["HANDSHAKE_SECONDS", "MAX_BLANKS", "MAX_HANDSHAKES", "Handshakes", "has_many_blanks", "is_hung_up"]

import select
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Any, Final

import attrs
import trio

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

    Args:
        seconds: the longest time of a handshake.

    Attributes:
        silent: connections that ended without a complete handshake, for lack of time or place.
        refused: connections that were turned away for what they sent.
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
    def place(self, peer: Any) -> Iterator[None]:
        """Hold a place for one connection; the body is cancelled when it has to give way.

        Args:
            peer: its address, as a socket gives it.
        """
        if len(self._open) >= MAX_HANDSHAKES:
            self._evict()
        with trio.move_on_after(self._seconds) as scope:
            self._open[scope] = _origin(peer)
            try:
                yield
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


def is_hung_up(fd: int) -> bool:
    """Return true if the other end of a socket has closed, even if data before that is still unread.

    Args:
        fd: the descriptor of the socket.
    """
    poll = select.poll()
    poll.register(fd, select.POLLRDHUP)
    return bool(poll.poll(0))


def has_many_blanks(data: bytes) -> bool:
    """Return whether a part of a request of HTTP has more than `MAX_BLANKS` blanks and tabs in a row.

    Args:
        data: the bytes that have come, after the last `MAX_BLANKS` of those before.
    """
    return b" " * (MAX_BLANKS + 1) in data.replace(b"\t", b" ")
