"""Knockout: the loser of an encounter is eliminated.

The order of the plan is the seeding: the two highest seeds can meet only in the last round, the four highest
only in the one before. If the number of agents is not a power of two, the highest seeds have a bye in round
0. A drawn encounter is replayed with other seeds; if all replays are drawn, the higher seed advances. An
encounter begins as soon as both of its agents are known.
"""

from __future__ import annotations

__all__ = ["Bracket", "Knockout"]

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Final

import attrs

from flagfall.configfile.converter import Bounds
from flagfall.configfile.problems import Problems
from flagfall.tournament.formats.common_checks import check_pairs_on_every_task
from flagfall.tournament.formats.encounters import Encounter, until_played
from flagfall.tournament.model import MAX_REPEATS, PlannedTask, Points, Stop, TournamentPlan
from flagfall.tournament.records import MatchSpec, Records

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
    own_points: ClassVar[bool] = True

    replays: Annotated[int, Bounds(0, MAX_REPEATS)] = 3

    def check(
        self, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
    ) -> None:
        """Report what does not fit encounters of two, and withdrawals; see `Format.check`."""
        check_pairs_on_every_task(self.kind, names, tasks, stop, problems)
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
        plan: the plan of the tournament.
        records: results so far; `advance` reads them again.
        replays: see `Knockout`.

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
