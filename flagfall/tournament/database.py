"""Opening the database of a tournament, which may be damaged, of another version, or read-only.

A reader writes nothing, neither to migrate an older version nor to create, recover or remove the files that
SQLite keeps beside a database in WAL mode:

| beside the database | what is read |
|---|---|
| a log and its index: a run goes on, or was killed | both in place |
| no log: the run has ended | the database in place, without locks |
| a log without its index; and an older version in any case | a copy of the database and its log |
| a rollback journal, which our runs never leave | nothing: SQLite would delete the file that it names |
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

import attrs
import msgspec

from flagfall.errors import UsageError
from flagfall.texts import counted, one_line
from flagfall.tournament.records import MatchRecord

# The table `noted` of the database has a row for each name of each seat whose agent noted numbers.
_SUMS: Final = """
    SELECT agent, name, sum(total), count(DISTINCT seats.match)
    FROM noted JOIN seats USING (match, seat) JOIN matches ON matches.number = seats.match
    WHERE status = 'played' GROUP BY agent, name ORDER BY agent, name
"""


@attrs.frozen
class NotedSum:
    """Sum of the numbers that an agent noted under one name, such as the tokens of a language model.

    Attributes:
        matches: matches in which the agent noted such a number.
    """

    agent: str
    name: str
    total: float
    matches: int


def noted_sums(records: Iterable[MatchRecord]) -> tuple[NotedSum, ...]:
    """Return the sums of all agents, ordered by agent and name."""
    sums: dict[tuple[str, str], tuple[float, int]] = {}
    for record in records:
        for seat in record.seats:
            for name, number in seat.noted.items():
                total, matches = sums.get((seat.agent, name), (0.0, 0))
                sums[seat.agent, name] = total + number, matches + 1
    return tuple(NotedSum(agent, name, *sums[agent, name]) for agent, name in sorted(sums))


_DISQUALIFIED: Final = """
    SELECT agent, fell, count(*), min(matches.id), detail
    FROM seats JOIN matches ON matches.number = seats.match
    WHERE status = 'played' AND fell IS NOT NULL GROUP BY agent, fell ORDER BY agent, fell
"""
"""SQLite takes `detail` from the row with the `min`."""


@attrs.frozen
class Disqualified:
    """Matches in which an agent was disqualified for one reason.

    Attributes:
        matches: number of these matches.
        match: id of one of them, the first in alphabetical order.
        detail: see `SeatRecord`; of that match.
    """

    agent: str
    reason: str
    matches: int
    match: str
    detail: str

    def remark(self) -> str:
        """Return a line of bounded length for readers of the standings."""
        count = counted(self.matches, "match", "matches")
        return one_line(
            f"{self.agent} was disqualified in {count}: {self.reason}; in {self.match}: {self.detail}"
        )


def disqualified_in(records: Iterable[MatchRecord]) -> tuple[Disqualified, ...]:
    """Return the disqualifications of all agents, ordered by agent and reason."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for record in records:
        for seat in record.seats:
            if seat.fell is not None:
                found.setdefault((seat.agent, seat.fell), []).append((record.id, seat.detail))
    return tuple(Disqualified(*key, len(found[key]), *min(found[key])) for key in sorted(found))


def stored_disqualified(database: sqlite3.Connection) -> tuple[Disqualified, ...]:
    """Return the disqualifications in the stored matches that count, ordered by agent and reason.

    Raises:
        msgspec.ValidationError: a row has values of other types.
    """
    rows = database.execute(_DISQUALIFIED).fetchall()
    return tuple(Disqualified(*row) for row in msgspec.convert(rows, list[tuple[str, str, int, str, str]]))


def put_noted(database: sqlite3.Connection, numbered: Iterable[tuple[int, MatchRecord]]) -> None:
    """Store what the agents of matches noted, in the open transaction."""
    rows = [
        (number, place, name, total)
        for number, record in numbered
        for place, seat in enumerate(record.seats)
        for name, total in seat.noted.items()
    ]
    database.executemany("INSERT INTO noted (match, seat, name, total) VALUES (?, ?, ?, ?)", rows)


def read_noted(database: sqlite3.Connection, after: int, last: int) -> dict[tuple[int, int], dict[Any, Any]]:
    """Return what agents noted by match and seat; names and numbers are unchecked.

    Args:
        after: number of the record before the first one.
    """
    sums: dict[tuple[int, int], dict[Any, Any]] = {}
    query = "SELECT match, seat, name, total FROM noted WHERE match > ? AND match <= ?"
    for match, seat, name, total in database.execute(query, (after, last)):
        sums.setdefault((match, seat), {})[name] = total
    return sums


def stored_sums(database: sqlite3.Connection) -> tuple[NotedSum, ...]:
    """Return the sums over the stored matches that count, ordered by agent and name.

    Raises:
        msgspec.ValidationError: a row has values of other types.
    """
    rows = msgspec.convert(database.execute(_SUMS).fetchall(), list[tuple[str, str, float, int]])
    return tuple(NotedSum(*row) for row in rows)


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
    """
    ALTER TABLE seats ADD COLUMN detail TEXT NOT NULL DEFAULT '';
    """,
)
"""Statements that migrate a database from version n - 1 to version n, its `user_version`."""

DAMAGES: Final = (sqlite3.Error, UnicodeDecodeError)
"""Errors that SQLite raises for a damaged file; the second one for a text that is not UTF-8."""

_SCHEMA: Final = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
_WAL: Final = "-wal"
_SHM: Final = "-shm"
_ROLLBACK: Final = "-journal"
_SUFFIXES: Final = ("", _ROLLBACK, _WAL, _SHM)
"""Endings of the files of a database in SQLite."""

MAX_COPIED_BYTES: Final = 2 * 1024**3
"""Longest database or log that is copied to be read; a match of two seats takes up to 1 kB."""

_PIECE_BYTES: Final = 64 * 1024
"""Bytes that are copied at a time."""

_ACTIVE: Final = frozenset({"index", "trigger", "view"})
"""Kinds of items in a schema that run expressions when a table is read or written."""

MAX_REASON_CHARS: Final = 160
"""Characters that a message shows of an error of SQLite, which may quote the damaged file."""


class DamagedStore(UsageError):
    """The database of a tournament is damaged."""

    def __init__(self, path: Path, what: object) -> None:
        why = one_line(str(what), MAX_REASON_CHARS)
        super().__init__(
            f"{path} is damaged ({why}): restore a copy of it, or recover it with"
            f" `sqlite3 {path.name} .recover`; the journals beside it are separate files"
        )


def open_to_write(path: Path, *, durable: bool) -> sqlite3.Connection:
    """Open a database for writing; create a missing one.

    Args:
        durable: a transaction is on disk when it is committed.

    Raises:
        DamagedStore: the file is not a database, or a part of it is damaged.
        UsageError: it cannot be opened, or a newer version of flagfall made it.
    """
    with _errors_of(path):
        for name in _names(path):  # a folder that was sent could lead to files of others
            if name.is_symlink():
                raise UsageError(f"{name} is a link: put the file itself there, or choose another --output")
        is_new = not path.exists() or not path.stat().st_size
        connection = _connect(path, "mode=rwc")
        with _closed_on_error(connection):
            if is_new:  # its first page needs no rollback journal, which readers would refuse
                connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            (fault,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if fault != "ok":
                raise DamagedStore(path, fault)
            _migrate(connection, path)
            _check_schema(connection, path)
    return connection


class OpenedToRead:
    """A database that is open for reading; nothing beside it is changed.

    It raises errors as `open_to_write` does.

    Attributes:
        connection: the connection to it, or to a copy.
    """

    def __init__(self, path: Path) -> None:
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._path = path
        with _errors_of(path):
            if path.is_symlink():
                self._path = path.resolve()  # SQLite looks for the other files beside the database itself
            self._seen = _states(self._path)
            self._is_live = self._seen[1] is not None and _names(self._path, _SHM)[0].exists()
            self.connection = self._in_place() or self._from_copy()

    def is_current(self) -> bool:
        """Return whether this connection sees what is in the database now; if not, open another one."""
        found = _states(self._path)
        if self._is_live and self._copy is None:  # transactions of others are seen, but no other files
            return [one and one[:2] for one in found] == [one and one[:2] for one in self._seen]
        return found == self._seen

    def check_unchanged(self) -> None:
        """Raise an error if a run has begun to change the database while it was read without locks."""
        if not self._is_live and self._copy is None and _states(self._path)[0] != self._seen[0]:
            self._raise_changed()

    def _raise_changed(self) -> NoReturn:
        raise UsageError(f"{self._path} was changed while it was read: try again")

    def close(self) -> None:
        """Close the database, and remove the copy."""
        self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _in_place(self) -> sqlite3.Connection | None:
        """Return a connection to the file itself, or `None` if a copy has to be read."""
        if not self._is_live and self._seen[1] is not None and self._seen[1][2]:
            return None
        connection = _connect(self._path, f"mode=ro&{'readonly_shm' if self._is_live else 'immutable'}=1")
        try:
            connection.execute("PRAGMA query_only = ON")
            if _version(connection, self._path) == len(MIGRATIONS):
                _check_schema(connection, self._path)
                return connection
        except sqlite3.OperationalError:  # for example an index that may not be read
            pass
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None

    def _from_copy(self) -> sqlite3.Connection:
        """Return a connection to a copy migrated to the present version."""
        self._copy = tempfile.TemporaryDirectory(prefix="flagfall-")
        try:
            for name in _names(self._path, "", _WAL):  # the newest transactions may be in the log
                if name.exists():
                    _copy_file(name, Path(self._copy.name) / name.name)
            if not self.is_current():
                self._raise_changed()
            connection = _connect(Path(self._copy.name) / self._path.name, "mode=rw")
            with _closed_on_error(connection):
                _migrate(connection, self._path)
                _check_schema(connection, self._path)
        except BaseException:
            self._copy.cleanup()
            raise
        return connection


def _states(path: Path) -> list[tuple[int, int, int, int] | None]:
    """Return device, inode, length and time of a database and its log, `None` for one that is missing."""
    found: list[tuple[int, int, int, int] | None] = []
    for name in _names(path, "", _WAL):
        try:
            about = name.stat()
            found.append((about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return found


def _copy_file(path: Path, copy: Path) -> None:
    """Copy a file; where it holds only zeros, the copy has a hole, which takes no space."""
    with path.open("rb") as reading, copy.open("xb") as writing:
        if (length := os.fstat(reading.fileno()).st_size) > MAX_COPIED_BYTES:
            raise UsageError(
                f"{path} has {length} bytes and can only be read from a copy, which has at most"
                f" {MAX_COPIED_BYTES}: --resume brings the database of a run of yours up to date"
            )
        while piece := reading.read(_PIECE_BYTES):
            if piece.count(0) < len(piece):
                writing.write(piece)
            else:
                writing.seek(len(piece), os.SEEK_CUR)
        writing.truncate()


def _names(path: Path, *suffixes: str) -> list[Path]:
    """Return the paths of the files of a database, or of some of them."""
    return [path.with_name(path.name + suffix) for suffix in suffixes or _SUFFIXES]


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
    for beside in _names(path):  # opening a pipe, SQLite would wait for good, and hear no signal
        if beside.exists() and not beside.is_file():
            raise UsageError(f"{beside} is not a regular file: remove it")
        if beside.name.endswith(_ROLLBACK) and beside.exists():
            raise UsageError(
                f"{beside} could make SQLite delete other files; runs do not leave it: remove it"
            )
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{access}", uri=True, isolation_level=None, check_same_thread=False
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
