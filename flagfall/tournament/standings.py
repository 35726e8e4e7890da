"""Standings of a tournament: ranks with their uncertainty, and use of time. Pure, from records.

*Score*: of the games at a task, the share of the other agents that an agent beat, 0.5 if it equals all of
them; games of one meeting count together, tasks count alike. *Elo* comes from duels, see
`flagfall.tournament.stats.elo`; *skill* from games for more than two seats, see
`flagfall.tournament.stats.skill`. An agent is ranked by its Elo, or by its score if no agent has an Elo; in a
Swiss tournament by points, in a knockout by the rounds that it survived, and under Formula One scoring by
points for its place on each task.
"""

from __future__ import annotations

__all__ = ["AgentRow", "Standings", "TaskRow", "standings"]

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from flagfall.kernel.seeding import derive_seed
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import Points, TournamentPlan
from flagfall.tournament.records import (
    TIME_LOSSES,
    MatchRecord,
    Played,
    Records,
    SeatRecord,
    without_time_losses,
)
from flagfall.tournament.scoring import rank_key, rank_tasks, ranked
from flagfall.tournament.stats.duels import MeetingResult, meeting_results
from flagfall.tournament.stats.elo import RatedDuel, Ratings, rate
from flagfall.tournament.stats.intervals import RESAMPLES, Interval, bootstrap_mean, wilson
from flagfall.tournament.stats.skill import Skill, rate_skills
from flagfall.tournament.stats.sprt import SprtState
from flagfall.tournament.stats.time_histogram import TimeHistogram

P50, P99 = 0.5, 0.99


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


@attrs.frozen(kw_only=True)
class TaskRow:
    """One agent on one task.

    Attributes:
        task: name of the task.
        agent: name of the agent.
        matches: matches that it played.
        score: mean of its scores, by the measure of the task.
        reward: mean of its rewards.
        solved: instances solved, of a task with one seat.
        tasks: instances that count.
        fell: matches in which it was disqualified.
    """

    task: str
    agent: str
    matches: int
    score: Interval
    reward: float
    solved: int
    tasks: int
    fell: int


@attrs.frozen(kw_only=True)
class Standings:
    """Standings of a tournament.

    Attributes:
        rows: the agents, the best first.
        timeless: the same without matches in which an agent was disqualified by the clock; empty if there are
            none.
        tasks: by task, in the order of the plan.
        sprt: state of the sequential test; `None` if the plan has none.
        over: no match is left to play.
        notes: remarks for readers of the tables.
    """

    rows: tuple[AgentRow, ...]
    timeless: tuple[AgentRow, ...]
    tasks: tuple[TaskRow, ...]
    sprt: SprtState | None
    over: bool
    notes: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """Return the standings as plain data for JSON."""
        data = attrs.asdict(self)
        if self.sprt is not None:
            data["sprt"]["decision"] = self.sprt.decision
            data["sprt"]["counts"] = {str(outcome): n for outcome, n in self.sprt.counts.items()}
        return data


def standings(plan: TournamentPlan, records: Records, *, resamples: int = RESAMPLES) -> Standings:
    """Return the standings of a tournament.

    Args:
        plan: the plan of the tournament.
        records: the records of the matches that count.
        resamples: resamples for the intervals of scores; 0 computes none, for speed.
    """
    order = schedule(plan)
    played = list(order.played(records))
    table = _Table(plan, played, resamples)
    kept = without_time_losses(records)
    timeless = [(spec, record) for spec, record in played if record.id in kept]
    return Standings(
        rows=table.rows(*_ranks(plan, records, played)),
        timeless=() if len(kept) == len(records) else _Table(plan, timeless, resamples).rows({}, {}),
        tasks=tuple(_task_rows(plan, played, resamples)),
        sprt=order.sprt(records),
        over=order.over(records),
        notes=tuple(table.notes()),
    )


_RankKeys = Mapping[str, tuple[float, ...]]
"""By agent: numbers that rank it before its rating does, the most important first; larger is better."""


def _ranks(plan: TournamentPlan, records: Records, played: Played) -> tuple[Points, _RankKeys]:
    """Return the points of the format or the scoring; both are empty if ratings alone rank the agents."""
    if plan.scoring == "formula-one":
        keys = rank_key([agent.name for agent in plan.agents], rank_tasks(plan, played))
        return {agent: (float(key[0]), None) for agent, key in keys.items()}, keys
    points = plan.format.ranks(plan, records)
    return points, {agent: (own, buchholz or 0.0) for agent, (own, buchholz) in points.items()}


class _Table:
    """Rows of all agents over some matches.

    Args:
        plan: the plan of the tournament.
        played: the matches.
        resamples: resamples for the intervals of scores.
    """

    def __init__(self, plan: TournamentPlan, played: Played, resamples: int) -> None:
        self._plan = plan
        self._resamples = resamples
        self._seats: dict[str, list[SeatRecord]] = defaultdict(list)
        for _, record in played:
            for seat in record.seats:
                self._seats[seat.agent].append(seat)
        results = list(meeting_results(played))
        self._duels = [
            RatedDuel(*duel.agents, duel.score, number)
            for number, result in enumerate(results)
            for duel in result.duels
        ]
        self._tables = [table for result in results for table in result.tables]
        self._ratings: Ratings = rate(self._duels, plan.anchor)
        self._skills = rate_skills(self._tables) if self._tables else {}
        self._points = _points_by_task(results)

    def rows(self, points: Points, keys: _RankKeys) -> tuple[AgentRow, ...]:
        """Return the rows, the best first.

        Args:
            points: the points of the format or the scoring.
            keys: rank agents before their ratings do.
        """
        outcomes = self._outcomes()
        names = [agent.name for agent in self._plan.agents]
        rows = [self._row(name, points.get(name, (None, None)), outcomes[name]) for name in names]
        by_ratings = self._plan.scoring == "ratings"

        def key(row: AgentRow) -> tuple[float, ...]:
            before = (-number for number in keys.get(row.agent, ()))
            return (*before, *(_rating_key(row) if by_ratings or not keys else ()))

        return tuple(attrs.evolve(row, place=place) for place, row in ranked(rows, key))

    def _outcomes(self) -> Mapping[str, Counter[float]]:
        """Return by agent how many of its duels had each score."""
        outcomes: dict[str, Counter[float]] = defaultdict(Counter)
        for duel in self._duels:
            outcomes[duel.first][duel.score] += 1
            outcomes[duel.second][1 - duel.score] += 1
        return outcomes

    def _row(
        self, name: str, points: tuple[float | None, float | None], outcomes: Counter[float]
    ) -> AgentRow:
        seats = self._seats[name]
        thinking = TimeHistogram(pair for seat in seats for pair in seat.thinking)
        time_losses = sum(seat.fell in TIME_LOSSES for seat in seats)
        fell = sum(seat.fell is not None for seat in seats)
        sums = {counter: sum(getattr(seat, counter) for seat in seats) for counter in _SUMMED}
        return AgentRow(
            agent=name,
            matches=len(seats),
            wins=outcomes[1],
            draws=outcomes[0.5],
            losses=outcomes[0],
            points=points[0],
            buchholz=points[1],
            score=self._score(name),
            elo=self._ratings.elo.get(name),
            skill=(self._skills or {}).get(name),
            fell=fell,
            time_losses=time_losses,
            crashes=fell - time_losses,
            think_p50_ns=thinking.quantile_ns(P50),
            think_p99_ns=thinking.quantile_ns(P99),
            think_max_ns=max((seat.think_max_ns for seat in seats), default=0),
            **sums,
        )

    def _score(self, name: str) -> Interval | None:
        groups = list(self._points[name].values())
        if not groups:
            return None
        seed = derive_seed(self._plan.seed, "bootstrap", name)
        drawn = bootstrap_mean(groups, seed, self._resamples)
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
        return (0.0, -round(row.elo.value, 6))
    return (1.0, -row.score.value if row.score is not None else 1.0)


def _points_by_task(results: Iterable[MeetingResult]) -> Mapping[str, Mapping[str, list[float]]]:
    """Return by agent and task its points of each meeting."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        games: dict[str, list[float]] = defaultdict(list)
        for points in result.points:
            for name, share in points.items():
                games[name].append(share)
        for name, shares in games.items():
            found[name][result.task].append(sum(shares) / len(shares))
    return found


def _task_rows(plan: TournamentPlan, played: Played, resamples: int) -> Iterable[TaskRow]:
    found: dict[tuple[str, str], list[tuple[str, MatchRecord, SeatRecord]]] = defaultdict(list)
    for spec, record in played:
        for seat in record.seats:
            found[spec.task, seat.agent].append((spec.meeting, record, seat))
    for task in plan.tasks:
        for name in task.agents:
            mine = found[task.name, name]
            if not mine:
                continue
            meetings: dict[str, list[float]] = defaultdict(list)
            for meeting, _, seat in mine:
                meetings[meeting].append(seat.score)
            means = [sum(scores) / len(scores) for scores in meetings.values()]
            seed = derive_seed(plan.seed, "bootstrap", name, task.name)
            yield TaskRow(
                task=task.name,
                agent=name,
                matches=len(mine),
                score=bootstrap_mean([means], seed, resamples),
                reward=sum(seat.reward for _, _, seat in mine) / len(mine),
                solved=sum(record.solved for _, record, _ in mine) if task.seats == 1 else 0,
                tasks=sum(record.tasks for _, record, _ in mine),
                fell=sum(seat.fell is not None for _, _, seat in mine),
            )
