"""Pairwise results from records: points of meetings, and duels of two agents.

Matches of one meeting share a seed and depend on each other; meetings are independent. Intervals are
therefore computed over meetings.
"""

from __future__ import annotations

__all__ = ["Duel", "MeetingResult", "meeting_results", "points_of"]

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from typing import Final

import attrs

from flagfall.tournament.records import MatchRecord, MatchSpec, compare_solo


@attrs.frozen
class Duel:
    """One comparison of two agents.

    Attributes:
        agents: names of the two.
        score: the score of the first one: 1, 0.5 or 0.
    """

    agents: tuple[str, str]
    score: float


@attrs.frozen
class MeetingResult:
    """Result of a meeting, or of the part of it that was played.

    Attributes:
        task: its name.
        points: the points of each game, see `points_of`.
        duels: from games for two seats, and from agents that played alone. If both agents were disqualified
            there is none.
        tables: score by agent of each game for more than two seats.
    """

    task: str
    points: tuple[dict[str, float], ...]
    duels: tuple[Duel, ...]
    tables: tuple[dict[str, float], ...]


def meeting_results(played: Iterable[tuple[MatchSpec, MatchRecord]]) -> Iterator[MeetingResult]:
    """Yield the result of each meeting.

    Args:
        played: matches with their records, in the order of the schedule.
    """
    for _, group in groupby(played, key=lambda pair: pair[0].meeting):
        pairs = list(group)
        records = [record for _, record in pairs]
        points = points_of(records)
        seats = len(records[0].seats)
        yield MeetingResult(
            pairs[0][0].task,
            points,
            tuple(_duels_alone(records) if seats == 1 else _duels(records) if seats == PAIR else ()),
            points if seats > PAIR else (),
        )


PAIR: Final = 2
"""Seats of a game that is a duel."""


def points_of(records: Sequence[MatchRecord]) -> tuple[dict[str, float], ...]:
    """Return the points of each agent, from 0 to 1, in each game of one meeting.

    In a game for several seats they are the scores. Agents that played alone count as one game, in which each
    has the share of the others that it beat; a single agent has none.

    Args:
        records: the records of the matches of the meeting.
    """
    if len(records[0].seats) > 1:
        return tuple({seat.agent: seat.score for seat in record.seats} for record in records)
    if len(records) == 1:
        return ()
    totals = {record.seats[0].agent: 0.0 for record in records}
    for first, second in combinations(records, 2):
        for record, points in zip((first, second), compare_solo(first, second), strict=True):
            totals[record.seats[0].agent] += points
    return ({agent: total / (len(records) - 1) for agent, total in totals.items()},)


def _duels(records: Sequence[MatchRecord]) -> Iterator[Duel]:
    for record in records:
        one, other = record.seats
        if one.score or other.score:
            yield Duel((one.agent, other.agent), one.score)


def _duels_alone(records: Sequence[MatchRecord]) -> Iterator[Duel]:
    for first, second in combinations(records, 2):
        points = compare_solo(first, second)
        if any(points):
            yield Duel((first.seats[0].agent, second.seats[0].agent), points[0])
