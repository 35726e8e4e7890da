"""What is left of a tournament: a folder with a database in it, and journals beside that.

    tournament.db   SQLite: the plan, and every match with its seats; one transaction a match
    plan.toml       the plan as it was read
    journals/       one file a match
    running/        journals being written
    lock            held by the runner
    control.sock    where it hears `flagfall ctl`

The database is in WAL mode, so others may read while a run writes, and a runner that is killed leaves all
that it had stored. Under the wall clock every match is on the disk before the next one counts
(`synchronous=FULL`, some milliseconds). Under the virtual clock it may still be in the system's hands
(`NORMAL`): what a power cut takes away is the last matches, and those come out the same when they are played
again.
"""

from __future__ import annotations

__all__ = ["MIGRATIONS", "Lock", "Store", "StoredPlan"]

import fcntl
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from flagfall.errors import HostFault, UsageError
from flagfall.tournament.plan import Plan
from flagfall.tournament.plan_facts import changes, plan_facts, seats_in
from flagfall.tournament.playing_matches import JOURNALS, RUNNING
from flagfall.tournament.reading import parse_plan
from flagfall.tournament.records import MatchRecord, SeatRecord

DATABASE: Final = "tournament.db"
PLAN: Final = "plan.toml"
LOCK: Final = "lock"

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
)
"""What makes a database of version n out of one of version n - 1; the version is its `user_version`."""

_MATCH: Final = tuple(field.name for field in attrs.fields(MatchRecord) if field.name != "seats")
_SEAT: Final = tuple(field.name for field in attrs.fields(SeatRecord))
_PUT_MATCH: Final = f"INSERT INTO matches ({', '.join(_MATCH)}) VALUES ({', '.join('?' * len(_MATCH))})"  # noqa: S608 - our names
_PUT_SEAT: Final = (
    f"INSERT INTO seats (match, seat, {', '.join(_SEAT)}) VALUES (?, ?, {', '.join('?' * len(_SEAT))})"  # noqa: S608
)
_MATCHES: Final = f"SELECT number, {', '.join(_MATCH)} FROM matches ORDER BY number"  # noqa: S608 - our names
_SEATS: Final = f"SELECT match, {', '.join(_SEAT)} FROM seats ORDER BY match, seat"  # noqa: S608 - likewise


class Lock:
    """Held by the one runner of a folder; the system lets go of it however that ends.

    Args:
        folder: of the tournament.

    Raises:
        UsageError: somebody else holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = (folder / LOCK).open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().strip()
            self._file.close()
            raise UsageError(
                f"{folder} is being played in by process {holder}: wait for it, or ask it with"
                f" `flagfall ctl {folder} status`"
            ) from None
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def close(self) -> None:
        """Let go of it."""
        self._file.close()


@attrs.frozen
class StoredPlan:
    """What a folder says of its plan.

    Attributes:
        text: the file.
        folder: where its paths begin.
        name: of the tournament.
        seed: that everything derives from.
        facts: see `plan_facts`.
    """

    text: str
    folder: str
    name: str
    seed: int
    facts: dict[str, str]

    def parse(self) -> Plan:
        """Return the plan, to be shown: nothing that it names is imported.

        Raises:
            UsageError: it was made by a program, not from a file, or what it names is gone.
        """
        if not self.text:
            raise UsageError("the plan was made by a program, which has to be asked for the results")
        return parse_plan(
            self.text,
            name=PLAN,
            folder=Path(self.folder),
            title=self.name,
            seed=self.seed,
            seats=seats_in(self.facts),
        )


class Store:
    """The database of a tournament.

    Args:
        folder: of the tournament.
        mode: `make` it where there is none, or only `read`.
        durable: every match is to be on the disk when it is stored.

    Raises:
        UsageError: it cannot be read, or a newer flagfall made it.
    """

    def __init__(
        self, folder: Path, mode: Literal["make", "read"] = "read", *, durable: bool = False
    ) -> None:
        self.folder = folder
        path = folder / DATABASE
        if mode == "read" and not path.is_file():
            raise UsageError(f"{folder} holds no tournament: there is no {DATABASE} in it")
        access = "rwc" if mode == "make" else "rw"
        try:
            self._database = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={access}", uri=True, isolation_level=None
            )
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._migrate()
        except sqlite3.Error as error:
            raise UsageError(f"{path} cannot be opened: {error}") from error

    def _migrate(self) -> None:
        (found,) = self._database.execute("PRAGMA user_version").fetchone()
        if found > len(MIGRATIONS):
            raise UsageError(
                f"{self.folder} was made by a newer flagfall: its store has version {found}, and this one"
                f" knows {len(MIGRATIONS)}"
            )
        for number, script in enumerate(MIGRATIONS[found:], found + 1):
            self._database.executescript(f"BEGIN; {script} PRAGMA user_version = {number}; COMMIT;")

    # The plan.

    def begin(self, plan: Plan, folder: Path) -> None:
        """Remember the plan of a run that begins.

        Args:
            plan: of the tournament.
            folder: where paths in its text begin.

        Raises:
            HostFault: it cannot be written.
        """
        told = {
            "text": plan.text,
            "folder": str(folder.absolute()),
            "name": plan.name,
            "seed": str(plan.seed),
            "facts": json.dumps(plan_facts(plan)),
            "flagfall": version("flagfall"),
        }
        with self._writing():
            self._database.executemany("INSERT INTO about VALUES (?, ?)", told.items())
            (self.folder / PLAN).write_text(plan.text)

    def plan(self) -> StoredPlan | None:
        """What was remembered; `None` where no run has begun."""
        told: dict[str, str] = dict(self._database.execute("SELECT name, value FROM about"))
        if not told:
            return None
        facts = json.loads(told["facts"])
        return StoredPlan(told["text"], told["folder"], told["name"], int(told["seed"]), facts)

    def go_on(self, plan: Plan) -> None:
        """Refuse a plan that is another than the one remembered.

        Raises:
            UsageError: it is; says what has changed.
        """
        stored = self.plan()
        found = [] if stored is None else changes(stored.facts, plan_facts(plan))
        if found:
            raise UsageError(
                f"the plan has changed since the tournament in {self.folder} began:\n"
                + "\n".join(f"  {line}" for line in found)
                + "\nPut it back, or begin another tournament with another --out"
            )

    # Matches.

    def put(self, record: MatchRecord) -> None:
        """Store what became of a match, all of it or nothing.

        Raises:
            HostFault: the disk is full, or the like.
        """
        with self._writing():
            row = [getattr(record, name) for name in _MATCH]
            number = self._database.execute(_PUT_MATCH, row).lastrowid
            seats = [(number, place, *_seat_row(seat)) for place, seat in enumerate(record.seats)]
            self._database.executemany(_PUT_SEAT, seats)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError) as error:
            raise HostFault(f"{self.folder / DATABASE} cannot be written: {error}") from error

    def records(self) -> Iterator[MatchRecord]:
        """All of them, void ones too, in the order in which they were stored.

        Raises:
            HostFault: the database is damaged.
        """
        seats: dict[int, list[SeatRecord]] = {}
        try:
            for match, *values in self._database.execute(_SEATS):
                fields = dict(zip(_SEAT, values, strict=True))
                fields["thinking"] = tuple(map(tuple, json.loads(fields["thinking"])))
                seats.setdefault(match, []).append(SeatRecord(**fields))
            for number, *values in self._database.execute(_MATCHES):
                fields = dict(zip(_MATCH, values, strict=True))
                yield MatchRecord(**fields, seats=tuple(seats.pop(number, ())))
        except sqlite3.Error as error:
            raise HostFault(f"{self.folder / DATABASE} cannot be read: {error}") from error

    def played(self) -> dict[str, MatchRecord]:
        """The records of matches that count, by id."""
        return {record.id: record for record in self.records() if record.status == "played"}

    def close(self) -> None:
        """Close it."""
        self._database.close()

    # Journals.

    def make_room(self) -> None:
        """The folders for journals; what is left of unfinished ones is removed.

        Raises:
            HostFault: they cannot be made.
        """
        try:
            shutil.rmtree(self.folder / RUNNING, ignore_errors=True)
            for name in (JOURNALS, RUNNING):
                (self.folder / name).mkdir(exist_ok=True)
        except OSError as error:
            raise HostFault(f"{self.folder} cannot be written: {error.strerror or error}") from error

    def clean_up(self) -> None:
        """Remove what is of use only while a run goes on."""
        shutil.rmtree(self.folder / RUNNING, ignore_errors=True)


def _seat_row(seat: SeatRecord) -> list[Any]:
    values = [getattr(seat, name) for name in _SEAT]
    values[_SEAT.index("thinking")] = json.dumps(seat.thinking, separators=(",", ":"))
    return values
