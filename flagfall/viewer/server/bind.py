"""Addresses at which pages are served, and the rules for addresses that other machines can reach."""

from __future__ import annotations

__all__ = ["Bind"]

import warnings
from pathlib import Path
from ssl import SSLContext
from typing import Final

import attrs
import trio

from flagfall.agents.connections.addresses import LOOPBACK, checked_address, checked_port, is_loopback
from flagfall.agents.wire.admission import JoinPolicy
from flagfall.errors import UsageError

BACKLOG: Final = 128
"""Connections waiting to be accepted."""

_ALL_IPV4: Final = "0.0.0.0"  # noqa: S104 - only where the user asks for all addresses


@attrs.frozen
class Bind:
    """An address to serve pages at.

    Attributes:
        address: an IP address of this machine, `localhost`, or `*` for all.
        port: 1 to 65535, or 0 for any free one.
        token: the token that a browser must present; `None` for none. Never shown.
        certificate: a file with the certificate chain of this host, in PEM, for TLS; `None` for plain HTTP.
        key: a file with its key; `None` if the key is in the same file.

    Raises:
        UsageError: a value is invalid, or others can reach the address and no token is required.
    """

    address: str = attrs.field(default=LOOPBACK, converter=checked_address)
    port: int = attrs.field(default=0)
    token: str | None = attrs.field(default=None, repr=False)
    certificate: Path | None = None
    key: Path | None = None

    def __attrs_post_init__(self) -> None:
        if self.port != 0:
            checked_port(self.port)
        if self.key is not None and self.certificate is None:
            raise UsageError("a key goes with a certificate")
        if self.is_loopback:
            return
        if self.token is None:
            raise UsageError(f"{self.address}: others can reach it, so it needs a token: name a token file")
        if self.certificate is None:
            warnings.warn(
                f"{self.address} is not secured: anyone who reads the network sees the token and the pages;"
                " name a certificate",
                stacklevel=3,
            )

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the address."""
        return is_loopback(self.address)

    def tls_context(self) -> SSLContext | None:
        """Return the TLS settings; `None` for plain HTTP.

        Raises:
            UsageError: the certificate cannot be used.
        """
        if self.certificate is None:
            return None
        context = JoinPolicy(certificate=self.certificate, key=self.key).context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    async def open_listeners(self) -> list[trio.SocketListener]:
        """Bind the port.

        Raises:
            UsageError: it cannot be bound.
        """
        host: str | None = self.address
        if self.address == "*":
            host = None if self.port else _ALL_IPV4  # a free port of IPv4 may be taken for IPv6
        try:
            return await trio.open_tcp_listeners(self.port, host=host, backlog=BACKLOG)
        except OSError as error:
            why = error.strerror or error
            raise UsageError(
                f"port {self.port} at {self.address} cannot be bound: {why}; choose another port, or 0 for"
                " any free one"
            ) from error

    def url(self, port: int) -> str:
        """Return the address of the first page, without the token.

        Args:
            port: the port that was bound.
        """
        scheme = "http" if self.certificate is None else "https"
        host = LOOPBACK if self.address == "*" else self.address
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"
