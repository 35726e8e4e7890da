"""Knockout: who loses an encounter is out.

The order of the plan is the seeding: the best two can meet in the last round only, the best four in the one
before. Where the number is no power of two, the best have a bye in round 0. A drawn encounter is played again
with other seeds; if it is drawn after all replays, the one who is seeded higher goes on. An encounter
begins as soon as both of its agents are known.
"""

from __future__ import annotations

__all__ = ["Bracket", "walk_knockout"]

from collections.abc import Iterator, Mapping
from typing import Final

from flagfall.tournament.formats.encounters import Encounter
from flagfall.tournament.plan.model import Knockout, Plan
from flagfall.tournament.records import MatchRecord, MatchSpec

NOBODY: Final = ""
"""Who sits at a place of the bracket that no agent has."""


def _places(size: int) -> list[int]:
    """Seeds in the order of the bracket: for 4 it is 0, 3, 1, 2."""
    places = [0]
    while len(places) < size:
        last = 2 * len(places) - 1
        places = [seed for place in places for seed in (place, last - place)]
    return places


class Bracket:
    """A knockout tournament as far as it is known.

    Args:
        plan: of the tournament.
        records: what was played.

    Attributes:
        matches: of all encounters whose agents are known, round by round.
        survived: how many rounds each agent got through, byes among them.
        winner: who won it all; `None` while that is open.
    """

    def __init__(self, plan: Plan, records: Mapping[str, MatchRecord]) -> None:
        assert isinstance(plan.format, Knockout)
        self._plan = plan
        self._records = records
        self._replays = plan.format.replays
        names = [agent.name for agent in plan.agents]
        self._seed = {name: place for place, name in enumerate(names)}
        self.matches: list[MatchSpec] = []
        self.survived = dict.fromkeys(names, 0)
        size = 1 << (len(names) - 1).bit_length()
        line: list[str | None] = [names[seed] if seed < len(names) else NOBODY for seed in _places(size)]
        for number in range(size.bit_length() - 1):
            pairs = zip(line[::2], line[1::2], strict=True)
            line = [self._through(number, place, *pair) for place, pair in enumerate(pairs)]
        self.winner = line[0]

    def _through(self, number: int, place: int, one: str | None, other: str | None) -> str | None:
        """Who goes on from one place of the bracket; `None` while that is open."""
        if one is None or other is None:
            return None
        through = self._winner(number, place, one, other) if one and other else one or other
        if through:
            self.survived[through] += 1
        return through

    def _winner(self, number: int, place: int, one: str, other: str) -> str | None:
        for part in range(1 + self._replays):
            encounter = Encounter(self._plan, number, place, (one, other), part)
            self.matches += encounter.matches()
            points = encounter.points(self._records)
            if points is None:
                return None
            if points[0] != points[1]:
                return one if points[0] > points[1] else other
        return min(one, other, key=lambda name: self._seed[name])


def walk_knockout(plan: Plan, records: Mapping[str, MatchRecord]) -> Iterator[MatchSpec]:
    """The matches of all encounters that can be known."""
    yield from Bracket(plan, records).matches
