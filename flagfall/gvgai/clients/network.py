"""Network of a GVGAI client that is started here: the address of its server, and the check of its connection.

The public clients have the port 8080 as a constant. If this machine supports it, each client gets a network
namespace of its own, in which that port is always free and no other process can connect
(`flagfall.gvgai.clients.launcher`). Otherwise, and with isolation `none`, clients share the machine's
network: only one of them at a time waits for its connection there, and a connection is accepted only from a
process of the client.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs
import trio

from flagfall.agents.admission import LOOPBACK
from flagfall.errors import HostFault
from flagfall.gvgai.clients import launcher

if TYPE_CHECKING:
    from flagfall.agents.process.isolation import Isolation

PORT: Final = 8080
"""Port that the public clients connect to."""

PORT_PLACEHOLDER: Final = "{port}"
"""Stands for the port in the command of a client that takes one."""

PORT_WAIT_SECONDS: Final = 60.0
"""Longest wait for a shared port that is in use. It is free again when a client has connected."""

LISTEN_SECONDS: Final = 10.0
"""Longest time until the launcher listens; it needs about 20 ms."""

MAX_REASON_BYTES: Final = 1024
"""Longest error message of a launcher that is read; those of the system have some tens of bytes."""

_TRY_AGAIN_SECONDS: Final = 0.05
_PROBE_SECONDS: Final = 10.0
_ESTABLISHED: Final = "01"
"""State of a connection in `/proc/net/tcp`."""

_Kind: TypeAlias = Literal["own", "here", "shared"]


@attrs.define(eq=False)
class ClientNetwork:
    """Network of one client.

    Attributes:
        kind: see `flagfall.gvgai.clients.launcher`.
        listener: listening socket; `None` until the launcher has sent it, if the launcher makes it.
    """

    kind: _Kind
    port: int
    listener: socket.socket | None = None

    def command(self, words: Iterable[str], files: int | None = None) -> list[str]:
        """Return the command that starts the client in this network.

        Args:
            words: command of the client; the port replaces `PORT_PLACEHOLDER` in it.
            files: limit of the client's open files, which the launcher sets; `None` keeps the present one.
        """
        port = str(self.port)
        settings = [self.kind, port, *([] if files is None else [str(files)])]
        program = [sys.executable, "-I", "-S", launcher.__file__, *settings, "--"]
        return [*program, *(word.replace(PORT_PLACEHOLDER, port) for word in words)]

    async def take_listener(self, link: socket.socket) -> socket.socket:
        """Return the listening socket.

        Args:
            link: the host's end of the launcher's standard input.

        Raises:
            HostFault: the launcher could not make one, which is not the fault of the client.
        """
        if self.listener is None:
            reason = b"it did not listen in time"
            descriptors: list[int] = []
            with trio.move_on_after(LISTEN_SECONDS):
                await trio.lowlevel.wait_readable(link)
                reason, descriptors, _, _ = socket.recv_fds(link, MAX_REASON_BYTES, 1)
            if not descriptors:
                why = reason.decode(errors="replace") or "it ended before it listened"
                raise HostFault(f"the launcher of a GVGAI client has no network: {why}")
            self.listener = socket.socket(fileno=descriptors[0])
            self.listener.setblocking(False)
        return self.listener

    def close(self) -> None:
        """Stop listening; a further connection is refused."""
        if self.listener is not None:
            self.listener.close()


async def open_network(isolation: Isolation, *, any_port: bool) -> ClientNetwork:
    """Find a network for a client; wait while another client holds the port of a shared one.

    Args:
        any_port: the client takes its port from its command, so in a shared network any free port is used.

    Raises:
        HostFault: the port was in use for `PORT_WAIT_SECONDS`, or there are no sockets left.
    """
    if isolation.kind == "sandbox":
        return ClientNetwork("here", PORT)
    if isolation.kind == "process" and await trio.to_thread.run_sync(own_networks_work):
        return ClientNetwork("own", PORT)
    with trio.move_on_after(PORT_WAIT_SECONDS):
        while True:
            try:
                return _shared_network(0 if any_port else PORT)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise HostFault(f"no socket for a GVGAI client: {error.strerror or error}") from error
            await trio.sleep(_TRY_AGAIN_SECONDS)
    raise HostFault(
        f"port {PORT} at {LOOPBACK} was in use for {PORT_WAIT_SECONDS:g} s, by another program or by GVGAI"
        " clients that are being started: end what listens there, or, if the client takes a port as an"
        f" argument, write {PORT_PLACEHOLDER} for it in the command"
    )


def _shared_network(port: int) -> ClientNetwork:
    """Listen in the machine's network; only one socket can listen on a port, which separates the clients."""
    listener = socket.socket()
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections do not count
        listener.bind((LOOPBACK, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return ClientNetwork("shared", listener.getsockname()[1], listener)


@cache
def own_networks_work() -> bool:
    """Return whether a program started here can have a network namespace of its own; tried only once."""
    with suppress(OSError, subprocess.TimeoutExpired):
        probe = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", launcher.__file__, "probe", str(PORT)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
        return probe.returncode == 0
    return False


def is_made_by(connection: socket.socket, processes: Iterable[int]) -> bool:
    """Return whether one of some processes holds the other end of an IPv4 connection on this machine."""
    sought = {f"socket:[{inode}]" for inode in _inodes(connection)}
    return bool(sought) and any(not sought.isdisjoint(_sockets_of(pid)) for pid in processes)


def _inodes(connection: socket.socket) -> list[str]:
    """Return the inodes of the sockets at the other end, from the kernel's tables of connections.

    The ends are found by their ports. A client may hold an IPv6 socket for an IPv4 connection, as Java does.
    """
    try:
        far, near = connection.getpeername()[1], connection.getsockname()[1]
    except OSError:  # it is already closed
        return []
    found = []
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                words = line.split()
                ports = [int(words[end].rpartition(":")[2], 16) for end in (1, 2)]
                if ports == [far, near] and words[3] == _ESTABLISHED:
                    found.append(words[9])
    return found


def _sockets_of(pid: int) -> set[str]:
    """Return the targets of a process's descriptors; nothing if it has ended or cannot be read."""
    found = set()
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 - faster, and there may be thousands
            with suppress(OSError):
                found.add(os.readlink(f"{folder}/{name}"))  # noqa: PTH115 - faster
    return found
