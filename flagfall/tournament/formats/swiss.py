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

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Annotated, ClassVar, Final

import attrs

from flagfall.configfile.converter import Bounds, Problems
from flagfall.tournament.formats.encounters import (
    PAIR,
    Encounter,
    Withdrawals,
    check_pairs_on_every_task,
    check_whole_rounds,
    until_played,
)
from flagfall.tournament.formats.pairing import pair_up
from flagfall.tournament.model import MAX_REPEATS, PlannedTask, Points, Stop, TournamentPlan
from flagfall.tournament.records import MatchSpec, Records
from flagfall.tournament.stats.intervals import LEVEL

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
    own_ranking: ClassVar[bool] = True
    elo_level: ClassVar[float] = LEVEL

    rounds: Annotated[int, Bounds(1, MAX_REPEATS)] | None = None

    def check(
        self, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
    ) -> None:
        """Report what does not fit encounters of two; see `Format.check`."""
        check_pairs_on_every_task(self.kind, names, tasks, stop, problems)
        check_whole_rounds(self.kind, stop, problems)

    def schedule(self, plan: TournamentPlan, records: Records) -> Iterator[MatchSpec | None]:
        """Yield the matches of each round after the one before it; see `Format.schedule`."""
        return self._schedule(plan, records, SwissTable(plan))

    def total(self, plan: TournamentPlan) -> int:
        """Return the number of matches if no agent is withdrawn; see `Format.total`."""
        sides = 2 * len(plan.tasks) * plan.repeats  # both sides of a game, or each of the two alone
        return self._number_of_rounds(plan) * (len(plan.agents) // 2) * sides

    def ranks(self, plan: TournamentPlan, records: Records) -> Points:
        """Return the points and the Buchholz score of each agent; see `Format.ranks`."""
        table = self.table(plan, records)
        return {agent.name: (table.score(agent.name), table.buchholz(agent.name)) for agent in plan.agents}

    def remarks(self, plan: TournamentPlan, records: Records) -> Sequence[str]:  # noqa: ARG002
        """Return nothing; see `Format.remarks`."""
        return ()

    def table(self, plan: TournamentPlan, records: Records) -> SwissTable:
        """Return the table after the complete rounds."""
        table = SwissTable(plan)
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


class SwissTable:
    """Points, opponents and byes of a Swiss tournament.

    Points are counted in halves: 2 for an encounter won, 1 for a drawn one.

    Attributes:
        points: half points by agent.
        met: by agent, how often it has met each other agent.
    """

    def __init__(self, plan: TournamentPlan) -> None:
        self._agents = [agent.name for agent in plan.agents]
        self.points: Counter[str] = Counter()
        self.met: dict[str, Counter[str]] = {agent: Counter() for agent in self._agents}
        self.byes: Counter[str] = Counter()

    def add(self, agents: tuple[str, str], points: tuple[float, float]) -> None:
        """Add an encounter: the agent with more points from its matches has won."""
        one, other = agents
        self.met[one][other] += 1
        self.met[other][one] += 1
        mine, theirs = points
        halves = (1, 1) if mine == theirs else (2, 0) if mine > theirs else (0, 2)
        for agent, half in zip(agents, halves, strict=True):
            self.points[agent] += half

    def add_bye(self, agent: str) -> None:
        """Add a bye, which is worth a point."""
        self.byes[agent] += 1
        self.points[agent] += 2

    def buchholz(self, agent: str) -> float:
        """Return the sum of the points of all opponents."""
        return sum(times * self.points[other] / 2 for other, times in self.met[agent].items())

    def score(self, agent: str) -> float:
        """Return the points of an agent."""
        return self.points[agent] / 2

    def ranking(self) -> list[str]:
        """Return all agents, the best first."""
        return sorted(self._agents, key=lambda agent: (-self.points[agent], -self.buchholz(agent)))

    def pair(self, withdrawn: frozenset[str] = frozenset()) -> tuple[list[tuple[str, str]], str | None]:
        """Return the pairs of the next round, and the agent with a bye or `None`."""
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


# Knockout: the loser of an encounter is eliminated.
#
# The order of the plan is the seeding: the two highest seeds can meet only in the last round, the four
# highest only in the one before. If the number of agents is not a power of two, the highest seeds have a bye
# in round 0. A drawn encounter is replayed with other seeds; if all replays are drawn, the higher seed
# advances. An encounter begins as soon as both of its agents are known.

EMPTY: Final = ""
"""Occupant of a place of the bracket that has no agent."""


@attrs.frozen(kw_only=True)
class Knockout:
    """The loser of an encounter is eliminated; the order of the agents in the plan is their seeding.

    Attributes:
        replays: how often a drawn encounter is replayed, with other seeds. If it is still drawn, the agent
            that comes first in the plan advances.
    """

    kind: ClassVar[str] = "knockout"
    exact_total: ClassVar[bool] = False
    own_ranking: ClassVar[bool] = True
    elo_level: ClassVar[float] = LEVEL

    replays: Annotated[int, Bounds(0, MAX_REPEATS)] = 3

    def check(
        self, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
    ) -> None:
        """Report what does not fit encounters of two, and withdrawals; see `Format.check`."""
        check_pairs_on_every_task(self.kind, names, tasks, stop, problems)
        check_whole_rounds(self.kind, stop, problems)
        if stop.falls is not None:
            problems.add(
                ("stop", "falls"), "in a knockout a disqualified agent loses its encounter: leave it out"
            )

    def schedule(self, plan: TournamentPlan, records: Records) -> Iterator[MatchSpec | None]:
        """Yield the matches of encounters as soon as their agents are known; see `Format.schedule`.

        Continued from the same records, the order is that of the bracket, round by round.
        """
        bracket = Bracket(plan, records, self.replays)
        while True:
            matches, bracket.matches = bracket.matches, []
            yield from matches
            if bracket.winner is not None:
                return
            while not bracket.advance():
                yield None

    def total(self, plan: TournamentPlan) -> int:
        """Return the number of matches if every encounter takes all replays; see `Format.total`."""
        sides = 2 * len(plan.tasks) * plan.repeats  # both sides of a game, or each of the two alone
        return (len(plan.agents) - 1) * (1 + self.replays) * sides

    def ranks(self, plan: TournamentPlan, records: Records) -> Points:
        """Return how many rounds each agent survived; see `Format.ranks`."""
        survived = Bracket(plan, records, self.replays).survived
        return {name: (float(rounds), None) for name, rounds in survived.items()}

    def remarks(self, plan: TournamentPlan, records: Records) -> Sequence[str]:  # noqa: ARG002
        """Return nothing; see `Format.remarks`."""
        return ()


def _places(size: int) -> list[int]:
    """Return the seeds in the order of a bracket: for 4 places 0, 3, 1, 2."""
    places = [0]
    while len(places) < size:
        last = 2 * len(places) - 1
        places = [seed for place in places for seed in (place, last - place)]
    return places


class Bracket:
    """Bracket of a knockout, as far as the records determine it.

    Args:
        records: results so far; `advance` reads them again.

    Attributes:
        matches: matches of the encounters whose agents are known, round by round; those that `advance` adds
            follow.
        survived: by agent, how many rounds it survived, including byes.
    """

    def __init__(self, plan: TournamentPlan, records: Records, replays: int) -> None:
        self._plan = plan
        self._records = records
        self._replays = replays
        names = [agent.name for agent in plan.agents]
        self._seed = {name: place for place, name in enumerate(names)}
        self.matches: list[MatchSpec] = []
        self.survived: dict[str, int] = dict.fromkeys(names, 0)
        size = 1 << (len(names) - 1).bit_length()
        agents = [names[seed] if seed < len(names) else EMPTY for seed in _places(size)]
        nodes = [_Node(agent) for agent in agents]
        self._open: list[_Node] = []
        for number in range(size.bit_length() - 1):
            pairs = zip(nodes[::2], nodes[1::2], strict=True)
            nodes = [_Node(None, (number, place), pair) for place, pair in enumerate(pairs)]
            self._open += nodes
        self._last = nodes[0]
        self.advance()

    @property
    def winner(self) -> str | None:
        """Winner of the last round; `None` while it is open."""
        return self._last.agent

    def advance(self) -> bool:
        """Continue with the records that have been added; return whether there are further matches."""
        before = len(self.matches)
        for node in self._open:
            self._decide(node)
        self._open = [node for node in self._open if node.agent is None]
        return len(self.matches) > before or not self._open

    def _decide(self, node: _Node) -> None:
        """Set the agent that advances from a node of the bracket, if it is known."""
        one, other = (below.agent for below in node.below)
        if one is None or other is None:
            return
        node.agent = self._winner(node, one, other) if one and other else one or other
        if node.agent:
            self.survived[node.agent] += 1

    def _winner(self, node: _Node, one: str, other: str) -> str | None:
        while node.part <= self._replays:
            encounter = Encounter(self._plan, *node.place, (one, other), node.part)
            if node.waiting is None:
                specs = list(encounter.matches())
                self.matches += specs
                node.waiting = until_played(specs, self._records)
            for _ in node.waiting:
                return None
            points = encounter.points(self._records)
            assert points is not None
            if points[0] != points[1]:
                return one if points[0] > points[1] else other
            node.part += 1
            node.waiting = None
        return min(one, other, key=lambda name: self._seed[name])


@attrs.define(eq=False)
class _Node:
    """An agent's place in the bracket.

    Attributes:
        agent: the agent; `None` while it is not known.
        place: round and number of the encounter whose winner takes it.
        below: the places of the two agents of that encounter.
        part: number of replays of the encounter.
        waiting: goes on while a match of the present part has no result; `None` before it begins.
    """

    agent: str | None
    place: tuple[int, int] = (0, 0)
    below: tuple[_Node, ...] = ()
    part: int = 0
    waiting: Iterator[None] | None = None
