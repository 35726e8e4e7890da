"""The Swiss system: in each round those meet who have done equally well, and nobody twice while that can be.

1. Agents are ranked by points (2 points halves: 1 for an encounter that was won, 0.5 for a drawn one), then
   by the points of those whom they met (Buchholz), then by the order of the plan.
2. Of an odd number, the last of those with the fewest byes has one, which is a point; where that would leave
   the others no pairing without a repeat, the next one above.
3. In each group of equal points the upper half meets the lower half; who is left over floats down. The
   highest agent chooses first, among partners who leave the others a pairing without a repeat. Only where
   there is no such pairing at all, agents meet again who have met once, and so on.
"""

from __future__ import annotations

__all__ = ["SwissTable", "swiss_rounds", "walk_swiss"]

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from flagfall.tournament.formats.encounters import Encounter
from flagfall.tournament.formats.pairing import pair_up
from flagfall.tournament.formats.withdrawals import Falls
from flagfall.tournament.plan.model import Plan, Swiss
from flagfall.tournament.records import MatchRecord, MatchSpec

FAR: Final = 1_000_000
"""A point more or less makes a worse partner than any place in a group."""


class SwissTable:
    """How a Swiss tournament stands.

    Args:
        agents: their names, in the order of the plan.

    Attributes:
        points: by agent.
        met: by agent: how often it has met each other one.
        byes: by agent.
    """

    def __init__(self, agents: Sequence[str]) -> None:
        self._agents = tuple(agents)
        self.points: Counter[str] = Counter()
        self.met: dict[str, Counter[str]] = {agent: Counter() for agent in agents}
        self.byes: Counter[str] = Counter()

    def add(self, agents: tuple[str, str], points: tuple[float, float]) -> None:
        """Two have met; whoever has more of it has won."""
        one, other = agents
        self.met[one][other] += 1
        self.met[other][one] += 1
        mine, theirs = points
        halves = (1, 1) if mine == theirs else (2, 0) if mine > theirs else (0, 2)
        for agent, half in zip(agents, halves, strict=True):
            self.points[agent] += half

    def add_bye(self, agent: str) -> None:
        """One had nobody to meet, and gets the point."""
        self.byes[agent] += 1
        self.points[agent] += 2

    def buchholz(self, agent: str) -> float:
        """The points of all whom it met."""
        return sum(times * self.points[other] / 2 for other, times in self.met[agent].items())

    def score(self, agent: str) -> float:
        """Its points."""
        return self.points[agent] / 2

    def ranking(self) -> list[str]:
        """All agents, the best first."""
        return sorted(self._agents, key=lambda agent: (-self.points[agent], -self.buchholz(agent)))

    def pair(self, gone: frozenset[str] = frozenset()) -> tuple[list[tuple[str, str]], str | None]:
        """The pairs of the next round, and who has a bye.

        Args:
            gone: who does not take part any more.
        """
        here = [agent for agent in self.ranking() if agent not in gone]
        if len(here) < 2:  # noqa: PLR2004 - nobody is left to meet
            return [], None
        for most in count():
            for bye in self._bye_candidates(here):
                pairs = self._pair([agent for agent in here if agent != bye], most)
                if pairs is not None:
                    return pairs, bye
        raise AssertionError

    def _bye_candidates(self, here: list[str]) -> list[str | None]:
        if len(here) % 2 == 0:
            return [None]
        last_first = here[::-1]
        last_first.sort(key=lambda agent: self.byes[agent])
        return [*last_first]

    def _pair(self, here: list[str], most: int) -> list[tuple[str, str]] | None:
        groups: dict[int, list[str]] = {}
        for agent in here:
            groups.setdefault(self.points[agent], []).append(agent)
        place = {agent: number for number, agent in enumerate(here)}

        def wish(one: str, other: str) -> float:
            half = len(groups[self.points[one]]) // 2
            apart = abs(self.points[one] - self.points[other])
            return apart * FAR + abs(place[other] - place[one] - half)

        return pair_up(here, lambda one, other: self.met[one][other] <= most, wish)


def swiss_rounds(plan: Plan) -> int:
    """How many rounds there are: by default as many as a knockout would have."""
    assert isinstance(plan.format, Swiss)
    return plan.format.rounds or (len(plan.agents) - 1).bit_length()


def walk_swiss(
    plan: Plan, records: Mapping[str, MatchRecord], table: SwissTable | None = None
) -> Iterator[MatchSpec]:
    """The matches of all rounds that can be known.

    Args:
        plan: of the tournament.
        records: what was played.
        table: gets what became of the rounds that are complete.
    """
    table = table or SwissTable([agent.name for agent in plan.agents])
    falls = Falls(plan.stop.falls)
    for number in range(swiss_rounds(plan)):
        pairs, bye = table.pair(falls.gone)
        encounters = [Encounter(plan, number, place, pair) for place, pair in enumerate(pairs)]
        for encounter in encounters:
            yield from encounter.matches()
        points = [encounter.points(records) for encounter in encounters]
        for encounter, earned in zip(encounters, points, strict=True):
            if earned is None:
                return
            falls.add(records[spec.id] for spec in encounter.matches())
        for encounter, earned in zip(encounters, points, strict=True):
            assert earned is not None
            table.add(encounter.agents, earned)
        if bye is not None:
            table.add_bye(bye)
