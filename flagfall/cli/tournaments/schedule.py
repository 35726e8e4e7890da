"""`flagfall tournament --dry-run`: the schedule, and an estimate of its duration."""

from __future__ import annotations

__all__ = ["print_schedule"]

from typing import TYPE_CHECKING, Final

from flagfall.cli.console.output import MAX_ROWS, duration, number, print_table, table
from flagfall.terminal_text import counted, sanitize_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from flagfall.tournament.model import PlannedTask, TournamentPlan
    from flagfall.tournament.records import MatchRecord, MatchSpec

START_NS: Final = 400_000_000
"""Time to start and end the process of an agent, on a machine of 2020 with an idle processor."""


def print_schedule(plan: TournamentPlan, folder: Path, jobs: int | None) -> None:
    """Print the matches that are known beforehand, and an estimate of the time for those not yet played.

    Args:
        plan: the plan of the tournament.
        folder: the folder of the tournament; matches already played there are taken into account.
        jobs: matches at the same time; by default the plan's, or as many as there are processors for.
    """
    from flagfall.tournament.formats.schedule import schedule
    from flagfall.tournament.run.engine import jobs_on

    records = _played(plan, folder)
    order = schedule(plan)
    known = list(order.walk(records))
    rows = table("match", "task", "agents", "seed", "", title=plan.name)
    for spec in known[:MAX_ROWS]:
        agents = sanitize_terminal(", ".join(spec.entrants))
        played = "played" if spec.id in records else ""
        rows.add_row(spec.id, sanitize_terminal(spec.task), agents, str(spec.seed), played)
    print_table(rows)
    if len(known) > MAX_ROWS:
        print(f"and {number(len(known) - MAX_ROWS)} more")
    summary = counted(len(known), "match", "matches")
    if order.total is None or order.total > len(known):
        most = "" if order.total is None else f", {number(order.total)} at most"
        summary += f" are known so far{most}; the others depend on results"
    print(summary)
    used = jobs or plan.jobs or jobs_on(plan)
    left = [spec for spec in known if spec.id not in records]
    print(f"{used} at the same time; {_estimate(plan, left, known, records, used)}")


def _played(plan: TournamentPlan, folder: Path) -> dict[str, MatchRecord]:
    """Return the records of a tournament begun with this plan; none if there is no such tournament."""
    from flagfall.tournament.plan.fingerprint import changes, plan_facts
    from flagfall.tournament.plan.former_presets import as_begun
    from flagfall.tournament.store import Store, holds_tournament

    if not holds_tournament(folder):
        return {}
    store = Store(folder)
    try:
        stored = store.plan()
        if stored is None or changes(stored.facts, plan_facts(as_begun(plan, stored.facts))):
            return {}
        return store.played(plan)
    finally:
        store.close()


def _estimate(
    plan: TournamentPlan,
    left: Sequence[MatchSpec],
    known: Iterable[MatchSpec],
    records: Mapping[str, MatchRecord],
    jobs: int,
) -> str:
    if not left:
        return "no match is left to play"
    if plan.clock == "virtual":
        return (
            "on the virtual clock waiting takes no time: some milliseconds a match, and the agents' own time"
        )
    times: dict[str, list[int]] = {}
    for spec in known:
        if spec.id in records:
            times.setdefault(spec.task, []).append(records[spec.id].elapsed_ns)
    if all(spec.task in times for spec in left):
        total = sum(sum(times[spec.task]) / len(times[spec.task]) + START_NS for spec in left)
        return f"about {duration(total / jobs)} for the remaining matches, estimated from those played"
    least = sum(START_NS * len(spec.entrants) for spec in left) / jobs
    longest = [_longest_ns(plan.task(spec.task)) for spec in left]
    if any(one is None for one in longest):
        return f"{duration(least)} at least; the plan does not limit the duration of a match"
    most = sum(one for one in longest if one is not None) / jobs
    return f"from {duration(least)} to {duration(most)}, if every agent takes all of its time"


def _longest_ns(task: PlannedTask) -> int | None:
    """Return the longest time that the turns of a match may take, or `None` if it is not limited."""
    control = task.control
    turn_ns = control.act_hard if control.late == "nil" else control.act
    if task.tick_ns is not None:
        turn_ns = task.tick_ns
    bounds = [task.steps * turn_ns * task.seats] if task.steps is not None and turn_ns is not None else []
    if control.total is not None:
        bounds.append((control.total + (control.grace or 0)) * task.seats)
    return min(bounds, default=None)
