"""Sizes of batches: how many matches a worker plays one after another before it asks for more.

The runner bounds the expected duration of a batch by the engine's `batch_seconds`. It expects what the same
agents took on the same task before, so a batch begins with matches of known duration: an agent that was not
measured on a task, and a match that was void before, is played alone.
"""

from __future__ import annotations

__all__ = ["MAX_BATCH", "SHARE", "Durations"]

from typing import Final

from flagfall.tournament.records import MatchSpec

MAX_BATCH: Final = 256
"""Most matches of a batch: the shortest take 0.3 ms, and the attempts of a batch fit into one pipe buffer."""

SHARE: Final = 8
"""A batch has at most this part of each job's share of the matches that are left, so that all jobs end at
about the same time."""

_NEW_PART: Final = 0.25
"""Weight of a new, shorter duration in an expectation; a longer one counts at once."""


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
