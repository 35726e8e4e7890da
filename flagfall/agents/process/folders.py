"""Folders of agents: their size, and their removal whatever an agent has made of them.

The supervisor loads this file by its path; only the standard library is imported.
"""

# ruff: noqa: PTH101, PTH104, PTH106, PTH108, PTH112, PTH114, PTH208 - pathlib takes longer to import than all of this

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from typing import Final

ENTRY_BYTES: Final = 1024
"""The least that a file or folder counts: also empty ones fill a disk, and take time to remove."""


def size_of(folder: str) -> int:
    """Return the bytes of the files in a folder and below; raises `OSError` if it is too deep to be read."""
    total = 0
    above = [folder]
    while above:
        try:
            with os.scandir(above.pop()) as entries:
                for entry in entries:
                    with suppress(OSError):
                        if entry.is_dir(follow_symlinks=False):
                            above.append(entry.path)
                        total += max(ENTRY_BYTES, entry.stat(follow_symlinks=False).st_blocks * 512)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise
    return total


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it, at any depth and with any permissions.

    Folders are moved up to the top before they are emptied, so no path grows longer than two names.
    """
    for remove in (os.rmdir, os.unlink):  # nearly always it is empty; or it was replaced by a file
        with suppress(OSError):
            remove(folder)
            return
    new_name = f"{folder}/{time.monotonic_ns()}-"
    left = [folder]
    moved = 0
    while left:
        path = left.pop()
        with suppress(OSError):
            os.chmod(path, 0o700)
            for name in os.listdir(path):
                inside = f"{path}/{name}"
                if os.path.isdir(inside) and not os.path.islink(inside):
                    moved += 1
                    left.append(f"{new_name}{moved}")
                    with suppress(OSError):
                        os.chmod(inside, 0o700)
                        os.rename(inside, left[-1])
                else:
                    with suppress(OSError):
                        os.unlink(inside)
            if path != folder:
                os.rmdir(path)
    with suppress(OSError):
        os.rmdir(folder)
