"""Addresses of this machine at which an agent may connect."""

from __future__ import annotations

__all__ = ["LOOPBACK", "cannot_bind", "checked_address", "checked_port", "is_loopback", "try_port"]

import socket
from ipaddress import ip_address
from typing import Any, Final

from flagfall.errors import UsageError

LOOPBACK: Final = "127.0.0.1"
"""The default address to bind: only clients on this machine can connect."""

_MAX_PORT: Final = 65535


def checked_port(port: Any) -> int:
    """Return a port.

    Args:
        port: a whole number from 1 to 65535.

    Raises:
        UsageError: it is another value.
    """
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
    """Return true if only this machine can reach an address.

    Args:
        address: a checked one.
    """
    return address != "*" and ip_address(address).is_loopback


def try_port(address: str, port: int) -> None:
    """Bind a port for a moment, to find out that it can be bound.

    Args:
        address: a checked one.
        port: the port.

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
    """Return the message for a port that cannot be bound.

    Args:
        address: the address of the port.
        port: the port.
        error: the reason.
    """
    why = getattr(error, "strerror", None) or error
    return f"port {port} at {address} cannot be bound for a remote agent: {why}"
