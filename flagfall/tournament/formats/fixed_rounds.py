"""Base of the formats whose meetings are known from the start: benchmark, round robin, gauntlet.

All repeats play the same meetings, each with another seed. On a task with one seat all its agents meet at
once: each plays it alone, with the same seed.
"""

from __future__ import annotations

__all__ = ["FixedRounds", "Meetings"]

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import ClassVar, Final, TypeAlias

from flagfall.tournament.formats.encounters import meeting_matches, until_played
from flagfall.tournament.formats.withdrawals import Withdrawals
from flagfall.tournament.model import PlannedTask, Points, TournamentPlan
from flagfall.tournament.records import MatchSpec, Records

Meetings: TypeAlias = Sequence[tuple[str, ...]]
"""Agents of each meeting of a round."""


_MEETING: Final = re.compile("r([0-9]{1,9})-m([0-9]{1,9})", re.ASCII)


class FixedRounds:
    """A format that takes its rounds from `game_rounds`; a subclass adds `kind` and `check`."""

    exact_total: ClassVar[bool] = True
    own_points: ClassVar[bool] = False

    def game_rounds(self, task: PlannedTask) -> Sequence[Meetings]:
        """Return the meetings at a game for several seats, in the rounds of one repeat: all combinations.

        Args:
            task: a task with at least two seats.
        """
        return [list(combinations(task.agents, task.seats))]

    def schedule(self, plan: TournamentPlan, records: Records) -> Iterator[MatchSpec | None]:
        """Yield the matches of all rounds; if agents can be withdrawn, each round after the one before it.

        Args:
            plan: the plan of the tournament.
            records: results so far.
        """
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

        Args:
            plan: the plan of the tournament.
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
            plan: the plan of the tournament.
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
                yield from meeting_matches(meeting, task, agents, seed, number)

    def total(self, plan: TournamentPlan) -> int:
        """Return the number of matches if no agent is withdrawn.

        Args:
            plan: the plan of the tournament.
        """
        meetings = (agents for task in plan.tasks for one in self._rounds(task) for agents in one)
        # An agent alone is one match, and k agents at a game are k rotations.
        return sum(map(len, meetings)) * plan.repeats

    def ranks(self, plan: TournamentPlan, records: Records) -> Points:  # noqa: ARG002 - see `Format`
        """Return nothing: the scoring of the plan ranks the agents.

        Args:
            plan: the plan of the tournament.
            records: results so far.
        """
        return {}

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
            yield from meeting_matches(f"r{number}-m{count}", task, present, seed, number)
