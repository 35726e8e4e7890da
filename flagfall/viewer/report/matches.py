"""Parts of a report about single matches: the list of the latest, those worth seeing, and void attempts."""

from __future__ import annotations

__all__ = ["Chosen", "choose", "latest_matches", "void_attempts"]

from collections.abc import Mapping
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import attrs

from flagfall.tournament.excerpts import (
    closest,
    disqualified,
    longest,
    most_late,
    most_rewarded,
    recent,
    spec_of,
    voids,
)
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.viewer.report.journals import journal_path
from flagfall.viewer.report.source import ReportSource

MAX_MATCHES: Final = 200
"""Most rows of the list of matches."""

MAX_VOIDS: Final = 20
MAX_WHY_CHARS: Final = 500
MAX_ID_CHARS: Final = 100
"""Longest id and reason; those of real matches are far shorter, those of a damaged store may be megabytes."""

_REASONS: Final = (
    (disqualified, "an agent was disqualified"),
    (most_late, "most late turns"),
    (closest, "closest result"),
    (longest, "most turns"),
    (most_rewarded, "highest reward"),
)
"""Reasons to show a match, in the order in which matches are chosen by them."""


@attrs.frozen
class Chosen:
    """A match that is worth seeing.

    Attributes:
        record: its record.
        why: the reason, in a few words.
        path: its journal.
    """

    record: MatchRecord
    why: str
    path: Path


def choose(source: ReportSource, number: int) -> list[Chosen]:
    """Return matches that are worth seeing, by one reason after the other, each match once.

    Args:
        source: the tournament.
        number: most matches.
    """
    if not number:
        return []
    queues = [
        [(record, why) for record in find(source.store, _CANDIDATES * number)] for find, why in _REASONS
    ]
    specs = spec_of(
        source.plan, source.results.records, {record.id for queue in queues for record, _ in queue}
    )
    chosen: dict[str, Chosen] = {}
    while len(chosen) < number and any(queues):
        for queue in queues:
            _prefer_new_tasks(queue, specs, chosen)
            while queue and len(chosen) < number:
                record, why = queue.pop(0)
                path = journal_path(source.folder, record)
                if path is not None and record.id not in chosen:
                    chosen[record.id] = Chosen(record, why, path)
                    break
    return list(chosen.values())


_CANDIDATES: Final = 4
"""Matches that are looked at for each that is chosen, since one may be chosen for two reasons."""


def _prefer_new_tasks(
    queue: list[tuple[MatchRecord, str]], specs: Mapping[str, MatchSpec], chosen: Mapping[str, Chosen]
) -> None:
    """Put first the matches on tasks of which none has been chosen yet; otherwise keep the order."""
    seen = {specs[name].task for name in chosen if name in specs}
    queue.sort(key=lambda one: one[0].id in specs and specs[one[0].id].task in seen)


def latest_matches(source: ReportSource, target: Path | None) -> dict[str, Any]:
    """Return the matches that were stored last, with links to their journals.

    Args:
        source: the tournament.
        target: folder of the report, from which links lead to journals; `None` for no links.
    """
    records = recent(source.store, MAX_MATCHES)
    return {"rows": match_rows(source, records, target), "of": source.counts.played}


def match_rows(source: ReportSource, records: list[MatchRecord], target: Path | None) -> list[dict[str, Any]]:
    """Return records as plain data.

    Args:
        source: the tournament.
        records: matches that count.
        target: see `latest_matches`.
    """
    specs = spec_of(source.plan, source.results.records, (record.id for record in records))
    tasks = {task.name: place for place, task in enumerate(source.plan.tasks)}
    rank = {name: place for place, name in enumerate(source.ranked)}
    return [
        {
            "match": record.id[:MAX_ID_CHARS],
            "task": tasks[specs[record.id].task] if record.id in specs else None,
            "seats": [
                {
                    "agent": rank.get(seat.agent),
                    "score": seat.score,
                    "reward": seat.reward,
                    "fell": None if seat.fell is None else seat.fell[:MAX_ID_CHARS],
                }
                for seat in record.seats
            ],
            "turns": record.turns,
            "late": sum(seat.late for seat in record.seats),
            "elapsed_ns": record.elapsed_ns,
            "stalls": record.stalls,
            "why": record.why[:MAX_WHY_CHARS],
            "journal": _link(source, record, target),
        }
        for record in records
    ]


def _link(source: ReportSource, record: MatchRecord, target: Path | None) -> str | None:
    """Return the address of a journal, relative to the report."""
    path = journal_path(source.folder, record)
    if target is None or path is None:
        return None
    return quote(relpath(path.resolve(), target.resolve()))


def void_attempts(source: ReportSource) -> dict[str, Any]:
    """Return the number of void attempts and the reasons of the last ones.

    Args:
        source: the tournament.
    """
    found = voids(source.store, MAX_VOIDS) if source.counts.void else []
    return {
        "count": source.counts.void,
        "rows": [
            {"match": record.id[:MAX_ID_CHARS], "attempt": record.attempt, "why": record.why[:MAX_WHY_CHARS]}
            for record in found
        ],
    }
