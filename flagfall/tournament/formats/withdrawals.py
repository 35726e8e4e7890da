"""Withdrawal of agents that are disqualified again and again, for plans with `stop.falls`."""

from __future__ import annotations

__all__ = ["Withdrawals"]

from collections import Counter
from collections.abc import Iterable

from flagfall.tournament.records import MatchRecord


class Withdrawals:
    """Count of disqualifications by agent.

    Args:
        limit: number of disqualifications at which an agent is withdrawn; `None`: no agent is.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._disqualified: Counter[str] = Counter()

    def add(self, records: Iterable[MatchRecord]) -> None:
        """Count the disqualifications in matches.

        Args:
            records: the records of matches that count.
        """
        for record in records:
            self._disqualified.update(seat.agent for seat in record.seats if seat.fell is not None)

    @property
    def withdrawn(self) -> frozenset[str]:
        """Names of the withdrawn agents."""
        if self._limit is None:
            return frozenset()
        return frozenset(agent for agent, count in self._disqualified.items() if count >= self._limit)
