"""Verification of a results folder: its files, journals, records, schedule and standings, without playing.

Each check reads what the one before has named: the lock file the files, the database the journals, the plan
in it the matches. So whatever was changed or is missing is found where it is, and the lock file itself by its
tree hash. Only executing the journals again shows that nobody wrote them without a match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from importlib.metadata import version
from math import isclose
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import attrs

from flagfall.errors import UsageError
from flagfall.events import MatchStarted
from flagfall.recording.verify import Verification
from flagfall.tasks.adapters.imports import UntrustedImportError
from flagfall.tasks.catalog import in_folder, portable_id
from flagfall.tasks.code_files import CARRIED
from flagfall.texts import counted, one_line
from flagfall.tournament.blocks import misfit
from flagfall.tournament.code_folder import UntrustedAgentError
from flagfall.tournament.columns import columns_of
from flagfall.tournament.database import DAMAGES, OpenedToRead
from flagfall.tournament.folder import (
    DATABASE,
    JOURNALS,
    LOCK_FILE,
    formers_in,
    is_held,
    is_name,
    is_plain,
    names_in,
)
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.lock_file import (
    MADE,
    LockFile,
    digest_of,
    read_lock_file,
    rows_digest,
)
from flagfall.tournament.model import PlannedTask, TournamentPlan
from flagfall.tournament.openings import has_opening
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.recount import Recount
from flagfall.tournament.standings import FILE_FORMATS, agent_rows, compute_standings, export
from flagfall.tournament.store import Store

Kind: TypeAlias = Literal["changed", "missing", "different", "not verified"]

_OF_MATCH: Final = ("reason", "solved", "tasks", "turns", "stalls", "game_score", "ticks")
_OF_REWARD: Final = ("score", "reward")
_OF_SEAT: Final = (
    "agent",
    "fell",
    "turns",
    "late",
    "illegal",
    "absent",
    "think_ns",
    "think_max_ns",
    "thinking",
)
"""Fields of records that are counted again from journals. The times of matches, dropped replies and turns
that were never taken are in no journal."""

_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.ASCII)
_FLOAT_TOLERANCE: Final = 1e-6
"""Most that a number of the standings may differ on another processor, as a share of its value above 1."""

_VERDICTS: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "changed": "DIFFERENT",
        "different": "DIFFERENT",
        "missing": "MISSING",
        "not verified": "NOT VERIFIED",
    }
)

MAX_LINE_CHARS: Final = 300

MAX_SHOWN: Final = 3
"""Most files in the line on a sound folder that are not of the tournament."""


@attrs.frozen
class Problem:
    """What is not in a results folder as a run left it.

    Attributes:
        kind: `changed`: a file has other bytes; `missing`: it is not there; `different`: it contradicts
            another one; `not verified`: a match cannot be executed again.
        path: the file, relative to the folder.
    """

    kind: Kind
    path: str
    what: str

    def __str__(self) -> str:
        return one_line(f"{self.path}: {self.what}", MAX_LINE_CHARS)


@attrs.frozen(kw_only=True)
class FolderVerification:
    """The result of `verify_folder`.

    Attributes:
        tree: the tree hash of its lock file; empty without a sound one.
        matches: the number of matches that count.
        total: the number of matches in the schedule; `None` if it depends on their results.
        complete: all matches of the schedule are played.
        journals: the number of journals that were checked.
        files: the number of files whose digests were compared.
        executed: the number of journals that were executed again; `None` if none was to be.
        repeated: the number of those that their agents played again.
        problems: what is wrong, in the order in which it is checked; at most one for each file.
        unrecorded: paths of files that no run wrote.
    """

    path: Path
    tree: str
    matches: int
    total: int | None
    complete: bool
    journals: int
    files: int
    executed: int | None
    repeated: int
    problems: tuple[Problem, ...]
    unrecorded: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Return whether everything is as a run left it, also one that was interrupted."""
        return not self.problems

    @property
    def verdict(self) -> str:
        """The result in one or two words."""
        return _VERDICTS[self.problems[0].kind] if self.problems else "OK"

    def __str__(self) -> str:
        if self.problems:
            others = len(self.problems) - 1
            more = f" (and {counted(others, 'more problem')}: --json lists them)" if others else ""
            return f"{self.path}: {self.problems[0]}{more}"
        done = (
            "" if self.executed is None else f", {counted(self.executed, 'match', 'matches')} executed again"
        )
        if self.repeated:
            done += f", {counted(self.repeated, 'match', 'matches')} played again by their agents"
        names = [*self.unrecorded[:MAX_SHOWN], *(["..."] if len(self.unrecorded) > MAX_SHOWN else [])]
        beside = f"; not of the tournament: {', '.join(names)}" if names else ""
        matches = counted(self.matches, "match", "matches")
        if not self.complete:
            total = "more" if self.total is None else f"{self.total:,}"
            matches = f"{self.matches:,} of {total} matches played"
        parts = (matches, counted(self.journals, "journal"))
        return (
            f"{self.path}: {', '.join(parts)}, {counted(self.files, 'file')}{done}; tree {self.tree}{beside}"
        )

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {"ok": self.ok, **attrs.asdict(self), "path": str(self.path)}


def _unwatched(_checked: int) -> None:
    """Do nothing: the default of callbacks."""


def verify_folder(
    folder: Path,
    execute: Callable[[Path], Verification] | None = None,
    *,
    watch: Callable[[int], None] = _unwatched,
) -> FolderVerification:
    """Check a results folder, and find everything that is not as a run left it. Nothing is written.

    Args:
        folder: it may come from others.
        execute: executes a journal again and compares; `None` to leave that out.
        watch: called after each journal with the number of turns so far.

    Raises:
        UsageError: it holds no tournament, its run goes on, a file in it cannot be read, or `execute` would
            have to import what the user does not trust.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder")
    if is_held(folder):
        raise UsageError(f"{folder}: the tournament is being played: wait for its end")
    return _Verifier(folder, execute, watch).run()


class _Verifier:
    def __init__(
        self,
        folder: Path,
        execute: Callable[[Path], Verification] | None,
        watch: Callable[[int], None],
        *,
        is_former: bool = False,
    ) -> None:
        self._folder = folder
        self._is_former = is_former
        self._execute = execute
        self._watch = watch
        self._problems: dict[str, Problem] = {}
        self._matches = self._files = self._journals = self._executed = self._repeated = self._turns = 0
        self._total: int | None = None
        self._complete = False
        self._unrecorded: list[str] = []

    def run(self) -> FolderVerification:
        try:
            lock = self._read_lock()
            files = {} if lock is None else lock.digests
            self._files = len(files)
            if lock is not None:
                self._check_files(lock)
            self._check_carried()
            named = self._check_records(lock)
            present = [f"{JOURNALS}/{name}" for name in names_in(self._folder / JOURNALS)]
            for path in sorted({*present} - named):
                self._check_other_journal(path, named)
            formers = {} if self._is_former else {former.name: former for former in formers_in(self._folder)}
            kept = {name for name in formers if f"{name}/{LOCK_FILE}" in files}
            self._find_unrecorded({*files, *present, *kept} | named)
            for name in sorted(kept):
                self._check_former(formers[name])
        except OSError as error:
            where = Path(error.filename or self._folder).name
            raise UsageError(f"{self._folder}: {where} cannot be read: {error.strerror or error}") from error
        return FolderVerification(
            path=self._folder,
            tree="" if lock is None else lock.tree,
            matches=self._matches,
            total=self._total,
            complete=self._complete,
            journals=self._journals,
            files=self._files,
            executed=None if self._execute is None else self._executed,
            repeated=self._repeated,
            problems=tuple(self._problems.values()),
            unrecorded=tuple(self._unrecorded),
        )

    def _add(self, kind: Kind, path: str, what: str) -> None:
        """Add the first problem of a file; further ones follow from it."""
        self._problems.setdefault(path, Problem(kind, path, what))

    # Files.

    def _read_lock(self) -> LockFile | None:
        lock = read_lock_file(self._folder)
        if lock is None:
            if not is_plain(self._folder / DATABASE):
                raise UsageError(f"{self._folder} holds no tournament: there is no {DATABASE} in it")
            what = "is missing: the run was killed, or played by an earlier version; --resume writes it"
            self._add("missing", LOCK_FILE, what)
        elif not lock.tree:
            self._add("changed", LOCK_FILE, "is not as it was written: its tree hash is that of another text")
        return lock

    def _check_files(self, lock: LockFile) -> None:
        for name, digest in lock.digests.items():
            path = self._folder / name
            if not is_plain(path) or path.parent.is_symlink():
                self._add("missing", name, f"is missing; {LOCK_FILE} has its SHA-256")
            elif digest_of(path) != digest:
                self._add("changed", name, f"is not as the run left it: {LOCK_FILE} has another SHA-256")
                if name == DATABASE and self._has_rows(lock.rows):
                    del self._problems[name]
                    what = "was written after the run: other bytes, though its rows are the same"
                    self._add("changed", name, what)

    def _has_rows(self, digest: str) -> bool:
        try:
            with closing(OpenedToRead(self._folder / DATABASE)) as opened:
                return rows_digest(opened.connection) == digest
        except (UsageError, *DAMAGES):
            return False

    def _check_carried(self) -> None:
        for name in names_in(self._folder / CARRIED):
            if digest_of(self._folder / CARRIED / name) != name:
                self._add("changed", f"{CARRIED}/{name}", "does not have the SHA-256 that is its name")

    def _find_unrecorded(self, known: set[str]) -> None:
        """Find the files that no run wrote, or that it removes at its end."""
        known = known | {LOCK_FILE, f"{DATABASE}-wal", f"{DATABASE}-shm", *MADE, CARRIED, JOURNALS}
        for place in ("", CARRIED, JOURNALS):
            folder = self._folder / place
            for path in sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
                if (name := str(path.relative_to(self._folder))) not in known:
                    self._unrecorded.append(name)

    # Former states.

    def _check_former(self, former: Path) -> None:
        """Check what the tournament was before its plan changed, as a folder of its own."""
        if not any(is_plain(former / name) for name in (LOCK_FILE, DATABASE)):
            return  # its lock file is missed already
        before = self._turns
        found = _Verifier(
            former, self._execute, lambda turns: self._watch(before + turns), is_former=True
        ).run()
        for problem in found.problems:
            self._add(problem.kind, f"{former.name}/{problem.path}", problem.what)
        self._unrecorded += [f"{former.name}/{path}" for path in found.unrecorded]
        self._journals += found.journals
        self._files += found.files
        self._executed += found.executed or 0
        self._repeated += found.repeated

    # Records.

    def _check_records(self, lock: LockFile | None) -> set[str]:
        """Check the database, and the journals that it names; return their paths."""
        named: set[str] = set()
        try:
            with closing(Store(self._folder)) as store:
                stored = store.plan()
                if stored is None:
                    raise UsageError("the tournament has not begun")  # noqa: TRY301 - as for what is damaged
                plan, records = stored.for_display(), [*store.records()]
                columns = store.columns(plan)
        except UsageError as error:
            kind: Kind = "different" if is_plain(self._folder / DATABASE) else "missing"
            self._add(kind, DATABASE, str(error))
            return named
        played = {record.id: record for record in records if record.status == "played"}
        self._matches = len(played)
        if problem := misfit(plan, played):
            self._add("different", DATABASE, problem)
            return named
        order = schedule(plan)
        specs = {spec.id: spec for spec in order.walk(played)}
        for record in records:
            if record.journal is not None:
                named.add(record.journal)
                self._check_record(plan, specs.get(record.id), record)
        if columns is not None and not columns.is_same(columns_of(plan, order.played(played))):
            self._add(
                "different", DATABASE, "its table blocks, from which standings are read, has other results"
            )
        self._total, self._complete = order.total, order.over(played)
        if lock is not None and lock.flagfall == version("flagfall"):
            self._check_standings(plan, played, lock.digests)
        return named

    def _check_record(self, plan: TournamentPlan, spec: MatchSpec | None, record: MatchRecord) -> None:
        place = str(record.journal)
        folder, _, name = place.partition("/")
        if folder != JOURNALS or not is_name(name) or spec is None:
            self._add("different", DATABASE, f"match {record.id} has what is no journal of it: {place!r:.80}")
            return
        path = self._folder / place
        if not is_plain(path) or path.parent.is_symlink():
            self._add("missing", place, f"is missing: the journal of match {record.id}")
            return
        try:
            opening = spec.opening
            recount = Recount(path, 0 if opening is None else opening.turn)
            if difference := _difference(plan, spec, record, recount):
                self._add("different", place, difference)
            elif opening is not None and not has_opening(path, self._folder, opening):
                self._add("different", place, f"its first {opening.turn} turns are not those of its opening")
        except UsageError as error:
            self._add("changed", place, str(error).removeprefix(f"{path}: "))
        self._finish_journal(path, place, record.turns)

    def _check_other_journal(self, place: str, named: set[str]) -> None:
        """Check a journal that no record names; after a damaged database, none is named."""
        path = self._folder / place
        try:
            Recount(path)
            if named:
                self._add("different", place, f"is the journal of no match in {DATABASE}")
        except UsageError as error:
            self._add("changed", place, str(error).removeprefix(f"{path}: "))
        self._finish_journal(path, place)

    def _finish_journal(self, path: Path, place: str, turns: int = 0) -> None:
        self._journals += 1
        self._turns += turns
        if self._execute is not None and place not in self._problems:
            self._executed += 1
            self._execute_again(path, place, self._execute)
        self._watch(self._turns)

    def _execute_again(self, path: Path, place: str, execute: Callable[[Path], Verification]) -> None:
        try:
            found = execute(path)
        except UsageError as error:
            if _needs_trust(error):  # that is for the user to decide, and nothing is wrong with the file
                raise
            self._add("not verified", place, str(error).removeprefix(f"{path}: "))
            return
        self._repeated += bool(found.agents)
        if not found.ok:
            kind: Kind = "not verified" if found.difference is None else "different"
            self._add(kind, place, str(found).removeprefix(f"{path}: "))

    def _check_standings(
        self, plan: TournamentPlan, played: Mapping[str, MatchRecord], digests: Mapping[str, str]
    ) -> None:
        """Compare the tables of standings with those of the records, by the version that made them."""
        forms = [form for form in FILE_FORMATS if f"standings.{form}" in digests]
        if not forms:
            return
        rows = agent_rows(compute_standings(plan, played))
        for form in forms:
            name = f"standings.{form}"
            if name not in self._problems and not _is_close(export(rows, form), self._folder / name, form):
                self._add("different", name, "has other standings than those of the matches that count")


def _difference(plan: TournamentPlan, spec: MatchSpec, record: MatchRecord, recount: Recount) -> str:
    """Return how a record differs from its journal; empty if it does not."""
    task = plan.task(spec.task)
    if difference := _difference_of_header(task, spec, record, recount.header):
        return difference
    counted_again = recount.record(spec, record.attempt, task)
    pairs: list[tuple[str, str, Any, Any]] = [(field, "", record, counted_again) for field in _OF_MATCH]
    fields = _OF_SEAT + (_OF_REWARD if recount.has_rewards else ())
    for seat, both in enumerate(zip(record.seats, counted_again.seats, strict=True)):
        pairs += [(field, f" of seat {seat}", *both) for field in fields]
    for field, of, stored, found in pairs:
        if getattr(stored, field) != getattr(found, field):
            values = f"{getattr(found, field)!r:.40}; in {DATABASE} it is {getattr(stored, field)!r:.40}"
            return f"{field}{of} of match {record.id} is {values}"
    return ""


def _difference_of_header(
    task: PlannedTask, spec: MatchSpec, record: MatchRecord, header: MatchStarted
) -> str:
    """Return how a match that was played is another one than in the schedule; empty if it is not."""
    if tuple(header.agents) != spec.entrants:
        return (
            f"its agents are {', '.join(header.agents)}; in the schedule they are {', '.join(spec.entrants)}"
        )
    if len(record.seats) != len(spec.entrants):
        return f"match {record.id} has {len(record.seats)} seats in {DATABASE}"
    if header.seed != spec.seed:
        return f"its seed is {header.seed}, that of match {record.id} in the schedule {spec.seed}"
    planned = task.tasks if isinstance(task.tasks, tuple) else ()
    if planned and header.config is None and _names(header.tasks) != _names(planned):
        return f"its tasks are not those of match {record.id} in the schedule"
    begins = [] if spec.opening is None else [(spec.opening.turn, spec.opening.sha256)]
    if [(parent.turn, parent.sha256) for parent in header.parents[-1:]] != begins:
        where = "the beginning of its task" if spec.opening is None else f"opening {spec.opening}"
        return f"it does not begin at {where}, as match {record.id} does in the schedule"
    return ""


def _needs_trust(error: BaseException | None) -> bool:
    untrusted = isinstance(error, UntrustedImportError | UntrustedAgentError)
    return error is not None and (untrusted or _needs_trust(error.__cause__))


def _names(ids: Iterable[str]) -> list[str]:
    """Return ids of tasks without the folders of their files: plans have those below their own folder."""
    return [portable_id(in_folder(task_id, Path("/"))) for task_id in ids]


def _is_close(expected: bytes, path: Path, form: str) -> bool:
    """Return whether a table has the expected texts and numbers; of Parquet only the digest is compared."""
    if form == "parquet":
        return True
    texts, values = zip(
        *(_split(data.decode("utf-8", "replace")) for data in (expected, path.read_bytes())), strict=True
    )
    return texts[0] == texts[1] and all(
        isclose(one, other, rel_tol=_FLOAT_TOLERANCE, abs_tol=_FLOAT_TOLERANCE)
        for one, other in zip(*values, strict=True)
    )


def _split(text: str) -> tuple[list[str], list[float]]:
    return _NUMBER.split(text), [float(number) for number in _NUMBER.findall(text)]
