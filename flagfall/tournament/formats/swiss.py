"""Swiss system: in each round agents with equal points meet, and no two of them twice if possible.

1. Agents are ranked by points (1 for an encounter won, 0.5 for a drawn one), then by the points of the
   agents that they met (Buchholz), then by the order of the plan.
2. Of an odd number, the last of the agents with the fewest byes has a bye, which is worth a point; if that
   leaves the others no pairing without a repeat, the next one above it.
3. In each group of equal points the upper half meets the lower half; an agent left over floats down. The
   highest agent chooses first, among partners that leave the others a pairing without a repeat. Agents that
   have met once meet again only if there is no such pairing at all, and so on.
"""

from __future__ import annotations

__all__ = ["Swiss", "SwissTable"]

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Annotated, ClassVar, Final

import attrs

from flagfall.configfile.converter import Bounds
from flagfall.configfile.problems import Problems
from flagfall.tournament.formats.common_checks import PAIR, check_pairs_on_every_task
from flagfall.tournament.formats.encounters import Encounter, until_played
from flagfall.tournament.formats.pairing import pair_up
from flagfall.tournament.formats.withdrawals import Withdrawals
from flagfall.tournament.model import MAX_REPEATS, PlannedTask, Points, Stop, TournamentPlan
from flagfall.tournament.records import MatchSpec, Records

POINT_DISTANCE: Final = 1_000_000
"""Cost of a partner for each half point of difference; larger than any cost within a group of equal
points."""


@attrs.frozen(kw_only=True)
class Swiss:
    """In each round agents with equal points meet that have not met yet.

    Attributes:
        rounds: number of rounds; `None` for as many as a knockout has.
    """

    kind: ClassVar[str] = "swiss"
    exact_total: ClassVar[bool] = True
    own_points: ClassVar[bool] = True

    rounds: Annotated[int, Bounds(1, MAX_REPEATS)] | None = None

    def check(
        self, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
    ) -> None:
        """Report what does not fit encounters of two; see `Format.check`."""
        check_pairs_on_every_task(self.kind, names, tasks, stop, problems)

    def schedule(self, plan: TournamentPlan, records: Records) -> Iterator[MatchSpec | None]:
        """Yield the matches of each round after the one before it; see `Format.schedule`."""
        return self._schedule(plan, records, _table(plan))

    def total(self, plan: TournamentPlan) -> int:
        """Return the number of matches if no agent is withdrawn; see `Format.total`."""
        sides = 2 * len(plan.tasks) * plan.repeats  # both sides of a game, or each of the two alone
        return self._number_of_rounds(plan) * (len(plan.agents) // 2) * sides

    def ranks(self, plan: TournamentPlan, records: Records) -> Points:
        """Return the points and the Buchholz score of each agent; see `Format.ranks`."""
        table = self.table(plan, records)
        return {agent.name: (table.score(agent.name), table.buchholz(agent.name)) for agent in plan.agents}

    def table(self, plan: TournamentPlan, records: Records) -> SwissTable:
        """Return the table after the complete rounds.

        Args:
            plan: the plan of the tournament.
            records: results so far.
        """
        table = _table(plan)
        for spec in self._schedule(plan, records, table):
            if spec is None:
                break
        return table

    def _number_of_rounds(self, plan: TournamentPlan) -> int:
        return self.rounds or (len(plan.agents) - 1).bit_length()

    def _schedule(
        self, plan: TournamentPlan, records: Records, table: SwissTable
    ) -> Iterator[MatchSpec | None]:
        """Yield the matches as `schedule` does, and add the complete rounds to a table."""
        withdrawals = Withdrawals(plan.stop.falls)
        for number in range(self._number_of_rounds(plan)):
            pairs, bye = table.pair(withdrawals.withdrawn)
            encounters = [Encounter(plan, number, place, pair) for place, pair in enumerate(pairs)]
            specs = [spec for encounter in encounters for spec in encounter.matches()]
            yield from specs
            yield from until_played(specs, records)
            withdrawals.add(records[spec.id] for spec in specs)
            for encounter in encounters:
                points = encounter.points(records)
                assert points is not None
                table.add(encounter.agents, points)
            if bye is not None:
                table.add_bye(bye)


def _table(plan: TournamentPlan) -> SwissTable:
    return SwissTable([agent.name for agent in plan.agents])


class SwissTable:
    """Points, opponents and byes of a Swiss tournament.

    Points are counted in halves: 2 for an encounter won, 1 for a drawn one.

    Args:
        agents: names, in the order of the plan.

    Attributes:
        points: half points by agent.
        met: by agent, how often it has met each other agent.
        byes: by agent.
    """

    def __init__(self, agents: Sequence[str]) -> None:
        self._agents = tuple(agents)
        self.points: Counter[str] = Counter()
        self.met: dict[str, Counter[str]] = {agent: Counter() for agent in agents}
        self.byes: Counter[str] = Counter()

    def add(self, agents: tuple[str, str], points: tuple[float, float]) -> None:
        """Add an encounter: the agent with more points from its matches has won.

        Args:
            agents: the two that met.
            points: what each of them scored.
        """
        one, other = agents
        self.met[one][other] += 1
        self.met[other][one] += 1
        mine, theirs = points
        halves = (1, 1) if mine == theirs else (2, 0) if mine > theirs else (0, 2)
        for agent, half in zip(agents, halves, strict=True):
            self.points[agent] += half

    def add_bye(self, agent: str) -> None:
        """Add a bye, which is worth a point.

        Args:
            agent: that had no opponent.
        """
        self.byes[agent] += 1
        self.points[agent] += 2

    def buchholz(self, agent: str) -> float:
        """Return the sum of the points of all opponents.

        Args:
            agent: whose opponents.
        """
        return sum(times * self.points[other] / 2 for other, times in self.met[agent].items())

    def score(self, agent: str) -> float:
        """Return the points of an agent.

        Args:
            agent: its name.
        """
        return self.points[agent] / 2

    def ranking(self) -> list[str]:
        """Return all agents, the best first."""
        return sorted(self._agents, key=lambda agent: (-self.points[agent], -self.buchholz(agent)))

    def pair(self, withdrawn: frozenset[str] = frozenset()) -> tuple[list[tuple[str, str]], str | None]:
        """Return the pairs of the next round, and the agent with a bye or `None`.

        Args:
            withdrawn: agents that are not paired any more.
        """
        present = [agent for agent in self.ranking() if agent not in withdrawn]
        if len(present) < PAIR:
            return [], None
        for most in count():
            for bye in self._bye_candidates(present):
                pairs = self._pair([agent for agent in present if agent != bye], most)
                if pairs is not None:
                    return pairs, bye
        raise AssertionError

    def _bye_candidates(self, present: list[str]) -> list[str | None]:
        if len(present) % 2 == 0:
            return [None]
        last_first = present[::-1]
        last_first.sort(key=lambda agent: self.byes[agent])
        return [*last_first]

    def _pair(self, present: list[str], most: int) -> list[tuple[str, str]] | None:
        groups: dict[int, list[str]] = {}
        for agent in present:
            groups.setdefault(self.points[agent], []).append(agent)
        place = {agent: number for number, agent in enumerate(present)}

        def cost(one: str, other: str) -> float:
            half = len(groups[self.points[one]]) // 2
            distance = abs(self.points[one] - self.points[other])
            return distance * POINT_DISTANCE + abs(place[other] - place[one] - half)

        return pair_up(present, lambda one, other: self.met[one][other] <= most, cost)
