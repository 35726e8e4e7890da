"""Numbers that agents noted on their turns, added up over the matches that count."""

from __future__ import annotations

__all__ = ["NotedSum", "noted_sums"]

from collections.abc import Iterable

import attrs

from flagfall.tournament.records import MatchRecord


@attrs.frozen
class NotedSum:
    """Sum of the numbers that an agent noted under one name, such as the tokens of a language model.

    Attributes:
        agent: name in the plan.
        name: the name of the numbers.
        total: their sum.
        matches: matches in which the agent noted such a number.
    """

    agent: str
    name: str
    total: float
    matches: int


def noted_sums(records: Iterable[MatchRecord]) -> tuple[NotedSum, ...]:
    """Return the sums of all agents, ordered by agent and name.

    Args:
        records: the records of the matches that count.
    """
    sums: dict[tuple[str, str], tuple[float, int]] = {}
    for record in records:
        for seat in record.seats:
            for name, number in seat.noted.items():
                total, matches = sums.get((seat.agent, name), (0.0, 0))
                sums[seat.agent, name] = total + number, matches + 1
    return tuple(NotedSum(agent, name, *sums[agent, name]) for agent, name in sorted(sums))
