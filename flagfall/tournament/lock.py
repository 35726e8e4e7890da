"""Lock of a tournament's folder."""

from __future__ import annotations

__all__ = ["Lock", "is_locked"]

import fcntl
import os
from pathlib import Path
from typing import Final

from flagfall.errors import UsageError
from flagfall.tournament.folder import LOCK

_MAX_HOLDER_BYTES: Final = 32
_LOCKS: Final = Path("/proc/locks")


class Lock:
    """Lock that the single runner of a folder holds; the system releases it however the runner ends.

    Args:
        folder: the folder of the tournament.

    Raises:
        UsageError: another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}\n".encode())
        except BlockingIOError:
            holder = os.read(self._file, _MAX_HOLDER_BYTES).strip()
            os.close(self._file)
            raise UsageError(
                f"{folder} is in use by process {holder.decode('ascii', 'replace')}: wait for it, or query it"
                f" with `flagfall ctl {folder} status`"
            ) from None
        except BaseException:
            os.close(self._file)
            raise

    def close(self) -> None:
        """Release the lock."""
        os.close(self._file)


def is_locked(folder: Path) -> bool:
    """Return whether a runner holds the lock of a folder.

    The lock is not tried: that would disturb a runner that is about to take it. The kernel lists all locks.

    Args:
        folder: the folder of the tournament.
    """
    try:
        found = (folder / LOCK).stat()
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return False
    name = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return any(name in line.split() and "FLOCK" in line for line in lines)
