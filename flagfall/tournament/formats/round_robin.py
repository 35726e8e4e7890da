"""Round robin: every agent meets every other one equally often, in rounds."""

from __future__ import annotations

__all__ = ["RoundRobin"]

from collections.abc import Sequence
from typing import ClassVar

import attrs

from flagfall.configfile.problems import Problems
from flagfall.tournament.formats.common_checks import PAIR, check_entrants
from flagfall.tournament.formats.fixed_rounds import FixedRounds, Meetings
from flagfall.tournament.formats.pairing import circle_rounds
from flagfall.tournament.model import PlannedTask, Stop


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
        """Return the rounds of the circle method for two seats, or all combinations for more.

        Args:
            task: a task with at least two seats.
        """
        return circle_rounds(task.agents) if task.seats == PAIR else super().game_rounds(task)
