"""Names of the files in a tournament's folder.

tournament.db   SQLite database: the plan, and every match with its seats
plan.toml       the plan as it was read
journals/       one file a match
former-1/       the tournament before its plan changed, if matches lost their places (former-2/, ...)
code/           the user's own files that are played, by their SHA-256
code.json       their names
flagfall.lock   digests of all these files, when a run has ended
running/        journals being written
lock            held by the runner
report.html     the report, where one was written
control         address of the running tournament, for `flagfall ctl`
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flagfall.errors import UsageError
from flagfall.recording.journal.file import is_locked

DATABASE: Final = "tournament.db"
PLAN: Final = "plan.toml"
LOCK: Final = "lock"
CONTROL: Final = "control"
REPORT: Final = "report.html"

CODE: Final = "code.json"
LOCK_FILE: Final = "flagfall.lock"

JOURNALS: Final = "journals"
"""Folder of complete journals; each appears there in one piece."""

FORMER: Final = "former-"
"""The name of a folder with the tournament before its plan changed is this, and a number."""

RUNNING: Final = "running"
"""Folder of journals being written. Files left there by an earlier run are of no use."""

NAME: Final = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
"""What a file in a folder of a tournament may be called, as a regular expression."""

_UNFINISHED: Final = re.compile(r"\.[A-Za-z0-9_-][A-Za-z0-9._-]*\.[0-9]{1,10}", re.ASCII)
_FORMER: Final = re.compile(rf"{FORMER}[1-9][0-9]{{0,8}}", re.ASCII)


def journal_path(folder: Path, journal: object) -> Path | None:
    """Return a journal if it is a file in the journals of the tournament's folder.

    Args:
        journal: its path in a stored record, which may be damaged; `None` for a match without one.
    """
    place, _, name = str(journal).partition("/")
    if place != JOURNALS or not name or "/" in name or "\0" in name or name in {".", ".."}:
        return None
    home = folder / JOURNALS
    path = home / name
    try:
        inside = not home.is_symlink() and path.resolve().parent == home.resolve()
        return path if inside and path.is_file() else None
    except OSError:
        return None


def names_in(folder: Path) -> list[str]:
    """Return the names of the regular files of a folder that may have been written by a run."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return [one.name for one in entries if one.is_file(follow_symlinks=False) and is_name(one.name)]


def is_name(name: str) -> bool:
    """Return whether a file of this name may be in a folder of a tournament."""
    return re.fullmatch(NAME, name, re.ASCII) is not None


def is_plain(path: Path) -> bool:
    """Return whether a path is that of a regular file, and no link."""
    return path.is_file() and not path.is_symlink()


def formers_in(folder: Path) -> Iterator[Path]:
    """Yield the folders in which a tournament keeps what it was before its plan changed."""
    for path in sorted(folder.glob(f"{FORMER}*")):
        if _FORMER.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            yield path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file of the folder in one piece; a link in its place is replaced, not followed."""
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.unlink(missing_ok=True)
    try:
        with made.open("xb") as file:
            file.write(content)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def remove_left_behind(folder: Path) -> None:
    """Remove the lock file of an earlier run, and what `replace_file` of killed runs left behind."""
    (folder / LOCK_FILE).unlink(missing_ok=True)
    for path in folder.glob(".*"):
        if _UNFINISHED.fullmatch(path.name):
            path.unlink()


_MAX_HOLDER_BYTES: Final = 32


class Lock:
    """Lock that the single runner of a folder holds; the system releases it however the runner ends.

    Raises:
        UsageError: another process holds it, or its file is none, such as a link to another one.
    """

    def __init__(self, folder: Path) -> None:
        path = self._path = folder / LOCK
        if path.is_symlink() or (path.exists() and not path.is_file()):  # the folder may come from others
            raise UsageError(f"{path} is not a regular file: remove it")
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            self._take()
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

    def _take(self) -> None:
        """Lock the file, which must still have its name then: the runner before removes it."""
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not self._path.exists() or not os.path.samestat(os.fstat(self._file), self._path.stat()):
            raise BlockingIOError

    def close(self) -> None:
        """Release the lock, and remove its file."""
        self._path.unlink(missing_ok=True)
        os.close(self._file)


def is_held(folder: Path) -> bool:
    """Return whether a runner of this machine holds the lock of a folder; nothing is locked or written.

    Where that is not known, the control file of a run is the sign.

    Args:
        folder: the folder of a tournament; it may be missing, or come from another machine.
    """
    found = is_locked(folder / LOCK)
    return (folder / CONTROL).exists() if found is None else found
