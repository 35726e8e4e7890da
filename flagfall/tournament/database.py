"""Opening the database of a tournament, which may be damaged, of another version, or read-only.

A reader writes nothing, neither to migrate an older version nor to create the files that SQLite needs beside
a database in WAL mode. In these cases it reads a copy.
"""

from __future__ import annotations

__all__ = ["DAMAGES", "MIGRATIONS", "DamagedStore", "open_to_read", "open_to_write"]

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from flagfall.errors import UsageError
from flagfall.terminal_text import one_line

MIGRATIONS: Final = (
    """
    CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE matches (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL, attempt INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('played', 'void')), why TEXT NOT NULL, reason TEXT NOT NULL,
        solved INTEGER NOT NULL, tasks INTEGER NOT NULL, turns INTEGER NOT NULL,
        elapsed_ns INTEGER NOT NULL, stalls INTEGER NOT NULL, journal TEXT, UNIQUE (id, attempt)
    );
    CREATE UNIQUE INDEX counts_once ON matches (id) WHERE status = 'played';
    CREATE TABLE seats (
        match INTEGER NOT NULL REFERENCES matches, seat INTEGER NOT NULL, agent TEXT NOT NULL,
        score REAL NOT NULL, reward REAL NOT NULL, fell TEXT, turns INTEGER NOT NULL, late INTEGER NOT NULL,
        illegal INTEGER NOT NULL, absent INTEGER NOT NULL, dropped INTEGER NOT NULL,
        skipped INTEGER NOT NULL, think_ns INTEGER NOT NULL, think_p50_ns INTEGER NOT NULL,
        think_p99_ns INTEGER NOT NULL, think_max_ns INTEGER NOT NULL, over_ns INTEGER NOT NULL,
        credit_ns INTEGER NOT NULL, start_ns INTEGER NOT NULL, thinking TEXT NOT NULL,
        PRIMARY KEY (match, seat)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE matches ADD COLUMN game_score REAL NOT NULL DEFAULT 0;
    ALTER TABLE matches ADD COLUMN ticks INTEGER NOT NULL DEFAULT 0;
    """,
    """
    CREATE TABLE blocks (last INTEGER PRIMARY KEY, data BLOB NOT NULL);
    CREATE INDEX remarks ON matches (number) WHERE why <> '' OR status = 'void';
    CREATE TRIGGER match_inserted AFTER INSERT ON matches WHEN NEW.number <= (SELECT max(last) FROM blocks)
        BEGIN DELETE FROM blocks; END;
    CREATE TRIGGER seat_inserted AFTER INSERT ON seats WHEN NEW.match <= (SELECT max(last) FROM blocks)
        BEGIN DELETE FROM blocks; END;
    CREATE TRIGGER match_updated AFTER UPDATE ON matches BEGIN DELETE FROM blocks; END;
    CREATE TRIGGER match_deleted AFTER DELETE ON matches BEGIN DELETE FROM blocks; END;
    CREATE TRIGGER seat_updated AFTER UPDATE ON seats BEGIN DELETE FROM blocks; END;
    CREATE TRIGGER seat_deleted AFTER DELETE ON seats BEGIN DELETE FROM blocks; END;
    """,
    """
    CREATE TABLE noted (
        match INTEGER NOT NULL, seat INTEGER NOT NULL, name TEXT NOT NULL, total REAL NOT NULL,
        PRIMARY KEY (match, seat, name)
    ) WITHOUT ROWID;
    """,
)
"""Statements that migrate a database from version n - 1 to version n, its `user_version`."""

DAMAGES: Final = (sqlite3.Error, UnicodeDecodeError)
"""Errors that SQLite raises for a damaged file; the second one for a text that is not UTF-8."""

_SCHEMA: Final = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
_WAL: Final = "-wal"
_SUFFIXES: Final = ("", "-journal", _WAL, "-shm")
"""Endings of the files of a database in SQLite."""

_ACTIVE: Final = frozenset({"index", "trigger", "view"})
"""Kinds of items in a schema that run expressions when a table is read or written."""


MAX_REASON_CHARS: Final = 160
"""Characters that a message shows of an error of SQLite, which may quote the damaged file."""


class DamagedStore(UsageError):
    """The database of a tournament is damaged.

    Args:
        path: its file.
        what: the damage.
    """

    def __init__(self, path: Path, what: object) -> None:
        why = one_line(str(what), MAX_REASON_CHARS)
        super().__init__(
            f"{path} is damaged ({why}): restore a copy of it, or recover it with"
            f" `sqlite3 {path.name} .recover`; the journals beside it are separate files"
        )


def open_to_write(path: Path, *, durable: bool) -> sqlite3.Connection:
    """Open a database for writing; create a missing one.

    Args:
        path: its file.
        durable: a transaction is on disk when it is committed.

    Raises:
        DamagedStore: the file is not a database, or a part of it is damaged.
        UsageError: it cannot be opened, or a newer version of flagfall made it.
    """
    with _errors_of(path):
        connection = _connect(path, "rwc")
        with _closed_on_error(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            _check_pages(connection, path)
            _migrate(connection, path)
            _check_schema(connection, path)
    return connection


def _check_pages(connection: sqlite3.Connection, path: Path) -> None:
    (fault,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if fault != "ok":
        raise DamagedStore(path, fault)


def open_to_read(path: Path) -> tuple[sqlite3.Connection, tempfile.TemporaryDirectory[str] | None]:
    """Open a database without changing it.

    Args:
        path: its file.

    Returns:
        The connection, and the folder of the copy that it reads if one was needed.

    Raises:
        DamagedStore: the file is not a database, or a part of it is damaged.
        UsageError: it cannot be opened, or a newer version of flagfall made it.
    """
    with _errors_of(path):
        connection = _open_in_place(path)
        if connection is not None:
            return connection, None
        folder = tempfile.TemporaryDirectory(prefix="flagfall-")
        try:
            connection = _open_copy(path, Path(folder.name))
        except BaseException:
            folder.cleanup()
            raise
        return connection, folder


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise UsageError(f"{path} cannot be opened: {one_line(str(error), MAX_REASON_CHARS)}") from error
    except DAMAGES as error:
        raise DamagedStore(path, error) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error


def _connect(path: Path, access: str) -> sqlite3.Connection:
    for suffix in _SUFFIXES:  # opening a pipe, SQLite would wait for good, and hear no signal
        beside = path.with_name(path.name + suffix)
        if beside.exists() and not beside.is_file():
            raise UsageError(f"{beside} is not a regular file: remove it")
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={access}", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA trusted_schema = OFF")  # the file may come from others
    return connection


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _open_in_place(path: Path) -> sqlite3.Connection | None:
    """Return a read-only connection, or `None` if a copy has to be read."""
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    for access in ("rw", "ro") if writable else ("ro",):
        connection = _connect(path, access)
        try:
            connection.execute("PRAGMA query_only = ON")
            if _version(connection, path) == len(MIGRATIONS):
                _check_schema(connection, path)
                return connection
        except sqlite3.OperationalError:  # SQLite cannot create its files beside the database
            connection.close()
            continue
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None
    return None


def _open_copy(path: Path, folder: Path) -> sqlite3.Connection:
    """Return a connection to a copy migrated to the present version."""
    for name in (path.name, path.name + _WAL):  # the newest transactions may be in the second
        if (path.parent / name).exists():
            shutil.copyfile(path.parent / name, folder / name)
    connection = _connect(folder / path.name, "rw")
    with _closed_on_error(connection):
        _migrate(connection, path)
        _check_schema(connection, path)
    return connection


def _version(connection: sqlite3.Connection, path: Path) -> int:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > len(MIGRATIONS):
        raise UsageError(
            f"{path.parent} was made by a newer flagfall: its store has version {found}, and this one"
            f" reads up to version {len(MIGRATIONS)}"
        )
    if found < 0:
        raise DamagedStore(path, f"it has version {found}")
    return int(found)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    found = _version(connection, path)
    for number, script in enumerate(MIGRATIONS[found:], found + 1):
        connection.executescript(f"BEGIN; {script} PRAGMA user_version = {number}; COMMIT;")


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a schema that is not ours: a trigger may delete matches, a query on a view may never end."""
    wanted = sqlite3.connect(":memory:")
    try:
        for script in MIGRATIONS:
            wanted.executescript(script)
        ours = set(wanted.execute(_SCHEMA))
    finally:
        wanted.close()
    found = set(connection.execute(_SCHEMA))
    if missing := sorted(name for _, name, _ in ours - found):
        raise DamagedStore(path, f"its tables are not those of a tournament: {', '.join(missing)}")
    if foreign := sorted(f"{kind} {name}" for kind, name, _ in found - ours if kind in _ACTIVE):
        raise DamagedStore(path, f"it has what no tournament has: {', '.join(foreign)}")
