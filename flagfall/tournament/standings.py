"""Standings of a tournament: ranks with their uncertainty, and use of time. Pure, from records.

*Score*: of the games at a task, the share of the other agents that an agent beat, 0.5 if it equals all of
them; games of one meeting count together, tasks count alike. *Elo* comes from duels, see
`flagfall.tournament.stats.elo`; *skill* from games for more than two seats, see
`flagfall.tournament.stats.skill`. An agent is ranked by its Elo, or by its score if no agent has an Elo; in a
Swiss tournament by points, in a knockout by the rounds that it survived, and under Formula One scoring by
points for its place on each task.
"""

from __future__ import annotations

__all__ = ["AgentRow", "Standings", "TaskRow", "standings", "standings_of"]

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import numpy as np

from flagfall.kernel.seeding import derive_seed
from flagfall.tournament.columns import NOT_DISQUALIFIED, Array, ResultColumns, columns_of
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import Points, TournamentPlan
from flagfall.tournament.records import Records
from flagfall.tournament.scoring import TaskTotals, rank_key, rank_totals, ranked
from flagfall.tournament.stats.duels import duels_of, game_tables, mean_by_meeting, meeting_points
from flagfall.tournament.stats.elo import Ratings, rate_duels
from flagfall.tournament.stats.intervals import (
    MANY_VALUES,
    NORMAL_FROM,
    RESAMPLES,
    Interval,
    bootstrap_mean,
    wilson,
)
from flagfall.tournament.stats.skill import Skill, rate_skills
from flagfall.tournament.stats.sprt import SprtState
from flagfall.tournament.stats.time_histogram import TimeHistogram

P50, P99 = 0.5, 0.99
_PAIR: Final = 2


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
    return standings_of(
        plan,
        columns_of(plan, order.played(records)),
        points=plan.format.ranks(plan, records),
        sprt=order.sprt(records),
        over=order.over(records),
        resamples=resamples,
    )


def standings_of(
    plan: TournamentPlan,
    results: ResultColumns,
    *,
    points: Points,
    sprt: SprtState | None,
    over: bool,
    resamples: int = RESAMPLES,
) -> Standings:
    """Return the standings of a tournament from the columns of its results.

    Args:
        plan: the plan of the tournament.
        results: the matches that count.
        points: the points of the format.
        sprt: state of the sequential test.
        over: no match is left to play.
        resamples: see `standings`.
    """
    table = _Table(plan, results, resamples)
    keys: _RankKeys = {agent: (own, buchholz or 0.0) for agent, (own, buchholz) in points.items()}
    if plan.scoring == "formula-one":
        keys = rank_key([agent.name for agent in plan.agents], rank_totals(plan, _task_totals(plan, results)))
        points = {agent: (float(key[0]), None) for agent, key in keys.items()}
    timeless = results.without_time_losses()
    return Standings(
        rows=table.rows(points, keys),
        timeless=() if timeless is results else _Table(plan, timeless, resamples).rows({}, {}),
        tasks=tuple(_task_rows(plan, results, resamples)),
        sprt=sprt,
        over=over,
        notes=tuple(table.notes()),
    )


_RankKeys = Mapping[str, tuple[float, ...]]
"""By agent: numbers that rank it before its rating does, the most important first; larger is better."""


class _Groups:
    """Rows of a column, by a key.

    Args:
        keys: key of each row, at least 0.
        size: number of possible keys.
    """

    def __init__(self, keys: Array, size: int) -> None:
        self.counts = np.bincount(keys, minlength=size)
        self.keys = np.flatnonzero(self.counts)
        self._order = np.argsort(keys, kind="stable")
        self._starts = (np.cumsum(self.counts) - self.counts)[self.keys]
        self._size = size

    def firsts(self) -> Array:
        """Return the first row of each key that occurs."""
        return self._order[self._starts]

    def rows(self) -> Iterator[Array]:
        """Yield the rows of each key that occurs, in order."""
        return iter(np.split(self._order, self._starts[1:]) if len(self.keys) else ())

    def sums(self, values: Array) -> Array:
        """Return the sum of whole numbers for each key."""
        return self._reduced(np.add, values.astype(np.int64))

    def largest(self, values: Array) -> Array:
        """Return the largest of numbers from 0 on for each key; 0 where there is none."""
        return self._reduced(np.maximum, values)

    def _reduced(self, operation: np.ufunc, values: Array) -> Array:
        reduced = np.zeros(self._size, dtype=np.int64)
        if len(self.keys):
            reduced[self.keys] = operation.reduceat(values[self._order], self._starts)
        return reduced


def _bound(values: int) -> int | None:
    """Return `normal_from` of `bootstrap_mean` for a table of so many values."""
    return NORMAL_FROM if values > MANY_VALUES else None


class _Table:
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
        seats = _Groups(results.agent, size)
        self._matches = seats.counts
        self._fell = seats.sums(results.fell != NOT_DISQUALIFIED)
        self._time_losses = seats.sums(results.time_losses())
        self._sums = {name: seats.sums(results.seat_counters[name]) for name in _SUMMED}
        self._longest = seats.largest(results.seat_counters["think_max_ns"])
        duels = duels_of(results)
        self._outcomes = {
            score: np.bincount(duels.first[duels.score == score], minlength=size)
            + np.bincount(duels.second[duels.score == 1 - score], minlength=size)
            for score in (1.0, 0.5, 0.0)
        }
        self._ratings: Ratings = rate_duels(results.agents, duels, plan.anchor)
        self._skills = rate_skills(game_tables(results)) if (results.seats > _PAIR).any() else {}
        self._points, self._normal_from = _points_by_task(plan, results)

    def rows(self, points: Points, keys: _RankKeys) -> tuple[AgentRow, ...]:
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
        times = TimeHistogram((int(bucket), int(count)) for _, _, bucket, count in thinking[thinking[:, 0] == me])
        wins, draws, losses = (int(outcomes[me]) for outcomes in self._outcomes.values())
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
        return (0.0, -round(row.elo.value, 6))
    return (1.0, -row.score.value if row.score is not None else 1.0)


def _points_by_task(
    plan: TournamentPlan, results: ResultColumns
) -> tuple[Mapping[int, Sequence[Array]], int | None]:
    """Return by agent its points of each meeting on each task, and `normal_from` of `bootstrap_mean`.

    The tasks are in the order in which the agent played them first.
    """
    points = meeting_points(results)
    groups = _Groups(points.agent * len(plan.tasks) + points.task, len(results.agents) * len(plan.tasks))
    values = [points.points[rows] for rows in groups.rows()]
    found: dict[int, list[Array]] = {}
    for group in np.argsort(groups.firsts(), kind="stable"):
        found.setdefault(int(groups.keys[group]) // len(plan.tasks), []).append(values[group])
    return found, _bound(len(points.points))


def _by_task_and_agent(plan: TournamentPlan, results: ResultColumns) -> _Groups:
    """Return the seats by task and agent: the key is the task's place times the number of agents, plus the
    agent's place."""
    size = len(results.agents)
    return _Groups(results.task[results.match_of_seat] * size + results.agent, len(plan.tasks) * size)


def _task_totals(plan: TournamentPlan, results: ResultColumns) -> dict[tuple[str, str], TaskTotals]:
    seats, match = _by_task_and_agent(plan, results), results.match_of_seat
    size = len(results.agents)
    keys = results.task[match] * size + results.agent
    whole = {name: seats.sums(results.counters[name][match]) for name in ("solved", "ticks", "tasks")}
    score = np.bincount(keys, results.counters["game_score"][match], len(plan.tasks) * size)
    result = np.bincount(keys, results.score, len(plan.tasks) * size)
    totals = {}
    for key, rows in zip(seats.keys, seats.rows(), strict=True):
        fallen = results.fell[rows]
        fallen = fallen[fallen != NOT_DISQUALIFIED]
        totals[plan.tasks[key // size].name, results.agents[key % size]] = TaskTotals(
            wins=int(whole["solved"][key]),
            result=float(result[key]),
            score=float(score[key]),
            ticks=int(whole["ticks"][key]),
            games=int(whole["tasks"][key]),
            disqualified=results.falls[fallen[0]] if len(fallen) else "",
        )
    return totals


def _task_rows(plan: TournamentPlan, results: ResultColumns, resamples: int) -> Iterable[TaskRow]:
    size = len(results.agents)
    seats, match = _by_task_and_agent(plan, results), results.match_of_seat
    solved, tasks = (seats.sums(results.counters[name][match]) for name in ("solved", "tasks"))
    fell = seats.sums(results.fell != NOT_DISQUALIFIED)
    reward = np.bincount(results.task[match] * size + results.agent, results.reward, len(plan.tasks) * size)
    meeting, agent, means = mean_by_meeting(results, np.arange(len(results.agent)))
    task_of = np.zeros(int(results.meeting[-1]) + 1 if len(results) else 0, dtype=np.int64)
    task_of[results.meeting] = results.task
    groups = _Groups(task_of[meeting] * size + agent, len(plan.tasks) * size)
    values = dict(zip(groups.keys.tolist(), (means[rows] for rows in groups.rows()), strict=True))
    place = {name: number for number, name in enumerate(results.agents)}
    for number, task in enumerate(plan.tasks):
        for name in task.agents:
            key = number * size + place[name]
            matches = int(seats.counts[key])
            if not matches:
                continue
            seed = derive_seed(plan.seed, "bootstrap", name, task.name)
            yield TaskRow(
                task=task.name,
                agent=name,
                matches=matches,
                score=bootstrap_mean([values[key]], seed, resamples, normal_from=_bound(len(means))),
                reward=float(reward[key]) / matches,
                solved=int(solved[key]) if task.seats == 1 else 0,
                tasks=int(tasks[key]),
                fell=int(fell[key]),
            )
