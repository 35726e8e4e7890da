"""Numbers that agents noted on their turns, added up over the matches that count, and their table.

The table `noted` of the database has a row for each name of each seat whose agent noted numbers.
"""

from __future__ import annotations

__all__ = ["NotedSum", "noted_sums", "put_noted", "read_noted", "stored_sums"]

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

import attrs
import msgspec

from flagfall.tournament.records import MatchRecord

_PUT: Final = "INSERT INTO noted (match, seat, name, total) VALUES (?, ?, ?, ?)"
_READ: Final = "SELECT match, seat, name, total FROM noted WHERE match > ? AND match <= ?"
_SUMS: Final = """
    SELECT agent, name, sum(total), count(DISTINCT seats.match)
    FROM noted JOIN seats USING (match, seat) JOIN matches ON matches.number = seats.match
    WHERE status = 'played' GROUP BY agent, name ORDER BY agent, name
"""


@attrs.frozen
class NotedSum:
    """Sum of the numbers that an agent noted under one name, such as the tokens of a language model.

    Attributes:
        agent: name in the plan.
        name: the name of the numbers.
        total: their sum.
        matches: matches in which the agent noted such a number.
    """

    agent: str
    name: str
    total: float
    matches: int


def noted_sums(records: Iterable[MatchRecord]) -> tuple[NotedSum, ...]:
    """Return the sums of all agents, ordered by agent and name.

    Args:
        records: the records of the matches that count.
    """
    sums: dict[tuple[str, str], tuple[float, int]] = {}
    for record in records:
        for seat in record.seats:
            for name, number in seat.noted.items():
                total, matches = sums.get((seat.agent, name), (0.0, 0))
                sums[seat.agent, name] = total + number, matches + 1
    return tuple(NotedSum(agent, name, *sums[agent, name]) for agent, name in sorted(sums))


def put_noted(database: sqlite3.Connection, numbered: Iterable[tuple[int, MatchRecord]]) -> None:
    """Store what the agents of matches noted, in the open transaction.

    Args:
        database: the database of a tournament.
        numbered: the records, each with its number.
    """
    rows = [
        (number, place, name, total)
        for number, record in numbered
        for place, seat in enumerate(record.seats)
        for name, total in seat.noted.items()
    ]
    database.executemany(_PUT, rows)


def read_noted(database: sqlite3.Connection, after: int, last: int) -> dict[tuple[int, int], dict[Any, Any]]:
    """Return what agents noted by match and seat; names and numbers are unchecked.

    Args:
        database: the database of a tournament.
        after: number of the record before the first one.
        last: number of the last record.
    """
    sums: dict[tuple[int, int], dict[Any, Any]] = {}
    for match, seat, name, total in database.execute(_READ, (after, last)):
        sums.setdefault((match, seat), {})[name] = total
    return sums


def stored_sums(database: sqlite3.Connection) -> tuple[NotedSum, ...]:
    """Return the sums over the stored matches that count, ordered by agent and name.

    Args:
        database: the database of a tournament.

    Raises:
        msgspec.ValidationError: a row has values of other types.
    """
    rows = msgspec.convert(database.execute(_SUMS).fetchall(), list[tuple[str, str, float, int]])
    return tuple(NotedSum(*row) for row in rows)
