"""What a runner asks of an engine: something that plays matches somewhere, several at a time."""

from __future__ import annotations

__all__ = ["Engine", "WorkerLost", "jobs_on"]

import os
from typing import Protocol

from flagfall.errors import HostFault
from flagfall.tournament.plan.model import Plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.match import Attempt


class WorkerLost(HostFault):
    """Who played a match is gone: its process was killed, or its machine."""


class Engine(Protocol):
    """Plays the matches of one tournament.

    Attributes:
        usual_jobs: how many matches at a time it has processors for.
    """

    usual_jobs: int

    async def play(self, attempt: Attempt) -> MatchRecord:
        """Play one match. Several may be played at a time; the journal lies in the tournament's folder then.

        Cancelling it ends the match, with the processes of its agents.

        Raises:
            WorkerLost: who played it is gone; it may be played again.
            UsageError: it cannot be played as the plan has it.
        """

    async def aclose(self) -> None:
        """Let the workers go; not while a match is played."""


def jobs_on(plan: Plan, cores: int | None = None) -> int:
    """How many matches so many processors carry at a time.

    Under the wall clock no more agents than processors, so that none waits for another's; under the virtual
    clock as many matches as processors.

    Args:
        plan: of the tournament.
        cores: the processors; by default those of this machine that this process may use.
    """
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    seats = 1 if plan.clock == "virtual" else max(task.seats for task in plan.tasks)
    return max(1, cores // seats)
