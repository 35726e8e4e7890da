"""The private folder for what a user's running programs share: control sockets and their tokens.

It is `$XDG_RUNTIME_DIR/flagfall`, or `flagfall-UID` in the folder for temporary files where there is no such
variable. Agents in a sandbox see neither. Nothing in it is trusted before the folder itself has been checked:
it belongs to the user, no one else may enter it, and it is reached through a descriptor, so that it cannot be
exchanged after the check.
"""

from __future__ import annotations

__all__ = ["make_runtime_folder", "open_private_folder", "read_small_file"]

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PRIVATE: Final = 0o700
_OTHERS: Final = 0o077
"""Permissions of the group and of all others."""


def make_runtime_folder() -> Path:
    """Return the runtime folder of this user; make it where there is none.

    Raises:
        OSError: it cannot be made.
    """
    user = os.geteuid()
    place = os.environ.get("XDG_RUNTIME_DIR", "")
    path = Path(tempfile.gettempdir()).absolute() / f"flagfall-{user}"
    with suppress(OSError):  # a variable that names nothing, or the folder of the user who called `sudo`
        if Path(place).is_absolute() and Path(place).stat().st_uid == user:
            path = Path(place) / "flagfall"
    with suppress(FileExistsError):
        path.mkdir(_PRIVATE)
    return path


@contextmanager
def open_private_folder(path: Path, owner: int) -> Iterator[int]:
    """Open a folder that one user alone can enter; yield a descriptor of it.

    Args:
        path: the folder.
        owner: the user that it has to belong to.

    Raises:
        OSError: there is none, or it is a link, belongs to another user, or is open to others.
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
        path: the file.
        most: the bytes that are read at most.
        folder: descriptor of the folder where a relative path begins.

    Raises:
        OSError: it cannot be read, or is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, f"{path} is not a regular file")
        return os.read(descriptor, most), found.st_uid
    finally:
        os.close(descriptor)
