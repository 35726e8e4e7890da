"""What is left of a tournament: a folder with a database in it, and journals beside that.

    tournament.db   SQLite: the plan, and every match with its seats; one transaction a match
    plan.toml       the plan as it was read
    journals/       one file a match
    running/        journals being written
    lock            held by the runner
    control         where `flagfall ctl` finds the runner

The database is in WAL mode, so others may read while a run writes, and a runner that is killed leaves all
that it had stored. Under the wall clock every match is on the disk before the next one counts
(`synchronous=FULL`, some milliseconds). Under the virtual clock it may still be in the system's hands
(`NORMAL`): what a power cut takes away is the last matches, and those come out the same when they are played
again.
"""

from __future__ import annotations

__all__ = ["Lock", "Store", "StoredPlan", "holds_tournament"]

import fcntl
import json
import math
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import attrs
import msgspec

from flagfall.errors import HostFault, UsageError
from flagfall.kernel.seeding import MAX_SEED
from flagfall.tournament.checking import misfit
from flagfall.tournament.database import DAMAGES, DamagedStore, open_to_read, open_to_write
from flagfall.tournament.plan.fingerprint import changes, plan_facts, seats_in
from flagfall.tournament.plan.model import Plan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.run.match import JOURNALS, RUNNING
from flagfall.tournament.stats.time_histogram import MAX_BUCKET

DATABASE: Final = "tournament.db"
PLAN: Final = "plan.toml"
LOCK: Final = "lock"

_MATCH: Final = tuple(field.name for field in attrs.fields(MatchRecord) if field.name != "seats")
_SEAT: Final = tuple(field.name for field in attrs.fields(SeatRecord))
_PUT_MATCH: Final = f"INSERT INTO matches ({', '.join(_MATCH)}) VALUES ({', '.join('?' * len(_MATCH))})"  # noqa: S608 - our names
_PUT_SEAT: Final = (
    f"INSERT INTO seats (match, seat, {', '.join(_SEAT)}) VALUES (?, ?, {', '.join('?' * len(_SEAT))})"  # noqa: S608
)
_MATCHES: Final = f"SELECT number, {', '.join(_MATCH)} FROM matches ORDER BY number"  # noqa: S608 - our names
_SEATS: Final = f"SELECT match, {', '.join(_SEAT)} FROM seats ORDER BY match, seat"  # noqa: S608 - likewise

_Bucket = Annotated[int, msgspec.Meta(ge=0, le=MAX_BUCKET)]
_Count = Annotated[int, msgspec.Meta(ge=0)]
_THINKING: Final = msgspec.json.Decoder(tuple[tuple[_Bucket, _Count], ...])
_FACTS: Final = msgspec.json.Decoder(dict[str, str])
_MAX_HOLDER_BYTES: Final = 32
_PRINTED: Final = 60
"""Characters of a damaged value that a message shows."""


_Record = TypeVar("_Record", MatchRecord, SeatRecord)


class Lock:
    """Held by the one runner of a folder; the system lets go of it however that ends.

    Args:
        folder: of the tournament.

    Raises:
        UsageError: somebody else holds it.
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
                f"{folder} is being played in by process {holder.decode('ascii', 'replace')}: wait for it, or"
                f" ask it with `flagfall ctl {folder} status`"
            ) from None
        except BaseException:
            os.close(self._file)
            raise

    def close(self) -> None:
        """Let go of it."""
        os.close(self._file)


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
        DamagedStore: it is damaged.
        UsageError: it cannot be read, or a newer flagfall made it.
    """

    def __init__(
        self, folder: Path, mode: Literal["make", "read"] = "read", *, durable: bool = False
    ) -> None:
        self.folder = folder
        self._path = folder / DATABASE
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if mode == "make":
            self._database = open_to_write(self._path, durable=durable)
            return
        if not holds_tournament(folder):
            raise UsageError(f"{folder} holds no tournament: there is no {DATABASE} in it")
        self._database, self._copy = open_to_read(self._path)

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
        """Return the stored plan; `None` where no run has begun.

        Raises:
            DamagedStore: it cannot be read.
        """
        with self._reading():
            told: dict[str, str] = dict(self._database.execute("SELECT name, value FROM about"))
        if not told:
            return None
        try:
            facts = _FACTS.decode(told["facts"])
            stored = StoredPlan(told["text"], told["folder"], told["name"], int(told["seed"]), facts)
        except (KeyError, ValueError, TypeError, RecursionError, msgspec.DecodeError) as error:
            raise DamagedStore(self._path, f"the plan in it cannot be read: {error!r:.{_PRINTED}}") from error
        if not 0 <= stored.seed <= MAX_SEED or "\0" in stored.folder + stored.name:
            raise DamagedStore(self._path, "the plan in it has an invalid seed or folder")
        return stored

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
            DamagedStore: one cannot be read.
        """
        seats: dict[int, list[SeatRecord]] = {}
        with self._reading():
            for match, *values in self._database.execute(_SEATS):
                seats.setdefault(match, []).append(self._seat(match, dict(zip(_SEAT, values, strict=True))))
            for number, *values in self._database.execute(_MATCHES):
                fields = dict(zip(_MATCH, values, strict=True))
                yield self._record(MatchRecord, number, {**fields, "seats": tuple(seats.pop(number, ()))})
        if seats:
            raise DamagedStore(self._path, f"match {min(seats)} has seats, and is missing")

    def _seat(self, match: int, fields: dict[str, Any]) -> SeatRecord:
        try:
            fields["thinking"] = _THINKING.decode(fields["thinking"])
        except (TypeError, ValueError, RecursionError, msgspec.DecodeError) as error:
            raise DamagedStore(self._path, f"match {match}: thinking: {error!s:.{_PRINTED}}") from error
        return self._record(SeatRecord, match, fields)

    def _record(self, kind: type[_Record], match: int, fields: Mapping[str, Any]) -> _Record:
        """A row as a record; SQLite keeps values of any type in any column."""
        for name, value in fields.items():
            if value.__class__ is int and value < 0:
                raise DamagedStore(self._path, f"match {match}: {name}: {value}")
            if value.__class__ is float and math.isnan(value):
                raise DamagedStore(self._path, f"match {match}: {name}: {value}")
        try:
            return msgspec.convert(fields, kind)
        except msgspec.ValidationError as error:
            raise DamagedStore(self._path, f"match {match}: {error!s:.{_PRINTED}}") from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except DAMAGES as error:
            raise DamagedStore(self._path, error) from error

    def played(self, plan: Plan | None = None) -> dict[str, MatchRecord]:
        """The records of matches that count, by id.

        Args:
            plan: of the tournament; the records have to fit it.

        Raises:
            DamagedStore: one cannot be read, or is not one of the plan's matches.
        """
        records = {record.id: record for record in self.records() if record.status == "played"}
        if plan is not None:
            self.check(plan, records)
        return records

    def check(self, plan: Plan, records: Mapping[str, MatchRecord]) -> None:
        """Refuse records that do not fit a plan.

        Raises:
            DamagedStore: one is not one of the plan's matches.
        """
        if wrong := misfit(plan, records):
            raise DamagedStore(self._path, wrong)

    def close(self) -> None:
        """Close it."""
        self._database.close()
        if self._copy is not None:
            self._copy.cleanup()

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


def holds_tournament(folder: Path) -> bool:
    """Return whether a folder has the database of a tournament.

    Raises:
        UsageError: it cannot be looked into.
    """
    try:
        return (folder / DATABASE).is_file()
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}") from error


def _seat_row(seat: SeatRecord) -> list[Any]:
    values = [getattr(seat, name) for name in _SEAT]
    values[_SEAT.index("thinking")] = json.dumps(seat.thinking, separators=(",", ":"))
    return values
