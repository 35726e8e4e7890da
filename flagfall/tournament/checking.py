"""Check of records against a plan: those of a damaged store may be well formed and still impossible."""

from __future__ import annotations

__all__ = ["misfit"]

from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import PlannedTask, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records, seat_scores


def misfit(plan: TournamentPlan, records: Records) -> str:
    """Describe the first record that cannot be a result of one of the plan's matches; empty if all fit.

    Args:
        plan: the plan of the tournament.
        records: the records of matches that count, by id.
    """
    # The schedule computes a round from the records of earlier rounds, so each record is checked before the
    # schedule reads it.
    tasks = {task.name: task for task in plan.tasks}
    known = set()
    for spec, record in schedule(plan).played(records):
        if problem := _misfit(tasks[spec.task], spec, record):
            return f"match {record.id}: {problem}"
        known.add(record.id)
    unknown = records.keys() - known
    return f"match {min(unknown)} is not in the plan's schedule" if unknown else ""


def _misfit(task: PlannedTask, spec: MatchSpec, record: MatchRecord) -> str:
    agents = tuple(seat.agent for seat in record.seats)
    if agents != spec.entrants:
        return f"its seats are those of {agents}, not of {spec.entrants}"
    scores = seat_scores(
        task.score,
        [seat.reward for seat in record.seats],
        [seat.fell for seat in record.seats],
        solved=record.solved,
        tasks=record.tasks,
    )
    if any(seat.score != score for seat, score in zip(record.seats, scores, strict=True)):
        return "its scores do not follow from its rewards and results"
    return ""
