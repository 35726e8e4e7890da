"""Rows of standings for each agent on each task, and the totals that Formula One scoring ranks."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from flagfall.tournament.columns import NOT_DISQUALIFIED, Groups, ResultColumns, columns_of
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import Records
from flagfall.tournament.scoring import TaskRanking, TaskTotals, rank_totals
from flagfall.tournament.stats.duels import mean_by_meeting
from flagfall.tournament.stats.intervals import Interval, bounded_mean, unbounded_mean


@attrs.frozen(kw_only=True)
class TaskRow:
    """One agent on one task.

    Attributes:
        score: mean of its scores, by the measure of the task.
        solved: instances solved, of a task with one seat.
        tasks: instances that count.
    """

    task: str
    agent: str
    matches: int
    score: Interval
    reward: float
    solved: int
    tasks: int
    fell: int


def _by_task_and_agent(plan: TournamentPlan, results: ResultColumns) -> Groups:
    """Return the seats by a key: place of the task, times the number of agents, plus place of the agent."""
    size = len(results.agents)
    return Groups(results.task[results.match_of_seat] * size + results.agent, len(plan.tasks) * size)


def task_totals(plan: TournamentPlan, results: ResultColumns) -> dict[tuple[str, str], TaskTotals]:
    """Return the totals of each agent on each task that it has played, by the names of task and agent."""
    seats, match = _by_task_and_agent(plan, results), results.match_of_seat
    size = len(results.agents)
    keys = results.task[match] * size + results.agent
    whole = {name: seats.sums(results.counters[name][match]) for name in ("solved", "ticks", "tasks")}
    score = np.bincount(keys, results.counters["game_score"][match], len(plan.tasks) * size)
    result = np.bincount(keys, results.score, len(plan.tasks) * size)
    totals = {}
    for key, rows in zip(seats.keys, seats.rows(), strict=True):
        reasons = results.disqualified[rows]
        reasons = reasons[reasons != NOT_DISQUALIFIED]
        totals[plan.tasks[key // size].name, results.agents[key % size]] = TaskTotals(
            wins=int(whole["solved"][key]),
            result=float(result[key]),
            score=float(score[key]),
            ticks=int(whole["ticks"][key]),
            games=int(whole["tasks"][key]),
            disqualified=results.disqualifications[reasons[0]] if len(reasons) else "",
        )
    return totals


def rank_tasks(plan: TournamentPlan, records: Records) -> tuple[TaskRanking, ...]:
    """Return the ranking on each task that has results, in the order of the plan."""
    return rank_totals(plan, task_totals(plan, columns_of(plan, schedule(plan).played(records))))


def task_rows(plan: TournamentPlan, results: ResultColumns) -> Iterable[TaskRow]:
    """Yield the rows, in the order of the plan."""
    size = len(results.agents)
    seats, match = _by_task_and_agent(plan, results), results.match_of_seat
    solved, tasks = (seats.sums(results.counters[name][match]) for name in ("solved", "tasks"))
    disqualified = seats.sums(results.disqualified != NOT_DISQUALIFIED)
    reward = np.bincount(results.task[match] * size + results.agent, results.reward, len(plan.tasks) * size)
    meeting, agent, means = mean_by_meeting(results, np.arange(len(results.agent)))
    task_of = np.zeros(int(results.meeting[-1]) + 1 if len(results) else 0, dtype=np.int64)
    task_of[results.meeting] = results.task
    groups = Groups(task_of[meeting] * size + agent, len(plan.tasks) * size)
    values = dict(zip(groups.keys.tolist(), (means[rows] for rows in groups.rows()), strict=True))
    place = {name: number for number, name in enumerate(results.agents)}
    for number, task in enumerate(plan.tasks):
        for name in task.agents:
            key = number * size + place[name]
            matches = int(seats.counts[key])
            if not matches:
                continue
            mean_of = bounded_mean if task.seats > 1 or task.score == "result" else unbounded_mean
            yield TaskRow(
                task=task.name,
                agent=name,
                matches=matches,
                score=mean_of([values[key]]).interval(),
                reward=float(reward[key]) / matches,
                solved=int(solved[key]) if task.seats == 1 else 0,
                tasks=int(tasks[key]),
                fell=int(disqualified[key]),
            )
