"""Store of a tournament: its folder with the database and the journals; see `flagfall.tournament.folder`.

The database is in WAL mode: other processes can read while a run writes, and a runner that is killed leaves
everything that it had stored. Under the wall clock every match is on disk before the next one counts
(`synchronous=FULL`, some milliseconds). Under the virtual clock it may still be in the system's cache
(`NORMAL`): a power failure then loses the last matches, which have the same results when they are played
again.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import attrs
import msgspec

from flagfall.agents.process.limits import usable_cores
from flagfall.errors import HostFault, UsageError
from flagfall.kernel.outcomes import MAX_SEED
from flagfall.tournament.blocks import BlockWriter, columns_of_blocks, misfit, read_blocks
from flagfall.tournament.columns import ResultColumns
from flagfall.tournament.database import (
    DAMAGES,
    DamagedStore,
    Disqualified,
    NotedSum,
    OpenedToRead,
    open_to_write,
    put_noted,
    read_noted,
    stored_disqualified,
    stored_sums,
)
from flagfall.tournament.folder import DATABASE, JOURNALS, PLAN, RUNNING, remove_left_behind, replace_file
from flagfall.tournament.formats.schedule import has_fixed_schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.fingerprint import (
    as_begun,
    changes,
    plan_facts,
    plan_of_facts,
    with_models,
    without_folder,
)
from flagfall.tournament.plan.growth import Growth, grow
from flagfall.tournament.records import (
    MATCH_FIELDS,
    MAX_BUCKET,
    MAX_TURNS,
    SEAT_FIELDS,
    MatchRecord,
    SeatRecord,
)
from flagfall.tournament.renaming import finish_renaming, keep_former, rename_matches

_MATCH_COLUMNS: Final = ", ".join(MATCH_FIELDS)
_SEAT_COLUMNS: Final = ", ".join(SEAT_FIELDS)
_PUT_MATCH: Final = f"INSERT INTO matches ({_MATCH_COLUMNS}) VALUES ({', '.join('?' * len(MATCH_FIELDS))})"  # noqa: S608 - our names
_PUT_SEAT: Final = (
    f"INSERT INTO seats (match, seat, {_SEAT_COLUMNS}) VALUES (?, ?, {', '.join('?' * len(SEAT_FIELDS))})"  # noqa: S608
)
_MATCHES: Final = (
    f"SELECT number, {_MATCH_COLUMNS} FROM matches WHERE number > ? AND number <= ? ORDER BY number"  # noqa: S608
)
_SEATS: Final = (
    f"SELECT match, seat, {_SEAT_COLUMNS} FROM seats"  # noqa: S608 - our names
    " WHERE match > ? AND match <= ? ORDER BY match, seat"
)
_UP_TO: Final = """
    SELECT coalesce(max(number), 0) FROM
        (SELECT number FROM matches WHERE number > ? ORDER BY number LIMIT ?)
"""
_LAST: Final = 2**63 - 1
"""The largest number that a record can have in SQLite."""

_REMARKS: Final = (
    f"SELECT number, {_MATCH_COLUMNS} FROM matches"  # noqa: S608 - our names
    " WHERE why <> '' OR status = 'void' ORDER BY number"
)

_Bucket = Annotated[int, msgspec.Meta(ge=0, le=MAX_BUCKET)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_TURNS)]
_THINKING: Final = msgspec.json.Decoder(tuple[tuple[_Bucket, _Count], ...])
_ENCODER: Final = msgspec.json.Encoder()
_FACTS: Final = msgspec.json.Decoder(dict[str, str])
_FORMER: Final = msgspec.json.Decoder(list[dict[str, Any]])
_PRINTED: Final = 60
"""Characters of a damaged value that a message shows."""


_Record = TypeVar("_Record", MatchRecord, SeatRecord)


@attrs.frozen
class StoredPlan:
    """The plan of a stored tournament.

    Attributes:
        facts: see `plan_facts`.
    """

    text: str
    name: str
    seed: int
    facts: dict[str, str]

    def for_display(self) -> TournamentPlan:
        """Return the plan for display, which cannot be played; nothing that it names is read or imported."""
        return plan_of_facts(self.name, self.seed, self.facts)


class Store:
    """Database of a tournament.

    What reads raises `DamagedStore` for what cannot be read; what writes raises `HostFault`, for example on a
    full disk.

    Args:
        mode: `make` creates a missing database, `read` only reads.
        durable: every match is on disk when `put` returns.

    Raises:
        DamagedStore: the database is damaged.
        UsageError: it cannot be read, or a newer version of flagfall made it.
    """

    def __init__(
        self, folder: Path, mode: Literal["make", "read"] = "read", *, durable: bool = False
    ) -> None:
        self.folder = folder
        self._path = folder / DATABASE
        self._opened: OpenedToRead | None = None
        if mode == "make":
            self._database = open_to_write(self._path, durable=durable)
            self._blocks = BlockWriter(self._database, self._numbered)
            return
        if not holds_tournament(folder):
            raise UsageError(f"{folder} holds no tournament: there is no {DATABASE} in it")
        self._opened = OpenedToRead(self._path)
        self._database = self._opened.connection

    def is_current(self) -> bool:
        """Return whether this store sees what is in the folder now; if not, open another one."""
        return self._opened is None or self._opened.is_current()

    def begin(self, plan: TournamentPlan) -> None:
        """Store the plan of a new tournament."""
        from importlib.metadata import version  # noqa: PLC0415 - takes longer than any other import here

        about = {"flagfall": version("flagfall"), "begun": _now(), "machine": machine()}
        self.begin_as(_plan_rows(plan) | about)

    def begin_as(self, about: Mapping[str, str]) -> None:
        """Store the facts of a new tournament, the rows of the table `about`."""
        with self._writing():
            self._put_about(about)

    def _put_about(self, about: Mapping[str, str]) -> None:
        self._database.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())
        replace_file(self.folder / PLAN, about["text"].encode())

    def as_begun(self, plan: TournamentPlan) -> TournamentPlan:
        """Return a plan as the tournament began with it; see `flagfall.tournament.plan.fingerprint`."""
        stored = self.plan()
        return plan if stored is None else as_begun(plan, stored.facts)

    def former(self) -> list[dict[str, Any]]:
        """Return the former plans of a tournament whose plan has changed, the first one first.

        Each has its `text` and `facts`, the time of its end, `until` (ISO 8601), and as `kept` the
        folder with the tournament as it was, if there is one.
        """
        try:
            return _FORMER.decode(self.about().get("former", "[]"))
        except (ValueError, RecursionError, msgspec.DecodeError) as error:
            raise DamagedStore(
                self._path, f"its former plans cannot be read: {error!r:.{_PRINTED}}"
            ) from error

    def growth(self, plan: TournamentPlan) -> Growth | None:
        """Return where the recorded matches stand in the schedule of a plan; `None` if no run has begun.

        Raises:
            DamagedStore: a record cannot be read, or does not fit the stored plan.
        """
        stored = self.plan()
        if stored is None:
            return None
        plan = as_begun(plan, stored.facts)
        if not changes(stored.facts, plan_facts(plan)):
            return Growth(plan=plan)
        self.former()  # damage is found before anything is changed
        before = stored.for_display()
        played = self.played(before)
        with self._reading():
            ids = [str(row[0]) for row in self._database.execute("SELECT DISTINCT id FROM matches")]
        return grow(before, stored.facts, plan, played, ids)

    def grow(self, growth: Growth) -> str | None:
        """Go on with a changed plan: give the recorded matches the ids that they have in its schedule.

        The table `about` keeps the former plan, in the row `former`.

        Returns:
            Name of the folder with the tournament as it was; `None` if all matches have a place.
        """
        stored = self.plan()
        assert stored is not None
        without_place = {match for ids in growth.without_place.values() for match in ids}
        former = self.former()
        former.append({"until": _now(), "text": stored.text, "facts": stored.facts})
        name = None
        if without_place:
            with self._failing():
                name = keep_former(self._database, self.folder, stored.text)
            former[-1]["kept"] = name
        with self._writing():
            rename_matches(self._database, self.folder, growth.ids, without_place)
            self._put_about(_plan_rows(growth.plan) | {"former": json.dumps(former)})
        self.prepare()
        return name

    def plan(self) -> StoredPlan | None:
        """Return the stored plan, or `None` if no run has begun."""
        with self._reading():
            stored = dict(self._database.execute("SELECT name, value FROM about"))
        if not stored:
            return None
        try:
            about = msgspec.convert(stored, dict[str, str])
            # Versions that stored absolute paths stored the folder of the plan as well.
            facts = with_models(without_folder(_FACTS.decode(about["facts"]), about.get("folder", "")))
            plan = StoredPlan(about["text"], about["name"], int(about["seed"]), facts)
        except (KeyError, ValueError, TypeError, RecursionError, msgspec.DecodeError) as error:
            raise DamagedStore(self._path, f"the plan in it cannot be read: {error!r:.{_PRINTED}}") from error
        if not 0 <= plan.seed <= MAX_SEED or "\0" in plan.name:
            raise DamagedStore(self._path, "the plan in it has an invalid seed or name")
        return plan

    def put(self, *records: MatchRecord) -> None:
        """Store the results of matches in one transaction, all or none of them."""
        with self._writing():
            seats: list[tuple[Any, ...]] = []
            numbered = []
            for record in records:
                number = self._database.execute(_PUT_MATCH, _match_row(record)).lastrowid or 0
                numbered.append((number, record))
                seats += ((number, place, *_seat_row(seat)) for place, seat in enumerate(record.seats))
            self._database.executemany(_PUT_SEAT, seats)
            put_noted(self._database, numbered)
            committed = self._blocks.add(numbered)
        committed()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Raise errors of the disk and of the database as those of the host."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise HostFault(f"{self.folder / DATABASE} cannot be written: {error}") from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._failing():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def records(self) -> Iterator[MatchRecord]:
        """Return all records, including void attempts, in the order in which they were stored."""
        return (record for _, record in self._numbered(0))

    def _numbered(self, after: int, last: int = _LAST) -> Iterator[tuple[int, MatchRecord]]:
        """Yield the records after a number, up to the last one, each with its number."""
        seats: dict[int, list[SeatRecord]] = {}
        with self._reading(), self._snapshot():
            noted = read_noted(self._database, after, last)
            for match, seat, *values in self._database.execute(_SEATS, (after, last)):
                seats.setdefault(match, []).append(self._seat(match, values, noted.get((match, seat))))
            for number, *values in self._database.execute(_MATCHES, (after, last)):
                fields = dict(zip(MATCH_FIELDS, values, strict=True))
                fields["seats"] = tuple(seats.pop(number, ()))
                yield number, self._record(MatchRecord, number, fields)
        if seats:
            raise DamagedStore(self._path, f"match {min(seats)} has seats but no record")

    def records_after(self, number: int, most: int) -> list[tuple[int, MatchRecord]]:
        """Return the records that were stored after another one, each with its number.

        Args:
            number: number of the other record; 0 for the first ones.
        """
        with self._reading():
            (last,) = self._database.execute(_UP_TO, (number, most)).fetchone()
        return list(self._numbered(number, last))

    def columns(self, plan: TournamentPlan) -> ResultColumns | None:
        """Return the matches that count as columns, checked against a plan.

        Returns:
            The columns; `None` if they have to be made from the records: of small tournaments, of those whose
            schedule depends on results, and of those whose records do not fit the plan.
        """
        if not has_fixed_schedule(plan):
            return None
        with self._reading(), self._snapshot():
            blocks = read_blocks(self._database, self._numbered)
        return None if blocks is None else columns_of_blocks(plan, blocks)

    def remarks(self) -> list[MatchRecord]:
        """Return the void attempts, and the matches that count although the host stalled, in order."""
        with self._reading():
            rows = self._database.execute(_REMARKS).fetchall()
        return [
            self._record(MatchRecord, number, dict(zip(MATCH_FIELDS, values, strict=True)))
            for number, *values in rows
        ]

    def noted(self) -> tuple[NotedSum, ...]:
        """Return the sums of the numbers that agents noted in the matches that count."""
        try:
            with self._reading():
                return stored_sums(self._database)
        except msgspec.ValidationError as error:
            raise DamagedStore(self._path, f"table noted: {error!s:.{_PRINTED}}") from error

    def disqualified(self) -> tuple[Disqualified, ...]:
        """Return for what agents were disqualified in the matches that count."""
        try:
            with self._reading():
                return stored_disqualified(self._database)
        except msgspec.ValidationError as error:
            raise DamagedStore(self._path, f"table seats: {error!s:.{_PRINTED}}") from error

    def _seat(self, match: int, values: Sequence[Any], noted: Mapping[Any, Any] | None) -> SeatRecord:
        fields = dict(zip(SEAT_FIELDS, values, strict=True))
        if noted is not None:
            fields["noted"] = noted
        try:
            fields["thinking"] = _THINKING.decode(fields["thinking"])
        except (TypeError, ValueError, RecursionError, msgspec.DecodeError) as error:
            raise DamagedStore(self._path, f"match {match}: thinking: {error!s:.{_PRINTED}}") from error
        return self._record(SeatRecord, match, fields)

    def _record(self, kind: type[_Record], match: int, fields: Mapping[str, Any]) -> _Record:
        """Return a row as a record; SQLite stores values of any type in any column."""
        for name, value in fields.items():
            kind_of_value = value.__class__
            if (kind_of_value is int and value < 0) or (kind_of_value is float and math.isnan(value)):
                raise DamagedStore(self._path, f"match {match}: {name}: {value}")
        try:
            return msgspec.convert(fields, kind)
        except msgspec.ValidationError as error:
            raise DamagedStore(self._path, f"match {match}: {error!s:.{_PRINTED}}") from error

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Let all statements inside see one state of the database, which another process may change."""
        if self._database.in_transaction:
            yield
            return
        self._database.execute("BEGIN")
        try:
            yield
        finally:
            self._database.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except DAMAGES as error:
            raise DamagedStore(self._path, error) from error
        finally:
            if self._opened is not None:
                self._opened.check_unchanged()

    def played(self, plan: TournamentPlan | None = None) -> dict[str, MatchRecord]:
        """Return the records of matches that count, by id.

        Args:
            plan: checks the records against this plan.

        Raises:
            DamagedStore: a record cannot be read, or is not a match of the plan.
        """
        records = {record.id: record for record in self.records() if record.status == "played"}
        if plan is not None:
            self.check(plan, records)
        return records

    def check(self, plan: TournamentPlan, records: Mapping[str, MatchRecord]) -> None:
        """Check records against a plan.

        Raises:
            DamagedStore: a record is not a match of the plan.
        """
        if problem := misfit(plan, records):
            raise DamagedStore(self._path, problem)

    def about(self) -> dict[str, str]:
        """Return the facts that a run stored when it began: `flagfall`, its version; `begun`; `machine`.

        Stores of earlier versions have fewer of them.
        """
        with self._reading():
            rows = self._database.execute("SELECT name, value FROM about WHERE name <> 'text'").fetchall()
        return {str(name): str(value) for name, value in rows}

    def rows(self, query: str, *values: int | str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the tables `matches` and `seats`; the caller bounds their number.

        Args:
            query: a statement of this package, see `flagfall.tournament.excerpts`.
        """
        with self._reading():
            return self._database.execute(query, values).fetchall()

    def numbered(self, numbers: Sequence[int]) -> list[MatchRecord]:
        """Return the records with some numbers, in the order of the numbers.

        Args:
            numbers: as the database counts records; unknown ones are left out.
        """
        with self._reading(), self._snapshot():
            return [record for number in numbers for _, record in self._numbered(number - 1, number)]

    def close(self) -> None:
        """Close the database."""
        if self._opened is not None:
            self._opened.close()
            return
        with suppress(sqlite3.Error):  # a program that reads at this moment keeps SQLite from doing so
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.close()

    def prepare(self) -> None:
        """Make the folders for journals, and finish a renaming that was killed.

        Unfinished journals and the lock file of an earlier run are removed.

        Raises:
            UsageError: one of the folders for journals is a link, which may lead to files of others.
        """
        for name in (JOURNALS, RUNNING):
            if (self.folder / name).is_symlink():
                raise UsageError(f"{self.folder / name} is a link: remove it, or choose another --output")
        try:
            remove_left_behind(self.folder)
            shutil.rmtree(self.folder / RUNNING, ignore_errors=True)
            for name in (JOURNALS, RUNNING):
                (self.folder / name).mkdir(exist_ok=True)
        except OSError as error:
            raise HostFault(f"{self.folder} cannot be written: {error.strerror or error}") from error
        changed = True
        while changed:
            with self._writing():
                changed = finish_renaming(self._database, self.folder)

    def clean_up(self) -> None:
        """Remove the files that only a running tournament needs."""
        shutil.rmtree(self.folder / RUNNING, ignore_errors=True)


def _plan_rows(plan: TournamentPlan) -> dict[str, str]:
    return {
        "text": plan.text,
        "name": plan.name,
        "seed": str(plan.seed),
        "facts": json.dumps(plan_facts(plan)),
    }


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())


def machine() -> str:
    """Return the kind of machine that plays, without its name."""
    import platform  # noqa: PLC0415 - once for a run

    return (
        f"{platform.system()} {platform.release()}, {platform.machine()}, {len(usable_cores())} processors,"
        f" {platform.python_implementation()} {platform.python_version()}"
    )


def holds_tournament(folder: Path) -> bool:
    """Return whether a folder holds the database of a tournament.

    Raises:
        UsageError: the folder cannot be read.
    """
    try:
        return (folder / DATABASE).is_file()
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}") from error


_match_row: Final[Callable[[MatchRecord], tuple[Any, ...]]] = attrgetter(*MATCH_FIELDS)
_seat_values: Final[Callable[[SeatRecord], tuple[Any, ...]]] = attrgetter(*SEAT_FIELDS[:-1])


def _seat_row(seat: SeatRecord) -> tuple[Any, ...]:
    return *_seat_values(seat), _ENCODER.encode(seat.thinking).decode()
