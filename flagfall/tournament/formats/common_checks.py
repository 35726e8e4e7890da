"""Checks of plans that several formats share."""

from __future__ import annotations

__all__ = ["check_entrants", "check_no_sprt", "check_pairs_on_every_task"]

from collections.abc import Sequence
from typing import Final

from flagfall.configfile.problems import Problems
from flagfall.tournament.model import PlannedTask, Stop

PAIR: Final = 2
"""Agents of an encounter."""


def check_entrants(kind: str, names: Sequence[str], problems: Problems) -> None:
    """Report a plan with fewer than two agents.

    Args:
        kind: name of the format.
        names: names of all agents.
        problems: collects the problem.
    """
    if len(names) < PAIR:
        problems.add(("agents",), f"a {kind} needs at least two agents; a single one can play a benchmark")


def check_no_sprt(stop: Stop, problems: Problems) -> None:
    """Report a sequential test in a format whose two agents do not meet again and again.

    Args:
        stop: early end of the tournament.
        problems: collects the problem.
    """
    if stop.sprt is not None:
        problems.add(("stop", "sprt"), "a test needs two agents that meet again and again: use a round-robin")


def check_pairs_on_every_task(
    kind: str, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
) -> None:
    """Report what does not fit a format of encounters, in which two agents meet on every task.

    Args:
        kind: name of the format.
        names: names of all agents.
        tasks: tasks of the plan.
        stop: early end of the tournament.
        problems: collects the problems.
    """
    check_entrants(kind, names, problems)
    check_no_sprt(stop, problems)
    for task in tasks:
        if task.seats > PAIR:
            problems.add(
                ("tasks",),
                f"{task.name} seats {task.seats} agents, but in a {kind} two meet: remove the task",
            )
        if set(task.agents) != set(names):
            problems.add(("tasks",), f"{task.name}: in a {kind} every agent plays every task")
    if stop.matches is not None:
        problems.add(
            ("stop", "matches"),
            f"stop.matches is not supported for a {kind}: a partial round has no ranking",
        )
