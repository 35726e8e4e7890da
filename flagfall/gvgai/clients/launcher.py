"""Launcher of a GVGAI client: a small program that becomes the client once its network is ready.

    python -I -S client_launcher.py NETWORK PORT [FILES] -- COMMAND...

NETWORK is one of:

- `own`: enter a network namespace that has only a loopback interface, and listen there;
- `here`: listen in the network of this program, such as that of a sandbox;
- `shared`: the host listens;
- `probe`: test whether `own` works on this machine (exit code 0 or 1).

The listening socket is sent to the host over the standard input, which is a Unix socket. A socket stays in
the namespace in which it was made, so the host accepts the client's connection without entering it, and no
relay is needed. Several clients that have the port 8080 as a constant can therefore play at the same time.

The system bounds the descriptors that all processes of a user have in flight through sockets by the limit of
open files of the process that sends another one. The client's limit, FILES, therefore applies only after the
socket is sent: otherwise an agent that fills sockets with descriptors could keep all clients from playing.

Only the standard library is imported, and little of it. The client's standard output becomes its standard
error: it is text for people, and the host keeps the tail of it.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import struct
import sys
from contextlib import suppress
from typing import Final

_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1
_INTERFACE_FLAGS: Final = "16sH14x"
"""Part of `struct ifreq` with the name and the flags of an interface."""

_LOOPBACK: Final = "127.0.0.1"
_BACKLOG: Final = 1
"""One client connects, once; then the socket is closed."""

_NOT_STARTED: Final = 127


def main(arguments: list[str]) -> int:
    """Prepare the network and become the client; return an exit code only if that fails."""
    network, port = arguments[:2]
    if network == "probe":
        try:
            _move_to_own_network()
            _listen(int(port)).close()
        except OSError:
            return 1
        return 0
    words = arguments.index("--")
    command = arguments[words + 1 :]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if network != "shared":
        with socket.socket(fileno=os.dup(0)) as host:
            try:
                if network == "own":
                    _move_to_own_network()
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
                with _listen(int(port)) as listener:
                    socket.send_fds(host, [b"+"], [listener.fileno()])
            except OSError as error:
                host.sendall(str(error).encode())
                return _NOT_STARTED
    files = min([hard, *map(int, arguments[2:words])])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files) if words > 2 else (soft, hard))  # noqa: PLR2004 - FILES is given
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    try:
        os.execvp(command[0], command)  # noqa: S606 - without a shell
    except OSError as error:
        with suppress(OSError):
            os.write(2, f"{command[0]} cannot be started: {error}\n".encode())
    return _NOT_STARTED


def _move_to_own_network() -> None:
    """Enter a new network namespace, and a new user namespace if that is required."""
    try:
        _unshare(_CLONE_NEWNET)
    except PermissionError:
        maps = {"setgroups": "deny", "uid_map": f"{os.getuid()} {os.getuid()} 1"}
        maps["gid_map"] = f"{os.getgid()} {os.getgid()} 1"
        _unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
        for name, text in maps.items():
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib takes long to import
                file.write(text)
    with socket.socket() as any_socket:
        request = struct.pack(_INTERFACE_FLAGS, b"lo", 0)
        _, flags = struct.unpack(_INTERFACE_FLAGS, fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack(_INTERFACE_FLAGS, b"lo", flags | _IFF_UP))


def _unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_LOOPBACK, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
