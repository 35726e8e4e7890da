"""Check of records against a plan: those of a damaged store may be well formed, and yet impossible."""

from __future__ import annotations

__all__ = ["misfit"]

from flagfall.tournament.formats.schedule import Records, schedule
from flagfall.tournament.plan.model import Plan, TaskEntry
from flagfall.tournament.records import MatchRecord, MatchSpec, seat_scores


def misfit(plan: Plan, records: Records) -> str:
    """Describe the first record that cannot be one of the plan's matches; empty where all fit.

    Args:
        plan: of the tournament.
        records: of matches that count, by id.
    """
    # A round is made from what became of those before, so each record is looked at before it is used.
    tasks = {task.name: task for task in plan.tasks}
    known = set()
    for spec, record in schedule(plan).played(records):
        if wrong := _misfit(tasks[spec.task], spec, record):
            return f"match {record.id}: {wrong}"
        known.add(record.id)
    strange = records.keys() - known
    return f"match {min(strange)} is none of the plan" if strange else ""


def _misfit(task: TaskEntry, spec: MatchSpec, record: MatchRecord) -> str:
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
