"""Private folder for files that a user's running programs share: control sockets and their tokens.

It is `$XDG_RUNTIME_DIR/flagfall`, or without this variable `flagfall-UID` in the folder for temporary files.
Sandboxed agents see neither. The folder is checked before anything in it is trusted: it belongs to the user,
only that user may enter it, and it is accessed through a descriptor, so that it cannot be replaced after the
check.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import stat
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.errors import FlagfallError

_PRIVATE: Final = 0o700
_OTHERS: Final = 0o077
"""Permissions of the group and of all others."""


def make_runtime_folder() -> Path:
    """Return the runtime folder of this user; make it if it is missing."""
    user = os.geteuid()
    place = os.environ.get("XDG_RUNTIME_DIR", "")
    path = Path(tempfile.gettempdir()).absolute() / f"flagfall-{user}"
    with suppress(OSError):  # the variable may name no folder, or that of the user who called `sudo`
        if Path(place).is_absolute() and Path(place).stat().st_uid == user:
            path = Path(place) / "flagfall"
    with suppress(FileExistsError):
        path.mkdir(_PRIVATE)
    return path


@contextmanager
def open_private_folder(path: Path, owner: int) -> Iterator[int]:
    """Open a folder that only one user can enter; yield its descriptor.

    Raises:
        OSError: it is missing or a link, belongs to another user, or is open to others.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != owner or stat.S_IMODE(found.st_mode) & _OTHERS:
            raise OSError(errno.EPERM, f"{path} has to belong to user {owner} alone, with mode 0700")
        yield descriptor
    finally:
        os.close(descriptor)


def read_small_file(path: str | Path, most: int, *, folder: int | None = None) -> tuple[bytes, int]:
    """Read a regular file, not a link or a pipe; return its bytes and its owner.

    Args:
        folder: descriptor of the folder in which a relative path starts.

    Raises:
        OSError: it cannot be read, or is not a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, f"{path} is not a regular file")
        return os.read(descriptor, most), found.st_uid
    finally:
        os.close(descriptor)


# Admission of a process to a Unix socket of this process, by its user and its ancestors.
#
# Agents may run as the user who started the run, so the user alone does not identify them. But all their
# processes are descendants of this one and stay so: a supervisor, a worker and this process each adopt
# orphaned descendants (`PR_SET_CHILD_SUBREAPER`), so neither a double fork nor a new session nor the death
# of a supervisor takes a process out of the tree.
#
# Limit: without a sandbox an agent can make another program of the same user connect for it (`at`, `ssh`, a
# terminal multiplexer). Only isolation `sandbox`, which hides the socket, prevents that.

MAX_ANCESTORS: Final = 1000
"""Most processes between a peer and the first process of the system; a longer chain is refused."""

_SO_PEERPIDFD: Final = 77
"""Linux 6.5 and later: a descriptor of the very process that connected, for `getsockopt`."""

_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_GET_CHILD_SUBREAPER: Final = 37
_CREDENTIALS: Final = struct.Struct("iII")
_DESCRIPTOR: Final = struct.Struct("i")
_ROOT: Final = 0

_AGENT_HOSTS: Final = frozenset({"raylet"})
"""Names of programs whose descendants may be agents although this process did not start them: nodes of
Ray."""


class PeerRefused(FlagfallError):
    """The connected process may not send requests."""


def check_peer(connection: Any) -> None:
    """Refuse a process of another user, and a descendant of this process.

    Args:
        connection: an accepted connection of a Unix socket, with `getsockopt`.

    Raises:
        PeerRefused: the message gives the reason.
    """
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _group = _CREDENTIALS.unpack(data)
    if user not in {os.geteuid(), _ROOT}:
        raise PeerRefused("only the user who started the run may control it")
    try:
        handle = _open_peer(connection, pid)
        try:
            below = _is_below(pid, os.getpid())
            # Alive until here, so its id was not reused in the meantime.
            gone = has_ended(handle, 0)
        finally:
            os.close(handle)
    except OSError as error:
        raise PeerRefused(f"the process that connected cannot be inspected: {error.strerror}") from error
    if gone:
        raise PeerRefused("the process that connected has ended")
    if below:
        raise PeerRefused("processes of agents may not control the run")


def _open_peer(connection: Any, pid: int) -> int:
    """Return a descriptor of the process that connected; it becomes readable when the process ends."""
    try:
        data = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD, _DESCRIPTOR.size)
    except OSError:  # an older kernel, or the process has ended, and then the next line fails
        return os.pidfd_open(pid)
    descriptor: int = _DESCRIPTOR.unpack(data)[0]
    return descriptor


def has_ended(process: int, seconds: float) -> bool:
    """Wait for a process to end; return whether it has."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


@attrs.frozen
class _Process:
    name: str
    parent: int
    started: int


def _read_process(pid: int) -> _Process:
    """Read a process's entry in `/proc`; see proc_pid_stat(5)."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - three of these are read for each connection
        before, _, after = file.read().rpartition(b")")
    words = after.split()
    return _Process(before.partition(b"(")[2].decode(errors="replace"), int(words[1]), int(words[19]))


def _is_below(pid: int, top: int) -> bool:
    """Return whether a process is a descendant of `top` or of another program that hosts agents."""
    if pid == top:
        return False
    process = _read_process(pid)
    for _ in range(MAX_ANCESTORS):
        if process.name in _AGENT_HOSTS or process.parent == top:
            return True
        if process.parent == 0:
            return False
        try:
            parent = _read_process(process.parent)
        except FileNotFoundError:
            if _is_hidden(process.parent):
                return False
            raise
        if parent.started > process.started:  # the parent ended, and its id was reused
            raise ProcessLookupError("its parent has ended")
        process = parent
    return True


def _is_hidden(pid: int) -> bool:
    """Return whether a process exists but is not shown, like those of other users with `hidepid`."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        pass
    return False


def set_subreaper(*, on: bool) -> bool:
    """Set whether orphaned descendants become children of this process; return the previous setting."""
    libc = ctypes.CDLL(None)
    before = ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)
    return bool(before.value)


_adopting: Final[list[bool]] = []
"""Setting before each active context of `adopting_orphans`."""


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Adopt orphaned descendants while the context lasts, so that they can be recognised as such."""
    _adopting.append(set_subreaper(on=True))
    try:
        yield
    finally:
        before = _adopting.pop()
        set_subreaper(on=bool(_adopting) or before)
