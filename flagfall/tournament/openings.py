"""Openings: turns of recorded matches from which the matches of a task go on.

A recorded match is executed by the tasks of the plan, so nothing that its file names is imported, and a
match of another task, or one by other rules, differs from its record. The results folder carries each
journal, not compressed, under its SHA-256; matches are played from there, whatever becomes of the file that
the plan names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from glob import glob
from hashlib import sha256
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final

import attrs
from msgspec.structs import replace

from flagfall.configfile.converter import KeyPath, Problems
from flagfall.errors import UsageError
from flagfall.events import MatchStarted
from flagfall.kernel.roles import SchedulerRole
from flagfall.recording.branching import BranchPoint, recorded_events
from flagfall.recording.journal.file import open_lines
from flagfall.recording.journal.format import MAX_LINE_BYTES, encode
from flagfall.tasks.building import build_scheduler, rebuild
from flagfall.tasks.code_files import CARRIED
from flagfall.tasks.task import REVISIONS
from flagfall.texts import counted
from flagfall.tournament.folder import is_plain
from flagfall.tournament.model import PlannedTask
from flagfall.tournament.records import Opening

MAX_OPENING_BYTES: Final = 16 * 1024 * 1024
"""Longest journal of an opening, not compressed: each match reads it, and each machine has a copy."""

MAX_OPENINGS: Final = 10_000
"""Most openings of a task; all are executed before the first match."""

MAX_NAME: Final = 500
"""Most characters of the name of an opening, which has the path of its file."""

_PATTERN: Final = re.compile("(.+)@([1-9][0-9]{0,8})", re.ASCII | re.DOTALL)
_NO_TASKS: Final[dict[str, Any]] = {"tasks": (), "scheduler": "", "config": None, "code": {}}


def find_openings(
    patterns: Sequence[str], task: PlannedTask, folder: Path, place: KeyPath, problems: Problems
) -> tuple[Opening, ...]:
    """Return the openings of a task in the order of their files and turns, each once.

    Args:
        patterns: such as `matches/*.jsonl@40`.
        folder: where relative paths start.
        place: the key of the patterns, for problems.
        problems: collects those of each pattern and each file.
    """
    found = {one for pattern in patterns for one in _matching(pattern, folder, place, problems)}
    if len(found) > MAX_OPENINGS:
        problems.add(place, f"{len(found)} openings; {MAX_OPENINGS} are the most")
        return ()
    openings = []
    for file, turn in sorted(found):
        name, path = f"{file}@{turn}", folder / file
        if len(name) > MAX_NAME or not name.isprintable():
            problems.add(place, f"{name!r:.80}: a path has at most {MAX_NAME} printable characters")
            continue
        try:
            opening = Opening(name, sha256(read_opening(path)).hexdigest())
            _check(task, path, turn)
        except UsageError as error:
            problems.add(place, f"{name}: {str(error).removeprefix(f'{path}: ')}")
        else:
            openings.append(opening)
    return tuple(openings)


def _matching(pattern: str, folder: Path, place: KeyPath, problems: Problems) -> Iterator[tuple[str, int]]:
    """Yield the files of a pattern, each with the turn."""
    parts = _PATTERN.fullmatch(pattern)
    if parts is None:
        what = "write files and the first turn to be played, from 1, such as matches/*.jsonl@40"
        problems.add(place, f"{pattern!r:.80}: {what}")
        return
    wanted = parts[1]
    files = [wanted]
    if not (folder / wanted).is_file():
        files = glob(wanted, root_dir=folder, recursive=True)  # noqa: PTH207 - an absolute one, too
    if not files:
        problems.add(place, f"{pattern!r:.80}: there is no such file in {folder.resolve()}")
    home = folder.resolve()
    for file in map(Path, files):
        inside = file.is_relative_to(home)  # a plan and its files may be in another folder the next time
        yield os.path.normpath(file.relative_to(home) if inside else file), int(parts[2])


def read_opening(path: Path) -> bytes:
    """Return the text of a journal, not compressed.

    Raises:
        UsageError: it cannot be read, or is too long.
    """
    text = bytearray()  # of many short lines a list would be a hundred times as large
    try:
        with open_lines(path, MAX_LINE_BYTES) as lines:
            for line in lines:
                text += line
                if len(text) > MAX_OPENING_BYTES:
                    raise UsageError(f"{path}: an opening has at most {MAX_OPENING_BYTES} bytes of journal")
    except (OSError, EOFError) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return bytes(text)


def carried_opening(folder: Path, task: PlannedTask, opening: Opening) -> BranchPoint:
    """Return the turn from which a match goes on.

    Args:
        folder: the folder of the tournament, or another one with the files that it carries.

    Raises:
        UsageError: the file is not there, or not as it was carried.
    """
    return _point(task, folder / CARRIED / opening.sha256, opening.turn)


def has_opening(journal: Path, folder: Path, opening: Opening) -> bool:
    """Return whether a match has the turns of its opening as they were recorded.

    Args:
        folder: the folder of the tournament; where it lacks the opening, nothing is compared.
    """
    carried = folder / CARRIED / opening.sha256
    if not is_plain(carried):
        return True
    point = BranchPoint.find(carried, opening.turn, rebuild)  # nothing is executed
    played = islice(recorded_events(journal), 1, point.kept)
    return all(encode(one) == encode(other) for one, other in zip_longest(point.events(), played))


def _point(task: PlannedTask, path: Path, turn: int) -> BranchPoint:
    """Find a turn in a journal, to be executed by the task of the plan and its present rules."""

    def build(_header: MatchStarted) -> SchedulerRole:
        return build_scheduler(task.tasks, task.scheduler, task.steps)[0]

    point = BranchPoint.find(path, turn, build)
    scheduler, fields = build_scheduler(task.tasks, task.scheduler, task.steps)
    scheduler.close()
    header = replace(point.header, **(_NO_TASKS | fields), rules=dict(REVISIONS))
    return attrs.evolve(point, header=header)


def _check(task: PlannedTask, path: Path, turn: int) -> None:
    """Execute a recorded match up to a turn; raise `UsageError` if a match of the task cannot go on there."""
    point = _point(task, path, turn)
    if point.turn != turn:
        raise UsageError(f"{path}: no seat was asked in turn {turn - 1}; write @{point.turn}")
    if (seats := len(point.header.agents)) != task.seats:
        raise UsageError(f"{path}: its match has {counted(seats, 'seat')}, and {task.name} has {task.seats}")
    if task.steps is not None and turn >= task.steps:
        raise UsageError(f"{path}: no turn is left from turn {turn} on, with steps = {task.steps}")
    scheduler, match, _ = point.execute(task.control, 0)
    match.script.close()
    scheduler.close()
    for number, seat in enumerate(match.seats):
        if seat.disqualified is not None:
            raise UsageError(f"{path}: seat {number} is disqualified before turn {turn}")
        if not seat.budget.limit("act"):
            raise UsageError(f"{path}: before turn {turn}, seat {number} uses up its time of {task.control}")
