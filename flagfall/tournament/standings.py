"""Standings of a tournament: ranks with their uncertainty, and use of time. Pure, from records.

*Score*: of the games at a task, the share of the other agents that an agent beat, 0.5 if it equals all of
them; games of one meeting count together, tasks count alike. *Elo* comes from duels, see
`flagfall.tournament.stats.elo`; *skill* from games for more than two seats, see
`flagfall.tournament.stats.skill`. An agent is ranked by its Elo or the rating that the plan names, or by its
score if it has none; in a Swiss tournament by points, in a knockout by the rounds that it survived, and under
Formula One scoring by points for its place on each task.
"""

from __future__ import annotations

__all__ = ["Standings", "compute_standings", "standings_of"]

from typing import Any

import attrs

from flagfall.tournament.columns import ResultColumns, columns_of
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import FORMULA_ONE, Points, TournamentPlan
from flagfall.tournament.noted import NotedSum, noted_sums
from flagfall.tournament.records import Records
from flagfall.tournament.scoring import rank_key, rank_totals
from flagfall.tournament.stats.intervals import RESAMPLES
from flagfall.tournament.stats.sprt import SprtState
from flagfall.tournament.tables.agents import AgentRow, AgentTable, RankKeys, drawn_column
from flagfall.tournament.tables.tasks import TaskRow, task_rows, task_totals


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
        noted: sums of the numbers that agents noted on their turns.
        notes: remarks for readers of the tables.
        drawn: key of the column whose intervals pages draw; no part of `as_data`.
    """

    rows: tuple[AgentRow, ...]
    timeless: tuple[AgentRow, ...]
    tasks: tuple[TaskRow, ...]
    sprt: SprtState | None
    over: bool
    noted: tuple[NotedSum, ...]
    notes: tuple[str, ...]
    drawn: str

    def as_data(self) -> dict[str, Any]:
        """Return the standings as plain data for JSON."""
        data = attrs.asdict(self, filter=lambda field, _: field.name != "drawn")
        data |= {name: [row.as_data() for row in getattr(self, name)] for name in ("rows", "timeless")}
        if self.sprt is not None:
            data["sprt"]["decision"] = self.sprt.decision
            data["sprt"]["counts"] = {str(outcome): n for outcome, n in self.sprt.counts.items()}
        return data


def compute_standings(plan: TournamentPlan, records: Records, *, resamples: int = RESAMPLES) -> Standings:
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
        noted=noted_sums(records.values()),
        resamples=resamples,
    )


def standings_of(
    plan: TournamentPlan,
    results: ResultColumns,
    *,
    points: Points,
    sprt: SprtState | None,
    over: bool,
    noted: tuple[NotedSum, ...],
    resamples: int = RESAMPLES,
) -> Standings:
    """Return the standings of a tournament from the columns of its results.

    Args:
        plan: the plan of the tournament.
        results: the matches that count.
        points: the points of the format.
        sprt: state of the sequential test.
        over: no match is left to play.
        noted: sums of what agents noted.
        resamples: see `compute_standings`.
    """
    keys: RankKeys = {agent: (own, buchholz or 0.0) for agent, (own, buchholz) in points.items()}
    if plan.scoring == FORMULA_ONE:
        keys = rank_key([agent.name for agent in plan.agents], rank_totals(plan, task_totals(plan, results)))
        points = {agent: (float(key[0]), None) for agent, key in keys.items()}
    table = AgentTable(plan, results, resamples, points)
    timeless = results.without_time_losses()
    rows = table.rows(keys)
    return Standings(
        rows=rows,
        timeless=() if timeless is results else AgentTable(plan, timeless, resamples).rows({}),
        tasks=tuple(task_rows(plan, results, resamples)),
        sprt=sprt,
        over=over,
        noted=noted,
        notes=table.remarks,
        drawn=drawn_column(plan.scoring, rows).key,
    )
