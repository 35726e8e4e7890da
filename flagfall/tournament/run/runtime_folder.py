"""Private folder for files that a user's running programs share: control sockets and their tokens.

It is `$XDG_RUNTIME_DIR/flagfall`, or without this variable `flagfall-UID` in the folder for temporary files.
Sandboxed agents see neither. The folder is checked before anything in it is trusted: it belongs to the user,
only that user may enter it, and it is accessed through a descriptor, so that it cannot be replaced after the
check.
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
    """Return the runtime folder of this user; make it if it is missing.

    Raises:
        OSError: it cannot be made.
    """
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

    Args:
        path: the folder.
        owner: id of the required owner.

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
        path: the file.
        most: most bytes that are read.
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
