"""Gauntlet: every agent meets the champions, and no other agents."""

from __future__ import annotations

__all__ = ["Gauntlet"]

from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import attrs

from flagfall.configfile.problems import Problems
from flagfall.tournament.formats.common_checks import check_entrants, check_no_sprt
from flagfall.tournament.formats.fixed_rounds import FixedRounds, Meetings
from flagfall.tournament.model import PlannedTask, Stop


@attrs.frozen(kw_only=True)
class Gauntlet(FixedRounds):
    """Every agent meets the champions, and no other agents.

    Attributes:
        champions: names of agents.
    """

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
        """Return, as one round, the combinations with at least one champion and one other agent.

        Args:
            task: a task with at least two seats.
        """
        champions = set(self.champions)
        together = combinations(task.agents, task.seats)
        return [[agents for agents in together if 0 < len(champions.intersection(agents)) < task.seats]]
