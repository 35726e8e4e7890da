"""Resuming the matches of `flagfall run`: one that was cut goes on from its journal.

While it is played, its old journal lies beside the new one, as `unfinished-NAME`. The new one repeats it, so
the one with more turns holds all of the other, and is kept: one of both has all recorded turns at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.cli.console.files import reading
from flagfall.errors import UsageError
from flagfall.events import MatchEnded, MatchStarted, TurnPlayed
from flagfall.recording.branching import BranchPoint, recorded_events, sha256_of
from flagfall.recording.journal.file import is_locked
from flagfall.recording.journal.format import encode
from flagfall.recording.turn_limits import shown
from flagfall.tasks.building import build_scheduler

if TYPE_CHECKING:
    from flagfall.cli.runs.plan import PlannedMatch
    from flagfall.kernel.roles import SchedulerRole
    from flagfall.playing import MatchRequest

_OVER: Final = frozenset({"finished", "seats", "steps"})
"""Reasons of an end after which nothing can be played; after a signal or a fault the match goes on."""


def resumed(match: PlannedMatch) -> PlannedMatch | None:
    """Return a match as it goes on from its journal, or as it is if that has no turn; `None` if it is over.

    Raises:
        UsageError: a journal cannot be read, is that of another match, or is being written; or the match
            cannot go on from its last turn.
    """
    path = match.request.journal
    if not isinstance(path, Path):
        return match
    for file in (path, _aside(path)):
        if is_locked(file):
            raise UsageError(f"--resume: {file} is being written by another program")
    _keep_one(path)
    if not _has_text(path):
        return match
    with reading(path):
        kept = _Kept.of(path)
        if kept.header is None or not kept.turns:
            return match
        _check_same(path, kept.header, _asked_for(match))
        if kept.is_over:
            return None
        point = BranchPoint.find(path, None, lambda _header: _build(match.request)[0])
    point = attrs.evolve(point, rehearsed=frozenset(range(len(match.hosts))))
    return attrs.evolve(match, request=attrs.evolve(match.request, goes_on_from=point))


@contextmanager
def old_journal_aside(request: MatchRequest) -> Iterator[MatchRequest]:
    """Move the journal from which a match goes on to its neighbour, if the match is to have the same name.

    In the end the one with more turns has the name, and the other one is removed.
    """
    point, path = request.goes_on_from, request.journal
    if point is None or not isinstance(path, Path) or point.journal != path:
        yield request
        return
    aside = _aside(path)
    path.replace(aside)
    try:
        yield attrs.evolve(request, goes_on_from=attrs.evolve(point, journal=aside))
    except UsageError as error:  # it names the file as it is for the user
        raise UsageError(str(error).replace(str(aside), str(path))) from error
    finally:
        _keep_one(path)


@attrs.frozen
class _Kept:
    """What a journal has: its header, the number of its turns, and whether the match is over."""

    header: MatchStarted | None = None
    turns: int = 0
    is_over: bool = False

    @classmethod
    def of(cls, path: Path) -> _Kept:
        header, turns, is_over = None, 0, False
        for event in recorded_events(path) if _has_text(path) else ():
            if isinstance(event, MatchStarted):
                header = event
            elif isinstance(event, TurnPlayed):
                turns = event.turn + 1
            elif isinstance(event, MatchEnded):
                is_over = event.reason in _OVER
        return cls(header, turns, is_over)


def _has_text(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _aside(path: Path) -> Path:
    return path.with_name(f"unfinished-{path.name}")


def _keep_one(path: Path) -> None:
    """Give the name to the one of both journals that has more turns, and remove the other.

    Raises:
        UsageError: they are of different matches.
    """
    aside = _aside(path)
    if not aside.exists():
        return
    new, old = _Kept.of(path), _Kept.of(aside)
    if new.header is not None:
        parents = new.header.parents
        if not parents or parents[-1].sha256 != sha256_of(aside):
            raise UsageError(
                f"--resume: {path} does not go on from {aside.name}, which lies beside it:"
                " move one of them away"
            )
    if (new.turns, new.is_over) > (old.turns, old.is_over):
        aside.unlink()
    else:
        aside.replace(path)


def _build(request: MatchRequest) -> tuple[SchedulerRole, dict[str, Any]]:
    return build_scheduler(request.tasks, request.scheduler, request.steps)


def _asked_for(match: PlannedMatch) -> Mapping[str, Any]:
    """Return the fields of its header that a match is to have."""
    request = match.request
    scheduler, fields = _build(request)
    scheduler.close()
    return {
        "agents": [host.name for host in match.hosts],
        "seed": request.seed,
        "time_control": str(request.time_control),
        "clock": request.clock,
        "steps": request.steps,
        "tick_ns": request.tick_ns,
        "tasks": (),
        "scheduler": type(scheduler).__name__,
        "config": None,
        "code": {},
        **fields,
    }


def _check_same(path: Path, header: MatchStarted, asked_for: Mapping[str, Any]) -> None:
    """Raise `UsageError` with the first field in which a recorded match is another one than was asked for."""
    for name, value in asked_for.items():
        found = getattr(header, name)
        if encode(found) != encode(value):
            raise UsageError(
                f"--resume: the match in {path} has other {name.replace('_', ' ')}:"
                f" {shown(found)} is recorded, and {shown(value)} is asked for"
            )
