"""Batches: matches that a worker plays one after another, so that short ones do not cost a message each.

The runner bounds the expected duration of a batch by the engine's `batch_seconds`. It expects what the same
agents took on the same task before, so a batch begins with matches of known duration: an agent that was not
measured on a task, and a match that was void before, is played alone.
"""

from __future__ import annotations

__all__ = ["MAX_BATCH", "Batch", "Durations"]

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.engine import Attempt

MAX_BATCH: Final = 256
"""Most matches of a batch: the shortest take 0.3 ms, and the attempts of a batch fit into one pipe buffer."""

SHARE: Final = 8
"""A batch has at most this part of each job's share of the matches that are left, so that all jobs end at
about the same time."""

_NEW_PART: Final = 0.25
"""Weight of a new, shorter duration in an expectation; a longer one counts at once."""


class Batch:
    """Attempts for one worker, which plays them in order and reports each.

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
        self.left = deque(attempts)
        self.recalled = False
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


class Durations:
    """Expected durations of matches, from those that were played."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str], float] = {}

    def add(self, spec: MatchSpec, seconds: float) -> None:
        """Count a match.

        Args:
            spec: the match.
            seconds: its duration.
        """
        for agent in spec.entrants:
            key = spec.task, agent
            before = self._seconds.get(key, 0.0)
            self._seconds[key] = max(seconds, before + (seconds - before) * _NEW_PART)

    def expected(self, spec: MatchSpec) -> float | None:
        """Return the expected seconds of a match; `None` if an agent has not played its task yet.

        Args:
            spec: the match.
        """
        longest = 0.0
        for agent in spec.entrants:
            seconds = self._seconds.get((spec.task, agent))
            if seconds is None:
                return None
            longest = max(longest, seconds)
        return longest
