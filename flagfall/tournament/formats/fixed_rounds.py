"""Formats whose meetings are known from the start: benchmark, round robin, gauntlet.

All repeats play the same meetings, each with another seed. On a task with one seat all its agents meet at
once: each plays it alone, with the same seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import ClassVar, Final, TypeAlias

import attrs

from flagfall.configfile.converter import Problems
from flagfall.tournament.formats.encounters import (
    PAIR,
    Withdrawals,
    check_entrants,
    check_no_sprt,
    meeting_matches,
    task_orders,
    until_played,
)
from flagfall.tournament.formats.pairing import circle_rounds
from flagfall.tournament.model import PlannedTask, Points, Stop, TournamentPlan
from flagfall.tournament.records import MatchSpec, Records
from flagfall.tournament.stats.intervals import LEVEL

Meetings: TypeAlias = Sequence[tuple[str, ...]]
"""Agents of each meeting of a round."""

_MEETING: Final = re.compile("r([0-9]{1,9})-m([0-9]{1,9})", re.ASCII)


class FixedRounds:
    """A format that takes its rounds from `game_rounds`; a subclass adds `kind` and `check`."""

    exact_total: ClassVar[bool] = True
    own_ranking: ClassVar[bool] = False
    elo_level: ClassVar[float] = LEVEL

    def game_rounds(self, task: PlannedTask) -> Sequence[Meetings]:
        """Return the meetings at a game for several seats, in the rounds of one repeat: all combinations.

        Args:
            task: a task with at least two seats.
        """
        return [list(combinations(task.agents, task.seats))]

    def schedule(self, plan: TournamentPlan, records: Records) -> Iterator[MatchSpec | None]:
        """Yield the matches of all rounds; if agents can be withdrawn, each round after the one before it."""
        rounds = self.meetings_of_a_repeat(plan)
        withdrawals = Withdrawals(plan.stop.falls)
        for number in range(plan.repeats * len(rounds)):
            repeat, index = divmod(number, len(rounds))
            specs = _round_matches(plan, rounds[index], number, repeat, withdrawals.withdrawn)
            if plan.stop.falls is None:
                yield from specs
                continue
            known = list(specs)
            yield from known
            yield from until_played(known, records)
            withdrawals.add(records[spec.id] for spec in known)

    def meetings_of_a_repeat(self, plan: TournamentPlan) -> list[list[tuple[int, tuple[str, ...]]]]:
        """Return the meetings of each round, in the order of the schedule: place of the task, and agents.

        The rounds of all repeats are the same, unless agents are withdrawn.
        """
        of_tasks = [self._rounds(task) for task in plan.tasks]
        return [
            [
                (place, tuple(agents))
                for place, rounds in enumerate(of_tasks)
                if index < len(rounds)
                for agents in rounds[index]
            ]
            for index in range(max(map(len, of_tasks)))
        ]

    def matches_of_meetings(self, plan: TournamentPlan, meetings: Iterable[str]) -> Iterator[MatchSpec]:
        """Yield the matches of some meetings, if no agent is withdrawn; unknown meetings have none.

        Args:
            meetings: see `flagfall.tournament.records.MatchSpec.meeting`.
        """
        rounds = self.meetings_of_a_repeat(plan)
        for meeting in meetings:
            parts = _MEETING.fullmatch(meeting)
            number, place = (int(parts[1]), int(parts[2])) if parts else (-1, 0)
            repeat, index = divmod(number, len(rounds))
            if 0 <= repeat < plan.repeats and place < len(rounds[index]):
                task_place, agents = rounds[index][place]
                task = plan.tasks[task_place]
                seed = plan.match_seed(repeat, task, *(() if task.seats == 1 else sorted(agents)))
                yield from meeting_matches(meeting, task, agents, seed, number, repeat)

    def total(self, plan: TournamentPlan) -> int:
        """Return the number of matches if no agent is withdrawn."""
        counts = (
            len(agents) * len(task_orders(task))
            for task in plan.tasks
            for meetings in self._rounds(task)
            for agents in meetings
        )
        return sum(counts) * plan.repeats

    def ranks(self, plan: TournamentPlan, records: Records) -> Points:  # noqa: ARG002 - see `Format`
        """Return nothing: the scoring of the plan ranks the agents."""
        return {}

    def remarks(self, plan: TournamentPlan, records: Records) -> Sequence[str]:  # noqa: ARG002
        """Return nothing; see `Format.remarks`."""
        return ()

    def _rounds(self, task: PlannedTask) -> Sequence[Meetings]:
        return [[task.agents]] if task.seats == 1 else self.game_rounds(task)


def _round_matches(
    plan: TournamentPlan,
    meetings: Iterable[tuple[int, tuple[str, ...]]],
    number: int,
    repeat: int,
    withdrawn: frozenset[str],
) -> Iterator[MatchSpec]:
    for count, (place, agents) in enumerate(meetings):
        task = plan.tasks[place]
        alone = task.seats == 1
        seed = plan.match_seed(repeat, task, *(() if alone else sorted(agents)))
        if alone or withdrawn.isdisjoint(agents):
            present = [agent for agent in agents if agent not in withdrawn]
            yield from meeting_matches(f"r{number}-m{count}", task, present, seed, number, repeat)


@attrs.frozen
class Benchmark(FixedRounds):
    """Every agent plays every task with every seed; at games for several seats all agents meet."""

    kind: ClassVar[str] = "benchmark"

    def check(
        self, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
    ) -> None:
        """Accept every plan; see `Format.check`."""


@attrs.frozen
class RoundRobin(FixedRounds):
    """Every agent meets every other one; games for two seats are paired by the circle method."""

    kind: ClassVar[str] = "round-robin"

    def check(
        self,
        names: Sequence[str],
        tasks: Sequence[PlannedTask],  # noqa: ARG002 - see `Format`
        stop: Stop,  # noqa: ARG002
        problems: Problems,
    ) -> None:
        """Report a plan with fewer than two agents; see `Format.check`."""
        check_entrants(self.kind, names, problems)

    def game_rounds(self, task: PlannedTask) -> Sequence[Meetings]:
        """Return the rounds of the circle method for two seats, or all combinations for more."""
        return circle_rounds(task.agents) if task.seats == PAIR else super().game_rounds(task)


@attrs.frozen(kw_only=True)
class Gauntlet(FixedRounds):
    """Every agent meets the champions, and no other agents."""

    kind: ClassVar[str] = "gauntlet"

    champions: tuple[str, ...]

    def check(
        self,
        names: Sequence[str],
        tasks: Sequence[PlannedTask],  # noqa: ARG002 - see `Format`
        stop: Stop,
        problems: Problems,
    ) -> None:
        """Report champions that are unknown, duplicate, missing, or all of the agents; see `Format.check`."""
        check_entrants(self.kind, names, problems)
        check_no_sprt(stop, problems)
        place = ("format", "champions")
        for champion in self.champions:
            if champion not in names:
                problems.unknown(place, "agent", champion, names)
        if len(set(self.champions)) < len(self.champions):
            problems.add(place, "an agent is named twice")
        if not self.champions or set(names) <= set(self.champions):
            problems.add(place, "name some of the agents, but not all of them")

    def game_rounds(self, task: PlannedTask) -> Sequence[Meetings]:
        """Return, as one round, the combinations with at least one champion and one other agent."""
        champions = set(self.champions)
        together = combinations(task.agents, task.seats)
        return [[agents for agents in together if 0 < len(champions.intersection(agents)) < task.seats]]
