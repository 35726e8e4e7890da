"""Rows of standings for each agent over all its matches."""

from __future__ import annotations

__all__ = ["AgentRow", "AgentTable", "RankKeys"]

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import attrs
import numpy as np

from flagfall.kernel.seeding import derive_seed
from flagfall.tournament.columns import NOT_DISQUALIFIED, Array, ResultColumns
from flagfall.tournament.grouping import Groups
from flagfall.tournament.model import Points, TournamentPlan
from flagfall.tournament.scoring import ranked
from flagfall.tournament.stats.duels import duels_of, game_tables, meeting_points
from flagfall.tournament.stats.elo import Ratings, rate_duels
from flagfall.tournament.stats.intervals import Interval, bootstrap_mean, normal_bound, wilson
from flagfall.tournament.stats.skill import Skill, rate_skills
from flagfall.tournament.stats.time_histogram import TimeHistogram

P50, P99 = 0.5, 0.99
_PAIR: Final = 2

RankKeys: TypeAlias = Mapping[str, tuple[float, ...]]
"""By agent: numbers that rank it before its rating does, the most important first; larger is better."""


@attrs.frozen(kw_only=True)
class AgentRow:
    """One agent over all its matches. Counters are sums of those of `SeatRecord`.

    Attributes:
        place: one-based; equal agents share one.
        agent: its name.
        matches: matches that it played.
        wins: duels won.
        draws: duels drawn.
        losses: duels lost.
        points: Swiss: 1 for an encounter won, 0.5 for a drawn one. Knockout: rounds survived. Formula One
            scoring: points for its places.
        buchholz: Swiss: points of the agents that it met.
        score: see the head of this module; `None` if it met no other agent.
        elo: `None` if it had no duel.
        skill: `None` if it played no game for more than two seats.
        turns: turns that were judged.
        late: turns for which it was late.
        fell: matches in which it was disqualified.
        time_losses: of these, those in which it was disqualified for being late.
        crashes: of these, the others.
        illegal: turns answered with an action outside the action space.
        dropped: replies that answered no open turn.
        think_p50_ns: median time of a turn.
        think_p99_ns: 99th percentile of the time of a turn.
        think_max_ns: longest time of a turn.
        over_ns: total time beyond its limits.
    """

    place: int = 0
    agent: str
    matches: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    points: float | None = None
    buchholz: float | None = None
    score: Interval | None = None
    elo: Interval | None = None
    skill: Skill | None = None
    turns: int = 0
    late: int = 0
    fell: int = 0
    time_losses: int = 0
    crashes: int = 0
    illegal: int = 0
    dropped: int = 0
    think_p50_ns: int = 0
    think_p99_ns: int = 0
    think_max_ns: int = 0
    over_ns: int = 0


_SUMMED: Final = ("turns", "late", "illegal", "dropped", "over_ns")
"""Counters of `SeatRecord` whose sums an `AgentRow` has under the same name."""


class AgentTable:
    """Rows of all agents over some matches.

    Args:
        plan: the plan of the tournament.
        results: the matches.
        resamples: resamples for the intervals of scores.
    """

    def __init__(self, plan: TournamentPlan, results: ResultColumns, resamples: int) -> None:
        self._plan = plan
        self._results = results
        self._resamples = resamples
        size = len(results.agents)
        self._place = {name: place for place, name in enumerate(results.agents)}
        seats = Groups(results.agent, size)
        self._matches = seats.counts
        self._fell = seats.sums(results.fell != NOT_DISQUALIFIED)
        self._time_losses = seats.sums(results.time_losses())
        self._sums = {name: seats.sums(results.seat_counters[name]) for name in _SUMMED}
        self._longest = seats.largest(results.seat_counters["think_max_ns"])
        duels = duels_of(results)
        self._outcomes = duels.outcomes(size)
        self._ratings: Ratings = rate_duels(results.agents, duels, plan.anchor)
        self._skills = rate_skills(game_tables(results)) if (results.seats > _PAIR).any() else {}
        self._points, self._normal_from = _points_by_task(plan, results)

    def rows(self, points: Points, keys: RankKeys) -> tuple[AgentRow, ...]:
        """Return the rows, the best first.

        Args:
            points: the points of the format or the scoring.
            keys: rank agents before their ratings do.
        """
        names = [agent.name for agent in self._plan.agents]
        rows = [self._row(name, points.get(name, (None, None))) for name in names]
        by_ratings = self._plan.scoring == "ratings"

        def key(row: AgentRow) -> tuple[float, ...]:
            before = (-number for number in keys.get(row.agent, ()))
            return (*before, *(_rating_key(row) if by_ratings or not keys else ()))

        return tuple(attrs.evolve(row, place=place) for place, row in ranked(rows, key))

    def _row(self, name: str, points: tuple[float | None, float | None]) -> AgentRow:
        me = self._place[name]
        thinking = self._results.thinking
        times = TimeHistogram(
            (int(bucket), int(count)) for _, _, bucket, count in thinking[thinking[:, 0] == me]
        )
        losses, draws, wins = map(int, self._outcomes[me])
        fell, time_losses = int(self._fell[me]), int(self._time_losses[me])
        return AgentRow(
            agent=name,
            matches=int(self._matches[me]),
            wins=wins,
            draws=draws,
            losses=losses,
            points=points[0],
            buchholz=points[1],
            score=self._score(name),
            elo=self._ratings.elo.get(name),
            skill=(self._skills or {}).get(name),
            fell=fell,
            time_losses=time_losses,
            crashes=fell - time_losses,
            think_p50_ns=times.quantile_ns(P50),
            think_p99_ns=times.quantile_ns(P99),
            think_max_ns=int(self._longest[me]),
            **{counter: int(sums[me]) for counter, sums in self._sums.items()},
        )

    def _score(self, name: str) -> Interval | None:
        groups = self._points.get(self._place[name])
        if not groups:
            return None
        seed = derive_seed(self._plan.seed, "bootstrap", name)
        drawn = bootstrap_mean(groups, seed, self._resamples, normal_from=self._normal_from)
        # Without variation so far the bootstrap has no width, although later results may differ.
        if drawn.low is not None and drawn.low == drawn.high:
            drawn = wilson(drawn.value, sum(map(len, groups)))
        if drawn.low is None or drawn.high is None:
            return drawn
        return attrs.evolve(drawn, low=max(0.0, drawn.low), high=min(1.0, drawn.high))

    def notes(self) -> Iterable[str]:
        """Yield remarks for readers of the tables."""
        for group in self._ratings.groups[1:]:
            yield (
                f"{', '.join(group)}: no chain of duels connects them to the other agents, so compare"
                " Elo only within this group"
            )
        if self._ratings.with_prior:
            names = ", ".join(row.agent for row in self.rows({}, {}) if row.agent in self._ratings.with_prior)
            yield f"{names}: an agent is undefeated or has never scored, so Elo is based on a weak prior"
        if self._skills is None:
            yield "games for more than two seats are not rated: pip install 'flagfall[ratings]'"


def _rating_key(row: AgentRow) -> tuple[float, float]:
    """Return a sort key of a row by its ratings, smaller is better."""
    if row.elo is not None:
        return (0.0, -row.elo.value)
    return (1.0, -row.score.value if row.score is not None else 1.0)


def _points_by_task(
    plan: TournamentPlan, results: ResultColumns
) -> tuple[Mapping[int, Sequence[Array]], int | None]:
    """Return by agent its points of each meeting on each task, and `normal_from` of `bootstrap_mean`.

    The tasks are in the order in which the agent played them first.
    """
    points = meeting_points(results)
    groups = Groups(points.agent * len(plan.tasks) + points.task, len(results.agents) * len(plan.tasks))
    values = [points.points[rows] for rows in groups.rows()]
    found: dict[int, list[Array]] = {}
    for group in np.argsort(groups.firsts(), kind="stable"):
        found.setdefault(int(groups.keys[group]) // len(plan.tasks), []).append(values[group])
    return found, normal_bound(len(points.points))
