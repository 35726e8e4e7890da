"""Excerpts of a store: the few of many matches that a report shows, found without reading them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Final, Literal

import attrs

from flagfall.tournament.formats.fixed_rounds import FixedRounds
from flagfall.tournament.formats.schedule import has_fixed_schedule, schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records
from flagfall.tournament.store import Store

_PLAYED: Final = "SELECT number FROM matches WHERE status = 'played'"


@attrs.frozen
class MatchCounts:
    """Numbers of stored matches.

    Attributes:
        journals: matches that count and have a journal.
    """

    played: int
    void: int
    journals: int
    largest: int


def count_matches(store: Store) -> MatchCounts:
    """Return the numbers of stored matches."""
    ((played, every, journals, largest),) = store.rows(
        "SELECT sum(status = 'played'), count(*), count(CASE WHEN status = 'played' THEN journal END),"
        " max(number) FROM matches"
    )
    return MatchCounts(int(played or 0), int(every) - int(played or 0), int(journals), int(largest or 0))


def _records(store: Store, query: str, *values: int | str) -> list[MatchRecord]:
    return store.numbered([int(row[0]) for row in store.rows(query, *values)])


def recent(store: Store, limit: int) -> list[MatchRecord]:
    """Return the matches that were stored last, the oldest of them first."""
    return _records(store, f"{_PLAYED} ORDER BY number DESC LIMIT ?", limit)[::-1]


def sample(store: Store, limit: int, seed: int) -> tuple[list[MatchRecord], bool]:
    """Return matches with a journal and an end of a task: all of them, or a random part.

    None if no match has two ends of tasks: there is no course of episodes to be seen then.

    Returns:
        The records, and whether matches were left out.
    """
    query = f"{_PLAYED} AND journal IS NOT NULL AND tasks > 0"
    if not store.rows(f"{_PLAYED} AND journal IS NOT NULL AND tasks > 1 LIMIT 1"):
        return [], False
    numbers = [int(row[0]) for row in store.rows(f"{query} ORDER BY number LIMIT ?", limit + 1)]
    left_out = len(numbers) > limit
    if left_out:
        largest = count_matches(store).largest
        # Some of the numbers belong to other matches, so more are drawn than are needed.
        drawn = Random(seed).sample(range(1, largest + 1), min(largest, _DRAWN * limit))
        marks = ", ".join("?" * len(drawn))
        numbers = [int(row[0]) for row in store.rows(f"{query} AND number IN ({marks})", *drawn)]
        numbers = sorted(Random(seed).sample(numbers, min(limit, len(numbers))))
    return store.numbered(numbers), left_out


_DRAWN: Final = 4
"""Numbers that are drawn for each match of a sample."""


def first_disqualifications(store: Store, limit: int) -> list[tuple[str, str, MatchRecord]]:
    """Return for each agent and reason the first match in which it was disqualified for this reason."""
    rows = store.rows(
        "SELECT agent, fell, min(match) FROM seats WHERE fell IS NOT NULL AND match IN"  # noqa: S608 - ours
        f" ({_PLAYED}) GROUP BY agent, fell ORDER BY min(match) LIMIT ?",
        limit,
    )
    records = {number: store.numbered([number]) for number in {int(row[2]) for row in rows}}
    return [(str(agent), str(fell), records[int(number)][0]) for agent, fell, number in rows]


def disqualified(store: Store, limit: int) -> list[MatchRecord]:
    """Return matches in which an agent was disqualified, one for each agent and reason."""
    found = {record.id: record for _, _, record in first_disqualifications(store, limit)}
    return list(found.values())


def most_late(store: Store, limit: int) -> list[MatchRecord]:
    """Return the matches with most late turns."""
    return _by_seats(store, "sum(late)", "sum(late) > 0", limit)


def closest(store: Store, limit: int) -> list[MatchRecord]:
    """Return the games for several seats with the smallest differences of rewards, long ones first."""
    condition = "count(*) > 1 AND count(fell) = 0"
    return _by_seats(store, "min(reward) - max(reward), sum(turns)", condition, limit)


def longest(store: Store, limit: int) -> list[MatchRecord]:
    """Return the matches with most turns."""
    return _records(store, f"{_PLAYED} ORDER BY turns DESC, number LIMIT ?", limit)


def most_rewarded(store: Store, limit: int) -> list[MatchRecord]:
    """Return the matches of a single agent with the largest rewards."""
    return _by_seats(store, "max(reward)", "count(*) = 1", limit)


def _by_seats(store: Store, order: str, condition: str, limit: int) -> list[MatchRecord]:
    keys = ", ".join(f"{key} DESC" for key in order.split(", "))
    return _records(
        store,
        f"SELECT match FROM seats WHERE match IN ({_PLAYED}) GROUP BY match HAVING {condition}"  # noqa: S608
        f" ORDER BY {keys}, match LIMIT ?",
        limit,
    )


def latest(store: Store, which: Literal["first", "last"]) -> MatchRecord | None:
    """Return the first or the last match with a journal; `None` if there is none."""
    order = "ASC" if which == "first" else "DESC"
    found = _records(store, f"{_PLAYED} AND journal IS NOT NULL ORDER BY number {order} LIMIT 1")
    return found[0] if found else None


def voids(store: Store, limit: int) -> list[MatchRecord]:
    """Return the last void attempts."""
    query = "SELECT number FROM matches WHERE status = 'void' ORDER BY number DESC LIMIT ?"
    return _records(store, query, limit)


def spec_of(plan: TournamentPlan, records: Records | None, ids: Iterable[str]) -> Mapping[str, MatchSpec]:
    """Return some matches of the schedule by id; unknown ids are left out.

    Args:
        records: results, of a schedule that depends on them.
    """
    wanted = set(ids)
    found: dict[str, MatchSpec] = {}
    if has_fixed_schedule(plan):
        assert isinstance(plan.format, FixedRounds)
        # Walking all of a long schedule would take seconds.
        meetings = sorted({name.rpartition("-")[0] for name in wanted})
        walk: Iterator[MatchSpec] = plan.format.matches_of_meetings(plan, meetings)
    else:
        walk = schedule(plan).walk(records or {})
    for spec in walk:
        if spec.id in wanted:
            found[spec.id] = spec
            if len(found) == len(wanted):
                break
    return found
