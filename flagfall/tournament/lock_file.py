"""`flagfall.lock`: what a tournament was played with, and the digest of every file of its folder.

# flagfall: 0.1.0
# machine: Linux 6.8.0, x86_64, 2 processors, CPython 3.12.3
# processor: AMD EPYC
# package: attrs 25.1.0
# ...
# rows: <SHA-256 of the rows of the database>
<SHA-256>  code.json
<SHA-256>  journals/r0-m0-g0.jsonl.zst
...
<SHA-256>  former-1/flagfall.lock
# tree: <SHA-256 of all bytes before this line>
<SHA-256>  standings.csv

`sha256sum -c flagfall.lock` reads it, too. The tree hash stands for all records of the tournament. Files that
are made from the records follow it: they can be made again at any time, and do not change it.
"""

from __future__ import annotations

import platform
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from functools import cache
from hashlib import file_digest, sha256
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Final

import attrs

from flagfall.errors import FlagfallError, HostFault
from flagfall.tasks.code_files import CARRIED
from flagfall.tournament.database import DAMAGES, DamagedStore, OpenedToRead
from flagfall.tournament.folder import (
    CODE,
    DATABASE,
    FORMER,
    JOURNALS,
    LOCK_FILE,
    NAME,
    PLAN,
    REPORT,
    formers_in,
    is_plain,
    names_in,
    replace_file,
)
from flagfall.tournament.standings import FILE_FORMATS
from flagfall.tournament.store import machine

_TABLES: Final = {"about": "name", "matches": "number", "seats": "match, seat", "noted": "match, seat, name"}
"""Tables of the database that are records, and their order; `blocks` repeats them."""

MADE: Final = (REPORT, *(f"standings.{form}" for form in FILE_FORMATS))
"""Files that are made from the records."""

_RECORDS: Final = (DATABASE, f"{DATABASE}-wal", PLAN, CODE)
_FOLDERS: Final = (CARRIED, JOURNALS)
_LINE: Final = re.compile(
    rf"([0-9a-f]{{64}})  ((?:(?:{CARRIED}|{JOURNALS}|{FORMER}[0-9]+)/)?{NAME})", re.ASCII
)
_FLAGFALL: Final = "# flagfall: "
_TREE: Final = "# tree: "
_ROWS: Final = "# rows: "

MAX_LOCK_BYTES: Final = 256 * 1024**2
"""Longest lock file that is read: that of two million matches."""


@attrs.frozen
class LockFile:
    """A lock file that was read.

    Attributes:
        flagfall: the version that wrote it.
        rows: digest of the rows of the database; empty if it has none.
        digests: the SHA-256 of each file, by its path in the folder.
        tree: the tree hash; empty if the file is not as it was written.
    """

    flagfall: str
    rows: str
    digests: dict[str, str]
    tree: str


def read_lock_file(folder: Path) -> LockFile | None:
    """Return the lock file of a results folder, which may be damaged; `None` if there is none.

    Raises:
        OSError: it cannot be read.
    """
    path = folder / LOCK_FILE
    if not is_plain(path):
        return None
    with path.open("rb") as file:
        data = file.read(MAX_LOCK_BYTES)
    head, mark, rest = data.rpartition(b"\n" + _TREE.encode())
    head += b"\n"
    stated, _, made = rest.partition(b"\n")
    records, results = _read_lines(head), _read_lines(made)
    tree = sha256(head).hexdigest()
    # What follows the tree hash is in no digest, so only one form of it is sound.
    in_form = _lines((name, results[name]) for name in MADE if name in results)
    is_sound = bool(mark) and stated == tree.encode() and made == in_form
    return LockFile(
        _fact(head, _FLAGFALL), _fact(head, _ROWS), {**records, **results}, tree if is_sound else ""
    )


def _read_lines(text: bytes) -> dict[str, str]:
    lines = text.decode("utf-8", "replace").split("\n")
    return {match[2]: match[1] for line in lines if (match := _LINE.fullmatch(line))}


def _fact(head: bytes, prefix: str) -> str:
    lines = head.decode("utf-8", "replace").split("\n")
    return next((line.removeprefix(prefix) for line in lines if line.startswith(prefix)), "")


def write_lock_file(folder: Path) -> None:
    """Write the lock file of a tournament whose database is closed, and those of its former states.

    Raises:
        DamagedStore: the database is damaged.
        HostFault: a file cannot be read, or this one not be written.
    """
    for former in formers_in(folder):
        if not is_plain(former / LOCK_FILE):
            with suppress(FlagfallError):  # then the lock file does not have it
                _write(former)
    _write(folder)


def _write(folder: Path) -> None:
    try:
        with closing(OpenedToRead(folder / DATABASE)) as opened:
            rows = rows_digest(opened.connection)
        facts = [
            f"{_FLAGFALL}{version('flagfall')}",
            f"# machine: {machine()}",
            f"# processor: {_processor()}",
        ]
        facts += [f"# package: {name}" for name in _packages()]
        head = "\n".join([*facts, f"{_ROWS}{rows}"]).encode() + b"\n" + _lines(_digests(folder))
        made = _lines((name, digest_of(folder / name)) for name in MADE if is_plain(folder / name))
        replace_file(folder / LOCK_FILE, head + f"{_TREE}{sha256(head).hexdigest()}\n".encode() + made)
    except DAMAGES as error:
        raise DamagedStore(folder / DATABASE, error) from error
    except OSError as error:
        raise HostFault(f"{folder / LOCK_FILE} cannot be written: {error.strerror or error}") from error


def add_made(folder: Path, path: Path) -> None:
    """Put the digest of a file that was made from the records into the lock file, if it belongs there.

    Raises:
        HostFault: the lock file cannot be written.
    """
    try:
        lock = read_lock_file(folder) if path.name in MADE and path.parent.samefile(folder) else None
        if lock is None or not lock.tree:
            return
        head = (folder / LOCK_FILE).read_bytes().rpartition(_TREE.encode())[0]
        known = {name: digest for name, digest in lock.digests.items() if name in MADE}
        known[path.name] = digest_of(path)
        made = _lines((name, known[name]) for name in MADE if name in known)
        replace_file(folder / LOCK_FILE, head + f"{_TREE}{lock.tree}\n".encode() + made)
    except OSError as error:
        raise HostFault(f"{folder / LOCK_FILE} cannot be written: {error.strerror or error}") from error


def _lines(digests: Iterable[tuple[str, str]]) -> bytes:
    return b"".join(f"{digest}  {name}\n".encode() for name, digest in digests)


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths of the records of a folder, in order, each with its digest."""
    names = [name for name in _RECORDS if is_plain(folder / name) and (folder / name).stat().st_size]
    names += [f"{place}/{name}" for place in _FOLDERS for name in names_in(folder / place)]
    formers = (former / LOCK_FILE for former in formers_in(folder))
    names += [str(path.relative_to(folder)) for path in formers if is_plain(path)]
    for name in sorted(names):
        yield name, digest_of(folder / name)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def rows_digest(database: sqlite3.Connection) -> str:
    """Return the SHA-256 of the records in a database, which does not depend on how SQLite stores them.

    Raises:
        sqlite3.Error, UnicodeDecodeError: the database is damaged.
    """
    found = sha256()
    for table, order in _TABLES.items():
        rows = database.execute(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608 - our names
        found.update(f"{table} {[name for name, *_ in rows.description]}\n".encode())
        while some := rows.fetchmany(1000):
            found.update("".join(f"{row}\n" for row in some).encode())
    return found.hexdigest()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


@cache
def _packages() -> list[str]:
    """Return the installed packages with their versions."""
    return sorted({f"{one.name} {one.version}" for one in distributions()}, key=str.lower)
