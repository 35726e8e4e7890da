"""Giving recorded matches other ids, with their journals, whose names are the ids.

Rows change in one transaction, and files cannot. So each journal gets a second name first (a hard link,
`ID.jsonl.zst.moved`), which the transaction puts into the rows; only then is the former name removed and the
final one made, in the same way. Whenever the process is killed, the rows name files that are there.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Collection, Mapping
from itertools import count
from pathlib import Path
from typing import Final

from flagfall.errors import HostFault
from flagfall.tasks.code_files import CARRIED
from flagfall.tournament.folder import (
    CODE,
    DATABASE,
    FORMER,
    JOURNALS,
    PLAN,
    RUNNING,
    is_plain,
    journal_path,
    names_in,
)

_SECOND: Final = ".moved"
_UNRECORDED: Final = re.compile(r"r[0-9]+-[pmg0-9.-]+\.(void[0-9]+\.)?jsonl(\.zst)?")
"""Names of journals, with ids of any format."""

_SET: Final = "UPDATE matches SET id = ?, journal = ? WHERE number = ?"


def rename_matches(
    database: sqlite3.Connection, folder: Path, ids: Mapping[str, str], without_place: Collection[str]
) -> None:
    """Give matches other ids, in the open transaction; call `finish_renaming` when it is committed.

    Args:
        ids: new ids of attempts by the present ones.
        without_place: ids of attempts that are deleted; see `keep_former`.
    """
    deleted, renamed = [], []
    rows = database.execute("SELECT number, id, journal FROM matches").fetchall()
    recorded = {row[2] for row in rows}
    for entry in list(os.scandir(folder / JOURNALS)):
        if _UNRECORDED.fullmatch(entry.name) and f"{JOURNALS}/{entry.name}" not in recorded:
            Path(
                entry
            ).unlink()  # of a match that had ended when a run was killed; its id may become another's
    for number, match, journal in rows:
        if match in without_place:
            _link(folder, match, f"{match}.aside", journal)  # to remove its former name
            deleted.append((number,))
        elif (new := ids.get(match, match)) != match:
            renamed.append((new, _link(folder, match, new, journal), number))
    for statement in _DELETIONS:
        database.executemany(statement, deleted)
    # Two matches may exchange their ids, and no two may have the same one in between.
    database.executemany(
        "UPDATE matches SET id = '/' || number WHERE number = ?", [row[2:] for row in renamed]
    )
    database.executemany(_SET, renamed)


_DELETIONS: Final = (
    "DELETE FROM noted WHERE match = ?",
    "DELETE FROM seats WHERE match = ?",
    "DELETE FROM matches WHERE number = ?",
)


def _link(folder: Path, match: str, new: str, journal: str | None) -> str | None:
    """Give a journal its second name, and return the path for its row."""
    beginning = f"{JOURNALS}/{match}."
    if journal is None or not journal.startswith(beginning):
        return journal
    path, name = journal_path(folder, journal), f"{new}.{journal.removeprefix(beginning)}"
    if path is None:  # missing; another match may get the former name
        return f"{JOURNALS}/{name}"
    link = path.with_name(f"{name}{_SECOND}")
    link.unlink(missing_ok=True)
    os.link(path, link, follow_symlinks=False)
    return f"{JOURNALS}/{link.name}"


def finish_renaming(database: sqlite3.Connection, folder: Path) -> bool:
    """Remove the names of journals that no row has, and give renamed ones their final names.

    Returns:
        Whether rows were changed: then commit them, and call this function again.
    """
    home = folder / JOURNALS
    entries = [entry for entry in os.scandir(home) if not entry.is_dir(follow_symlinks=False)]
    second = [entry for entry in entries if entry.name.endswith(_SECOND)]
    if not second:
        return False
    rows = {row[0]: row[1:] for row in database.execute("SELECT journal, id, number FROM matches")}
    files = {entry.inode() for entry in second}
    for entry in entries:
        if entry.inode() in files and f"{JOURNALS}/{entry.name}" not in rows:
            Path(entry).unlink()
    changed = False
    for entry in second:
        if row := rows.get(f"{JOURNALS}/{entry.name}"):
            final = home / entry.name.removesuffix(_SECOND)
            final.unlink(missing_ok=True)  # of a match that was not recorded before a run was killed
            os.link(entry, final, follow_symlinks=False)
            match, number = row
            database.execute(_SET, (match, f"{JOURNALS}/{final.name}", number))
            changed = True
    return changed


def keep_former(database: sqlite3.Connection, folder: Path, plan_text: str) -> str:
    """Keep a tournament as it is now in a folder within its own, and return the name of that.

    The journals there, and the code that was played, are links to the same files.
    """
    made = folder / RUNNING / "former"
    shutil.rmtree(made, ignore_errors=True)
    (made / JOURNALS).mkdir(parents=True)
    database.execute("VACUUM INTO ?", (str(made / DATABASE),))
    (made / PLAN).write_text(plan_text, encoding="utf-8")
    for (journal,) in database.execute("SELECT DISTINCT journal FROM matches"):
        path = journal_path(folder, journal)
        if path is not None:
            os.link(path, made / JOURNALS / path.name, follow_symlinks=False)
    for name in names_in(folder / CARRIED):
        (made / CARRIED).mkdir(exist_ok=True)
        os.link(folder / CARRIED / name, made / CARRIED / name, follow_symlinks=False)
    if is_plain(folder / CODE):
        os.link(folder / CODE, made / CODE, follow_symlinks=False)
    for number in count(1):
        try:
            made.rename(folder / f"{FORMER}{number}")  # fails where there is one, since none is empty
        except OSError:
            if not (folder / f"{FORMER}{number}").exists():
                raise
        else:
            return f"{FORMER}{number}"
    raise HostFault(f"{folder} has too many former tournaments")
