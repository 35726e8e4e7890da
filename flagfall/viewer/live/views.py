"""Values that the live page shows, bounded in number and length; their names are those of the page's JSON."""

from __future__ import annotations

__all__ = [
    "MAX_AGENTS",
    "MAX_RUNNING",
    "NewsItem",
    "NewsSeat",
    "RunView",
    "RunningView",
    "SeatClock",
    "cut",
    "news_item",
    "standings_view",
]

from typing import Any, Final, Literal

import attrs
import msgspec

from flagfall.tournament.records import MatchRecord
from flagfall.tournament.standings import Standings
from flagfall.tournament.tables.agents import shown_columns
from flagfall.tournament.tables.tasks import TaskRow

MAX_NAME_CHARS: Final = 200
"""Characters of the name of an agent, a task or a match."""

MAX_LINE_CHARS: Final = 500
"""Characters of a reason or a problem."""

MAX_AGENTS: Final = 500
"""Rows of the standings; a reader looks at fewer, and `flagfall results` prints all."""

MAX_TASK_ROWS: Final = 500
"""Rows of the table by task."""

MAX_NOTES: Final = 20
"""Remarks below the standings."""

MAX_RUNNING: Final = 64
"""Matches in progress that are shown one by one; the others are counted."""

MAX_SEATS: Final = 32
"""Seats of a match that are shown."""

State = Literal["missing", "waiting", "running", "paused", "stopping", "ended", "interrupted", "damaged"]


class SeatClock(msgspec.Struct):
    """Use of time of a seat in a match that is being played; `None` for what has no limit or is not known.

    `last_ns` and `last_limit_ns` are of its last turn, the other limits of the next one.
    """

    turns: int = 0
    late: int = 0
    spent_ns: int = 0
    last_ns: int | None = None
    last_limit_ns: int | None = None
    limit_ns: int | None = None
    bank_ns: int | None = None
    total_ns: int | None = None
    out: str | None = None


class RunningView(msgspec.Struct):
    """A match that is being played; `seconds` since it began, `turn_seconds` since its last recorded turn."""

    match: str
    task: str
    agents: list[str]
    attempt: int
    seconds: float
    turn: int | None = None
    turn_seconds: float | None = None
    seats: list[SeatClock] | None = None


class RunView(msgspec.Struct):
    """The state of the tournament; `left_seconds` is the estimated time to its end."""

    state: State
    detail: str = ""
    name: str = ""
    played: int = 0
    total: int | None = None
    void: int = 0
    jobs: int | None = None
    rate: float | None = None
    left_seconds: float | None = None
    controllable: bool = False
    running: list[RunningView] = []
    running_count: int = 0


class NewsSeat(msgspec.Struct):
    """A seat of a match that has ended."""

    agent: str
    score: float
    late: int
    out: str | None


class NewsItem(msgspec.Struct):
    """A match that has ended: `number` in the database, `why` if it is void or a stall coincided with it."""

    number: int
    match: str
    attempt: int
    void: bool
    why: str
    reason: str
    seats: list[NewsSeat]
    turns: int
    elapsed_ns: int
    stalls: int
    journal: bool
    task: str | None = None


def cut(text: str, most: int = MAX_NAME_CHARS) -> str:
    """Return a text, cut to a length, in which UTF-8 can hold every character.

    Args:
        text: any text.
        most: the most characters.
    """
    short = text if len(text) <= most else text[: most - 1] + "…"
    return short.encode("utf-8", "backslashreplace").decode()


def news_item(number: int, record: MatchRecord, task: str | None) -> NewsItem:
    """Return a record as it is shown.

    Args:
        number: its number in the database.
        record: the record, void or not.
        task: name of its task, if it is known.
    """
    return NewsItem(
        number=number,
        match=cut(record.id),
        attempt=record.attempt,
        void=record.status == "void",
        why=cut(record.why, MAX_LINE_CHARS),
        reason=cut(record.reason, MAX_LINE_CHARS),
        seats=[
            NewsSeat(cut(seat.agent), seat.score, seat.late, None if seat.fell is None else cut(seat.fell))
            for seat in record.seats[:MAX_SEATS]
        ],
        turns=record.turns,
        elapsed_ns=record.elapsed_ns,
        stalls=record.stalls,
        journal=record.journal is not None,
        task=None if task is None else cut(task),
    )


def standings_view(stands: Standings, matches: int) -> dict[str, Any]:
    """Return standings as they are shown.

    Args:
        stands: the standings.
        matches: number of matches that they count.
    """
    rows = stands.rows[:MAX_AGENTS]
    return {
        "matches": matches,
        "over": stands.over,
        "columns": [column.as_data() for column in shown_columns("pages", stands.drawn)],
        "drawn": stands.drawn,
        "rows": [row.as_data() | {"agent": cut(row.agent)} for row in rows],
        "left_out": len(stands.rows) - len(rows),
        "tasks": [_task_row(row) for row in stands.tasks[:MAX_TASK_ROWS]],
        "tasks_left_out": max(0, len(stands.tasks) - MAX_TASK_ROWS),
        "notes": [cut(note, MAX_LINE_CHARS) for note in stands.notes[:MAX_NOTES]],
    }


def _task_row(row: TaskRow) -> dict[str, Any]:
    return {
        "task": cut(row.task),
        "agent": cut(row.agent),
        "matches": row.matches,
        "score": attrs.asdict(row.score),
        "solved": row.solved,
        "tasks": row.tasks,
        "fell": row.fell,
    }
