"""Files in a folder that is served: no request leads out of it, by its path or by a symbolic link."""

from __future__ import annotations

__all__ = ["path_inside"]

import os
import stat
from pathlib import Path
from typing import Final

from flagfall.errors import UsageError

MAX_DEPTH: Final = 8
"""Most folders below the served one that a name may lead through."""


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a regular file in a folder, or of one in its subfolders.

    The folder may be a symbolic link itself; nothing below it may be one.

    Args:
        folder: the folder that is served.
        name: the file's name, or its path below the folder with `/` between the parts.

    Raises:
        UsageError: there is no such file, or it would be elsewhere.
    """
    parts = name.split("/")
    if len(parts) > MAX_DEPTH or any(part in {"", ".", ".."} or not _is_plain(part) for part in parts):
        raise UsageError("this name leads out of the folder, or is not a name of a file")
    path = folder
    try:
        for part in parts:
            path /= part
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                raise UsageError("a symbolic link in the folder: only files of the folder itself are shown")
    except OSError as error:
        raise UsageError(f"no such file in the folder: {error.strerror or error}") from error
    if not stat.S_ISREG(mode):
        raise UsageError("not a file: only regular files of the folder are shown")
    return path


def _is_plain(part: str) -> bool:
    return part.isprintable() and "\\" not in part
