"""Standings computed record by record, the straightforward way, to compare the computed tables with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations, groupby
from typing import Any

import attrs
import numpy as np

from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import (
    TIME_LOSSES,
    MatchRecord,
    MatchSpec,
    SeatRecord,
    TimeHistogram,
    compare_solo,
)
from flagfall.tournament.stats.duels import ELO_SCALE, Duels, points_of
from flagfall.tournament.stats.elo import Ratings, rate_duels
from flagfall.tournament.stats.intervals import Interval, bounded_mean, unbounded_mean

Pairs = Sequence[tuple[MatchSpec, MatchRecord]]


@attrs.frozen
class RatedDuel:
    """A duel of two agents by name: the score of the first, and the number of its meeting."""

    first: str
    second: str
    score: float
    meeting: int


def ends(interval: Interval) -> tuple[float, float]:
    """Return both ends of an interval that has them."""
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def rate(duels: Sequence[RatedDuel], anchor: str | None = None) -> Ratings:
    """Return the Elo of every agent that had a duel."""
    names = tuple(dict.fromkeys(name for duel in duels for name in (duel.first, duel.second)))
    rows = [(names.index(duel.first), names.index(duel.second), duel.meeting) for duel in duels]
    first, second, meeting = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return rate_duels(names, Duels(first, second, np.array([duel.score for duel in duels]), meeting), anchor)


def meetings_of(played: Pairs) -> list[list[tuple[MatchSpec, MatchRecord]]]:
    return [list(group) for _, group in groupby(played, key=lambda pair: pair[0].meeting)]


def plain_duels(played: Pairs) -> list[RatedDuel]:
    duels = []
    for number, meeting in enumerate(meetings_of(played)):
        records = [record for _, record in meeting]
        if len(records[0].seats) == 1:
            for first, second in combinations(records, 2):
                points = compare_solo(first, second)
                if any(points):
                    duels.append(RatedDuel(first.seats[0].agent, second.seats[0].agent, points[0], number))
        elif len(records[0].seats) == 2:
            for record in records:
                one, other = record.seats
                if one.score or other.score:
                    duels.append(RatedDuel(one.agent, other.agent, one.score, number))
    return duels


def plain_pairs(played: Pairs) -> list[RatedDuel]:
    """Return the pairs of games for more than two seats."""
    return [
        RatedDuel(one.agent, other.agent, compare_seats(one, other), number)
        for number, meeting in enumerate(meetings_of(played))
        for _, record in meeting
        if len(record.seats) > 2
        for one, other in combinations(record.seats, 2)
        if one.fell is None or other.fell is None
    ]


def compare_seats(one: SeatRecord, other: SeatRecord) -> float:
    if one.fell is not None or other.fell is not None:
        return float(one.fell is None)
    return 0.5 if one.reward == other.reward else float(one.reward > other.reward)


def plain_rows(plan: TournamentPlan, played: Pairs) -> dict[str, dict[str, Any]]:
    """Return everything but ratings and intervals, by agent."""
    rows: dict[str, dict[str, Any]] = {}
    outcomes: dict[str, Counter[float]] = defaultdict(Counter)
    for duel in plain_duels(played):
        outcomes[duel.first][duel.score] += 1
        outcomes[duel.second][1 - duel.score] += 1
    for agent in (agent.name for agent in plan.agents):
        seats = [seat for _, record in played for seat in record.seats if seat.agent == agent]
        times = TimeHistogram(pair for seat in seats for pair in seat.thinking)
        fell = [seat.fell for seat in seats if seat.fell is not None]
        rows[agent] = {
            "matches": len(seats),
            "wins": outcomes[agent][1],
            "draws": outcomes[agent][0.5],
            "losses": outcomes[agent][0],
            "fell": len(fell),
            "time_losses": sum(reason in TIME_LOSSES for reason in fell),
            "crashes": sum(reason not in TIME_LOSSES for reason in fell),
            "think_p50_ns": times.quantile_ns(0.5),
            "think_p99_ns": times.quantile_ns(0.99),
            "think_max_ns": max((seat.think_max_ns for seat in seats), default=0),
            **{
                name: sum(getattr(seat, name) for seat in seats)
                for name in ("turns", "late", "illegal", "dropped", "over_ns")
            },
        }
    return rows


def plain_scores(played: Pairs) -> dict[str, Any]:
    """Return the mean of each agent's points, with its interval."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for meeting in meetings_of(played):
        games: dict[str, list[float]] = defaultdict(list)
        for points in points_of([record for _, record in meeting]):
            for name, share in points.items():
                games[name].append(share)
        for name, shares in games.items():
            found[name][meeting[0][0].task].append(sum(shares) / len(shares))
    return {
        name: bounded_mean([np.array(group) for group in groups.values()]).interval()
        for name, groups in found.items()
    }


def plain_tasks(plan: TournamentPlan, played: Pairs) -> list[dict[str, Any]]:
    rows = []
    for task in plan.tasks:
        for name in task.agents:
            mine = [
                (spec, record, seat)
                for spec, record in played
                for seat in record.seats
                if (spec.task, seat.agent) == (task.name, name)
            ]
            if not mine:
                continue
            scores: dict[str, list[float]] = defaultdict(list)
            for spec, _, seat in mine:
                scores[spec.meeting].append(seat.score)
            is_bounded = task.seats > 1 or task.score == "result"
            estimate = bounded_mean if is_bounded else unbounded_mean
            rows.append(
                {
                    "task": task.name,
                    "agent": name,
                    "matches": len(mine),
                    "score": estimate(
                        [np.array([sum(some) / len(some) for some in scores.values()])]
                    ).interval(),
                    "reward": sum(seat.reward for _, _, seat in mine) / len(mine),
                    "solved": sum(record.solved for _, record, _ in mine) if task.seats == 1 else 0,
                    "tasks": sum(record.tasks for _, record, _ in mine),
                    "fell": sum(seat.fell is not None for _, _, seat in mine),
                }
            )
    return rows


def likelihood_is_greatest(duels: Sequence[RatedDuel], elo: Mapping[str, float]) -> bool:
    """Return whether the expected points of each agent are those that it has: then the likelihood is."""
    surplus: Counter[str] = Counter()
    for duel in duels:
        expected = 1 / (1 + np.exp((elo[duel.second] - elo[duel.first]) / ELO_SCALE))
        surplus[duel.first] += duel.score - expected
        surplus[duel.second] -= duel.score - expected
    return all(abs(value) < 1e-6 for value in surplus.values())


def played_of(plan: TournamentPlan, records: Mapping[str, MatchRecord]) -> Pairs:
    return list(schedule(plan).played(records))
