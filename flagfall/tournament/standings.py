"""Standings: who stands where, how sure that is, and what everybody did with the time. Pure, from records.

*Score*: of the games at a task it is the share of the others whom an agent beat, 0.5 where it is as good as
all of them; games of one meeting count together, tasks count alike. *Elo* is made of duels, see `ratings`;
*skill* of games for more than two seats, see `skill`. An agent is ranked by its Elo, or by its score where
nobody has one; in a Swiss tournament by points, and in a knockout by the rounds that it got through.
"""

from __future__ import annotations

__all__ = ["AgentRow", "Standings", "TaskRow", "standings"]

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import attrs

from flagfall.kernel.seeding import derive_seed
from flagfall.tournament.formats.knockout import Bracket
from flagfall.tournament.formats.schedule import Records, schedule
from flagfall.tournament.formats.swiss import SwissTable, walk_swiss
from flagfall.tournament.plan.model import Knockout, Plan, Swiss
from flagfall.tournament.records import TIME_LOSSES, MatchRecord, MatchSpec, SeatRecord, without_time_loss
from flagfall.tournament.stats.duels import MeetingResult, meeting_results
from flagfall.tournament.stats.elo import RatedDuel, Ratings, rate
from flagfall.tournament.stats.intervals import RESAMPLES, Interval, bootstrap_mean, wilson
from flagfall.tournament.stats.skill import Skill, rate_skills
from flagfall.tournament.stats.sprt import SprtState
from flagfall.tournament.stats.time_histogram import ThinkTimes

Played: TypeAlias = Sequence[tuple[MatchSpec, MatchRecord]]

P50, P99 = 0.5, 0.99


@attrs.frozen(kw_only=True)
class AgentRow:
    """One agent, over all its matches.

    Attributes:
        place: from 1; equals share one.
        agent: its name.
        matches: that it played.
        wins: of its duels.
        draws: of its duels.
        losses: of its duels.
        points: Swiss: an encounter won is 1, a drawn one or 0.5. Knockout: rounds that it got through.
        buchholz: Swiss: the points of those whom it met.
        score: see the head of this module; `None` where it met nobody.
        elo: see `ratings`; `None` where it had no duel.
        skill: see `skill`.
        turns: that were judged.
        late: turns for which it was late.
        fell: matches in which it fell.
        time_losses: those of them in which it fell for being late.
        crashes: the others of them.
        illegal: turns answered with something outside the action space.
        dropped: replies that answered no open turn.
        think_p50_ns: what half of its turns took at most.
        think_p99_ns: what 99 of 100 took at most.
        think_max_ns: the most that one took.
        over_ns: how far it went beyond its limits in all.
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


@attrs.frozen(kw_only=True)
class TaskRow:
    """One agent on one task.

    Attributes:
        task: its name.
        agent: its name.
        matches: that it played.
        score: the mean of its scores, by the task's own measure.
        reward: the mean of what it was paid in a match.
        solved: instances that were solved, of a task with one seat.
        tasks: instances that were played.
        fell: matches in which it fell.
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
    """How a tournament stands.

    Attributes:
        rows: the agents, the best first.
        timeless: the same without matches in which the clock put somebody out; empty where there is none.
        tasks: by task, in the order of the plan.
        sprt: how the test of the plan stands; `None` where it has none.
        over: whether there is nothing left to play.
        notes: what a reader of the tables should know.
    """

    rows: tuple[AgentRow, ...]
    timeless: tuple[AgentRow, ...]
    tasks: tuple[TaskRow, ...]
    sprt: SprtState | None
    over: bool
    notes: tuple[str, ...]

    def as_data(self) -> dict[str, Any]:
        """All of it in plain numbers and words."""
        data = attrs.asdict(self)
        if self.sprt is not None:
            data["sprt"]["decision"] = self.sprt.decision
            data["sprt"]["counts"] = {str(outcome): n for outcome, n in self.sprt.counts.items()}
        return data


def standings(plan: Plan, records: Records, *, resamples: int = RESAMPLES) -> Standings:
    """How a tournament stands.

    Args:
        plan: of the tournament.
        records: those that count, by id; see `flagfall.tournament.formats.schedule`.
        resamples: for intervals of scores; 0 for none, where it has to be quick.
    """
    order = schedule(plan)
    played = list(order.played(records))
    table = _Table(plan, played, resamples)
    rows = table.rows(*_ranks(plan, records))
    kept = without_time_loss(records)
    timeless = [(spec, record) for spec, record in played if record.id in kept]
    return Standings(
        rows=rows,
        timeless=() if len(kept) == len(records) else _Table(plan, timeless, resamples).rows(),
        tasks=tuple(_task_rows(plan, played, resamples)),
        sprt=order.sprt(records),
        over=order.over(records),
        notes=tuple(table.notes()),
    )


Points: TypeAlias = Mapping[str, tuple[float, float | None]]
"""By agent: points of the format, and Buchholz."""


def _ranks(plan: Plan, records: Records) -> tuple[Points, Sequence[str]]:
    """What the format says of everybody, and in which order; empty where it leaves that to the ratings."""
    names = [agent.name for agent in plan.agents]
    if isinstance(plan.format, Swiss):
        table = SwissTable(names)
        for _ in walk_swiss(plan, records, table):
            pass
        return {name: (table.score(name), table.buchholz(name)) for name in names}, names
    if isinstance(plan.format, Knockout):
        survived = Bracket(plan, records).survived
        return {name: (float(survived[name]), None) for name in names}, names
    return {}, names


class _Table:
    """All agents over some matches.

    Args:
        plan: of the tournament.
        played: the matches.
        resamples: for intervals of scores.
    """

    def __init__(self, plan: Plan, played: Played, resamples: int) -> None:
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

    def rows(self, points: Points | None = None, names: Sequence[str] = ()) -> tuple[AgentRow, ...]:
        """The rows, the best first."""
        names = names or [agent.name for agent in self._plan.agents]
        outcomes = self._outcomes()
        rows = [self._row(name, (points or {}).get(name), outcomes[name]) for name in names]
        ranked: list[AgentRow] = []
        for _, equals in groupby(sorted(rows, key=_rank), key=_rank):
            place = len(ranked) + 1
            ranked += [attrs.evolve(row, place=place) for row in equals]
        return tuple(ranked)

    def _outcomes(self) -> Mapping[str, Counter[float]]:
        """How often everybody had which score in a duel."""
        outcomes: dict[str, Counter[float]] = defaultdict(Counter)
        for duel in self._duels:
            outcomes[duel.first][duel.score] += 1
            outcomes[duel.second][1 - duel.score] += 1
        return outcomes

    def _row(
        self, name: str, points: tuple[float, float | None] | None, outcomes: Counter[float]
    ) -> AgentRow:
        seats = self._seats[name]
        thinking = ThinkTimes(pair for seat in seats for pair in seat.thinking)
        time_losses = sum(seat.fell in TIME_LOSSES for seat in seats)
        fell = sum(seat.fell is not None for seat in seats)
        return AgentRow(
            agent=name,
            matches=len(seats),
            wins=outcomes[1],
            draws=outcomes[0.5],
            losses=outcomes[0],
            points=None if points is None else points[0],
            buchholz=None if points is None else points[1],
            score=self._score(name),
            elo=self._ratings.elo.get(name),
            skill=(self._skills or {}).get(name),
            turns=_sum(seats, lambda seat: seat.turns),
            late=_sum(seats, lambda seat: seat.late),
            fell=fell,
            time_losses=time_losses,
            crashes=fell - time_losses,
            illegal=_sum(seats, lambda seat: seat.illegal),
            dropped=_sum(seats, lambda seat: seat.dropped),
            think_p50_ns=thinking.quantile_ns(P50),
            think_p99_ns=thinking.quantile_ns(P99),
            think_max_ns=max((seat.think_max_ns for seat in seats), default=0),
            over_ns=_sum(seats, lambda seat: seat.over_ns),
        )

    def _score(self, name: str) -> Interval | None:
        groups = list(self._points[name].values())
        if not groups:
            return None
        seed = derive_seed(self._plan.seed, "bootstrap", name)
        drawn = bootstrap_mean(groups, seed, self._resamples)
        if drawn.low is not None and drawn.low == drawn.high:  # nothing varied so far, and yet it may
            drawn = wilson(drawn.value, sum(map(len, groups)))
        if drawn.low is None or drawn.high is None:
            return drawn
        return attrs.evolve(drawn, low=max(0.0, drawn.low), high=min(1.0, drawn.high))

    def notes(self) -> Iterable[str]:
        """What a reader should know."""
        for group in self._ratings.groups[1:]:
            yield f"{', '.join(group)}: no chain of duels leads to the others, so compare Elo only among them"
        if self._ratings.with_prior:
            who = ", ".join(row.agent for row in self.rows() if row.agent in self._ratings.with_prior)
            yield f"{who}: somebody is undefeated or never scored, so Elo leans on a weak prior"
        if self._skills is None:
            yield "games for more than two seats are not rated: pip install 'flagfall[ratings]'"


def _sum(seats: Iterable[SeatRecord], value: Callable[[SeatRecord], int]) -> int:
    return sum(value(seat) for seat in seats)


def _rank(row: AgentRow) -> tuple[float, ...]:
    """Smaller is better."""
    by_format = (-(row.points or 0.0), -(row.buchholz or 0.0))
    if row.elo is not None:
        return (*by_format, 0.0, -round(row.elo.value, 6))
    return (*by_format, 1.0, -row.score.value if row.score is not None else 1.0)


def _points_by_task(results: Iterable[MeetingResult]) -> Mapping[str, Mapping[str, list[float]]]:
    """By agent and task: what it had of each meeting."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        games: dict[str, list[float]] = defaultdict(list)
        for points in result.points:
            for name, share in points.items():
                games[name].append(share)
        for name, shares in games.items():
            found[name][result.task].append(sum(shares) / len(shares))
    return found


def _task_rows(plan: Plan, played: Played, resamples: int) -> Iterable[TaskRow]:
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
                fell=_sum((seat for _, _, seat in mine), lambda seat: seat.fell is not None),
            )
