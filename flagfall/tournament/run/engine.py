"""Contract between the runner and an engine, which plays matches somewhere, several at a time."""

from __future__ import annotations

__all__ = ["Answer", "Attempt", "Batch", "BatchEngine", "Engine", "WorkerLost", "jobs_on", "void_record"]

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeAlias, runtime_checkable

import attrs

from flagfall.errors import HostFault, UsageError
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec

Answer: TypeAlias = MatchRecord | UsageError
"""Result of an attempt; an error if the match cannot be played as planned."""


class WorkerLost(HostFault):
    """The worker that played a match is gone: its process was killed, or its machine failed."""


@attrs.frozen
class Attempt:
    """An attempt to play a match.

    Attributes:
        spec: the match.
        number: one-based.
        counts: the attempt counts even if a stall of the host affects it, because earlier attempts were void.
            The `why` of its record mentions the stall.
    """

    spec: MatchSpec
    number: int = 1
    counts: bool = False


class Batch:
    """Attempts for one worker, which plays them in order and reports each; short ones share a message.

    Args:
        attempts: at least one.
        take: called with reported records and the seconds that each match took; it may raise an exception,
            which ends the batch.

    Attributes:
        left: attempts that are not reported; of a running batch the first one is being played.
        recalled: no further attempt of the batch is to begin; those left are not void.
    """

    def __init__(
        self,
        attempts: Iterable[Attempt],
        take: Callable[[Batch, Sequence[tuple[MatchRecord, float]]], None],
    ) -> None:
        self.left: deque[Attempt] = deque(attempts)
        self.recalled: bool = False
        self._take = take
        self._on_recall: Callable[[], None] | None = None

    def report(self, played: Sequence[tuple[MatchRecord, float]]) -> None:
        """Report the records of the next attempts.

        Args:
            played: in the order of the batch, each with the seconds that the match took.
        """
        self._take(self, played)

    @contextmanager
    def recalled_by(self, call: Callable[[], None]) -> Iterator[None]:
        """Set the function that informs the worker of a recall, while the context lasts.

        Args:
            call: called at once if the batch is recalled already.
        """
        self._on_recall = call
        if self.recalled:
            call()
        try:
            yield
        finally:
            self._on_recall = None

    def recall(self) -> None:
        """Let the worker begin no further attempt, as far as it can be reached; see `recalled`."""
        if self.recalled or len(self.left) <= 1:
            return
        self.recalled = True
        if self._on_recall is not None:
            self._on_recall()


class Engine(Protocol):
    """Plays the matches of one tournament.

    Attributes:
        default_jobs: number of matches at the same time for which it has processors.
    """

    default_jobs: int

    async def play(self, attempt: Attempt) -> MatchRecord:
        """Play one match; several calls may run at the same time. The journal is in the tournament's folder.

        Cancelling the call ends the match and the processes of its agents.

        Args:
            attempt: the attempt to play.

        Raises:
            WorkerLost: the worker that played it is gone; the match can be played again.
            UsageError: the match cannot be played as planned.
        """

    async def aclose(self) -> None:
        """Stop the workers; not to be called while a match is played."""


@runtime_checkable
class BatchEngine(Engine, Protocol):
    """An engine whose workers take several matches in one message.

    Attributes:
        batch_seconds: longest expected duration of a batch of several matches.
    """

    batch_seconds: float

    async def play_batch(self, batch: Batch) -> None:
        """Play matches one after another on one worker, and report each.

        When it returns, all of them are reported, or the batch was recalled. When it raises an exception or
        is cancelled, the matches that have ended are reported as far as they are known.

        Args:
            batch: the matches.

        Raises:
            WorkerLost: the worker is gone; it was playing the first match that is not reported.
            UsageError: the first match that is not reported cannot be played as planned.
        """


def jobs_on(plan: TournamentPlan, cores: int | None = None) -> int:
    """Return how many matches a number of processors can play at the same time.

    Under the wall clock each agent gets a processor of its own; under the virtual clock each match does.

    Args:
        plan: the plan of the tournament.
        cores: number of processors; by default those of this machine that this process may use.
    """
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    seats = 1 if plan.clock == "virtual" else max(task.seats for task in plan.tasks)
    return max(1, cores // seats)


def void_record(spec: MatchSpec, attempt: int, why: str) -> MatchRecord:
    """Return the record of a void attempt, which counts for nothing.

    Args:
        spec: the match.
        attempt: one-based number of the attempt.
        why: reason that it is void.
    """
    return MatchRecord(id=spec.id, attempt=attempt, status="void", why=why, reason="void")
