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
from flagfall.tournament.formats.encounters import Encounter
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

    def schedule(self, plan: TournamentPlan, records: Records) -> Iterator[MatchSpec]:
        """Yield the matches of all encounters whose agents are known; see `Format.schedule`."""
        yield from Bracket(plan, records, self.replays).matches

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
        records: results so far.
        replays: see `Knockout`.

    Attributes:
        matches: matches of all encounters whose agents are known, round by round.
        survived: by agent, how many rounds it survived, including byes.
        winner: winner of the last round; `None` while it is open.
    """

    def __init__(self, plan: TournamentPlan, records: Records, replays: int) -> None:
        self._plan = plan
        self._records = records
        self._replays = replays
        names = [agent.name for agent in plan.agents]
        self._seed = {name: place for place, name in enumerate(names)}
        self.matches: list[MatchSpec] = []
        self.survived = dict.fromkeys(names, 0)
        size = 1 << (len(names) - 1).bit_length()
        line: list[str | None] = [names[seed] if seed < len(names) else EMPTY for seed in _places(size)]
        for number in range(size.bit_length() - 1):
            pairs = zip(line[::2], line[1::2], strict=True)
            line = [self._advancing(number, place, *pair) for place, pair in enumerate(pairs)]
        self.winner = line[0]

    def _advancing(self, number: int, place: int, one: str | None, other: str | None) -> str | None:
        """Return the agent that advances from a place of the bracket, or `None` while that is open."""
        if one is None or other is None:
            return None
        advancing = self._winner(number, place, one, other) if one and other else one or other
        if advancing:
            self.survived[advancing] += 1
        return advancing

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
