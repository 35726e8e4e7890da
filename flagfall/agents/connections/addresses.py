"""Addresses of this machine at which an agent may connect."""

from __future__ import annotations

__all__ = ["LOOPBACK", "cannot_bind", "checked_address", "checked_port", "is_loopback", "try_port"]

import socket
from ipaddress import ip_address
from typing import Any, Final

from flagfall.errors import UsageError

LOOPBACK: Final = "127.0.0.1"
"""Where to bind unless told otherwise: nobody from outside can connect."""

_MAX_PORT: Final = 65535


def checked_port(port: Any) -> int:
    """The port.

    Raises:
        UsageError: it cannot be one.
    """
    if type(port) is not int or not 1 <= port <= _MAX_PORT:
        raise UsageError(f"port {port!r} cannot be: write a number from 1 to {_MAX_PORT}")
    return port


def checked_address(address: str) -> str:
    """An IP address, or `*` for all.

    Raises:
        UsageError: it is something else.
    """
    if address == "*":
        return address
    if address == "localhost":
        return LOOPBACK
    try:
        return str(ip_address(address.removeprefix("[").removesuffix("]")))
    except ValueError:
        raise UsageError(
            f"address {address!r}: write an IP address of this machine, localhost, or * for all of them"
        ) from None


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach it; of a checked address."""
    return address != "*" and ip_address(address).is_loopback


def try_port(address: str, port: int) -> None:
    """See whether the port can be bound; nothing is held.

    Raises:
        UsageError: it cannot.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as whoever binds it later
            probe.bind(("" if address == "*" else address, port))
    except OSError as error:
        raise UsageError(cannot_bind(address, port, error)) from error


def cannot_bind(address: str, port: int, error: Exception) -> str:
    """The message of that."""
    why = getattr(error, "strerror", None) or error
    return f"port {port} at {address} cannot be bound for a remote agent: {why}"
