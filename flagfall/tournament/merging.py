"""Merging folders of one plan, parts of which were played on several machines."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import attrs

from flagfall.errors import HostFault, UsageError
from flagfall.tasks.code_files import CARRIED
from flagfall.tournament.blocks import misfit
from flagfall.tournament.folder import CODE, JOURNALS, is_held, is_plain, journal_path, names_in
from flagfall.tournament.lock_file import digest_of, write_lock_file
from flagfall.tournament.plan.fingerprint import changes
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.store import Store, StoredPlan

_STORED_AT_ONCE: Final = 1000


@attrs.frozen(kw_only=True)
class Merged:
    """What a merged folder holds.

    Attributes:
        played: matches that count.
        shared: those of them that several folders have.
        void: void attempts.
        missing: journals that their folders name and do not have.
        other_code: folders whose code of agents and tasks differs from that of the folder named first.
    """

    played: int
    shared: int
    void: int
    missing: int
    other_code: tuple[Path, ...] = ()


@attrs.frozen
class _Source:
    """A folder to merge, as it was read."""

    folder: Path
    plan: StoredPlan
    about: Mapping[str, str]
    records: Sequence[MatchRecord]

    @classmethod
    def read(cls, folder: Path) -> _Source:
        """Return the contents of a folder; raise `UsageError` if they are damaged, or a run goes on there."""
        if is_held(folder):
            raise UsageError(f"{folder} is in use by a run: merge it when that has ended")
        with closing(Store(folder)) as store:
            plan = store.plan()
            if plan is None:
                raise UsageError(f"{folder}: the tournament has not begun")
            records = list(store.records())
            store.check(plan.for_display(), {one.id: one for one in records if one.status == "played"})
            return cls(folder, plan, store.about(), records)


def merge_tournaments(folders: Sequence[Path], output: Path, *, prefer_first: bool = False) -> Merged:
    """Make one folder of several ones of the same plan.

    Void attempts of a match come before the one that counts, in the order of the folders, with new numbers.

    Args:
        folders: folders of tournaments; nothing in them is changed.
        output: the folder to make, which appears when it is complete.
        prefer_first: if folders have different results of a match, that of the folder named first counts, and
            the others become void attempts.

    Raises:
        UsageError: a folder is damaged, plans differ, or results differ and `prefer_first` is false.
        HostFault: the folder cannot be written.
    """
    if output.is_symlink() or (output.exists() and (not output.is_dir() or any(output.iterdir()))):
        raise UsageError(f"{output} exists already: name a new folder with --output")
    sources = [_Source.read(folder) for folder in folders]
    first = sources[0]
    for other in sources[1:]:
        if found := changes(first.plan.facts, other.plan.facts):
            raise UsageError(
                f"{first.folder} and {other.folder} have different plans: {'; '.join(found)}. First go on"
                " with the same plan in both: flagfall tournament PLAN --resume"
            )
    attempts, shared = _attempts(sources, prefer_first=prefer_first)
    counting = {record.id: record for _, record in attempts if record.status == "played"}
    if problem := misfit(first.plan.for_display(), counting):
        raise UsageError(f"the folders do not fit together: {problem}")
    with _new_folder(output) as made:
        missing = _write(made, sources, attempts)
        other_code = _copy_code(folders, made)
        write_lock_file(made)
    return Merged(
        played=len(counting),
        shared=shared,
        void=len(attempts) - len(counting),
        missing=missing,
        other_code=other_code,
    )


_Attempts = list[tuple[Path, MatchRecord]]
"""Attempts with their folders."""


def _attempts(sources: Sequence[_Source], *, prefer_first: bool) -> tuple[_Attempts, int]:
    """Return all attempts in order, numbered anew, and how many counting matches several folders have."""
    of_matches: dict[str, tuple[_Attempts, _Attempts]] = {}
    shared = set()
    for source in sources:
        for record in source.records:
            void, played = of_matches.setdefault(record.id, ([], []))
            same = played if record.status == "played" else void
            if same is played and played:
                shared.add(record.id)
            if all(_result(record) != _result(known) for _, known in same):
                same.append((source.folder, record))
    attempts: _Attempts = []
    for match, (void, played) in of_matches.items():
        for folder, record in played[1:]:
            counts, first = played[0]
            if [seat.agent for seat in record.seats] != [seat.agent for seat in first.seats]:
                raise UsageError(
                    f"{counts} and {folder} do not fit together: other agents meet in match {match}, since"
                    " earlier results differ"
                )
            if not prefer_first:
                raise UsageError(
                    f"match {match} has different results in {counts} and {folder}: with --prefer-first that"
                    " of the folder named first counts, and the other one is kept as a void attempt"
                )
            why = f"merged: the result of {counts.absolute().name} counts"
            void.append((folder, attrs.evolve(record, status="void", why=why)))
        attempts += [
            (folder, attrs.evolve(record, attempt=number))
            for number, (folder, record) in enumerate([*void, *played[:1]], 1)
        ]
    return attempts, len(shared)


def _result(record: MatchRecord) -> MatchRecord:
    """Return what makes an attempt another one: neither its journal, nor how many void ones came before."""
    return attrs.evolve(record, attempt=1 if record.status == "played" else record.attempt, journal=None)


@contextmanager
def _new_folder(output: Path) -> Iterator[Path]:
    """Make a folder that appears as `output` when the context ends without an error."""
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
        try:
            mask = os.umask(0)
            os.umask(mask)
            made.chmod(0o777 & ~mask)
            yield made
            made.rename(output)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise HostFault(f"{output} cannot be written: {error.strerror or error}") from error


def _write(made: Path, sources: Sequence[_Source], attempts: _Attempts) -> int:
    """Write a merged tournament; return the number of journals that are missing."""
    first, missing = sources[0], 0
    about = {**first.about, "text": first.plan.text}
    for name in ("machine", "flagfall"):
        about[name] = "; ".join(dict.fromkeys(source.about.get(name, "unknown") for source in sources))
    about["begun"] = min(source.about.get("begun", "unknown") for source in sources)
    with closing(Store(made, "make", durable=first.plan.for_display().clock == "wall")) as store:
        store.begin_as(about)
        store.prepare()
        for start in range(0, len(attempts), _STORED_AT_ONCE):
            records = []
            for folder, record in attempts[start : start + _STORED_AT_ONCE]:
                journal = _copy_journal(folder, record, made)
                missing += journal is None and record.journal is not None
                records.append(attrs.evolve(record, journal=journal))
            store.put(*records)
        store.clean_up()
    return missing


def _copy_code(folders: Sequence[Path], made: Path) -> tuple[Path, ...]:
    """Copy the code of all folders, and the table of the first; return the folders with another table.

    A damaged file is copied as it is, unless another folder has a sound one.
    """
    for folder in folders:
        for name in names_in(folder / CARRIED):
            copy = made / CARRIED / name
            if not copy.exists() or digest_of(copy) != name:
                copy.parent.mkdir(exist_ok=True)
                shutil.copyfile(folder / CARRIED / name, copy)
    tables = [(folder, folder / CODE) for folder in folders if is_plain(folder / CODE)]
    if not tables:
        return ()
    (_, first), *others = tables
    shutil.copyfile(first, made / CODE)
    return tuple(folder for folder, table in others if digest_of(table) != digest_of(first))


def _copy_journal(folder: Path, record: MatchRecord, made: Path) -> str | None:
    """Copy the journal of an attempt, and return its path there; `None` if there is none in the folder."""
    path = journal_path(folder, record.journal)
    if path is None or not path.name.startswith(f"{record.id}."):
        return None
    void = "" if record.status == "played" else f".void{record.attempt}"
    name = f"{record.id}{void}{'.jsonl.zst' if path.suffix == '.zst' else '.jsonl'}"
    shutil.copyfile(path, made / JOURNALS / name)
    return f"{JOURNALS}/{name}"
