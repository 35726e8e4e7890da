"""Agents that fall again and again are withdrawn, where the plan says so."""

from __future__ import annotations

__all__ = ["Falls"]

from collections import Counter
from collections.abc import Iterable

from flagfall.tournament.records import MatchRecord


class Falls:
    """How often everybody fell.

    Args:
        most: with so many falls an agent is withdrawn; `None`: nobody is.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._falls: Counter[str] = Counter()

    def add(self, records: Iterable[MatchRecord]) -> None:
        """Matches were played."""
        for record in records:
            self._falls.update(seat.agent for seat in record.seats if seat.fell is not None)

    @property
    def gone(self) -> frozenset[str]:
        """Who is withdrawn."""
        if self._most is None:
            return frozenset()
        return frozenset(agent for agent, falls in self._falls.items() if falls >= self._most)
