"""Data of a report, as plain values for the page, the plots and other programs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import attrs

from flagfall.errors import UsageError
from flagfall.texts import one_line, short_names
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
from flagfall.tournament.folder import journal_path
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.tables import shown_columns
from flagfall.viewer.pages import Block, self_contained_page
from flagfall.viewer.replay.page import MAX_PAGE_BYTES, PageFull, replay_blocks
from flagfall.viewer.report.comparisons import (
    BINS_OF_AN_OCTAVE,
    cross_table,
    differences,
    disqualifications,
    learning_curves,
    limit_curves,
    limits,
    rating_course,
    think_times,
)
from flagfall.viewer.report.source import ReportSource, facts_of, state_line

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
    """A match that is worth seeing, and why, in a few words."""

    record: MatchRecord
    why: str
    path: Path


def choose(source: ReportSource, number: int) -> list[Chosen]:
    """Return matches that are worth seeing, by one reason after the other, each match once."""
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
                path = journal_path(source.folder, record.journal)
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
    """Return the matches that were stored last, with links to their journals from `target`, if any."""
    records = recent(source.store, MAX_MATCHES)
    return {"rows": match_rows(source, records, target), "of": source.counts.played}


def match_rows(source: ReportSource, records: list[MatchRecord], target: Path | None) -> list[dict[str, Any]]:
    """Return matches that count as plain data; see `latest_matches`."""
    specs = spec_of(source.plan, source.results.records, (record.id for record in records))
    tasks = {task.name: place for place, task in enumerate(source.plan.tasks)}
    rank = {name: place for place, name in enumerate(source.ranked)}
    return [
        {
            "match": record.id[:MAX_ID_CHARS],
            "task": tasks[specs[record.id].task] if record.id in specs else None,
            "opening": str(specs[record.id].opening or "") if record.id in specs else "",
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
    path = journal_path(source.folder, record.journal)
    if target is None or path is None:
        return None
    return quote(relpath(path.resolve(), target.resolve()))


def void_attempts(source: ReportSource) -> dict[str, Any]:
    """Return the number of void attempts and the reasons of the last ones."""
    found = voids(source.store, MAX_VOIDS) if source.counts.void else []
    return {
        "count": source.counts.void,
        "rows": [
            {"match": record.id[:MAX_ID_CHARS], "attempt": record.attempt, "why": record.why[:MAX_WHY_CHARS]}
            for record in found
        ],
    }


MAX_TURNS: Final = 5000
"""Turns of a match that a report embeds, from its beginning; `flagfall replay` shows all of a longer one."""


def embed_replays(
    chosen: Sequence[Chosen], warn: Callable[[str], None], watch: Callable[[int], None] = lambda _turns: None
) -> tuple[list[Chosen], dict[str, Block]]:
    """Return the matches whose replays fit into a page, and the blocks of these replays.

    No module that a journal names is imported: pictures are there for the tasks of flagfall itself.

    Args:
        chosen: matches to embed, the most interesting first.
        warn: takes a line on each match that cannot be embedded.
        watch: called with the number of turns done, over all matches.
    """
    embedded: list[Chosen] = []
    blocks: dict[str, Block] = {}
    left, done = MAX_PAGE_BYTES, 0
    for one in chosen:
        turns = None if one.record.turns <= MAX_TURNS else (0, MAX_TURNS - 1)
        try:
            found = replay_blocks(
                one.path,
                prefix=f"match-{len(embedded)}-",
                turns=turns,
                max_bytes=left,
                watch=lambda turn, before=done: watch(before + turn),  # type: ignore[misc]
            )
        except PageFull:
            warn(
                f"match {one_line(one.record.id)} is not embedded, for lack of room in the page;"
                f" `flagfall replay {shlex.quote(str(one.path))}` shows it"
            )
            continue
        except UsageError as error:
            warn(f"match {one_line(one.record.id)} is not embedded: {one_line(str(error))}")
            continue
        done += min(one.record.turns, MAX_TURNS)
        left -= sum(len(block) for block in found.values() if isinstance(block, bytes))
        blocks.update(found)
        embedded.append(one)
    return embedded, blocks


MAX_TITLE_CHARS: Final = 300
MAX_TASK_ROWS: Final = 5000
"""Most rows of the table of tasks and agents; `flagfall results` has them all."""


def report_data(
    source: ReportSource, chosen: Sequence[Chosen] = (), *, target: Path | None = None
) -> dict[str, Any]:
    """Return the data of a report.

    Agents are numbered by their order in the standings, and tasks by that in the plan.

    Args:
        chosen: matches whose replays are embedded.
        target: folder of the report, from which links lead to journals; `None` for no links.

    Raises:
        DamagedStore: a record cannot be read.
    """
    stands = source.standings.as_data()
    rank = {name: place for place, name in enumerate(source.ranked)}
    tasks = {task.name: place for place, task in enumerate(source.plan.tasks)}
    short = short_names(tasks)
    return {
        "version": 1,
        "title": source.plan.name[:MAX_TITLE_CHARS],
        "state": source.state,
        "state_line": state_line(source),
        "facts": facts_of(source),
        "notes": stands["notes"],
        "agents": list(source.ranked),
        "tasks": [
            {"name": task.name, "short": short[task.name], "seats": task.seats, "score": task.score}
            for task in source.plan.tasks
        ],
        "columns": [column.as_data() for column in shown_columns("pages", source.standings.drawn)],
        "drawn": source.standings.drawn,
        "elo_level": source.standings.table.elo.level,
        "standings": stands["rows"],
        "timeless": stands["timeless"],
        "sprt": stands["sprt"],
        "task_rows": [
            {**row, "agent": rank[row["agent"]], "task": tasks[row["task"]]}
            for row in stands["tasks"][:MAX_TASK_ROWS]
        ],
        "task_rows_of": len(stands["tasks"]),
        "cross": cross_table(source),
        "differences": differences(source),
        "ratings": rating_course(source),
        "curves": learning_curves(source),
        "times": {
            "bins_of_an_octave": BINS_OF_AN_OCTAVE,
            "agents": think_times(source),
            "limits": limits(source),
        },
        "limits": limit_curves(source),
        "falls": disqualifications(source),
        "matches": latest_matches(source, target),
        "voids": void_attempts(source),
        "embedded": [
            {**row, "why": one.why, "prefix": f"match-{number}-"}
            for number, (one, row) in enumerate(
                zip(chosen, match_rows(source, [one.record for one in chosen], target), strict=True)
            )
        ],
    }


ENTRY: Final = "report/main.js"
STYLES: Final = ("replay/replay.css", "report/report.css")


def report_page(data: Mapping[str, Any], replays: Mapping[str, Block] | None = None) -> bytes:
    """Return the page that shows a report, with the blocks of the embedded replays."""
    blocks: dict[str, Block] = {"report": data, **(replays or {})}
    return self_contained_page(
        title=f"{data['title']} - tournament report", entry=ENTRY, blocks=blocks, styles=STYLES
    )
