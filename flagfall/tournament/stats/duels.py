"""What records say of agents against each other: points of meetings, and duels of two.

Matches of one meeting share a seed and depend on each other; meetings do not. So a meeting is what intervals
count.
"""

from __future__ import annotations

__all__ = ["Duel", "MeetingResult", "meeting_results", "points_of"]

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from typing import Final

import attrs

from flagfall.tournament.formats.encounters import better_of
from flagfall.tournament.records import MatchRecord, MatchSpec


@attrs.frozen
class Duel:
    """One agent against another, once.

    Attributes:
        agents: the two.
        score: of the first: 1, 0.5 or 0.
    """

    agents: tuple[str, str]
    score: float


@attrs.frozen
class MeetingResult:
    """What became of a meeting, or of as much of it as was played.

    Attributes:
        task: its name.
        points: by game, see `points_of`.
        duels: of games for two seats, and of agents who played alone. Where both fell there is none.
        tables: of games for more seats: the agents and their scores.
    """

    task: str
    points: tuple[dict[str, float], ...]
    duels: tuple[Duel, ...]
    tables: tuple[dict[str, float], ...]


def meeting_results(played: Iterable[tuple[MatchSpec, MatchRecord]]) -> Iterator[MeetingResult]:
    """What the records say, meeting by meeting.

    Args:
        played: in the order of the schedule.
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
    """What everybody has of the games of one meeting, from 0 to 1.

    Of a game for several seats it is their scores. Agents who played alone count as one game: each has the
    share of the others that it beat; nothing where there are no others.

    Args:
        records: of the matches of the meeting.
    """
    if len(records[0].seats) > 1:
        return tuple({seat.agent: seat.score for seat in record.seats} for record in records)
    if len(records) == 1:
        return ()
    totals = {record.seats[0].agent: 0.0 for record in records}
    for first, second in combinations(records, 2):
        for record, points in zip((first, second), better_of(first, second), strict=True):
            totals[record.seats[0].agent] += points
    return ({agent: total / (len(records) - 1) for agent, total in totals.items()},)


def _duels(records: Sequence[MatchRecord]) -> Iterator[Duel]:
    for record in records:
        one, other = record.seats
        if one.score or other.score:
            yield Duel((one.agent, other.agent), one.score)


def _duels_alone(records: Sequence[MatchRecord]) -> Iterator[Duel]:
    for first, second in combinations(records, 2):
        points = better_of(first, second)
        if any(points):
            yield Duel((first.seats[0].agent, second.seats[0].agent), points[0])
